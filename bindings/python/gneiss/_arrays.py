"""Any array-like of the user becomes a NumPy array that the core can read where it lies, or an error says why not."""

import sys

import numpy as np

from .errors import DataError, UnsupportedError


def _is_torch(value):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _from_torch(value, name, notes):
    torch = sys.modules["torch"]
    if value.device.type != "cpu":
        raise DataError(
            f"the tensor lies on {value.device}, arrays are read from the memory of the CPU",
            name,
            f"give {name}.cpu()",
        )
    if value.layout != torch.strided:
        raise DataError(f"the tensor is stored as {value.layout}", name, "give a dense tensor, or a SciPy matrix")
    value = value.detach().resolve_conj().resolve_neg()
    if value.dtype == torch.bfloat16:
        value = value.float()
        notes.append(f"{name} was copied: bfloat16 became float32")
    return value.numpy()


def _refuse_objects(array, name):
    for index, value in np.ndenumerate(array):
        if not isinstance(value, (bool, int, float, np.number, np.bool_)):
            where = "[" + ", ".join(str(i) for i in index) + "]"
            raise DataError(
                f"element {where} is {value!r}, a {type(value).__name__}; the array holds Python objects",
                name,
                "give an array of numbers, e.g. numpy.asarray(values, dtype=numpy.float32)",
            )
    raise DataError(
        "the array holds Python objects", name, f"give {name}.astype(numpy.float32), or an integer type"
    )


_HOST = (1, 3)  # DLPack's kDLCPU, kDLCUDAHost
_DEVICES = {2: "cuda", 8: "metal", 10: "rocm", 14: "oneapi"}


def _on_host(value, name):
    """What speaks DLPack, if its memory is the host's; anything else as it is."""
    if isinstance(value, np.ndarray) or not hasattr(value, "__dlpack_device__"):
        return value
    kind, number = value.__dlpack_device__()
    if kind not in _HOST:
        device = _DEVICES.get(int(kind), f"device {int(kind)}")
        raise DataError(f"the array lies on {device}:{number}", name, "bring it to memory of the host first")
    return value if hasattr(value, "__array__") else np.from_dlpack(value)


def as_array(value, name, notes=None, text=False):
    """A NumPy array of numbers in this machine's byte order; None stays None. ``text``: words are taken too.

    ``notes``: a list that gets what was copied here; the core notes what it copies itself.
    """
    notes = [] if notes is None else notes
    if value is None:
        return None
    if _is_torch(value):
        return _from_torch(value, name, notes)
    if isinstance(value, np.ma.MaskedArray):
        raise DataError("the array is masked", name, f"fill what is masked, e.g. {name}.filled(numpy.nan)")
    try:
        words = text and isinstance(value, (list, tuple)) and any(isinstance(one, str) for one in value)
        array = np.asarray(_on_host(value, name), object if words else None)  # NumPy makes a word of NaN
    except (ValueError, TypeError, RuntimeError, BufferError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"this is no array: {error}", name, "give rows of equal length, as a NumPy array") from None
    kind = array.dtype.kind
    if text and (kind in "US" or (kind == "O" and any(isinstance(one, str) for one in array.flat))):
        return array
    if kind == "O":
        _refuse_objects(array, name)
    if kind not in "biuf" or array.dtype.itemsize > 8:
        raise DataError(
            f"elements of type {array.dtype} are not read", name, "give float32, float64, integers or booleans"
        )
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
        notes.append(f"{name} was copied: its bytes were in the order of other machines")
    if not array.flags.aligned:
        array = array.copy()
        notes.append(f"{name} was copied: its elements were not aligned")
    return array


def compressed(matrix, name):
    """(indptr, indices, data) of a SciPy matrix in CSR or CSC form; data is None where every entry is 1."""
    data = as_array(matrix.data, name)
    ones = data.size == 0 or bool((data == 1).all())
    return matrix.indptr, matrix.indices, None if ones else data


def is_scipy(value):
    """Is this a sparse matrix or array of SciPy?"""
    return type(value).__module__.startswith("scipy.sparse") and hasattr(value, "tocsr")


def need(module, what):
    """Imports a partner that is not required, with words of what it is needed for. A broken one says so itself."""
    import importlib

    package = module.split(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != package:
            raise
        raise UnsupportedError(
            f"{what} needs {package}, which is not installed", module, f"install it: pip install {package}"
        ) from None
