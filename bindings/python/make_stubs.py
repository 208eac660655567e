"""Writes the settings into gneiss/__init__.pyi: keyword arguments that type checkers and editors know.

usage: python -P make_stubs.py FILE, with the package installed (-P, of Python 3.11: not the one beside this file)

What stands above the mark is kept. A test holds the file that is in the tree against the table of settings. Each
function lists its keywords itself: `**settings` of a TypedDict would leave no room for the arguments of a model, which
are keywords too.
"""

import pathlib
import sys

from gneiss import _settings

MARK = "# Written by make_stubs.py from here on.\n"

TRAIN = """def train(
    data: _Data,
    model: _Path | None = None,
    *,
    init: Any = None,
    out: _Path | None = None,
    callbacks: _Callback | Iterable[_Callback] = (),
    progress: bool | None = None,
"""
PLAN = """def plan(
    data: _Data,
    model: _Path = "gcn",
    *,
"""
LOAD = """def load(
    what: _Path,
    *,
"""


def type_of(setting):
    """The type of a setting's values, from what the table says is expected."""
    expected = setting.expected
    if expected == "true or false":
        return "bool"
    if expected.startswith("one of "):
        return "Literal[" + ", ".join(f'"{one}"' for one in expected[len("one of ") :].split(", ")) + "]"
    if expected.startswith("a whole number"):
        return "int"
    if expected == "a number of bytes":
        return "int | str"
    if expected.startswith("a list of numbers"):
        return "Sequence[float] | str"
    if expected == "a list":
        return "Sequence[Any] | str"
    return "float" if expected.startswith("a number") else "str | Any"


def keywords(only, leave_out):
    rows = [s for s in _settings._settings(only) if s.name not in leave_out]
    return "".join(f"    {s.name}: {type_of(s)} | None = None,\n" for s in rows)


def stubs(text):
    """The text of the file, settings written anew."""
    above, mark, _ = text.partition(MARK)
    return (
        above
        + mark
        + LOAD
        + keywords("data.", ())
        + ") -> Dataset: ...\n"
        + TRAIN
        + keywords("", ("model", "init", "out"))
        + "    **arguments: Any,\n) -> Run: ...\n"
        + PLAN
        + keywords("", ("model", "out"))
        + "    **arguments: Any,\n) -> Plan: ...\n"
    )


if __name__ == "__main__":
    path = pathlib.Path(sys.argv[1])
    path.write_text(stubs(path.read_text(encoding="utf-8")), encoding="utf-8")
