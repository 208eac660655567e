"""Columns of pandas tables as features and labels."""

import numpy as np

from ._warn import warn
from .errors import DataError, UsageError


def column_of(table, name, argument):
    """A column of a table of pandas."""
    if not hasattr(table, "columns"):
        kind = type(table).__name__
        raise UsageError(f"expected a table of pandas, got {kind}", argument, "gneiss.Dataset takes arrays")
    if name not in table.columns:
        there = ", ".join(str(one) for one in table.columns)
        raise DataError(f"the table has no column {name!r}", argument, f"its columns are {there}")
    return table[name]


def features_of(nodes, x, y, notes):
    """Columns of a table of nodes: those that ``x`` names, else all of numbers but ``y``. None if there are none."""
    if x is None:
        x = [name for name in nodes.select_dtypes("number").columns if name != y]
        left = [str(name) for name in nodes.columns if name != y and name not in x]
        if left:
            notes.append(f"columns of nodes that hold no numbers were left out: {', '.join(left)}")
    if len(x) == 0:
        return None
    columns = [column_of(nodes, name, "x") for name in x]
    try:
        return np.stack([column.to_numpy(np.float32) for column in columns], axis=1)
    except (TypeError, ValueError) as error:
        raise DataError(f"a column of features holds no numbers: {error}", "x", "x=[…] names the columns") from None


def _is_missing(value):
    return value is None or type(value).__name__ == "NAType" or value != value


def words_of(y):
    """Labels and names of classes of an array, which may hold words, and None or NaN where a node has none."""
    if y is None or y.dtype.kind not in "USO":
        return y, []
    if y.ndim != 1:
        raise DataError(f"labels of text have the shape {y.shape}", "y", "give one word a node")
    there = np.array([not _is_missing(one) for one in y.tolist()], bool)
    for at in np.flatnonzero(there):
        if y.dtype.kind == "O" and not isinstance(y[at], str):
            kind = type(y[at]).__name__
            message = f"element [{at}] is {y[at]!r}, of type {kind}, among words"
            raise DataError(message, "y", "give words or numbers alone")
    return _numbered(y[there].astype(str), there)


def _numbered(words, there):
    names, numbers = np.unique(words, return_inverse=True)
    labels = np.full(there.size, -1, np.int64)
    labels[there] = numbers
    return labels, [str(name) for name in names]


def labels_of(column):
    """Labels and names of classes of a column of pandas; what is missing has no class."""
    there = column.notna().to_numpy()
    kind = getattr(column.dtype, "kind", "O")
    if kind == "f":
        return column.to_numpy(np.float64, na_value=np.nan), []
    if kind in "iub":  # with something missing it is a type of pandas, as NumPy's have no missing integers
        labels = np.full(there.size, -1, np.int64)
        labels[there] = column[there].to_numpy(np.int64)
        return labels, []
    return _numbered(column[there].to_numpy().astype(str), there)


def warn_of_floats(y):
    """Classes that were stored as floats, for room for NaN, look like amounts."""
    if y is None or y.dtype.kind != "f" or (y.ndim == 2 and y.shape[1] != 1):
        return
    known = y[~np.isnan(y)]
    if known.size and known.min() >= -1 and np.array_equal(known, np.floor(known)):
        warn(
            "y holds whole numbers as floats and is taken for a regression; label_kind='class' takes them for classes, "
            "label_kind='regression' says that they are amounts"
        )
