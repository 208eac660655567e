"""Training from Python: the same bits as the command, settings, callbacks, runs."""

import inspect
import io
import json
import os
import pathlib
import pickle
import subprocess
import sys
import types

import numpy as np
import pytest
from conftest import QUICK

import gneiss
from gneiss._progress import Bar, wanted
from gneiss._words import in_python

COMMAND = pathlib.Path(gneiss.__file__).parent / "bin" / "gneiss"


def command():
    name = os.environ.get("GNEISS", str(COMMAND))
    if not os.path.exists(name):
        pytest.skip(f"no command at {name}")
    return name


@pytest.mark.parametrize("model", ["gcn", "sage", "gin", "gat", "mlp"])
def test_the_same_bits_as_the_command(model, tmp_path):
    data = "dcsbm:nodes=300,classes=4"
    out = tmp_path / "run"
    subprocess.run(
        [command(), "train", data, "--model", model, "--epochs", "8", "--seed", "3", "--out", out, "--threads", "1"],
        check=True,
        capture_output=True,
    )
    ours = gneiss.train(data, model, epochs=8, seed=3, threads=2, progress=False)
    theirs = json.loads((out / "report.json").read_text())
    assert ours.losses.tolist() == theirs["loss"]
    weights = gneiss.open(out).state_dict()
    for name, value in ours.state_dict().items():
        assert np.array_equal(value, weights[name]), name


def test_arrays_train_as_the_data_set_they_came_from(small, tmp_path):
    loaded = gneiss.load("dcsbm:nodes=200,classes=3")
    arrays = loaded.arrays()
    masks = {f"{part}_mask": arrays[part] for part in ("train", "val", "test")}
    again = gneiss.Dataset(csc=arrays["csc"], x=arrays["x"], y=arrays["y"], **masks)
    assert gneiss.train(again, **QUICK).losses.tolist() == gneiss.train(loaded, **QUICK).losses.tolist()


def test_a_run_has_history_scores_and_outputs(small):
    run = gneiss.train(small.dataset(), "gcn", hidden_channels=8, epochs=30, defaults="plain", progress=False)
    assert len(run.history) == len(run.history.loss) == len(run.losses)
    assert run.history.epoch[0] == 1 and run.history["loss"][-1] < run.history["loss"][0]
    assert set(run.scores) == {"train", "val", "test"}
    assert run.predict().shape == (60,) and run.predict_proba().shape == (60, 3)
    assert np.allclose(run.predict_proba().sum(1), 1, atol=1e-6)
    assert (run.logits().argmax(1) == run.predict()).all()
    assert run.embed().shape == (60, 8)
    assert run.evaluate() == pytest.approx(run.scores)
    assert "convs.0.lin.weight" in run.state_dict()
    assert "<svg" in run._repr_html_() and "<table>" in small.dataset()._repr_html_()
    run.predict()[:] = -1
    assert (run.predict() >= 0).all()


def test_a_history_is_a_table_of_pandas(small):
    pandas = pytest.importorskip("pandas")
    run = gneiss.train(small.dataset(), **QUICK)
    table = run.history.to_pandas()
    assert isinstance(table, pandas.DataFrame) and table["loss"].tolist() == run.losses.tolist()


def test_numbers_of_classes_with_gaps(small):
    given = np.array([1, 4, 7])[small.y]
    run = gneiss.train(small.dataset(y=given), epochs=30, hidden_channels=8, progress=False)
    assert run.class_names == ["1", "4", "7"]
    assert gneiss.train(small.dataset(), **QUICK).class_names == ["0", "1", "2"]
    assert gneiss.open(run.folder).class_names == run.class_names  # the data set is not asked for
    named = np.array(run.class_names, int)[run.predict()]
    assert np.mean(named == given) > 0.5 and set(run.predict()) <= {0, 1, 2}


def test_outputs_follow_the_order_of_the_nodes(small):
    run = gneiss.train(small.dataset(), reorder="degree", **QUICK)
    turn = np.random.default_rng(1).permutation(60)
    other = gneiss.Dataset(np.argsort(turn)[small.edge_index], small.x[turn], small.y[turn])
    assert np.allclose(run.logits(other), run.logits()[turn], atol=1e-5)


