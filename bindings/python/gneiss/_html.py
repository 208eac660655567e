"""What notebooks show: a heading, a table, and a chart of the losses."""

from html import escape


def table(title, rows, chart=""):
    """A small table; keys and values are text."""
    cells = "".join(
        f"<tr><td style='text-align:left;padding-right:1em'>{escape(key)}</td>"
        f"<td style='text-align:left'>{escape(value)}</td></tr>"
        for key, value in rows
    )
    return f"<div><b>{escape(title)}</b><table>{cells}</table>{chart}</div>"


def line(values, width=320, height=80):
    """Numbers as a line of an SVG."""
    finite = [v for v in values if v == v and abs(v) != float("inf")]
    if len(finite) < 2:
        return ""
    low, high = min(finite), max(finite)
    scale = (high - low) or 1.0
    step = width / (len(finite) - 1)
    points = " ".join(f"{i * step:.1f},{height - (v - low) / scale * height:.1f}" for i, v in enumerate(finite))
    return (
        f"<svg width='{width}' height='{height}' viewBox='0 0 {width} {height}'>"
        f"<polyline fill='none' stroke='currentColor' points='{points}'/></svg>"
    )
