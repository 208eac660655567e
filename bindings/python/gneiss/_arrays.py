"""Any array-like of the user becomes a NumPy array that the core can read where it lies, or an error says why not."""

import sys

import numpy as np

from .errors import DataError, UnsupportedError


def _is_torch(value):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _from_torch(value, name):
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


def as_array(value, name, text=False):
    """A NumPy array of numbers in this machine's byte order; None stays None. ``text``: words are taken too."""
    if value is None:
        return None
    if _is_torch(value):
        return _from_torch(value, name)
    if isinstance(value, np.ma.MaskedArray):
        raise DataError("the array is masked", name, f"fill what is masked, e.g. {name}.filled(numpy.nan)")
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, RuntimeError) as error:
        raise DataError(f"this is no array: {error}", name, "give rows of equal length, as a NumPy array") from None
    kind = array.dtype.kind
    if kind in "US" and text:
        return array
    if kind == "O":
        _refuse_objects(array, name)
    if kind not in "biuf" or array.dtype.itemsize > 8:
        raise DataError(
            f"elements of type {array.dtype} are not read", name, "give float32, float64, integers or booleans"
        )
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if not array.flags.aligned:
        array = array.copy()
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
    """Imports a partner that is not required, with words of what it is needed for."""
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.split(".")[0]
        raise UnsupportedError(
            f"{what} needs {package}, which is not installed", module, f"install it: pip install {package}"
        ) from None
