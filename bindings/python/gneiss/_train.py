"""Training, and what is left of one: a run, in memory or in a run folder."""

import builtins
import json
import os
import shutil
import sys
import tempfile
import weakref

import numpy as np

from . import _core, _process
from ._arrays import need
from ._dataset import core_of
from ._progress import Bar, wanted
from ._pyg import model_like
from ._settings import describe, pairs
from ._text import model_file
from ._warn import warn
from ._weights import init_file
from ._words import in_python
from .errors import DataError, DiskError, UsageError

class Epoch:
    """One epoch, as callbacks get it. Scores and val_loss are NaN in epochs without an evaluation."""

    __slots__ = ("run", "epoch", "loss", "val_loss", "train", "val", "test", "seconds", "evaluated", "best")

    def __init__(self, *values):
        for name, value in zip(self.__slots__, values):
            setattr(self, name, value)

    def __repr__(self):
        return "Epoch(" + ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__) + ")"


class History(dict):
    """Columns by name, one entry an epoch: run, epoch, loss, lr, seconds, eval_seconds, val_loss, train, val, test."""

    _COLUMNS = ("run", "epoch", "loss", "lr", "seconds", "eval_seconds", "val_loss", "train", "val", "test")

    @classmethod
    def _read(cls, path):
        with builtins.open(path, encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        columns = cls()
        for name in cls._COLUMNS:
            kind = np.int64 if name in ("run", "epoch") else np.float64
            values = [row.get(name) for row in rows]
            columns[name] = np.array([np.nan if v is None else v for v in values], dtype=kind)
        return columns

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __len__(self):
        return len(self["epoch"])

    def to_pandas(self):
        """As a pandas.DataFrame."""
        return need("pandas", "History.to_pandas").DataFrame(dict(self))

    def __repr__(self):
        return f"History({len(self)} epochs: {', '.join(self)})"


class _Temporary:
    """A folder that is removed when the last run that lies in it goes."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="gneiss-run-")
        self._finalizer = weakref.finalize(self, shutil.rmtree, self.path, True)

    def remove(self):
        self._finalizer()


class Run:
    """A trained model: its history, scores, predictions, embeddings and weights."""

    def __init__(self, folder, dataset=None, temporary=None):
        self.folder = os.path.abspath(os.fspath(folder))
        if not os.path.isfile(os.path.join(self.folder, "report.json")):
            raise DataError("there is no run folder here", self.folder, "gneiss.train(…, out=FOLDER) writes one")
        with builtins.open(os.path.join(self.folder, "report.json"), encoding="utf-8") as file:
            self.report = json.load(file)
        self._dataset = dataset
        self._own = None
        self._temporary = temporary
        self._history = None

    def __getstate__(self):
        files = {}
        for name in sorted(os.listdir(self.folder)):
            with builtins.open(os.path.join(self.folder, name), "rb") as file:
                files[name] = file.read()
        return files, self._dataset

    def __setstate__(self, state):
        files, dataset = state
        temporary = _Temporary()
        folder = os.path.join(temporary.path, "run")
        os.mkdir(folder)
        for name, content in files.items():
            with builtins.open(os.path.join(folder, name), "wb") as file:
                file.write(content)
        self.__init__(folder, dataset, temporary)

    @property
    def history(self):
        """The epochs as arrays, see :class:`History`."""
        if self._history is None:
            self._history = History._read(os.path.join(self.folder, "metrics.jsonl"))
        return self._history

    @property
    def losses(self):
        """The training losses of the first run."""
        return np.array(self.report["loss"])

    @property
    def scores(self):
        """{"train": …, "val": …, "test": …}: means over the runs, at the best validation epochs."""
        metric = self.metric
        return {part: self.report[part][metric]["mean"] for part in ("train", "val", "test")}

    metric = property(lambda self: self.report["metric"], doc="What the scores are.")
    interrupted = property(lambda self: self.report["interrupted"], doc="Did Ctrl-C or a callback end it early?")
    settings = property(lambda self: dict(self.report["config"]), doc="Every setting that had a value.")
    warnings = property(lambda self: [in_python(one) for one in self.report["warnings"]])
    notes = property(lambda self: [in_python(one) for one in self.report["notes"]])
    advice = property(
        lambda self: in_python(self.report.get("advice", "")), doc="What to try if the model has hardly learnt."
    )

    def _outputs(self, data):
        if data is None and self._own is not None:
            return self._own
        dataset = self._dataset if data is None else core_of(data)
        _process.before_work()
        found = _core.outputs(self.folder, None if dataset is None else dataset._core, [])
        for warning in found["warnings"]:
            warn(in_python(warning))
        if data is None:
            self._own = found
        return found

    def logits(self, data=None):
        """What the last layer gives, (nodes, classes); of the run's own data, or of ``data``."""
        return self._outputs(data)["logits"].copy()

    def predict(self, data=None):
        """The class of every node, as its place in ``class_names``; 0 and 1 for many labels; values of a regression."""
        found = self._outputs(data)
        if found["classes"] is not None:
            return found["classes"].copy()
        values = found["probabilities"]
        return values.copy() if self._data_facts()["label_kind"] == "regression" else (values > 0.5).astype(np.int64)

    def _data_facts(self):
        with builtins.open(os.path.join(self.folder, "data.json"), encoding="utf-8") as file:
            return json.load(file)

    def predict_proba(self, data=None):
        """Probabilities, (nodes, classes)."""
        return self._outputs(data)["probabilities"].copy()

    def embed(self, data=None):
        """The values that enter the last layer, (nodes, width)."""
        return self._outputs(data)["embedding"].copy()

    @property
    def class_names(self):
        """Names of the classes by number. Where ``y`` had numbers with gaps between them, these, as text."""
        return self._data_facts()["class_names"] or [str(number) for number in range(self.report["classes"])]

    def evaluate(self, data=None):
        """Scores on the run's own split, or on ``data``."""
        dataset = self._dataset if data is None else core_of(data)
        _process.before_work()
        found = _core.evaluate(self.folder, None if dataset is None else dataset._core, [])
        for warning in found["warnings"]:
            warn(in_python(warning))
        report = json.loads(found["json"])
        return {part: report[part][report["metric"]] for part in ("train", "val", "test")}

    def state_dict(self, torch=False):
        """The weights under PyG's names, as NumPy arrays or as tensors of PyTorch."""
        arrays = _core.parameters(self.folder)
        if not torch:
            return arrays
        library = need("torch", "state_dict(torch=True)")
        return {name: library.from_numpy(np.array(value)) for name, value in arrays.items()}

    def save(self, path, force=False):
        """Writes the run folder to ``path``; the command and :func:`open` read it."""
        path = os.path.abspath(os.fspath(path))
        if os.path.exists(path):
            if not force or not os.path.isfile(os.path.join(path, "model.safetensors")):
                raise UsageError(
                    "there is something already", path, "choose another path, or force=True to replace a run"
                )
        staging = f"{path}.partial-{os.getpid()}"
        try:
            shutil.copytree(self.folder, staging)
            if os.path.exists(path):
                shutil.rmtree(path)
            os.rename(staging, path)
        except OSError as error:
            shutil.rmtree(staging, ignore_errors=True)
            raise DiskError(f"the run was not written: {error}", path, "give a path that can be written") from error
        return path

    def to_pyg(self):
        """A model of ``torch_geometric.nn`` with these weights, in evaluation mode."""
        from ._pyg import model_of

        return model_of(self)

    def plot(self, ax=None):
        """The losses and, where it was evaluated, the validation score over the epochs, by matplotlib."""
        pyplot = need("matplotlib.pyplot", "Run.plot")
        if ax is None:
            _, ax = pyplot.subplots()
        history = self.history
        for run in np.unique(history.run):
            rows = history.run == run
            ax.plot(history.epoch[rows], history.loss[rows], label="loss" if run == 0 else None, color="C0")
            scored = rows & ~np.isnan(history.val)
            if scored.any():
                label = f"val {self.metric}" if run == 0 else None
                ax.plot(history.epoch[scored], history.val[scored], label=label, color="C1")
        ax.set_xlabel("epoch")
        ax.legend()
        return ax

    def __repr__(self):
        scores = ", ".join(f"{part}={value:.4f}" for part, value in self.scores.items() if value is not None)
        return f"gneiss.Run({self.report['model']} on {self.report['dataset']}: {self.metric} {scores})"

    def _repr_html_(self):
        from ._html import line, table

        rows = [(f"{part} {self.metric}", f"{value:.4f}") for part, value in self.scores.items() if value is not None]
        rows += [("epochs", str(len(self.history))), ("parameters", f"{self.report['parameters']:,}")]
        rows += [("seconds", f"{self.report['train_seconds']:.2f}")]
        return table(f"{self.report['model']} on {self.report['dataset']}", rows, line(list(self.losses)))


def open(folder, data=None):  # noqa: A001, as the word for what it does
    """Opens a run folder. ``data``: the data set it was trained on, if that was made of arrays."""
    return Run(folder, None if data is None else core_of(data))


def _watched(train_it, callbacks, progress):
    """What ``train_it(on_start, on_epoch)`` gives, watched by callbacks and a bar."""
    bar = Bar() if wanted(progress) else None
    callbacks = [callbacks] if callable(callbacks) else list(callbacks)
    for callback in callbacks:
        if not callable(callback):
            raise UsageError(f"expected functions, got {callback!r}", "callbacks", "each is called with an Epoch")

    def on_epoch(*values):
        epoch = Epoch(*values)
        if bar is not None:
            bar.epoch(epoch.run, epoch.epoch, epoch.loss, epoch.val)
        return any([callback(epoch) is True for callback in callbacks])

    try:
        result = train_it(bar.start if bar else None, on_epoch if bar or callbacks else None)
    finally:
        if bar is not None:
            bar.end()
    if result["interrupted"] and bar is not None:
        print("interrupted; gneiss.resume(run) goes on", file=sys.stderr)
    return result


def _finished(result, dataset, temporary):
    run = Run(result["folder"], dataset, temporary)
    for warning in dict.fromkeys(run.warnings + [in_python(one) for one in result["warnings"]]):
        warn(warning)
    return run


def train(data, model=None, *, init=None, out=None, callbacks=(), progress=None, **settings):
    """Trains a model and returns its :class:`Run`.

    data: a :class:`Dataset`, a Data object of PyG, a graph of DGL, or a name or path for :func:`load`.
    model: a built-in model's name ("gcn", "sage", "gin", "gat", "mlp"), a .gneiss file, or a model's text. By default
        what ``init`` is, if that is a model of torch_geometric.nn, else "gcn".
    init: weights that every run begins with: a model of torch_geometric.nn, which also says what its settings are, a
        :class:`Run`, a path, or a dict of arrays by PyG's names. By default they are drawn from the seed.
    out: the run folder to write; without it nothing is left on disk, and ``run.save(path)`` writes one later.
    callbacks: a function, or several, called with an :class:`Epoch` after each; where one returns True, the next epoch
        is the last.
    progress: a bar on standard error; by default where that is a terminal or a notebook.

    Ctrl-C ends the training after the epoch at hand, within a callback too: the run is returned as it is, with
    ``run.interrupted`` set, and :func:`resume` goes on with it. What went wrong and did not end the training is in
    ``run.warnings``, and is warned of. Further keyword arguments are the settings below, and the model's arguments.
    """
    _process.before_work()
    dataset = core_of(data)
    if model is None:
        model, theirs = model_like(init)
        settings = {**theirs, **settings}
    with tempfile.TemporaryDirectory(prefix="gneiss-") as texts:
        model = model_file(model, texts)
        given = [("model.name", model, f"model={model}"), ("out.save", "true", "gneiss.train")]
        given += pairs(settings, model)
        if init is not None:
            given.append(("train.init", init_file(init, texts), "init"))
        temporary = _Temporary() if out is None else None
        folder = os.fspath(out) if temporary is None else os.path.join(temporary.path, "run")
        given.append(("out.folder", folder, f"out={folder}"))
        try:
            result = _watched(
                lambda on_start, on_epoch: _core.train(dataset._core, given, on_start, on_epoch), callbacks, progress
            )
        except BaseException:
            if temporary is not None:
                temporary.remove()
            raise
    return _finished(result, dataset, temporary)


def resume(run, data=None, *, callbacks=(), progress=None, threads=None, checkpoint_every=None, force=None):
    """Goes on with a training that was stopped or killed, to the same bits as without that. Returns its :class:`Run`.

    run: a :class:`Run` that was interrupted, the folder that a training was to write (``out=``), or the ``.partial-``
        folder that is left of it.
    data: the data set, if that was made of arrays; a run brings its own.
    callbacks, progress, threads, checkpoint_every: as for :func:`train`; no result depends on them.
    force: replace a run folder that another training has written in the meantime.

    A training that is complete is returned as it is.
    """
    _process.before_work()
    temporary = None
    if isinstance(run, Run):
        data = run._dataset if data is None else data
        temporary = run._temporary
        run = run.folder
    folder = os.path.abspath(os.fspath(run))
    dataset = None if data is None else core_of(data)
    given = pairs({"threads": threads, "checkpoint_every": checkpoint_every, "force": force})
    core = None if dataset is None else dataset._core
    result = _watched(
        lambda on_start, on_epoch: _core.resume(folder, core, given, on_start, on_epoch), callbacks, progress
    )
    return _finished(result, dataset, temporary)


class Plan:
    """What a training would take, known before it: ``text``, ``table`` (a dict) and ``peak_bytes``."""

    def __init__(self, text, table, peak_bytes, warned):
        self.text = text
        self.table = table
        self.peak_bytes = peak_bytes
        self.warnings = warned

    def __str__(self):
        return self.text

    def __repr__(self):
        return f"gneiss.Plan({self.table['model']} on {self.table['dataset']}: {self.peak_bytes / 1e6:.1f} MB)"

    def _repr_html_(self):
        from ._html import table

        return table(
            f"Plan of {self.table['model']} on {self.table['dataset']}",
            [
                ("peak memory", f"{self.peak_bytes / 1e6:,.1f} MB"),
                ("parameters", f"{self.table['parameters']:,}"),
            ],
        )


def plan(data, model="gcn", **settings):
    """Plans a training without doing it: memory to the byte, modelled times, kernels. Settings as for :func:`train`."""
    _process.before_work()
    dataset = core_of(data)
    with tempfile.TemporaryDirectory(prefix="gneiss-") as texts:
        model = model_file(model, texts)
        given = [("model.name", model, f"model={model}")] + pairs(settings, model)
        text, table, peak_bytes, warned = _core.plan(dataset._core, given)
    warned = [in_python(warning) for warning in warned]
    for warning in warned:
        warn(warning)
    return Plan(text, json.loads(table), peak_bytes, warned)


def doctor():
    """What this machine offers: threads, memory, instructions, libraries. A dict; some values have several lines."""
    facts = {}
    for name, value in _core.facts():
        if name:
            last = name
        facts[last] = f"{facts[last]}\n{value}" if last in facts else value
    return facts


describe(train)
describe(plan)
