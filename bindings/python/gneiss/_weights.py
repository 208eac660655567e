"""Weights that a training begins with: a run, a file, arrays by name, or a model of PyTorch."""

import os
from collections.abc import Mapping

from . import _core
from ._arrays import as_array
from .errors import UsageError


def arrays_of(weights, argument):
    """{name: array} of a mapping or of a model's state_dict()."""
    if hasattr(weights, "state_dict"):
        weights = weights.state_dict()
    if not isinstance(weights, Mapping):
        kind = type(weights).__name__
        hint = "give a run, a path, a model of PyTorch, or a dict of arrays by PyG's names"
        raise UsageError(f"expected weights, got {kind}", argument, hint)
    return {name: as_array(value, name) for name, value in weights.items()}


def init_file(init, folder):
    """The file or run folder for the setting train.init; what is in memory is written into ``folder``."""
    if hasattr(init, "folder") and hasattr(init, "state_dict"):
        return init.folder
    if isinstance(init, (str, os.PathLike)):
        return os.fspath(init)
    path = os.path.join(folder, "init.safetensors")
    _core.save_parameters(arrays_of(init, "init"), path)
    return path
