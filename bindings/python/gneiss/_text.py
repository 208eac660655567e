"""Models as users give them: a built-in's name, a path, or the text itself."""

import os

from .errors import UsageError


def model_file(model, folder):
    """A model's text goes through a file in ``folder``, whose name messages show."""
    if hasattr(model, "__fspath__"):
        return os.fspath(model)
    if not isinstance(model, str):
        kind = type(model).__name__
        raise UsageError(f"expected the name, the path or the text of a model, got {kind}", "model", "e.g. 'gcn'")
    if "\n" not in model and "{" not in model:
        return model
    path = os.path.join(folder, "model.gneiss")
    with open(path, "w", encoding="utf-8") as file:
        file.write(model)
    return path
