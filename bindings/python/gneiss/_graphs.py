"""What graphs of PyG and DGL hold, as the arguments of a data set."""

import sys

import numpy as np

from ._arrays import as_array
from .errors import DataError, UnsupportedError, UsageError

MASKS = ("train_mask", "val_mask", "test_mask")


def mask_of(value, which, split, notes):
    """One mask: column ``split`` of several; numbers that are all 0 and 1 are booleans. None stays None."""
    value = as_array(value, which)
    if value is None:
        return None
    if value.ndim == 2:
        splits = value.shape[1]
        if not 0 <= split < splits:
            raise UsageError(f"{which} has {splits} columns, there is none {split}", "split", "they count from 0")
        if splits > 1:
            notes.append(f"{which} has {splits} columns: column {split} was taken")
        value = value[:, split]
    if value.dtype.kind != "b":
        other = np.flatnonzero((value != 0) & (value != 1))
        if other.size:
            at = f"element [{other[0]}] is {value[other[0]]}, expected a mask of 0 and 1"
            raise DataError(at, which, "a mask says of each node whether it is in that part")
        value = value.astype(bool)
    return value


def column_as_row(values, name):
    """An array whose single column is a list. None stays None."""
    values = as_array(values, name)
    return values[:, 0] if values is not None and values.ndim == 2 and values.shape[1] == 1 else values


def is_dgl(value):
    """Is this a graph of DGL?"""
    dgl = sys.modules.get("dgl")
    return dgl is not None and isinstance(value, getattr(dgl, "DGLGraph", ()))


def _edges_by_id(graph):
    """(2, edges) in the order of the edges' data. A graph that is stored as CSR alone gives them in another one."""
    source, target, number = (as_array(one, "edge_index") for one in graph.edges(form="all", order=None))
    edges = np.empty((2, source.size), source.dtype)
    edges[0, number], edges[1, number] = source, target
    return edges


def dgl_arguments(graph, x, y, edge_weight, split, notes):
    """The arguments of a data set that a homogeneous graph of DGL fills; ``x``, ``y``, ``edge_weight`` are names."""
    if not hasattr(graph, "ndata") or not hasattr(graph, "edges"):
        kind = type(graph).__name__
        raise UsageError(f"expected a DGL graph, got {kind}", "graph", "give one graph, e.g. dataset[0]")
    if getattr(graph, "is_block", False):
        raise UnsupportedError("the graph is a block of a mini-batch", "graph", "give the whole graph")
    if not getattr(graph, "is_homogeneous", True):
        kinds = f"{len(graph.ntypes)} types of nodes and {len(graph.canonical_etypes)} of edges"
        hint = "dgl.to_homogeneous(graph, ndata=[…]) makes one of it, graph.edge_type_subgraph([…]) cuts one out"
        raise UnsupportedError(f"the graph has {kinds}; data sets have one of each", "graph", hint)

    def named(data, key, argument):
        if key is None:
            return None
        if key not in data:
            there = ", ".join(data) or "nothing"
            raise DataError(f"the graph has no data {key!r}", argument, f"there is {there}; None stands for none")
        return data[key]

    return {
        "edge_index": _edges_by_id(graph),
        "x": named(graph.ndata, x, "x"),
        "y": column_as_row(named(graph.ndata, y, "y"), "y"),
        "edge_weight": column_as_row(named(graph.edata, edge_weight, "edge_weight"), "edge_weight"),
        "num_nodes": graph.num_nodes(),
        **{which: mask_of(graph.ndata.get(which), which, split, notes) for which in MASKS},
    }
