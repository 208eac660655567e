"""What a process must know of its own: threads do not survive a fork."""

import os

from .errors import UnsupportedError

_trained = False
_forked = False


def _mark_fork():
    global _forked
    _forked = _trained


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_mark_fork)


def note_training():
    """This process has threads of the library from now on."""
    global _trained
    _trained = True


def check_fork():
    """A child of a process that had trained would wait for its threads for ever."""
    if _forked:
        raise UnsupportedError(
            "this process was forked from one that has trained, and its threads are gone",
            "fork",
            'start processes by multiprocessing.get_context("spawn")',
        )
