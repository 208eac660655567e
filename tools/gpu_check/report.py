"""Results as Markdown: epochs with others' ratios, what is wanted and what was reached, and every result."""
import json
from pathlib import Path

from gpu_check.cases import MODELS, SPEED

FORMS = ("edge_index", "csr", "EdgeIndex", "compiled", "expert")


def table(head, rows):
    print("\n| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |")


def epochs(results):
    """The table of docs/devices.md: ours in ms, in brackets the modelled; below, others' over ours."""
    of = {(r["stage"], r["what"]): r for r in results}
    cell = lambda stage, what, text: text(of[stage, what]) if (stage, what) in of else ""  # noqa: E731
    rows = [[name, *(cell("speed", f"{name} {model}", lambda r: f"{r['epoch_ms']:.3g} ({r['modelled_ms']:.3g})"
                     if "epoch_ms" in r else "failed") for model in MODELS)] for name in SPEED]
    if any(any(row[1:]) for row in rows):
        table(("ms an epoch (modelled)", *(model.upper() for model in MODELS)), rows)
    rows = [[name, form, *(cell("peers", f"{name} {model} {form}", lambda r: f"{r['ratio']:.2f}" if "ratio" in r else
                                r.get("error", "")[:40].replace("|", " ")) for model in MODELS)]
            for name in SPEED for form in FORMS]
    rows = [row for row in rows if any(row[2:])]
    if rows:
        table(("another's epoch over ours", "form", *(model.upper() for model in MODELS)), rows)


def numbers_of(result):
    return ", ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in result.items()
                     if k not in ("stage", "what", "ok", "device")).replace("|", " ")


def verdict(result):
    return "skipped" if result["ok"] is None else "ok" if result["ok"] else "**failed**"


def report(args):
    lines = (Path(args.out) / "results.jsonl").read_text().splitlines()
    results = [json.loads(line) for line in lines]
    epochs(results)
    goals = [r for r in results if r["what"].startswith("goal: ")]
    if goals:
        table(("goal", "met", "numbers"), ((f"{r['stage']}: {r['what'][6:]}", verdict(r), numbers_of(r)) for r in goals))
    table(("stage", "what", "result", "numbers"), ((r["stage"], r["what"].replace("|", " "), verdict(r), numbers_of(r))
                                                  for r in results))
