"""Keyword arguments are the command's settings: one table says their names, values and help."""

import inspect

import numpy as np

from . import _core
from .errors import UsageError


class _Setting:
    def __init__(self, row):
        self.key, flag, aliases, self.is_switch, self.expected, self.initial, self.unset, self.help = row
        self.name = flag.replace("-", "_")
        self.aliases = [alias.replace("-", "_") for alias in aliases]


# Python says these in another way: what is trained on is an argument, where results go is out=.
_NOT_KEYWORDS = {"data.name", "out.folder", "out.save"}
_TABLE = [_Setting(row) for row in _core.settings()]
_BY_NAME = {}
for _one in _TABLE:
    if _one.key in _NOT_KEYWORDS:
        continue
    for _name in [_one.name, *_one.aliases]:
        _BY_NAME[_name] = _one


def setting_named(name):
    """The setting with this keyword, or None."""
    return _BY_NAME.get(name)


def text_of(value, name):
    """A value as the table reads it."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, (list, tuple, np.ndarray)):
        return ",".join(text_of(item, name) for item in value)
    if isinstance(value, (int, str)) or hasattr(value, "__fspath__"):
        return str(value)
    kind = type(value).__name__
    raise UsageError(f"expected text, a number or a list of them, got {kind}", name, "None leaves a setting as it is")


def pairs(keywords, model=None, only=""):
    """[(key, value, words for errors)] of keyword arguments; a model's own arguments go by their names."""
    settings = {name: setting.key for name, setting in _BY_NAME.items() if setting.key.startswith(only)}
    if model is not None and not settings.keys() >= keywords.keys():
        for row in _core.model_arguments(model):
            settings.setdefault(row[0], f"model.args.{row[0]}")
    result = []
    said_by = {}
    for name, value in keywords.items():
        key = settings.get(name)
        if key is None:
            near = _core.nearest(name, list(settings))
            hint = f"did you mean {near}?" if near else "help(gneiss.train) lists the settings"
            raise UsageError(f"there is no setting '{name}'", name, hint)
        if value is None:
            continue
        if key in said_by:
            raise UsageError(f"{said_by[key]} and {name} are one setting", name, "leave one of them out")
        said_by[key] = name
        text = text_of(value, name)
        result.append((key, text, f"{name}={text}"))
    return result


def _settings(only):
    return [s for s in _TABLE if s.key not in _NOT_KEYWORDS and s.key.startswith(only)]


def describe(function, only="", leave_out=()):
    """Gives a function that takes **settings the signature and the docstring that the table makes."""
    rows = [s for s in _settings(only) if s.name not in leave_out]
    lines = [inspect.cleandoc(function.__doc__ or ""), "", "Settings (keyword arguments):", ""]
    for setting in rows:
        initial = f"; default {setting.initial}" if setting.initial else ""
        lines.append(f"{setting.name}: {setting.expected}{initial}")
        lines.append(f"    {setting.help}")
    function.__doc__ = "\n".join(lines)
    signature = inspect.signature(function)
    fixed = [p for p in signature.parameters.values() if p.kind != inspect.Parameter.VAR_KEYWORD]
    rest = [p for p in signature.parameters.values() if p.kind == inspect.Parameter.VAR_KEYWORD]
    taken = {p.name for p in fixed}
    only_named = inspect.Parameter.KEYWORD_ONLY
    named = [inspect.Parameter(s.name, only_named, default=None) for s in rows if s.name not in taken]
    function.__signature__ = signature.replace(parameters=fixed + named + rest)
    return function
