"""A line that says how far a training is, in terminals and notebooks."""

import sys
import time


def wanted(progress):
    """None: where somebody is looking."""
    if progress is not None:
        return bool(progress)
    return sys.stderr.isatty() or "ipykernel" in sys.modules


class Bar:
    """Rewrites one line of standard error, at most ten times a second."""

    _WIDTH = 24

    def __init__(self, out=None):
        self._out = out if out is not None else sys.stderr
        self._runs = self._epochs = 1
        self._metric = ""
        self._last = 0.0
        self._shown = 0

    def start(self, facts):
        self._runs, self._epochs, self._metric = facts["runs"], facts["epochs"], facts["metric"]

    def epoch(self, run, epoch, loss, val):
        now = time.monotonic()
        if now - self._last < 0.1 and epoch < self._epochs:
            return
        self._last = now
        done = int(self._WIDTH * epoch / max(1, self._epochs))
        text = f"[{'#' * done}{'.' * (self._WIDTH - done)}] epoch {epoch}/{self._epochs}  loss {loss:.4f}"
        if self._runs > 1:
            text = f"run {run + 1}/{self._runs} " + text
        if val == val:
            text += f"  val {self._metric} {val:.4f}"
        self._out.write("\r" + text.ljust(self._shown))
        self._out.flush()
        self._shown = len(text)

    def end(self):
        if self._shown:
            self._out.write("\n")
            self._out.flush()
