"""Columns of pandas tables as features and labels."""

import numpy as np

from .errors import DataError


def column_of(table, name, argument):
    """A column of a table of pandas."""
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


def labels_of(column):
    """Labels and names of classes; a word that is missing is no class."""
    labels = column.to_numpy()
    if labels.dtype.kind in "biuf":
        return labels, []
    there = column.notna().to_numpy()
    names, numbers = np.unique(labels[there].astype(str), return_inverse=True)
    labels = np.full(len(column), -1, np.int64)
    labels[there] = numbers
    return labels, [str(name) for name in names]
