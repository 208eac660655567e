"""Data sets: made of arrays, loaded from files, taken from and given to other libraries."""

import json
import operator
import os

import numpy as np

from . import _core, _process
from ._arrays import as_array, compressed, is_scipy, need
from ._graphs import MASKS, column_as_row, dgl_arguments, is_dgl, mask_of
from ._settings import describe, pairs
from ._tables import column_of, features_of, labels_of, warn_of_floats, words_of
from ._warn import say_copies
from ._words import in_python
from .errors import DataError, UsageError


def _node_count(num_nodes):
    """-1, which is the core's word for none given, or a whole number from 0."""
    if num_nodes is None:
        return -1
    try:
        count = operator.index(num_nodes)
    except TypeError:
        count = -1
    if count < 0:
        hint = "None counts them from the arrays"
        raise UsageError(f"expected a number of nodes, got {num_nodes!r}", "num_nodes", hint)
    return count


def _labels(y, class_names, kind):
    """Words become numbers of classes, in the order of the words. What is missing has no class."""
    if hasattr(y, "isna") and hasattr(y, "dtype"):
        y, names = labels_of(y)
    else:
        y, names = words_of(as_array(y, "y", text=True))
    if names and class_names:
        raise UsageError("y holds the names of the classes itself", "class_names", "leave class_names out")
    if kind == "auto":
        warn_of_floats(y)
    return y, names or class_names


