"""Node classifiers and regressors in scikit-learn's conventions.

A graph is no table: rows of X are nodes of one graph, whose edges go with ``fit`` and ``predict`` as ``edge_index``.
Without edges every node stands alone. Cross-validation by rows would cut the graph; give the part of the nodes that
trains by ``train_mask`` instead.
"""

import inspect

import numpy as np

from ._dataset import Dataset
from ._train import train
from .errors import UsageError

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
except ModuleNotFoundError as error:
    if error.name is None or error.name.split(".")[0] != "sklearn":
        raise

    class BaseEstimator:
        """What of scikit-learn's class is needed where it is not installed."""

        @classmethod
        def _get_param_names(cls):
            return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")

        def get_params(self, deep=True):
            return {name: getattr(self, name) for name in self._get_param_names()}

        def set_params(self, **params):
            known = self._get_param_names()
            for name, value in params.items():
                if name not in known:
                    raise ValueError(f"Invalid parameter {name!r} for estimator {type(self).__name__}")
                setattr(self, name, value)
            return self

    class ClassifierMixin:
        """Accuracy."""

        _estimator_type = "classifier"

        def score(self, X, y, **graph):
            return float(np.mean(self.predict(X, **graph) == np.asarray(y)))

    class RegressorMixin:
        """R²."""

        _estimator_type = "regressor"

        def score(self, X, y, **graph):
            y = np.asarray(y, dtype=np.float64)
            return float(1 - np.sum((y - self.predict(X, **graph)) ** 2) / np.sum((y - y.mean(0)) ** 2))


class NotFittedError(UsageError, AttributeError):
    """predict before fit."""


class _NodeEstimator(BaseEstimator):
    def __init__(
        self,
        model="gcn",
        hidden_channels=16,
        num_layers=2,
        dropout=0.5,
        lr=0.01,
        weight_decay=5e-4,
        epochs=200,
        random_state=0,
        settings=None,
    ):
        self.model = model
        self.hidden_channels = hidden_channels
        self.num_layers = num_layers
        self.dropout = dropout
        self.lr = lr
        self.weight_decay = weight_decay
        self.epochs = epochs
        self.random_state = random_state
        self.settings = settings

    def _dataset(self, X, y, edge_index, edge_weight, masks, kind):
        if edge_index is None:
            edge_index = np.zeros((2, 0), np.int64)
        return Dataset(edge_index, X, y, edge_weight=edge_weight, label_kind=kind, **masks)

    def _fit(self, dataset):
        settings = dict(self.settings or {})
        self.run_ = train(
            dataset,
            self.model,
            hidden_channels=self.hidden_channels,
            num_layers=self.num_layers,
            dropout=self.dropout,
            lr=self.lr,
            weight_decay=self.weight_decay,
            epochs=self.epochs,
            seed=0 if self.random_state is None else int(self.random_state),
            progress=False,
            **settings,
        )
        self.n_features_in_ = dataset.num_features
        return self

    def _run(self):
        if not hasattr(self, "run_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet", "predict", "call fit first")
        return self.run_

    def _other(self, X, edge_index, edge_weight):
        """None: the data of fit."""
        if X is None:
            if edge_index is not None or edge_weight is not None:
                raise UsageError("edges are given without the rows of their nodes", "X", "give X, or no edges")
            return None
        return self._dataset(X, None, edge_index, edge_weight, {}, "auto")


class NodeClassifier(ClassifierMixin, _NodeEstimator):
    """Predicts a class for every node.

    ``settings``: further settings of :func:`gneiss.train`, as a dict. ``random_state``: the seed; None is 0.
    """

    def fit(self, X, y, edge_index=None, edge_weight=None, train_mask=None, val_mask=None):
        """Trains on the rows of ``train_mask``, or on all labelled rows.

        Rows whose y is None, NaN or -1 have no label.
        """
        y = np.asarray(y)
        if y.ndim != 1:
            raise UsageError(f"expected one class for each row of X, got shape {y.shape}", "y", "e.g. y.ravel()")
        missing = np.array([one is None or one != one or (one == -1) is True for one in y.tolist()])
        self.classes_, numbers = np.unique(y[~missing], return_inverse=True)
        if len(self.classes_) < 2:
            raise UsageError(f"y has {len(self.classes_)} class", "y", "a classifier needs two")
        labels = np.full(len(y), -1, np.int64)
        labels[~missing] = numbers
        masks = {"train_mask": ~missing if train_mask is None else train_mask}
        if val_mask is not None:
            masks["val_mask"] = val_mask
        return self._fit(self._dataset(X, labels, edge_index, edge_weight, masks, "class"))

    def predict(self, X=None, edge_index=None, edge_weight=None):
        """Classes of the nodes of fit, or of other ones."""
        probabilities = self.predict_proba(X, edge_index, edge_weight)
        return self.classes_[probabilities.argmax(1)]

    def predict_proba(self, X=None, edge_index=None, edge_weight=None):
        """Probabilities of ``classes_``."""
        return self._run().predict_proba(self._other(X, edge_index, edge_weight))


class NodeRegressor(RegressorMixin, _NodeEstimator):
    """Predicts a value, or several, for every node."""

    def fit(self, X, y, edge_index=None, edge_weight=None, train_mask=None, val_mask=None):
        """Trains on the rows of ``train_mask``, or on all rows whose y is no NaN."""
        y = np.asarray(y, dtype=np.float32)
        labelled = ~np.isnan(y.reshape(len(y), -1)).all(1)
        masks = {"train_mask": labelled if train_mask is None else train_mask}
        if val_mask is not None:
            masks["val_mask"] = val_mask
        self._one = y.ndim == 1
        return self._fit(self._dataset(X, y, edge_index, edge_weight, masks, "regression"))

    def predict(self, X=None, edge_index=None, edge_weight=None):
        """Values of the nodes of fit, or of other ones."""
        values = self._run().predict_proba(self._other(X, edge_index, edge_weight))
        return values[:, 0] if self._one else values
