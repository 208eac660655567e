"""Weights in: trainings and models that begin with given ones. Steps by hand have the bits of a training."""

import threading

import numpy as np
import pytest
from conftest import QUICK

import gneiss

PLAIN = {"hidden_channels": 8, "defaults": "plain", **QUICK}


def same(ours, theirs):
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        assert np.array_equal(value, theirs[name]), name


@pytest.mark.parametrize(
    "model, settings",
    [
        ("gcn", {"lr_schedule": "cosine"}),
        ("sage", {"reorder": "degree"}),
        ("gin", {"norm": "batch"}),
        ("gat", {"heads": 2, "seed": 4}),
    ],
)
def test_steps_have_the_bits_of_a_training(small, model, settings):
    settings = {**PLAIN, **settings}
    run = gneiss.train(small.dataset(), model, **settings)
    settings.pop("progress")
    ours = gneiss.Model(small.dataset(), model, **settings)
    losses, scores = [], []
    for _ in range(5):
        losses.append(ours.step())
        scores.append(ours.evaluate())
        if len(losses) == 1 + int(np.argmax(run.history.val)):
            same(ours.state_dict(), run.state_dict())
    assert losses == run.losses.tolist() and ours.steps == 5
    assert [one["val"] for one in scores] == run.history.val.tolist()
    assert [one["val_loss"] for one in scores] == run.history.val_loss.tolist()
    assert ours.metric == run.metric and repr(ours) == "gneiss.Model(5 steps)"
    ours.load_state_dict(run)
    assert np.abs(ours.logits() - run.logits()).max() < 1e-5
    assert np.abs(ours.embed() - run.embed()).max() < 1e-5


def test_a_rate_of_ones_own(small):
    model = gneiss.Model(small.dataset(), hidden_channels=8, weight_decay=0, dropout=0, threads=1)
    before = model.state_dict()
    assert model.step(0) == model.step(0)
    same(model.state_dict(), before)
    first = model.step(0.1)
    assert model.step() < first


