"""Gneiss trains graph neural networks: arrays in, arrays out.

>>> import gneiss
>>> run = gneiss.train("karate", model="gcn", hidden_channels=16)
>>> run.predict().shape
(34,)
"""

from . import errors
from ._core import version as _version
from ._dataset import Dataset, load
from ._model import Model
from ._train import Epoch, History, Plan, Run, doctor, open, plan, resume, train  # noqa: A004
from .errors import (
    CopyWarning,
    DataError,
    DiskError,
    Error,
    NumericError,
    OutOfMemoryError,
    ShapeError,
    UnsupportedError,
    UsageError,
)

__version__ = _version()

__all__ = [
    "CopyWarning",
    "DataError",
    "Dataset",
    "DiskError",
    "Epoch",
    "Error",
    "History",
    "Model",
    "NodeClassifier",
    "NodeRegressor",
    "NumericError",
    "OutOfMemoryError",
    "Plan",
    "Run",
    "ShapeError",
    "UnsupportedError",
    "UsageError",
    "doctor",
    "errors",
    "formats",
    "generators",
    "load",
    "models",
    "open",
    "plan",
    "resume",
    "train",
]


def models():
    """Names of the built-in models."""
    from . import _core

    return list(_core.builtin_models())


def formats():
    """{name: summary} of the formats that :func:`load` reads."""
    from . import _core

    return dict(_core.formats())


def generators():
    """{name: summary} of the data sets that :func:`load` makes by name."""
    from . import _core

    return dict(_core.generators())


def __getattr__(name):
    # scikit-learn is imported by those who ask for its conventions.
    if name in ("NodeClassifier", "NodeRegressor"):
        from . import sklearn

        return getattr(sklearn, name)
    raise AttributeError(f"module 'gneiss' has no attribute {name!r}")
