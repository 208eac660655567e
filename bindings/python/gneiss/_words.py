"""What the library says for the command, as Python says it: settings are keyword arguments, not flags."""

import re

from ._settings import setting_named

# A command is left as it is. A value is a word in capitals, a number, a list of numbers, a choice, or "ratio:60/20".
_FLAG = re.compile(
    r"(?P<command>gneiss [a-z]+ [^;,(`]*)"
    r"|--(?P<flag>[a-z][a-z-]*[a-z])"
    r"(?: (?P<value>[A-Z]{2,}\b|\d(?:[\w%]|[.,](?=[\w%]))*|[a-z]+:(?:[\w/:-]|\.(?=\w))+|[a-z]\w*))?"
)
_ARGUMENTS = {"features": "x", "labels": "y", "train_ids": "train_mask", "val_ids": "val_mask", "test_ids": "test_mask"}


def _value_of(setting, text):
    """How Python writes a value; None if the word after the flag is none."""
    if text is None or setting.is_switch:
        return None
    if re.fullmatch(r"[A-Z]+|[\d.]*\d(e-?\d+)?", text):
        return text
    if re.fullmatch(r"[\d.]+(,[\d.]+)+", text):
        return f"({text.replace(',', ', ')})"
    more = ["cpu", "cuda", "standard", "row", "none", "random"]
    choices = setting.expected.removeprefix("one of ").split(", ") + more
    return f'"{text}"' if text in choices or re.search(r"[\d:]", text) else None


def _keyword(match):
    if match["command"]:
        return match[0]
    name = match["flag"].replace("-", "_")
    setting = setting_named(name)
    if setting is None and name.startswith("no_") and setting_named(name[3:]):
        return f"{name[3:]}=False{match[0][len(match['flag']) + 2 :]}"
    if setting is None:
        return match[0]
    rest = f" {match['value']}" if match["value"] else ""
    if setting.is_switch:
        return f"{name}=True{rest}"
    value = _value_of(setting, match["value"])
    said = name + rest if value is None else f"{name}={value}"
    return f"{said} ({_ARGUMENTS[name]}= of gneiss.Dataset)" if name in _ARGUMENTS and value == "FILE" else said


def in_python(text):
    """``text`` with flags as keyword arguments."""
    return _FLAG.sub(_keyword, text)