def test_threads_step_one_after_the_other(small):
    model, alone = (gneiss.Model(small.dataset(), hidden_channels=8, threads=1) for _ in range(2))
    threads = [threading.Thread(target=lambda: [model.step() for _ in range(20)]) for _ in range(2)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    [alone.step() for _ in range(40)]
    same(model.state_dict(), alone.state_dict())


def test_what_a_model_does_not_do_is_said(small):
    with pytest.raises(gneiss.UnsupportedError, match="batch_size is not for a model that is stepped"):
        gneiss.Model(small.dataset(), batch_size=16)
    with pytest.raises(gneiss.UsageError, match="there is no setting 'hiden_channels'"):
        gneiss.Model(small.dataset(), hiden_channels=4)


def test_weights_of_another_model_are_refused_by_name(small, tmp_path):
    run = gneiss.train(small.dataset(), **PLAIN)
    weights = run.state_dict()
    wider = {**PLAIN, "hidden_channels": 16}
    match = r"'convs.0.lin.weight' has shape \[8, 3\], the model needs \[16, 3\]"
    with pytest.raises(gneiss.DataError, match=match) as caught:
        gneiss.train(small.dataset(), init=run, **wider)
    assert caught.value.hint and caught.value.where.startswith(run.folder)
    model = gneiss.Model(small.dataset(), hidden_channels=8, defaults="plain")
    before = model.state_dict()
    for change, match in (
        ({"convs.1.bias": None}, "the weights lack 'convs.1.bias'"),
        ({"convs.7.bias": np.zeros(3, np.float32)}, "the model has no 'convs.7.bias'"),
        ({"convs.1.bias": np.zeros(3, np.int16)}, "no type that weights have"),
        ({"convs.1.bias": np.zeros(4, np.float32)}, r"'convs.1.bias' has shape \[4\]"),
    ):
        changed = {name: value for name, value in {**weights, **change}.items() if value is not None}
        for load in (model.load_state_dict, lambda w: gneiss.train(small.dataset(), init=w, **PLAIN)):
            with pytest.raises(gneiss.DataError, match=match) as caught:
                load(changed)
            assert caught.value.hint
    same(model.state_dict(), before)
    with pytest.raises(gneiss.UsageError, match="expected weights, got int"):
        gneiss.train(small.dataset(), init=5, **PLAIN)
    with pytest.raises(gneiss.DataError, match="nowhere"):
        gneiss.train(small.dataset(), init=tmp_path / "nowhere", **PLAIN)


def test_a_training_begins_with_what_it_is_given(small, tmp_path):
    first = gneiss.train(small.dataset(), **PLAIN)
    model = gneiss.Model(small.dataset(), init=first, hidden_channels=8, defaults="plain", threads=1)
    loss = model.step()
    for init in (first, first.save(tmp_path / "run"), first.state_dict(), first.folder + "/model.safetensors"):
        assert gneiss.train(small.dataset(), init=init, **PLAIN).losses[0] == loss
    doubled = {name: value.astype(np.float64) for name, value in first.state_dict().items()}
    assert gneiss.train(small.dataset(), init=doubled, **PLAIN).losses[0] == loss
    assert gneiss.train(small.dataset(), **PLAIN).losses[0] != loss
    runs = gneiss.train(small.dataset(), init=first, runs=2, dropout=0, **PLAIN).history
    assert runs.loss[runs.epoch == 1][0] == runs.loss[runs.epoch == 1][1]


class TestPyg:
    """Models of torch_geometric.nn."""

    @pytest.fixture(autouse=True)
    def _partners(self):
        self.torch = pytest.importorskip("torch")
        self.models = pytest.importorskip("torch_geometric.nn.models")
        self.torch.manual_seed(3)

    def logits(self, model, small):
        with self.torch.no_grad():
            return model(self.torch.from_numpy(small.x), self.torch.from_numpy(small.edge_index)).numpy()

    @pytest.mark.parametrize(
        "kind, settings",
        [
            ("GCN", {"dropout": 0.3}),
            ("GCN", {"norm": "batch_norm", "jk": "cat", "act": "elu"}),
            ("GraphSAGE", {"aggr": "max", "normalize": True, "project": True}),
            ("GIN", {"norm": "layer_norm", "train_eps": True, "eps": 0.5}),
            ("GIN", {"eps": 0.25}),
            ("GAT", {"heads": 2, "act": "tanh", "bias": False}),
            ("GAT", {"heads": 2, "v2": True, "jk": "max"}),
        ],
    )
    def test_a_model_goes_there_and_back(self, small, kind, settings):
        theirs = getattr(self.models, kind)(3, 8, 3, 3, **settings)
        with self.torch.no_grad():
            for parameter in theirs.parameters():
                parameter += 0.1 * self.torch.randn_like(parameter)
        theirs.eval()
        expected = self.logits(theirs, small)
        ours = gneiss.Model(small.dataset(), init=theirs)
        assert np.abs(ours.logits() - expected).max() < 1e-5
        if settings.get("norm") == "batch_norm":  # one epoch moves the running statistics
            return
        run = gneiss.train(small.dataset(), init=theirs, epochs=1, lr=1e-30, weight_decay=0, progress=False)
        assert np.abs(run.logits() - expected).max() < 1e-5
        assert np.abs(self.logits(run.to_pyg(), small) - expected).max() < 1e-5

    def test_ten_losses_from_their_weights(self, small):
        theirs = self.models.GCN(3, 8, 2, 3)
        run = gneiss.train(small.dataset(), init=theirs, epochs=10, lr=0.01, weight_decay=0, patience=0, progress=False)
        optimizer = self.torch.optim.Adam(theirs.parameters(), lr=0.01)
        x, edge_index = self.torch.from_numpy(small.x), self.torch.from_numpy(small.edge_index)
        rows, y = self.torch.from_numpy(small.train), self.torch.from_numpy(small.y)
        losses = []
        for _ in range(10):
            optimizer.zero_grad()
            loss = self.torch.nn.functional.cross_entropy(theirs(x, edge_index)[rows], y[rows])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert np.abs(np.array(losses) - run.losses).max() < 1e-4

    def test_a_model_that_no_builtin_is(self, small):
        for settings, match in (
            ({"improved": True}, "improved=True"),
            ({"act": "gelu"}, "act='GELU'"),
            ({"norm": "graph_norm"}, "norm='graph_norm'"),
            ({"jk": "lstm"}, "jk='lstm'"),
        ):
            theirs = self.models.GCN(3, 8, 2, 3, **settings)
            with pytest.raises(gneiss.UnsupportedError, match=match) as caught:
                gneiss.train(small.dataset(), init=theirs, **QUICK)
            assert caught.value.hint
        match = r"'convs.0.lin.weight' has shape \[8, 5\], the model needs \[8, 3\]"
        with pytest.raises(gneiss.DataError, match=match):
            gneiss.train(small.dataset(), init=self.models.GCN(5, 8, 2, 3), **QUICK)
