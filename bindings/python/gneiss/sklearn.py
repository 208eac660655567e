"""Node classifiers and regressors in scikit-learn's conventions.

A graph is no table: rows of X are nodes of one graph, whose edges go with ``fit`` and ``predict`` as ``edge_index``.
Without edges every node stands alone. Cross-validation by rows would cut the graph; give the part of the nodes that
trains by ``train_mask`` instead.
"""

import inspect

import numpy as np

from ._arrays import as_array, is_scipy
from ._dataset import Dataset
from ._train import train
from .errors import DataError, UnsupportedError, UsageError

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.exceptions import NotFittedError as _NotFitted
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import column_or_1d, validate_data
except ImportError as error:
    if not isinstance(error, ModuleNotFoundError):
        hint = "pip install 'scikit-learn>=1.6'"
        raise UnsupportedError(f"this scikit-learn is too old: {error}", "sklearn", hint) from error
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

    class _NotFitted(ValueError, AttributeError):
        """predict before fit."""

    def check_classification_targets(y):
        """Floats that are no whole numbers are no classes."""
        if y.dtype.kind == "f" and (y != np.floor(y)).any():
            raise DataError("Unknown label type: continuous", "y", "a NodeRegressor learns numbers")

    def column_or_1d(y, warn):
        """A column as its values."""
        return y.ravel() if y.ndim == 2 and y.shape[1] == 1 else y

    def validate_data(estimator, X, reset, accept_sparse, dtype):
        """The matrix, whose width fit and predict agree on."""
        X = X if is_scipy(X) else as_array(X, "X")
        if X.ndim != 2:
            raise DataError(f"expected a matrix, got shape {X.shape}", "X", "one row for each node")
        if reset:
            estimator.n_features_in_ = X.shape[1]
        elif X.shape[1] != estimator.n_features_in_:
            name, expected = type(estimator).__name__, estimator.n_features_in_
            message = f"X has {X.shape[1]} features, but {name} is expecting {expected} features as input"
            raise DataError(message, "X", "give the columns that it was fitted on")
        return X


class NotFittedError(UsageError, _NotFitted):
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

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def _rows(self, X, reset):
        rows = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=[np.float32, np.float64])
        return rows if is_scipy(rows) else np.ascontiguousarray(rows, np.float32)

    def _labels_of(self, y, rows):
        if y is None:
            name = type(self).__name__
            raise UsageError(f"{name} requires y to be passed, but the target y is None", "y", "give a value a row")
        y = np.asarray(y)
        if len(y.shape) == 0 or len(y) != rows:
            raise DataError(f"y has shape {y.shape} for {rows} rows of X", "y", "give a value a row")
        return y

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
        self.n_iter_ = len(self.run_.history)
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
        self._run()
        return self._dataset(self._rows(X, False), None, edge_index, edge_weight, {}, "auto")


class NodeClassifier(ClassifierMixin, _NodeEstimator):
    """Predicts a class for every node.

    ``settings``: further settings of :func:`gneiss.train`, as a dict. ``random_state``: the seed; None is 0.
    """

    def fit(self, X, y, edge_index=None, edge_weight=None, train_mask=None, val_mask=None):
        """Trains on the rows of ``train_mask``, or on all labelled rows.

        Rows whose y is None, NaN or -1 have no label.
        """
        X = self._rows(X, True)
        y = self._labels_of(y, X.shape[0])
        if y.ndim > 2 or (y.ndim == 2 and y.shape[1] != 1):
            raise UsageError(f"expected one class for each row of X, got shape {y.shape}", "y", "e.g. y.argmax(1)")
        y = column_or_1d(y, warn=True)
        missing = np.array([one is None or one != one or (one == -1) is True for one in y.tolist()], bool)
        known = y[~missing]
        if known.dtype.kind == "O" and all(isinstance(one, (int, float)) for one in known.tolist()):
            known = known.astype(np.float64)
        check_classification_targets(known)
        self.classes_, numbers = np.unique(known, return_inverse=True)
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
        X = self._rows(X, True)
        y = self._labels_of(y, X.shape[0]).astype(np.float32)
        if np.isinf(y).any():
            raise DataError("Input y contains infinity", "y", "NaN stands for a row without a value")
        y = column_or_1d(y, warn=True) if y.ndim == 2 and y.shape[1] == 1 else y
        labelled = ~np.isnan(y.reshape(len(y), -1)).all(1)
        masks = {"train_mask": labelled if train_mask is None else train_mask}
        if val_mask is not None:
            masks["val_mask"] = val_mask
        self.n_outputs_ = 1 if y.ndim == 1 else y.shape[1]
        self._one_column = y.ndim == 1
        return self._fit(self._dataset(X, y, edge_index, edge_weight, masks, "regression"))

    def predict(self, X=None, edge_index=None, edge_weight=None):
        """Values of the nodes of fit, or of other ones."""
        values = self._run().predict_proba(self._other(X, edge_index, edge_weight))
        return values[:, 0] if self._one_column else values
