"""Warnings, said of the line of the user's own that led to them."""

import sys
import warnings

from .errors import CopyWarning

_said = set()


def warn(message, category=UserWarning):
    """Warns at the first caller that is not of this package."""
    level = 2
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "gneiss":
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


def say_copies(notes):
    """Warns of each kind of copy among the notes of a data set, if it is the first of its kind in this process."""
    for note in notes:
        if " was copied: " in note and note not in _said:
            _said.add(note)
            warn(note, CopyWarning)
