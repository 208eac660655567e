"""A model that is trained step by step, by a loop of the caller's own."""

import tempfile
import threading

from . import _core, _process
from ._dataset import core_of
from ._pyg import model_like
from ._settings import pairs
from ._text import model_file
from ._weights import arrays_of, init_file


class Model:
    """Data, weights and optimizer of a training on the whole graph, on the CPU; the loop is yours.

    >>> model = gneiss.Model(data, "gcn", hidden_channels=16)
    >>> for epoch in range(200):
    ...     loss = model.step()
    ...     if model.evaluate()["val"] > 0.9:
    ...         break

    Steps and evaluations in the rhythm of :func:`gneiss.train` with the same settings have its bits. Early stopping and
    the choice of the best weights are the loop's; learning rates go by the settings, with ``epochs`` in all. ``init``
    and ``model``: as for :func:`gneiss.train`.
    """

    def __init__(self, data, model=None, *, init=None, **settings):
        _process.before_work()
        dataset = core_of(data)
        if model is None:
            model, theirs = model_like(init)
            settings = {**theirs, **settings}
        self._lock = threading.Lock()
        with tempfile.TemporaryDirectory(prefix="gneiss-") as texts:
            model = model_file(model, texts)
            given = [("model.name", model, f"model={model}")] + pairs(settings, model)
            if init is not None:
                given.append(("train.init", init_file(init, texts), "init"))
            self._core = _core.Model(dataset._core, given)

    def step(self, lr=None):
        """One epoch: forward, loss, backward and update. Returns the loss before the update.

        ``lr``: the learning rate; by default that of the settings and their schedule.
        """
        with self._lock:
            _process.before_work()
            return self._core.step(None if lr is None else float(lr))

    def evaluate(self):
        """Scores of the weights at hand, without dropout: {"train": …, "val": …, "test": …, "val_loss": …}."""
        with self._lock:
            _process.before_work()
            return dict(zip(("train", "val", "test", "val_loss"), self._core.evaluate()))

    def logits(self):
        """What the last layer gives, (nodes, classes), in the order of the data set's nodes."""
        with self._lock:
            _process.before_work()
            return self._core.logits()

    def embed(self):
        """The values that enter the last layer, (nodes, width)."""
        with self._lock:
            _process.before_work()
            return self._core.embedding()

    def state_dict(self):
        """The weights as they are now, under PyG's names."""
        with self._lock:
            return self._core.parameters()

    def load_state_dict(self, weights):
        """Puts weights in the place of those at hand: a dict of arrays, a run, or a model of PyTorch."""
        arrays = arrays_of(weights, "weights")
        with self._lock:
            self._core.load_parameters(arrays)

    steps = property(lambda self: self._core.steps, doc="Steps so far.")
    metric = property(lambda self: self._core.metric, doc="What the scores are.")

    def __repr__(self):
        return f"gneiss.Model({self.steps} steps)"
