"""The notebook, the Python of the pages, and the settings in docstrings: all of it runs."""

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
