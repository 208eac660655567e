"""Graphs of other libraries: what they hold is taken, what cannot be is said."""

import sys
import types

import numpy as np
import pytest

import gneiss
from gneiss._arrays import need


def csc_of(dataset):
    indptr, indices, values = dataset.arrays()["csc"]
    return indptr.tolist(), indices.tolist(), None if values is None else values.tolist()


def refused(call, *arguments, **keywords):
    with pytest.raises(gneiss.Error) as caught:
        call(*arguments, **keywords)
    assert caught.value.hint, caught.value
    return caught.value.message


def test_graphs_of_networkx():
    networkx = pytest.importorskip("networkx")
    karate = networkx.karate_club_graph()
    dataset = gneiss.Dataset.from_networkx(karate, x=np.eye(34, dtype=np.float32), y="club", weight="weight")
    assert (dataset.num_nodes, dataset.num_edges, dataset.num_classes) == (34, 156, 2)
    assert dataset.info()["symmetric"]
    assert "has no attribute 'none'" in refused(gneiss.Dataset.from_networkx, karate, y="none")
    karate.add_edge(0, 33)
    assert refused(gneiss.Dataset.from_networkx, karate, weight="weight") == "edge (0, 33) has no attribute 'weight'"


def test_tables_of_pandas():
    pandas = pytest.importorskip("pandas")
    nodes = pandas.DataFrame({"a": [1.0, 2, 3], "kind": ["u", "v", "u"]}, index=["p", "q", "r"])
    edges = pandas.DataFrame({"source": ["p", "r"], "target": ["q", "p"]})
    table = gneiss.Dataset.from_pandas(edges, nodes, y="kind")
    assert csc_of(table) == ([0, 1, 2, 2], [2, 0], None)
    assert "columns of nodes that hold no numbers were left out: kind" in gneiss.Dataset.from_pandas(edges, nodes).notes
    from_pandas = gneiss.Dataset.from_pandas
    assert refused(from_pandas, edges, nodes, y="sort") == "the table has no column 'sort'"
    assert refused(from_pandas, edges, nodes, source="from") == "the table has no column 'from'"
    assert "holds no numbers" in refused(from_pandas, edges, nodes, x=["a", "kind"])
    assert "there is none" in refused(from_pandas, edges, y="kind")
    nodes.loc["q", "kind"] = None
    assert from_pandas(edges, nodes, y="kind").arrays()["y"].tolist() == [0, -1, 0]
    nodes["size"] = pandas.array([7, None, 4], dtype="Int64")
    sized = from_pandas(edges, nodes, x=["a"], y="size")
    assert sized.arrays()["y"].tolist() == [1, -1, 0] and sized.arrays()["class_names"] == ["4", "7"]
    series = gneiss.Dataset([[0], [1]], nodes[["a"]], nodes["kind"], train_mask=nodes["a"] > 1)
    assert series.arrays()["y"].tolist() == [0, -1, 0] and series.arrays()["train"].tolist() == [1, 2]
    assert refused(from_pandas, np.zeros((3, 2))) == "expected a table of pandas, got ndarray"
    edges.loc[1, "target"] = "z"
    assert refused(from_pandas, edges, nodes) == "row 1: target 'z' is no row of nodes"
    edges.loc[1, "target"] = None
    assert refused(from_pandas, edges, nodes) == "row 1: target is missing"


def test_what_a_dgl_graph_offers_is_taken(small):
    class Graph:
        """The part of dgl.DGLGraph that is asked for."""

        ndata = {"feat": small.x, "label": small.y, "train_mask": small.train, "val_mask": small.val}
        edata = {"w": small.weight}

        def edges(self, form, order):
            assert form == "all" and order is None
            turn = np.arange(300)[::-1]
            return small.edge_index[0][turn], small.edge_index[1][turn], turn

        def num_nodes(self):
            return 60

    assert csc_of(gneiss.Dataset.from_dgl(Graph(), edge_weight="w")) == csc_of(small.dataset(edge_weight=small.weight))
    assert (gneiss.Dataset.from_dgl(Graph()).arrays()["y"] == small.y).all()
    assert "the graph has no data 'x'" in refused(gneiss.Dataset.from_dgl, Graph(), x="x")
    assert "the graph has no data 'v'" in refused(gneiss.Dataset.from_dgl, Graph(), edge_weight="v")
    assert gneiss.Dataset.from_dgl(Graph(), x=None, y=None).num_features == 0
    assert refused(gneiss.Dataset.from_dgl, 5) == "expected a DGL graph, got int"


def test_what_a_pyg_object_lacks_is_absent(small):
    data = types.SimpleNamespace(edge_index=small.edge_index, num_nodes=60)
    assert csc_of(gneiss.Dataset.from_pyg(data)) == csc_of(small.dataset())
    assert gneiss.Dataset.from_pyg(data).notes == gneiss.Dataset(small.edge_index).notes
    data.edge_attr = np.zeros((300, 2))
    data.train_mask = np.stack([small.train, ~small.train], axis=1)
    dataset = gneiss.Dataset.from_pyg(data, split=1)
    assert (dataset.arrays()["train"] == np.flatnonzero(~small.train)).all()
    assert "train_mask has 2 columns: column 1 was taken" in dataset.notes
    assert any("edge_attr was left out" in note for note in dataset.notes)
    assert "train_mask has 2 columns, there is none 2" in refused(gneiss.Dataset.from_pyg, data, split=2)
    data.train_mask = small.train.astype(np.uint8)
    assert (gneiss.Dataset.from_pyg(data).arrays()["train"] == np.flatnonzero(small.train)).all()
    data.train_mask[3] = 2
    assert refused(gneiss.Dataset.from_pyg, data) == "element [3] is 2, expected a mask of 0 and 1"
    assert "got list" in refused(gneiss.Dataset.from_pyg, [data])
    sparse = types.SimpleNamespace(adj_t=None, num_nodes=60)
    assert "has no edge_index" in refused(gneiss.Dataset.from_pyg, sparse)
    assert "got list" in refused(gneiss.Dataset.from_scipy, [[0, 1]])


def test_a_pyg_object_of_several_types_is_refused():
    data = pytest.importorskip("torch_geometric.data")
    with pytest.raises(gneiss.UsageError, match="got HeteroData") as caught:
        gneiss.Dataset.from_pyg(data.HeteroData())
    assert "to_homogeneous()" in caught.value.hint


def test_a_partner_that_is_broken_says_so_itself(tmp_path, monkeypatch):
    (tmp_path / "halfpackage.py").write_text("import halfpackage_part")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="halfpackage_part"):
        need("halfpackage", "a test")
    assert "halfpackage" not in sys.modules
    with pytest.raises(gneiss.UnsupportedError, match="a test needs nopackage, which is not installed"):
        need("nopackage.part", "a test")
