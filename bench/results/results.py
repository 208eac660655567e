"""Measurements of a day as data: reading, writing and rendering the files bench/results/*.json.

A file holds what was measured on one machine: title, machine, date, version, the commands, the conditions, tables and notes. A column is a
name, or a name with the digits that its numbers are shown with. A cell is a text, a number, null where nothing was measured, or
[median, least, most] of several rounds.
"""

import json
import statistics

KEYS = ["title", "machine", "date", "version", "command", "conditions", "tables", "notes"]
MODELS = ["gcn", "sage", "gin", "gat"]


def load(path):
    entry = json.loads(path.read_text())
    unknown = [key for key in entry if key not in KEYS]
    missing = [key for key in ("title", "machine", "date", "version", "command") if key not in entry]
    if unknown or missing:
        raise SystemExit(f"{path}: unknown keys {unknown}, missing keys {missing}")
    return entry


def dump(path, entry):
    """Writes an entry with one row, note or command a line, so that a change of one shows as one."""
    text = lambda value: json.dumps(value, ensure_ascii=False)

    def lines_of(values, indent):
        return ",\n".join(" " * indent + text(value) for value in values)

    parts = []
    for key in (key for key in KEYS if key in entry):
        value = entry[key]
        if key in ("command", "notes"):
            parts.append(f' "{key}": [\n{lines_of(value, 2)}\n ]')
        elif key == "tables":
            tables = []
            for table in value:
                caption = f'   "caption": {text(table["caption"])},\n' if "caption" in table else ""
                tables.append(f'  {{\n{caption}   "columns": {text(table["columns"])},\n   "rows": [\n{lines_of(table["rows"], 4)}\n   ]\n  }}')
            parts.append(' "tables": [\n' + ",\n".join(tables) + "\n ]")
        else:
            parts.append(f" {text(key)}: {text(value)}")
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n")


def name_of(column):
    return column if isinstance(column, str) else column["name"]


def shown(cell, column):
    digits = None if isinstance(column, str) else column.get("digits")
    number = lambda value: f"{value:.{digits}f}" if digits is not None else f"{value}"
    if cell is None:
        return ""
    if isinstance(cell, list):
        return f"{number(cell[0])} ({number(cell[1])}–{number(cell[2])})"
    return cell if isinstance(cell, str) else number(cell)


def median_of(cell):
    """The number of a cell, or None where it has none."""
    if isinstance(cell, list):
        return cell[0]
    return cell if isinstance(cell, (int, float)) else None


def markdown(table):
    lines = [f"{table['caption']}:", ""] if "caption" in table else []
    lines += ["| " + " | ".join(name_of(column) for column in table["columns"]) + " |", "|" + "---|" * len(table["columns"])]
    lines += ["| " + " | ".join(shown(cell, column) for cell, column in zip(row, table["columns"])) + " |" for row in table["rows"]]
    return "\n".join(lines)


def ratios(table):
    """{(model, ratio column): [medians]} of a table that has a model and ratios to Gneiss."""
    names = [name_of(column) for column in table["columns"]]
    if "model" not in names:
        return {}
    out = {}
    for model in MODELS:
        for k, name in enumerate(names):
            if not name.endswith("/ Gneiss") or name.startswith("start"):
                continue
            values = [median_of(row[k]) for row in table["rows"] if row[names.index("model")] == model]
            values = [value for value in values if value is not None]
            if values:
                out[model, name] = values
    return out


def means(table):
    """The table of the means of those ratios over the graphs, or ""."""
    found = {key: values for key, values in ratios(table).items() if len(values) > 1}
    if not found:
        return ""
    lines = ["| over graphs | model | graphs | geometric mean | mean | least |", "|---|---|---|---|---|---|"]
    lines += [f"| {name} | {model} | {len(r)} | {statistics.geometric_mean(r):.1f} | {statistics.mean(r):.1f} | {min(r):.1f} |"
              for (model, name), r in found.items()]
    return "\n".join(lines)


def page(entry):
    """One entry as Markdown."""
    out = [f"## {entry['title']}", f"{entry['machine']}; {entry['date']}; {entry['version']}."]
    out.append("```\n" + "\n".join(entry["command"]) + "\n```")
    if "conditions" in entry:
        out.append(entry["conditions"])
    for table in entry.get("tables", []):
        out += [part for part in (markdown(table), means(table)) if part]
    if "notes" in entry:
        out.append("\n".join(f"- {note}" for note in entry["notes"]))
    return "\n\n".join(out) + "\n"
