"""The notebook, the Python of the pages, and the settings in docstrings: all of it runs."""

import ast
import inspect
import json
import re
import runpy

import pytest
from conftest import ROOT

import gneiss


def test_the_notebook_runs():
    cells = json.loads((ROOT / "examples/python/communities.ipynb").read_text())["cells"]
    names = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), "communities.ipynb", "exec"), names)
    assert names["run"].scores["test"] > names["alone"].scores["test"]


@pytest.mark.parametrize("page", ["README.md", "docs/python.md", "bindings/python/README.md"])
def test_the_python_of_a_page_runs(page):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S)
    assert blocks, page
    names = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)
    assert isinstance(names["run"], gneiss.Run)


def test_the_stubs_are_those_of_the_settings():
    text = (ROOT / "bindings/python/gneiss/__init__.pyi").read_text()
    assert runpy.run_path(str(ROOT / "bindings/python/make_stubs.py"))["stubs"](text) == text


def parameters_of(node):
    """Names of a stub's parameters by order, and those after the star."""
    arguments = node.args
    names = [one.arg for one in arguments.posonlyargs + arguments.args]
    return names, [one.arg for one in arguments.kwonlyargs]


def check_signature(node, function, where):
    kinds = inspect.Parameter
    have = inspect.signature(function).parameters.values()
    names = [one.name for one in have if one.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    only = [one.name for one in have if one.kind == kinds.KEYWORD_ONLY]
    said, said_only = parameters_of(node)
    if names[:1] in (["self"], ["cls"]) or said[:1] in (["self"], ["cls"]):
        said = [name for name in said if name not in ("self", "cls")]
        names = [name for name in names if name not in ("self", "cls")]
    assert (said, set(said_only)) == (names, set(only)), where


def test_the_stubs_name_what_there_is():
    """Every public name is in the stubs, and functions and methods have the parameters that the stubs say."""
    tree = ast.parse((ROOT / "bindings/python/gneiss/__init__.pyi").read_text())
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    imported = {one.asname or one.name for node in tree.body if isinstance(node, ast.ImportFrom) for one in node.names}
    assert set(gneiss.__all__) <= functions.keys() | classes.keys() | imported
    for name, node in functions.items():
        check_signature(node, getattr(gneiss, name), name)
    for name, node in classes.items():
        kind = getattr(gneiss, name)
        for member in node.body:
            if isinstance(member, ast.FunctionDef) and not any(
                getattr(mark, "id", "") == "property" for mark in member.decorator_list
            ):
                check_signature(member, getattr(kind, member.name), f"{name}.{member.name}")
        told = {member.name for member in node.body if isinstance(member, ast.FunctionDef)}
        told |= {member.target.id for member in node.body if isinstance(member, ast.AnnAssign)}
        public = {member for member in vars(kind) if not member.startswith("_")}
        assert public <= told, (name, public - told)
