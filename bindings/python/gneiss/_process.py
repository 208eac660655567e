"""What a process must know of its own: threads do not survive a fork."""

import os

from .errors import UnsupportedError

_has_threads = False
_forked = False


def _mark_fork():
    global _forked
    _forked = _has_threads


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_mark_fork)


def before_work():
    """Comes before every call that computes: this process has threads of the library from then on.

    A child of a process that has them would wait for them for ever, and is told so.
    """
    if _forked:
        raise UnsupportedError(
            "this process was forked from one that has computed, and its threads are gone",
            "fork",
            'start processes by multiprocessing.get_context("spawn")',
        )
    global _has_threads
    _has_threads = True
