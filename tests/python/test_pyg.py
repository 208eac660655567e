"""Parity with PyG: the same logits and the same ten losses, models and Data objects both ways."""

import numpy as np
import pytest
from conftest import QUICK

import gneiss

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")


def test_data_there_and_back(small):
    data = small.dataset(edge_weight=small.weight).to_pyg()
    again = gneiss.Dataset.from_pyg(data)
    there, back = small.dataset(edge_weight=small.weight).arrays(), again.arrays()
    for part in range(3):
        assert np.array_equal(there["csc"][part], back["csc"][part])
    assert np.array_equal(there["x"], back["x"]) and np.array_equal(there["y"], back["y"])
    assert np.array_equal(there["train"], back["train"])


@pytest.mark.parametrize(
    "model, settings",
    [
        ("gcn", {"hidden_channels": 8}),
        ("gcn", {"hidden_channels": 8, "num_layers": 3, "norm": "batch", "jk": "cat"}),
        ("sage", {"hidden_channels": 8}),
        ("sage", {"hidden_channels": 8, "aggr": "max", "normalize": True}),
        ("gin", {"hidden_channels": 8, "norm": "none"}),
        ("gat", {"hidden_channels": 8, "heads": 2}),
        ("gat", {"hidden_channels": 8, "heads": 2, "output_heads": 2, "v2": True}),
    ],
)
def test_a_run_is_a_pyg_model(small, model, settings):
    settings = {"num_layers": 2, "norm": "none", "jk": "none", "residual": False, **settings}
    run = gneiss.train(small.dataset(), model, **settings, **QUICK)
    theirs = run.to_pyg()
    with torch.no_grad():
        logits = theirs(torch.from_numpy(small.x), torch.from_numpy(small.edge_index))
    assert np.abs(logits.numpy() - run.logits()).max() < 1e-5


def test_cora_from_arrays(cora):
    """A run's model in PyG has its logits; and PyG, from the same first weights, has the same ten losses."""
    data = gneiss.load(cora).to_pyg()
    dataset = gneiss.Dataset.from_pyg(data)
    settings = {"hidden_channels": 16, "num_layers": 2, "dropout": 0, "input_dropout": 0, "norm": "none", "jk": "none"}
    settings.update(residual=False, lr=0.01, weight_decay=0, patience=0, progress=False)
    run = gneiss.train(dataset, "gcn", epochs=10, **settings)
    theirs = run.to_pyg()
    with torch.no_grad():
        logits = theirs(data.x, data.edge_index)
    assert np.abs(logits.numpy() - run.logits()).max() < 1e-5

    # A learning rate of nothing leaves the first weights where they are: they are PyG's start, too.
    settings["lr"] = 1e-30
    model = gneiss.train(dataset, "gcn", epochs=1, **settings).to_pyg().train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(10):
        optimizer.zero_grad()
        out = model(data.x, data.edge_index)
        loss = torch.nn.functional.cross_entropy(out[data.train_mask], data.y[data.train_mask])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert np.abs(np.array(losses) - run.losses).max() < 1e-4
