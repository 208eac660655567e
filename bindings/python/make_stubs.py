"""Writes gneiss/__init__.pyi: what type checkers and editors know, keyword arguments from the settings table.

usage: python make_stubs.py FILE, with the package installed. A test holds the file that is in the tree against it.
"""

import sys

from gneiss import _settings

HEAD = '''"""Written by make_stubs.py."""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from . import errors as errors
from .errors import DataError as DataError
from .errors import DiskError as DiskError
from .errors import Error as Error
from .errors import NumericError as NumericError
from .errors import OutOfMemoryError as OutOfMemoryError
from .errors import ShapeError as ShapeError
from .errors import UnsupportedError as UnsupportedError
from .errors import UsageError as UsageError
from .sklearn import NodeClassifier as NodeClassifier
from .sklearn import NodeRegressor as NodeRegressor

__version__: str

_Data = Dataset | str | os.PathLike[str] | Any
_Path = str | os.PathLike[str]
_Rows = tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike | None]

class Dataset:
    name: str
    num_nodes: int
    num_edges: int
    num_features: int
    num_classes: int
    notes: list[str]
    def __init__(
        self,
        edge_index: npt.ArrayLike | None = None,
        x: npt.ArrayLike | Any | None = None,
        y: npt.ArrayLike | None = None,
        *,
        edge_weight: npt.ArrayLike | None = None,
        train_mask: npt.ArrayLike | None = None,
        val_mask: npt.ArrayLike | None = None,
        test_mask: npt.ArrayLike | None = None,
        num_nodes: int | None = None,
        label_kind: Literal["auto", "class", "multi", "regression"] = "auto",
        class_names: Sequence[str] | None = None,
        name: str = "arrays",
        csr: _Rows | None = None,
        csc: _Rows | None = None,
    ) -> None: ...
    @classmethod
    def from_pyg(cls, data: Any, split: int = 0, name: str | None = None) -> Dataset: ...
    @classmethod
    def from_dgl(
        cls, graph: Any, x: str = "feat", y: str = "label", edge_weight: str | None = None, name: str | None = None
    ) -> Dataset: ...
    @classmethod
    def from_scipy(
        cls, adjacency: Any, x: Any = None, y: npt.ArrayLike | None = None, name: str | None = None, **masks: npt.ArrayLike
    ) -> Dataset: ...
    @classmethod
    def from_networkx(
        cls, graph: Any, x: Any = None, y: Any = None, weight: str | None = None, name: str | None = None, **masks: npt.ArrayLike
    ) -> Dataset: ...
    @classmethod
    def from_pandas(
        cls,
        edges: Any,
        nodes: Any = None,
        source: str = "source",
        target: str = "target",
        weight: str | None = None,
        x: Sequence[str] | None = None,
        y: str | None = None,
        name: str | None = None,
        **masks: npt.ArrayLike,
    ) -> Dataset: ...
    def info(self) -> dict[str, Any]: ...
    def validate(self, allow_nan: bool = False) -> list[tuple[bool, str]]: ...
    def save(self, path: _Path, force: bool = False) -> None: ...
    def arrays(self) -> dict[str, Any]: ...
    def edge_index(self) -> npt.NDArray[np.int64]: ...
    def to_pyg(self) -> Any: ...

class Epoch:
    run: int
    epoch: int
    loss: float
    val_loss: float
    train: float
    val: float
    test: float
    seconds: float
    evaluated: bool
    best: bool

class History(dict[str, npt.NDArray[Any]]):
    run: npt.NDArray[np.int64]
    epoch: npt.NDArray[np.int64]
    loss: npt.NDArray[np.float64]
    lr: npt.NDArray[np.float64]
    seconds: npt.NDArray[np.float64]
    eval_seconds: npt.NDArray[np.float64]
    val_loss: npt.NDArray[np.float64]
    train: npt.NDArray[np.float64]
    val: npt.NDArray[np.float64]
    test: npt.NDArray[np.float64]
    def to_pandas(self) -> Any: ...

class Run:
    folder: str
    report: dict[str, Any]
    history: History
    losses: npt.NDArray[np.float64]
    scores: dict[str, float]
    metric: str
    interrupted: bool
    settings: dict[str, Any]
    warnings: list[str]
    notes: list[str]
    advice: str
    class_names: list[str]
    def logits(self, data: _Data | None = None) -> npt.NDArray[np.float32]: ...
    def predict(self, data: _Data | None = None) -> npt.NDArray[Any]: ...
    def predict_proba(self, data: _Data | None = None) -> npt.NDArray[np.float32]: ...
    def embed(self, data: _Data | None = None) -> npt.NDArray[np.float32]: ...
    def evaluate(self, data: _Data | None = None) -> dict[str, float]: ...
    def state_dict(self, torch: bool = False) -> dict[str, Any]: ...
    def save(self, path: _Path, force: bool = False) -> str: ...
    def to_pyg(self) -> Any: ...
    def plot(self, ax: Any = None) -> Any: ...

class Plan:
    text: str
    table: dict[str, Any]
    peak_bytes: int
    warnings: list[str]

def open(folder: _Path, data: _Data | None = None) -> Run: ...
def doctor() -> dict[str, str]: ...
def models() -> list[str]: ...
def formats() -> dict[str, str]: ...
def generators() -> dict[str, str]: ...
'''

TRAIN = """def train(
    data: _Data,
    model: _Path = "gcn",
    *,
    out: _Path | None = None,
    callbacks: Iterable[Callable[[Epoch], bool | None]] = (),
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


def stubs():
    """The text of the file."""
    return (
        HEAD
        + LOAD
        + keywords("data.", ())
        + ") -> Dataset: ...\n"
        + TRAIN
        + keywords("", ("model", "out"))
        + "    **arguments: Any,\n) -> Run: ...\n"
        + PLAN
        + keywords("", ("model", "out"))
        + "    **arguments: Any,\n) -> Plan: ...\n"
    )


if __name__ == "__main__":
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(stubs())
