"""Graphs of DGL itself. Where it is not installed, test_partners.py holds the part of it that is asked for."""

import numpy as np
import pytest
from conftest import QUICK

import gneiss

dgl = pytest.importorskip("dgl")
import torch  # noqa: E402


def csc_of(dataset):
    indptr, indices, values = dataset.arrays()["csc"]
    return indptr.tolist(), indices.tolist(), None if values is None else values.tolist()


def refused(graph, **keywords):
    with pytest.raises(gneiss.Error) as caught:
        gneiss.Dataset.from_dgl(graph, **keywords)
    assert caught.value.hint, caught.value
    return caught.value.message


def graph_of(small, kind=torch.int64):
    """``small`` as DGL's users have it."""
    source, target = (torch.from_numpy(ends).to(kind) for ends in small.edge_index)
    graph = dgl.graph((source, target), num_nodes=60)
    graph.ndata["feat"], graph.ndata["label"] = torch.from_numpy(small.x), torch.from_numpy(small.y)
    for part in ("train", "val", "test"):
        graph.ndata[f"{part}_mask"] = torch.from_numpy(getattr(small, part))
    graph.edata["w"] = torch.from_numpy(small.weight)
    return graph


@pytest.mark.parametrize("kind", [torch.int64, torch.int32])
def test_a_graph_is_the_data_set_of_its_arrays(small, kind):
    graph = graph_of(small, kind)
    ours, arrays = gneiss.Dataset.from_dgl(graph, edge_weight="w"), small.dataset(edge_weight=small.weight)
    assert csc_of(ours) == csc_of(arrays)
    for part in ("x", "y", "train", "val", "test"):
        assert np.array_equal(ours.arrays()[part], arrays.arrays()[part]), part
    assert ours.arrays()["x"].__array_interface__["data"][0] == graph.ndata["feat"].data_ptr()
    assert gneiss.train(ours, **QUICK).losses.tolist() == gneiss.train(arrays, **QUICK).losses.tolist()


def test_a_graph_is_trained_on_as_it_is(small):
    ours = gneiss.train(graph_of(small), **QUICK)
    assert ours.losses.tolist() == gneiss.train(small.dataset(), **QUICK).losses.tolist()


def test_edges_stay_with_their_weights_in_any_stored_form(small):
    expected = csc_of(small.dataset(edge_weight=small.weight))
    for form in ("coo", "csr", "csc"):
        stored = graph_of(small).formats(form)
        assert csc_of(gneiss.Dataset.from_dgl(stored, edge_weight="w")) == expected


def test_masks_of_numbers_and_of_columns(small):
    graph = graph_of(small)
    train = torch.from_numpy(small.train)
    graph.ndata["train_mask"] = train.to(torch.uint8)
    assert (gneiss.Dataset.from_dgl(graph).arrays()["train"] == np.flatnonzero(small.train)).all()
    graph.ndata["train_mask"] = torch.stack([train, ~train], 1)
    dataset = gneiss.Dataset.from_dgl(graph, split=1)
    assert (dataset.arrays()["train"] == np.flatnonzero(~small.train)).all()
    assert "train_mask has 2 columns: column 1 was taken" in dataset.notes
    assert "there is none 2" in refused(graph, split=2)


def test_what_is_no_data_set_is_refused(small):
    kinds = dgl.heterograph({("user", "likes", "item"): ([0, 1], [1, 0]), ("user", "knows", "user"): ([0], [1])})
    assert refused(kinds) == "the graph has 2 types of nodes and 2 of edges; data sets have one of each"
    one_way = gneiss.Dataset.from_dgl(kinds.edge_type_subgraph(["knows"]), x=None, y=None)
    assert (one_way.num_nodes, one_way.num_edges) == (2, 1)
    together = gneiss.Dataset.from_dgl(dgl.to_homogeneous(kinds), x=None, y=None)
    assert (together.num_nodes, together.num_edges) == (4, 3)
    assert refused(dgl.to_block(graph_of(small))) == "the graph is a block of a mini-batch"
    graph = graph_of(small)
    del graph.ndata["feat"]
    assert refused(graph) == "the graph has no data 'feat'"


def test_a_run_has_the_logits_of_graph_conv(small):
    """Two GraphConv with the weights of a run give its logits, on a symmetric graph, where both norms are the same."""
    graph = dgl.add_self_loop(dgl.to_simple(dgl.to_bidirected(dgl.remove_self_loop(graph_of(small)), copy_ndata=True)))
    assert graph.ndata["feat"].shape == (60, 3)
    run = gneiss.train(graph, "gcn", hidden_channels=8, num_layers=2, self_loops=False, defaults="plain", **QUICK)
    weights = run.state_dict(torch=True)
    rows = graph.ndata["feat"]
    for layer, (width_in, width_out) in enumerate([(3, 8), (8, 3)]):
        conv = dgl.nn.GraphConv(width_in, width_out, norm="both")
        state = {"weight": weights[f"convs.{layer}.lin.weight"].T, "bias": weights[f"convs.{layer}.bias"]}
        conv.load_state_dict(state, strict=True)
        with torch.no_grad():
            rows = conv(graph, torch.relu(rows) if layer else rows)
    assert np.abs(rows.numpy() - run.logits()).max() < 1e-5
