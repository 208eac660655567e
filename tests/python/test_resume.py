"""Trainings that were stopped or killed go on to the bits of those that were not."""

import json
import os
import pathlib
import signal
import subprocess
import sys

import numpy as np
import pytest
from conftest import Small

import gneiss

SETTINGS = {"epochs": 12, "hidden_channels": 8, "defaults": "plain", "patience": 0, "progress": False}


def same(ours, theirs):
    assert ours.losses.tolist() == theirs.losses.tolist() and not ours.interrupted
    weights = theirs.state_dict()
    for name, value in ours.state_dict().items():
        assert np.array_equal(value, weights[name]), name


def stop_at(epoch):
    return lambda at: at.epoch == epoch


@pytest.mark.parametrize("model", ["gcn", "text"])
def test_a_stopped_run_goes_on(small, model):
    if model == "text":
        model = "model mine() {\n  return linear(dropout(features, 0.5), num_classes) as \"last\";\n}\n"
        settings = {key: value for key, value in SETTINGS.items() if key != "hidden_channels"}
    else:
        settings = SETTINGS
    whole = gneiss.train(small.dataset(), model, **settings)
    run = gneiss.train(small.dataset(), model, callbacks=[stop_at(3)], **settings)
    assert run.interrupted and len(run.history) == 4
    seen = []
    on = gneiss.resume(run, callbacks=[lambda at: seen.append(at.epoch) or at.epoch == 7], progress=False)
    assert on.interrupted and seen == [4, 5, 6, 7, 8]  # the epoch that was being evaluated comes again
    folder = pathlib.Path(on.folder)
    del run
    assert folder.exists()
    end = gneiss.resume(on, progress=False)
    same(end, whole)
    same(gneiss.resume(end, progress=False), whole)
    del on, end
    assert not folder.exists()


KILLED = """
import os, signal, sys
sys.path.insert(0, {tests!r})
import gneiss
from conftest import Small
from test_resume import SETTINGS
def kill(at):
    if at.epoch == 5:
        os.kill(os.getpid(), signal.SIGKILL)
weights = gneiss.train(Small().dataset(), "gcn", **SETTINGS).state_dict()
gneiss.train(Small().dataset(), "gcn", out={out!r}, checkpoint_every="1", callbacks=[kill], init=weights, **SETTINGS)
"""


def test_a_killed_training_goes_on(tmp_path, small):
    out = tmp_path / "run"
    code = KILLED.format(tests=str(pathlib.Path(__file__).parent), out=str(out))
    killed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not out.exists() and len(os.listdir(tmp_path)) == 1
    first = gneiss.train(small.dataset(), "gcn", **SETTINGS)
    whole = gneiss.train(small.dataset(), "gcn", init=first, **SETTINGS)
    with pytest.raises(gneiss.UsageError, match="made of arrays in memory"):
        gneiss.resume(out, progress=False)
    with pytest.raises(gneiss.DataError, match="the data are others"):
        gneiss.resume(out, Small(seed=1).dataset(), progress=False)
    end = gneiss.resume(out, small.dataset(), threads=2, progress=False)
    same(end, whole)
    assert end.folder == str(out) and os.listdir(tmp_path) == ["run"]
    assert json.loads((out / "report.json").read_text())["interrupted"] is False
    with pytest.raises(gneiss.DataError, match="no training here"):
        gneiss.resume(tmp_path / "other", progress=False)