class Dataset:
    """A graph with features, labels and a split, in memory.

    edge_index: integers of shape (2, edges); row 0 has the sources, row 1 the destinations. Edges go one way:
        ``to_undirected=True`` of :func:`train` adds the other.
    edge_weight: one number an edge.
    x: features (nodes, width); float32 row by row is read where it lies and must not change while it is in use.
        A SciPy matrix stays sparse. What is copied, :class:`CopyWarning` says, and ``notes``.
    y: labels. (nodes,) of integers or words are classes (-1: unlabelled), of floats a regression; (nodes, columns) of
        0 and 1 are one class a node if each row has exactly one 1, else many labels; ``label_kind`` overrules.
    train_mask, val_mask, test_mask: booleans of each node, or node numbers. Without them a split is drawn.
    csr, csc: the edges as a compressed matrix (indptr, indices, values or None) in place of edge_index. Row u of csr
        lists the destinations of u; row v of csc lists the sources of v. csc with int64 indptr and ascending int32
        indices is read where it lies.
    """

    def __init__(
        self,
        edge_index=None,
        x=None,
        y=None,
        *,
        edge_weight=None,
        train_mask=None,
        val_mask=None,
        test_mask=None,
        num_nodes=None,
        label_kind="auto",
        class_names=None,
        name="arrays",
        csr=None,
        csc=None,
    ):
        sparse_x, columns = None, 0
        self._notes = []
        if x is not None and is_scipy(x):
            rows = x.tocsr()
            sparse_x, columns = (rows.indptr, rows.indices, as_array(rows.data, "x")), int(rows.shape[1])
            x = None
        y, class_names = _labels(y, list(class_names) if class_names is not None else [], label_kind)

        def rows_of(rows, argument):
            if rows is None:
                return None
            if len(rows) != 3:
                raise UsageError(
                    f"expected (indptr, indices, values), got {len(rows)} items", argument, "values may be None"
                )
            names = ("indptr", "indices", "data")
            return tuple(as_array(part, f"{argument}.{what}", self._notes) for part, what in zip(rows, names))

        _process.before_work()
        self._core = _core.dataset(
            {
                "name": str(name),
                "num_nodes": _node_count(num_nodes),
                "edge_index": as_array(edge_index, "edge_index"),
                "edge_weight": as_array(edge_weight, "edge_weight"),
                "csr": rows_of(csr, "csr"),
                "csc": rows_of(csc, "csc"),
                "x": as_array(x, "x", self._notes),
                "sparse_x": sparse_x,
                "sparse_x_columns": columns,
                "y": y,
                "label_kind": label_kind,
                "class_names": [str(one) for one in class_names],
                "train_mask": as_array(train_mask, "train_mask"),
                "val_mask": as_array(val_mask, "val_mask"),
                "test_mask": as_array(test_mask, "test_mask"),
            }
        )
        say_copies(self.notes)

    @classmethod
    def _of(cls, core):
        dataset = cls.__new__(cls)
        dataset._core = core
        dataset._notes = []
        return dataset

    def __reduce__(self):
        arrays = self.arrays()
        arrays["name"] = self.name
        arrays["num_nodes"] = self.num_nodes
        return _of_arrays, (arrays, self.notes)

    name = property(lambda self: self._core.name, doc="What the data set is called.")
    num_nodes = property(lambda self: self._core.num_nodes)
    num_edges = property(lambda self: self._core.num_edges, doc="Directed edges.")
    num_features = property(lambda self: self._core.num_features)
    num_classes = property(lambda self: self._core.num_classes, doc="Classes, labels or outputs.")
    notes = property(
        lambda self: self._notes + [in_python(note) for note in self._core.notes],
        doc="What was done to the data on the way in.",
    )

    def info(self):
        """Counts and properties, as a dict."""
        return json.loads(self._core.to_json())

    def validate(self, allow_nan=False):
        """[(is_error, message)]: everything that a training would stumble over."""
        _process.before_work()
        return self._core.validate(allow_nan)

    def save(self, path, force=False):
        """Writes a Gneiss folder, which :func:`load` and the command read."""
        _process.before_work()
        self._core.save(os.fspath(path), force)

    def arrays(self):
        """The arrays of the data set, read only: csc (indptr, indices, values or None), x, y, train, val, test …"""
        return self._core.arrays()

    def edge_index(self):
        """The edges as integers of shape (2, edges), by destination."""
        indptr, indices, _ = self._core.arrays()["csc"]
        targets = np.repeat(np.arange(self.num_nodes, dtype=np.int64), np.diff(indptr))
        return np.stack([indices.astype(np.int64), targets])

    def __repr__(self):
        return (
            f"gneiss.Dataset('{self.name}', nodes={self.num_nodes}, edges={self.num_edges}, "
            f"features={self.num_features}, classes={self.num_classes})"
        )

    def __str__(self):
        return self._core.describe()

    def _repr_html_(self):
        from ._html import table

        info = self.info()
        split = info["split"]
        return table(
            f"Dataset {self.name}",
            [
                ("nodes", f"{info['nodes']:,}"),
                ("edges", f"{info['edges']:,}" + (", symmetric" if info["symmetric"] else "")),
                ("features", f"{info['features']:,}" + (", sparse" if info["features_sparse"] else "")),
                ("labels", f"{info['labels']}, {info['classes']:,}"),
                ("split", f"{split['train']:,} train, {split['val']:,} val, {split['test']:,} test"),
            ],
        )

    @classmethod
    def from_pyg(cls, data, split=0, name=None):
        """From a ``torch_geometric.data.Data``. Of masks with several columns, column ``split`` is taken."""
        if not hasattr(data, "edge_index") and not hasattr(data, "adj_t"):
            kind = type(data).__name__
            hint = "one graph with one type of nodes and edges, e.g. dataset[0] or hetero_data.to_homogeneous()"
            raise UsageError(f"expected a torch_geometric Data object, got {kind}", "data", hint)
        if getattr(data, "edge_index", None) is None:
            raise UsageError("the Data object has no edge_index", "data", "undo the transform ToSparseTensor")
        notes = []
        weight = getattr(data, "edge_weight", None)
        if getattr(data, "edge_attr", None) is not None:
            notes.append("edge_attr was left out: edges have weights (edge_weight) and no features")
        dataset = cls(
            data.edge_index,
            getattr(data, "x", None),
            column_as_row(getattr(data, "y", None), "y"),
            edge_weight=weight,
            num_nodes=data.num_nodes,
            name=name or "pyg",
            **{which: mask_of(getattr(data, which, None), which, split, notes) for which in MASKS},
        )
        dataset._notes += notes
        return dataset

    @classmethod
    def from_dgl(cls, graph, x="feat", y="label", edge_weight=None, split=0, name=None):
        """From a homogeneous DGL graph; ``x``, ``y`` and ``edge_weight`` name its data, masks go by their names.

        None for a name: the graph has no such data. Of masks with several columns, column ``split`` is taken.
        """
        notes = []
        dataset = cls(name=name or "dgl", **dgl_arguments(graph, x, y, edge_weight, split, notes))
        dataset._notes += notes
        return dataset

    @classmethod
    def from_scipy(cls, adjacency, x=None, y=None, name=None, **masks):
        """From a sparse adjacency matrix: entry (i, j) is the edge i -> j; entries other than 1 are its weight."""
        if not is_scipy(adjacency):
            kind, hint = type(adjacency).__name__, "scipy.sparse.csr_matrix makes one"
            raise UsageError(f"expected a SciPy sparse matrix, got {kind}", "adjacency", hint)
        if adjacency.shape[0] != adjacency.shape[1]:
            raise DataError(f"the matrix has the shape {adjacency.shape}", "adjacency", "an adjacency matrix is square")
        in_edges = adjacency.format == "csc"
        rows = adjacency if in_edges else adjacency.tocsr()
        return cls(
            x=x, y=y, name=name or "scipy", **{"csc" if in_edges else "csr": compressed(rows, "adjacency")}, **masks
        )

    @classmethod
    def from_networkx(cls, graph, x=None, y=None, weight=None, name=None, **masks):
        """From a NetworkX graph, nodes in the order of ``graph.nodes``.

        ``x``: an attribute of the nodes, a list of them, or an array; ``y`` likewise; ``weight``: one of the edges.
        """
        nodes = list(graph.nodes)
        index = {node: i for i, node in enumerate(nodes)}
        edges = list(graph.edges())
        pairs_ = np.array([(index[u], index[v]) for u, v in edges], dtype=np.int64).reshape(-1, 2).T
        weights = None
        if weight is not None:
            found = [value for _, _, value in graph.edges(data=weight)]
            for edge, value in zip(edges, found):
                if value is None:
                    hint = "give the attribute to every edge"
                    raise DataError(f"edge {edge!r} has no attribute '{weight}'", "weight", hint)
            weights = as_array(found, "weight")
        if not graph.is_directed():
            both = pairs_[0] != pairs_[1]
            pairs_ = np.concatenate([pairs_, pairs_[::-1][:, both]], axis=1)
            weights = None if weights is None else np.concatenate([weights, weights[both]])

        def attribute(name, argument):
            try:
                return [graph.nodes[node][name] for node in nodes]
            except KeyError:
                missing = next(node for node in nodes if name not in graph.nodes[node])
                raise DataError(
                    f"node {missing!r} has no attribute '{name}'", argument, "give the attribute to every node"
                ) from None

        if isinstance(x, str):
            x = as_array(attribute(x, "x"), "x").astype(np.float32)
        elif isinstance(x, (list, tuple)) and x and all(isinstance(one, str) for one in x):
            x = np.stack([as_array(attribute(one, "x"), "x").astype(np.float32) for one in x], axis=1)
        if x is not None and not is_scipy(x) and np.ndim(x) == 1:
            x = as_array(x, "x").astype(np.float32)[:, None]
        if isinstance(y, str):
            y = np.asarray(attribute(y, "y"))
        return cls(pairs_, x, y, edge_weight=weights, num_nodes=len(nodes), name=name or "networkx", **masks)

    @classmethod
    def from_pandas(
        cls, edges, nodes=None, source="source", target="target", weight=None, x=None, y=None, name=None, **masks
    ):
        """From a table of edges and, if there is one, a table of nodes whose index names them.

        ``x`` names the columns of features (default: all columns of numbers but ``y``), ``y`` the one of labels.
        """
        pandas = need("pandas", "Dataset.from_pandas")
        if nodes is None and not (x is None and y is None):
            raise UsageError("x and y name columns of a table of nodes, and there is none", "nodes", "give nodes")
        columns = [column_of(edges, source, "source"), column_of(edges, target, "target")]
        for column in columns:
            if column.isna().any():
                at = int(np.argmax(column.isna()))
                raise DataError(f"row {at}: {column.name} is missing", "edges", "leave it out: edges.dropna()")
        if nodes is None:
            ids = pandas.Index(pandas.unique(pandas.concat(columns, ignore_index=True)))
        else:
            ids = nodes.index
            if not ids.is_unique:
                raise DataError(f"the index names node {ids[ids.duplicated()][0]!r} twice", "nodes", "one row a node")
        ends = []
        for column in columns:
            rows = ids.get_indexer(column)
            if (rows < 0).any():
                at = int(np.argmax(rows < 0))
                raise DataError(
                    f"row {at}: {column.name} {column.iloc[at]!r} is no row of nodes", "edges", "add the node"
                )
            ends.append(rows)
        features, labels, notes = None, None, []
        if nodes is not None:
            features = features_of(nodes, x, y, notes)
            if y is not None:
                labels = column_of(nodes, y, "y")
        dataset = cls(
            np.stack(ends).astype(np.int64),
            features,
            labels,
            edge_weight=None if weight is None else column_of(edges, weight, "weight").to_numpy(),
            num_nodes=len(ids),
            name=name or "pandas",
            **masks,
        )
        dataset._notes += notes
        return dataset

    def to_pyg(self):
        """As a ``torch_geometric.data.Data``."""
        torch = need("torch", "to_pyg")
        geometric = need("torch_geometric.data", "to_pyg")
        arrays = self._core.arrays()

        def tensor(array):
            return torch.from_numpy(np.array(array))

        data = geometric.Data(edge_index=tensor(self.edge_index()), num_nodes=self.num_nodes)
        if arrays["csc"][2] is not None:
            data.edge_weight = tensor(arrays["csc"][2])
        if arrays["x"] is not None:
            data.x = tensor(arrays["x"])
        elif arrays["sparse_x"] is not None:
            dense = np.zeros((self.num_nodes, self.num_features), np.float32)
            indptr, indices, values = arrays["sparse_x"]
            dense[np.repeat(np.arange(self.num_nodes), np.diff(indptr)), indices] = values
            data.x = tensor(dense)
        if arrays["y"] is not None:
            y = tensor(arrays["y"])
            data.y = y.long() if arrays["y"].dtype.kind == "i" else y
        for part in ("train", "val", "test"):
            mask = np.zeros(self.num_nodes, bool)
            mask[arrays[part]] = True
            data[f"{part}_mask"] = tensor(mask)
        return data


