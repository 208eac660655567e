"""What Gneiss raises: one class a kind of failure, each also of the built-in class that fits."""


class Error(Exception):
    """A failure of Gneiss: what went wrong, where, and what to do.

    Attributes: ``message`` says what was expected and what was found, ``where`` names the argument, file or setting,
    ``hint`` says what to do next.
    """

    def __init__(self, message="", where="", hint=""):
        text = message
        if where:
            text += f"\n  where: {where}"
        if hint:
            text += f"\n  hint: {hint}"
        super().__init__(text)
        self.message = message
        self.where = where
        self.hint = hint

    def __reduce__(self):
        return type(self), (self.message, self.where, self.hint)

    def __str__(self):
        return self.args[0]


class UsageError(Error, ValueError):
    """A wrong setting, name or model text."""


class UnsupportedError(Error, NotImplementedError):
    """Well-formed, but nothing that Gneiss does."""


class DataError(Error, ValueError):
    """An array or a file that does not hold what it should."""


class ShapeError(Error, ValueError):
    """Sizes that do not fit together."""


class OutOfMemoryError(Error, MemoryError):
    """Memory was refused, or is beyond the given limit."""


class DiskError(Error, OSError):
    """A file that cannot be written."""


class NumericError(Error, ArithmeticError):
    """NaN or infinity where a number is needed."""


class PeerLostError(Error, ConnectionError):
    """Another rank went away."""


class StoppedError(Error, RuntimeError):
    """Stopped on request."""


class InternalError(Error, RuntimeError):
    """A defect of Gneiss."""


class CopyWarning(UserWarning):
    """An array was copied that would be read where it lies in another form. Each kind is warned of once."""


def from_core(kind, message, where, hint):
    """The error that the library raised, in the words of Python: it speaks of the command's flags."""
    from ._words import in_python

    return globals()[kind](in_python(message), in_python(where), in_python(hint))
