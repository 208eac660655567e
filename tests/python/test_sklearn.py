"""Estimators in scikit-learn's conventions: its own checks, and what of them a graph does not pass."""

import pickle

import numpy as np
import pytest

import gneiss

pytest.importorskip("sklearn")
from sklearn.base import clone  # noqa: E402
from sklearn.model_selection import GridSearchCV, PredefinedSplit  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

# Checks of scikit-learn that an estimator over a graph is not to pass, and why.
NOT_PASSED = {
    gneiss.NodeClassifier: {
        "check_classifiers_classes": "its classes are -1 and 1, and -1 is a node without a label"
    },
    gneiss.NodeRegressor: {},
}


def made(kind):
    return kind(model="mlp", epochs=60, hidden_channels=16, dropout=0.0, lr=0.05, settings={"threads": 1})


@pytest.mark.parametrize("kind", [gneiss.NodeClassifier, gneiss.NodeRegressor])
def test_the_checks_of_scikit_learn(kind):
    results = check_estimator(made(kind), expected_failed_checks=NOT_PASSED[kind], on_fail=None, on_skip=None)
    failed = {one["check_name"]: one["exception"] for one in results if one["status"] == "failed"}
    assert not failed, "\n".join(f"{name}: {error}" for name, error in failed.items())
    assert len(results) > 30
    expected = {one["check_name"] for one in results if one["status"] == "xfail"}
    for name in NOT_PASSED[kind]:
        assert name in expected, f"{name} passes: it need not be on the list"


def test_a_fitted_estimator_is_pickled(small):
    model = gneiss.NodeClassifier(epochs=20, hidden_channels=8)
    model.fit(small.x, small.y, edge_index=small.edge_index, train_mask=small.train)
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict() == model.predict()).all()
    assert np.array_equal(again.predict_proba(small.x), model.predict_proba(small.x))
    folder = again.run_.folder
    assert folder != model.run_.folder
    fresh = clone(model)
    assert not hasattr(fresh, "run_") and fresh.get_params() == model.get_params()


def test_rows_without_a_label_do_not_train(small):
    y = np.where(small.train, small.y, -1)
    model = gneiss.NodeClassifier(epochs=40, hidden_channels=8).fit(small.x, y, edge_index=small.edge_index)
    assert model.classes_.tolist() == [0, 1, 2] and model.n_iter_ > 0
    values = np.where(small.train, small.x[:, 0], np.nan)
    assert gneiss.NodeRegressor(epochs=5).fit(small.x, values).predict().shape == (60,)


def test_a_search_over_one_split(small):
    search = GridSearchCV(
        gneiss.NodeClassifier(model="mlp", epochs=10), {"hidden_channels": [4, 8]}, cv=PredefinedSplit(small.train - 1)
    )
    assert search.fit(small.x, small.y).best_params_["hidden_channels"] in (4, 8)