def load(what, **settings):
    """Loads a data set: a file, a folder, or a generator's name such as "karate" or "dcsbm:nodes=1000,classes=5"."""
    given = [("data.name", os.fspath(what), "gneiss.load")]
    _process.before_work()
    return Dataset._of(_core.load(given + pairs(settings, only="data.")))


describe(load, only="data.")


def _of_arrays(arrays, notes):
    """What was pickled, again: a data set of the arrays of :meth:`Dataset.arrays`."""
    parts = {f"{part}_mask": arrays[part] for part in ("train", "val", "test")}
    if not any(part.size for part in parts.values()):
        parts = dict.fromkeys(parts)
    given = {
        "name": arrays["name"],
        "num_nodes": arrays["num_nodes"],
        "edge_index": None,
        "edge_weight": None,
        "csr": None,
        "csc": arrays["csc"],
        "x": arrays["x"],
        "sparse_x": arrays["sparse_x"],
        "sparse_x_columns": arrays["sparse_x_columns"],
        "y": arrays["y"],
        "label_kind": arrays["label_kind"],
        "class_names": arrays["class_names"],
        **parts,
    }
    _process.before_work()
    dataset = Dataset._of(_core.dataset(given))
    dataset._notes = notes
    return dataset


def core_of(data):
    """The data set behind what a user calls data."""
    if isinstance(data, Dataset):
        return data
    if isinstance(data, (str, os.PathLike)):
        return load(data)
    if hasattr(data, "edge_index") and hasattr(data, "num_nodes"):
        return Dataset.from_pyg(data)
    if is_dgl(data):
        return Dataset.from_dgl(data)
    raise UsageError(
        f"expected a gneiss.Dataset, a name or a path, got {type(data).__name__}",
        "data",
        "gneiss.Dataset(edge_index=…, x=…, y=…) makes one of arrays; "
        "from_scipy, from_networkx, from_pandas of others",
    )