def test_save_and_open(small, tmp_path):
    dataset = small.dataset()
    run = gneiss.train(dataset, **QUICK)
    run.save(tmp_path / "run")
    again = gneiss.open(tmp_path / "run", dataset)
    assert np.array_equal(again.logits(), run.logits())
    with pytest.raises(gneiss.UsageError, match="there is something already"):
        run.save(tmp_path / "run")
    run.save(tmp_path / "run", force=True)
    with pytest.raises(gneiss.UsageError, match="made of arrays in memory"):
        gneiss.open(tmp_path / "run").predict()
    with pytest.raises(gneiss.DataError, match="no run folder"):
        gneiss.open(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(gneiss.DiskError, match="the run was not written") as caught:
        run.save(tmp_path / "file" / "run")
    assert isinstance(caught.value, OSError) and sorted(os.listdir(tmp_path)) == ["file", "run"]


def test_nothing_is_left_on_disk(small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = gneiss.train(small.dataset(), **QUICK)
    folder = pathlib.Path(run.folder)
    assert folder.exists() and not list(tmp_path.iterdir())
    del run
    assert not folder.exists()


def test_settings_are_those_of_the_command(small):
    with pytest.raises(gneiss.UsageError, match="there is no setting 'hiden_channels'") as caught:
        gneiss.train(small.dataset(), hiden_channels=4)
    assert "did you mean hidden_channels" in caught.value.hint
    with pytest.raises(gneiss.UsageError, match="there is no setting 'hiden_channels'"):
        gneiss.train(small.dataset(), hiden_channels=None)
    with pytest.raises(gneiss.UsageError, match="hidden and hidden_channels are one setting"):
        gneiss.train(small.dataset(), hidden=4, hidden_channels=8)
    with pytest.raises(gneiss.UsageError, match="a list of them, got dict"):
        gneiss.train(small.dataset(), lr={})
    with pytest.raises(gneiss.UsageError, match="lr=fast"):
        gneiss.train(small.dataset(), lr="fast")
    with pytest.raises(gneiss.UsageError, match="there is no model 'gcm'"):
        gneiss.train(small.dataset(), "gcm")
    run = gneiss.train(small.dataset(), "gat", heads=2, hidden_channels=8, betas=(0.9, 0.99), **QUICK)
    assert [float(beta) for beta in run.settings["optim.betas"]] == [0.9, 0.99]
    assert "lr: a number" in gneiss.train.__doc__
    assert "lr" in inspect.signature(gneiss.train).parameters


def test_a_model_may_be_text_or_a_file(small, tmp_path):
    text = """model mine(width: int = 8) {
  h = relu(linear(features, width) as "first");
  y = mean(h@src) over in_edges;
  return linear(y, num_classes) as "last";
}
"""
    run = gneiss.train(small.dataset(), text, width=4, **QUICK)
    assert run.state_dict()["first.weight"].shape == (4, 3)
    file = tmp_path / "mine.gneiss"
    file.write_text(text)
    for path in (file, str(file)):
        assert gneiss.train(small.dataset(), path, width=4, **QUICK).losses.tolist() == run.losses.tolist()
    with pytest.raises(gneiss.UsageError, match="the text of a model, got int"):
        gneiss.train(small.dataset(), 5, **QUICK)
    with pytest.raises(gneiss.UsageError, match="model.gneiss:1"):
        gneiss.train(small.dataset(), "model mine( {\n}\n", **QUICK)


def test_callbacks_watch_and_stop(small):
    seen = []

    def watch(epoch):
        seen.append(epoch.loss)
        return len(seen) == 4

    run = gneiss.train(small.dataset(), epochs=20, progress=False, callbacks=[watch])
    assert len(seen) == len(run.history) == 5 and run.interrupted  # True after the fourth: the fifth is the last
    assert seen == run.losses.tolist()


def test_callbacks_are_functions(small):
    seen = []
    gneiss.train(small.dataset(), callbacks=lambda epoch: seen.append(epoch.epoch), **QUICK)
    assert seen == [1, 2, 3, 4, 5]
    with pytest.raises(gneiss.UsageError, match="expected functions, got 3"):
        gneiss.train(small.dataset(), callbacks=[3], **QUICK)


def test_errors_speak_of_keywords(small):
    with pytest.raises(gneiss.UsageError, match="fanout has 3 numbers") as caught:
        gneiss.train(small.dataset(), batch_size=8, fanout=(5, 5, 5), num_layers=2, **QUICK)
    assert caught.value.where == "fanout" and "fanout=(15, 10) for two layers" in caught.value.hint
    with pytest.raises(gneiss.DataError, match=r"labels=FILE \(y= of gneiss.Dataset\)"):
        gneiss.train(small.dataset(y=None, train_mask=None, val_mask=None, test_mask=None), **QUICK)
    with pytest.raises(gneiss.UsageError) as caught:
        gneiss.train(small.dataset(), device="cudda", **QUICK)
    assert "--" not in str(caught.value)


@pytest.mark.parametrize(
    "command, python",
    [
        ("use --device cpu; or build with -DGNEISS_CUDA=ON", 'use device="cpu"; or build with -DGNEISS_CUDA=ON'),
        ("allow them with --allow-nan", "allow them with allow_nan=True"),
        ("--no-header says which", "header=False says which"),
        ("use --split ratio:60/20/20", 'use split="ratio:60/20/20"'),
        ("use --monitor metric, loss or both", 'use monitor="metric", loss or both'),
        ("add --devices 2 --batch-size 256, or leave it out", "add devices=2 batch_size=256, or leave it out"),
        ("write e.g. --hot 10%.", 'write e.g. hot="10%".'),
        ("lower it or raise --lr", "lower it or raise lr"),
        ("as gneiss plan --devices 2 says", "as gneiss plan --devices 2 says"),
        ("give some with --features FILE", "give some with features=FILE (x= of gneiss.Dataset)"),
        ("there is no --such-flag", "there is no --such-flag"),
    ],
)
def test_flags_become_keywords(command, python):
    assert in_python(command) == python


def test_an_exception_of_a_callback_ends_the_training(small, tmp_path):
    class Mine(Exception):
        pass

    def fail(epoch):
        raise Mine(f"at {epoch.epoch}")

    with pytest.raises(Mine, match="at 1"):
        gneiss.train(small.dataset(), epochs=20, progress=False, callbacks=[fail])


def test_ctrl_c_in_a_callback_ends_the_training_as_elsewhere(small):
    def interrupt(epoch):
        if epoch.epoch == 3:
            raise KeyboardInterrupt

    run = gneiss.train(small.dataset(), epochs=20, progress=False, callbacks=[interrupt])
    assert run.interrupted and len(run.history) == 4 and run.predict().shape == (60,)


def test_what_went_wrong_on_the_way_is_warned_of(small, monkeypatch):
    loud = small.dataset(x=small.x * np.float32(1e7))
    with pytest.warns(UserWarning, match="features"):
        run = gneiss.train(loud, defaults="plain", **QUICK)
    assert run.warnings
    table = '{"model": "gcn", "dataset": "arrays"}'
    monkeypatch.setattr(gneiss._train._core, "plan", lambda *given: ("", table, 1, ["the rates are damaged"]))
    with pytest.warns(UserWarning, match="the rates are damaged"):
        assert gneiss.plan(loud).warnings == ["the rates are damaged"]


def test_a_plan_says_bytes(small):
    plan = gneiss.plan(small.dataset(), "gcn", hidden_channels=8, defaults="plain")
    assert plan.peak_bytes > 0 and plan.table["parameters"] == 3 * 8 + 8 + 8 * 3 + 3
    assert "memory" in str(plan) and str(plan) == plan.text
    assert repr(plan) == f"gneiss.Plan(gcn on arrays: {plan.peak_bytes / 1e6:.1f} MB)"
    wider = gneiss.plan(small.dataset(), "gcn", hidden_channels=512, defaults="plain")
    assert wider.table["session_bytes"] > plan.table["session_bytes"] + 60 * 512 * 4  # the peak is the process's


def test_doctor_names_this_machine():
    facts = gneiss.doctor()
    assert "threads" in " ".join(facts).lower() and "" not in facts
    assert any("\n" in value for value in facts.values())


def test_many_labels_and_regression(small):
    many = gneiss.train(small.dataset(y=(small.x > 0).astype(int)), **QUICK)
    assert set(np.unique(many.predict())) <= {0, 1} and many.predict().shape == (60, 3)
    values = gneiss.train(small.dataset(y=small.x[:, :1] * 2), **QUICK)
    assert values.predict().shape == (60, 1) and values.predict().dtype == np.float32


def test_errors_travel_between_processes():
    error = gneiss.DataError("message", "where", "hint")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.message, again.hint, str(again)) == (gneiss.DataError, "message", "hint", str(error))
    assert issubclass(gneiss.OutOfMemoryError, MemoryError) and issubclass(gneiss.DiskError, OSError)


def test_memory_limits_are_memory_errors(small):
    with pytest.raises(MemoryError) as caught:
        gneiss.train(small.dataset(), mem="1K", **QUICK)
    assert isinstance(caught.value, gneiss.Error)


def test_classifiers_and_regressors(small):
    model = gneiss.NodeClassifier(epochs=60, hidden_channels=8)
    model.fit(small.x, np.array(["a", "b", "c"])[small.y], edge_index=small.edge_index, train_mask=small.train)
    assert set(model.predict()) <= {"a", "b", "c"} and model.predict_proba().shape == (60, 3)
    assert np.mean(model.predict() == np.array(["a", "b", "c"])[small.y]) > 0.6
    assert model.get_params()["hidden_channels"] == 8
    other = model.predict(small.x[:10], np.zeros((2, 0), np.int64))
    assert other.shape == (10,)
    values = gneiss.NodeRegressor(model="mlp", epochs=100).fit(small.x, small.x[:, 0])
    assert values.predict().shape == (60,)
    with pytest.raises(ValueError, match="not fitted"):
        gneiss.NodeClassifier().predict()
    with pytest.raises(gneiss.UsageError, match="one class for each row"):
        gneiss.NodeClassifier().fit(small.x, np.eye(3)[small.y])
    with pytest.raises(gneiss.UsageError, match="without the rows of their nodes"):
        model.predict(edge_index=small.edge_index)
    with pytest.raises(gneiss.UsageError, match="y has 1 class"):
        gneiss.NodeClassifier().fit(small.x, np.zeros(60))


def test_the_bar_says_how_far_it_is():
    out = io.StringIO()
    bar = Bar(out)
    bar.start({"runs": 2, "epochs": 4, "metric": "accuracy"})
    bar.epoch(0, 2, 0.5, 0.75)
    bar.epoch(1, 4, 0.25, float("nan"))
    bar.end()
    first, second = out.getvalue().strip().split("\r")[-2:]
    assert first.startswith("run 1/2 [############............] epoch 2/4  loss 0.5000  val accuracy 0.7500")
    assert second.startswith("run 2/2 [########################] epoch 4/4  loss 0.2500") and "val" not in second


def test_a_bar_is_there_where_somebody_looks(small, monkeypatch, capsys):
    assert not wanted(None) and wanted(True) and not wanted(False)
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))  # a notebook
    gneiss.train(small.dataset(), epochs=5, threads=1)
    assert "] epoch 5/5  loss" in capsys.readouterr().err
    monkeypatch.delitem(sys.modules, "ipykernel")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert wanted(None)


def test_notebooks_show_tables(small):
    run = gneiss.train(small.dataset(), **QUICK)
    for shown, words in (
        (run, ("<svg", "val accuracy", "parameters")),
        (small.dataset(), ("<table>", "nodes", "30 train, 15 val, 15 test")),
        (gneiss.plan(small.dataset()), ("<table>", "peak memory")),
    ):
        html = shown._repr_html_()
        assert all(word in html for word in words), html
    assert "&lt;b&gt;" in gneiss.Dataset([[0], [1]], name="<b>")._repr_html_()


def test_a_run_is_plotted(small):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = gneiss.train(small.dataset(), **QUICK).plot()
    assert axes.get_xlabel() == "epoch" and len(axes.lines) == 2
