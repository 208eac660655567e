"""Stages that time a card: our epochs and kernels, others' on the same data sets, and what is wanted of the ratios."""
import csv
import json
import re
import shutil
import statistics
import subprocess
import time
from pathlib import Path

from gpu_check import goals
from gpu_check.cases import CORA, LAYERS, MODELS, ROOT, SEVERAL, SHAPE, SPARSE, SPEED, SUMS, command
from gpu_check.goals import judge, judge_bytes, judge_each, judge_ratios
from gpu_check.runner import fault_of

PROFILED = (("ogbn-arxiv", "gcn"), ("ogbn-arxiv", "gat"), ("reddit", "gcn"))
METRICS = ("gpu__time_duration.sum", "dram__bytes.sum", "lts__t_bytes.sum")
# What the program chooses, and what it may choose from.
CHOICES = (("reddit", "--order", ("transform_first", "aggregate_first")),
           ("reddit", "--source-tiles", ("on", "off")),
           ("ogbn-products", "--order", ("transform_first", "aggregate_first")),
           ("ogbn-products", "--reorder", ("none", "clusters")),
           *((name, "--sparse-path", ("sparse", "dense")) for name in SPARSE))
UNITS = {"byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "ns": 1, "nsecond": 1, "us": 1e3, "usecond": 1e3, "ms": 1e6,
         "msecond": 1e6}


def limits(run):
    """The card's rates by its own kernels; plans of this run go by them from then on."""
    if not run.on_card:
        return run.note("limits", "the emulation has no rates", None)
    done = run.call([ROOT / "gneiss", "doctor", "--calibrate", "--device", run.device])
    (run.out / "limits.txt").write_text(done.stdout + done.stderr)
    if done.returncode != 0:
        raise RuntimeError(f"exit {done.returncode}: {done.stderr.strip()[-200:]}")
    run.note("limits", "rates of the card", True, kept_in="limits.txt")
    for line in done.stdout.splitlines():
        run.keep("limits", line.strip(), True)


def speed(run):
    """Medians of epochs, evaluation apart, beside what the plan models; hidden 32, three layers, no dropout."""
    wanted = [(name, model, words, SPEED[name]) for name in SPEED for model, words in MODELS.items()]
    wanted += [("ogbn-arxiv", layer, f"--model {ROOT}/models/{layer}.gneiss --jit", SPEED["ogbn-arxiv"]) for layer in LAYERS]
    wanted += [(name, "gcn", MODELS["gcn"], epochs) for name, epochs in SPARSE.items()]
    found = {}
    for name, model, words, epochs in wanted:
        try:
            if not run.is_there(name):
                raise RuntimeError("its data set is not there")
            found[name, model] = time_model(run, name, model, words, epochs if not run.small else 3)
        except Exception as error:  # the next one is tried
            run.note("speed", f"{name} {model}", False, said=f"{type(error).__name__}: {error}"[:200])
    judge_epochs(run, found)


def time_model(run, name, model, words, epochs):
    shape = f"{run.data(name)} {words} {SHAPE}"
    found, report = run.time_training((name, model), shape, epochs)
    ask = [ROOT / "gneiss", "plan", *shape.split(), "--defaults", "plain", "--device", "cuda", "--json"]
    plan = run.call(ask, 120)
    if plan.returncode != 0:
        raise RuntimeError(f"plan: exit {plan.returncode}: {plan.stderr.strip()[-300:]}")
    planned = json.loads(plan.stdout)["session_bytes"]
    what = f"{name} {model}"
    run.note("speed", what, True, **found, planned_bytes=planned,
             **({"said": report["warnings"][0][:120]} if report["warnings"] else {}))
    return found, planned


def judge_epochs(run, found):
    """found: {(data, model): what time_model gives}."""
    modelled, planned, epochs, reached = {}, {}, {}, {}
    for (name, model), (numbers, bytes_) in found.items():
        what = f"{name} {model}"
        if model in MODELS:
            modelled[what] = (abs(numbers["modelled_ms"] / numbers["epoch_ms"] - 1), goals.MODELLED)
            planned[what] = (abs(numbers["taken_bytes"] / bytes_ - 1), goals.PLANNED)
        if model in goals.EPOCH_MS.get(name, {}):
            epochs[what] = (numbers["epoch_ms"], goals.EPOCH_MS[name][model])
            reached[what] = (numbers["modelled_ms"] / numbers["epoch_ms"], goals.REACHED[name])
    judge_each(run, "speed", "ms an epoch", epochs)
    judge_each(run, "speed", "reached of the card's rates", reached, most=False)
    judge_each(run, "speed", "modelled epoch, apart by", modelled)
    judge_each(run, "speed", "planned bytes, apart by", planned)


def starts(run):
    """A step on a graph of Cora's size, captured and not; products from the start to the end of its first epoch."""
    data, epochs = (CORA, 200) if not run.small else (CORA.replace("2708", "150"), 3)
    shape = f"{data} --model gcn --dropout 0.5"
    captured, _ = run.time_training(("cora", "captured"), shape, epochs)
    waited, _ = run.time_training(("cora", "not captured"), shape, epochs, GNEISS_DEVICE_SYNC="1")
    judge(run, "starts", "goal: Cora's step, ms", captured["epoch_ms"], most=goals.CORA_STEP_MS)
    judge(run, "starts", "goal: Cora's step, not captured", waited["epoch_ms"] / captured["epoch_ms"],
          least=goals.CORA_NOT_CAPTURED)
    if not run.is_there("ogbn-products"):
        raise RuntimeError("the data set ogbn-products is not there")
    shape = f"{run.data('ogbn-products')} --model gcn {SHAPE}"
    words = command(ROOT / "gneiss", shape, run.device, run.out / "runs" / "start", "--eval-every", "2", epochs="1")
    begin = time.perf_counter()
    done = run.call(words)
    seconds = time.perf_counter() - begin
    if done.returncode != 0:
        raise RuntimeError(f"exit {done.returncode}: {done.stderr.strip()[-200:]}")
    judge(run, "starts", "goal: products, first epoch, s", seconds, most=goals.FIRST_EPOCH_SECONDS)


def choices(run):
    """Epochs of a GCN by what the program chooses, beside each alternative that can be asked for."""
    found = {}
    for name, flag, alternatives in CHOICES:
        if not run.is_there(name):
            run.note("choices", f"data set {name}", False)
            continue
        times = {}
        for choice in ("auto", *alternatives):
            shape = f"{run.data(name)} --model gcn {SHAPE} {flag} {choice}"
            try:
                measured, _ = run.time_training((name, f"{flag[2:]} {choice}"), shape, 20 if not run.small else 3)
            except RuntimeError as error:  # an alternative that does not fit, say
                run.note("choices", f"{name} {flag} {choice}", False if choice == "auto" else None, said=str(error)[:120])
                continue
            times[choice] = measured["epoch_ms"]
        if "auto" not in times:
            continue
        found[f"{name} {flag}"] = (times["auto"] / min(times.values()), goals.CHOICE)
        run.keep("choices", f"{name} {flag}", True, **{f"{choice}_ms": ms for choice, ms in times.items()})
    judge_each(run, "choices", "choices, over the best", found)


def exchange(run):
    """Sums on one of several devices: the emulation's bits, and times beside what they are compared with."""
    card = "cuda" if run.on_card else run.device
    for name in SEVERAL:
        if not (ROOT / name).exists():
            run.note("exchange", f"{name} was not packed", False)
            continue
        done = run.call([ROOT / name], 120, GNEISS_PARITY_CARD=card)
        (run.out / f"{name}.txt").write_text(done.stdout + done.stderr)
        found = re.search(r"^parity on .*: (\d+) runs of \d+ kernels", done.stdout + done.stderr, re.M)
        said = {"said": fault_of(done.stdout + done.stderr, done.returncode)} if done.returncode != 0 else {}
        ok = done.returncode == 0 and found is not None
        run.note("exchange", name, ok, runs=int(found[1]) if found else 0, **said)
    if not (ROOT / SUMS).exists():
        return run.note("exchange", f"{SUMS} was not packed", None)
    for name in SPEED:
        if not run.is_there(name):
            run.note("exchange", f"data set {name}", False)
            continue
        done = run.call([ROOT / SUMS, run.data(name), run.device, "20" if not run.small else "1"], 90)
        for line in done.stdout.splitlines():
            one = json.loads(line)
            what = one.pop("what")
            run.sums[name, what] = one
            tell = run.keep if one["farthest"] < 1e-4 else run.note
            tell("exchange", f"{name} {what}", one["farthest"] < 1e-4, **one)
        if done.returncode != 0:
            run.note("exchange", f"{name} {SUMS}", False, said=f"exit {done.returncode}: {done.stderr.strip()[-200:]}")
    judge_sums(run)


def judge_sums(run):
    rows = {f"{name}": one["ratio"] for (name, what), one in run.sums.items() if what == "spmm 32 columns"}
    judge_ratios(run, "exchange", "a block a row, 32 columns", rows)
    for row, beside in (("far rows, blocking", "blocking_ms"), ("far rows, direct", "direct_ms")):
        best = {}  # of the tunings
        for (name, what), one in run.sums.items():
            if what.startswith("far ") and beside in one:
                key = f"{name} {' '.join(what.split()[-2:])}"
                best[key] = max(best.get(key, 0), one[beside] / one["pipelined_ms"])
        judge_ratios(run, "exchange", row, best)


def said_by(run, script, folders, *more):
    """The JSON lines of a peers' script, as many as it prints in the time that is left; what was wrong otherwise."""
    seconds = run.left()
    words = [run.python, ROOT / "peers" / script, *folders, "--device", "cuda" if run.judges else "cpu", *more,
             "--seconds", f"{max(1, seconds - min(15, seconds / 4)):.0f}"]
    log, errors = (run.out / f"{script}.{kind}" for kind in ("txt", "err"))
    with log.open("w") as file, errors.open("w") as error_file:
        process = subprocess.Popen([str(w) for w in words], stdout=file, stderr=error_file)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    said = [json.loads(line) for line in log.read_text().splitlines() if line.endswith("}")]
    return said, errors.read_text().strip()[-200:]


def library(run):
    """cuSPARSE and cuBLAS, through torch, beside our kernels of the stage exchange. torch takes cuSPARSE's default algorithm."""
    there = [name for name in SPEED if run.is_there(name)]
    said, wrong = said_by(run, "card_library.py", [run.data(name) for name in there])
    ratios = {"cuSPARSE": {}, "cuBLAS": {}, "cuBLAS, ours on tensor cores": {}}
    for one in said:
        what = f"{one['data']} {one['what']}"
        ours = run.sums.get((one["data"], one["what"]))
        numbers = {k: one[k] for k in ("ms", "error") if k in one}
        if ours is not None and "ms" in one:
            sums = one["what"].startswith("spmm")
            numbers = {"ratio": one["ms"] / ours["ours_ms"], **numbers}
            if not sums or not one["what"].startswith("spmm 16 "):
                ratios["cuSPARSE" if sums else "cuBLAS"][what] = numbers["ratio"]
            if not sums and min(map(int, re.findall(r"(\d+) to (\d+)", one["what"])[0])) >= 128:
                ratios["cuBLAS, ours on tensor cores"][what] = one["ms"] / ours["tensor_ms"]
        run.keep("library", what, True if "ms" in one else None, **numbers)
    for row, of in ratios.items():
        judge_ratios(run, "library", row, of)
    if not said:
        raise RuntimeError(f"nothing was measured: {wrong}")


def peers(run):
    """PyTorch's epochs on the same data sets, beside ours of this run."""
    folders = [run.data(name) for name in SPEED if run.is_there(name)]
    if not folders:
        raise RuntimeError("there is no data set; run the stage speed first")
    sparse = [run.data(name) for name in SPARSE if run.is_there(name)]
    said, wrong = said_by(run, "card.py", folders, "--sparse", *sparse, "--layers", *LAYERS)
    ratios, shares = {}, {}  # by (data, model), form
    for one in said:
        key = (one["data"], one["model"])
        numbers = {k: one[k] for k in ("ms", "peak_bytes", "error", "first_loss", "last_loss") if k in one}
        if key in run.epochs_ms and "ms" in one:
            ratio = ratios.setdefault(key, {})[one["form"]] = one["ms"] / run.epochs_ms[key]
            numbers = {"ratio": ratio, **numbers}
            if one.get("peak_bytes"):
                shares.setdefault(key, {})[one["form"]] = run.taken[key] / one["peak_bytes"]
        run.keep("peers", f"{' '.join(key)} {one['form']}", True if "ms" in one else None, **numbers)
    judge_peers(run, ratios, shares)
    if not said:
        raise RuntimeError(f"no peer ran: {wrong}")


def judge_peers(run, ratios, shares):
    """Rows of goals.RATIOS and goals.BYTES. Of GAT there is no expert's form: torch has no sparse product of several heads."""
    def of_form(table, form, keep):
        return {" ".join(key): forms[form] for key, forms in table.items() if form in forms and keep(*key)}

    def of_best(table, choose, keep):
        best = {}
        for key, forms in table.items():
            pyg = [value for form, value in forms.items() if form != "expert"]
            if pyg and keep(*key):
                best[" ".join(key)] = choose(pyg)
        return best

    full = lambda data, model: data in SPEED and model in ("gcn", "sage", "gin")  # noqa: E731
    judge_ratios(run, "peers", "PyG by edge_index", of_form(ratios, "edge_index", full))
    judge_ratios(run, "peers", "best of PyG", of_best(ratios, min, full))
    judge_ratios(run, "peers", "best of PyG, GAT", of_best(ratios, min, lambda data, model: model == "gat"))
    judge_ratios(run, "peers", "expert", of_form(ratios, "expert", full))
    judge_ratios(run, "peers", "sparse features, best of PyG", of_best(ratios, min, lambda data, model: data in SPARSE))
    judge_ratios(run, "peers", "layers of users, PyG's MessagePassing",
                 of_form(ratios, "MessagePassing", lambda data, model: model in LAYERS))
    judge_bytes(run, "peers", "best of PyG", of_best(shares, max, lambda data, model: data in SPEED and model in MODELS))
    judge_bytes(run, "peers", "PyG's default",
                of_form(shares, "edge_index", lambda data, model: data in ("reddit", "ogbn-products") and model in MODELS))


def kernels(run):
    """Time and bytes of the kernels of one step, by ncu, for a few trainings; summed by kernel and grid."""
    tool = shutil.which("ncu") or "/usr/local/cuda/bin/ncu"
    if not Path(tool).exists():
        return run.note("kernels", "ncu is not on this machine", None)
    wanted = sorted({name for name, _ in PROFILED})
    if not all(run.is_there(name) for name in wanted):
        raise RuntimeError(f"not all data sets are there: {', '.join(wanted)}")
    for name, model in PROFILED:
        log = run.out / f"ncu-{name}-{model}.csv"
        shape = f"{MODELS[model]} {SHAPE}".split()
        done = run.call([tool, "--csv", "--clock-control", "none", "--metrics", ",".join(METRICS), "--log-file", log,
                         ROOT / "gneiss", "train", run.data(name), *shape, "--epochs", "2", "--eval-every", "100",
                         "--defaults", "plain", "--device", run.device, "--no-save"], 30)
        if done.returncode != 0:
            raise RuntimeError(f"ncu: exit {done.returncode}: {(done.stderr or done.stdout).strip()[-200:]}")
        note_kernels(run, f"{name} {model}", last_step(log.read_text()))


def note_kernels(run, what, launches):
    """One result a kernel and grid in the file; the table has their sum."""
    groups = {}
    for launch in launches:
        groups.setdefault((launch["kernel"], launch["grid"]), []).append(launch)
    for (kernel, grid), same in sorted(groups.items(), key=lambda g: -sum(x[METRICS[0]] for x in g[1])):
        run.keep("kernels", f"{what}: {kernel} {grid}", True, launches=len(same),
                 median_us=1e-3 * statistics.median(x[METRICS[0]] for x in same),
                 dram_bytes=sum(x[METRICS[1]] for x in same), l2_bytes=sum(x[METRICS[2]] for x in same))
    ns, dram, l2 = (sum(x[m] for x in launches) for m in METRICS)
    run.note("kernels", what, bool(launches), launches=len(launches), ms=1e-6 * ns, dram_bytes=dram, l2_bytes=l2)


def last_step(text):
    """Launches of the last training step in a table of ncu: what follows the update before it, up to its own."""
    launches = {}
    for row in csv.DictReader(text[text.index('"ID"'):].splitlines()):
        launch = launches.setdefault(row["ID"], {"kernel": row["Kernel Name"], "grid": row["Grid Size"]})
        value, unit = float(row["Metric Value"].replace(",", "")), row["Metric Unit"]
        if unit not in UNITS:
            raise RuntimeError(f"ncu counts in {unit}, which is not among {', '.join(UNITS)}")
        launch[row["Metric Name"]] = value * UNITS[unit]
    launches = list(launches.values())
    updates = [i for i, launch in enumerate(launches) if "adam_update" in launch["kernel"]]
    if len(updates) < 2:
        raise RuntimeError("ncu saw fewer than two steps")
    return launches[updates[-2] + 1 : updates[-1] + 1]


def mgg(run):
    """Epochs on MGG's graphs, forward, backward and update, beside what MGG took on eight cards."""
    faster = 0
    for name, theirs in goals.MGG.items():
        found = on_generated(run, "mgg", name, f"{name}:classes=16", "--model gcn --num-layers 1 --dropout 0")
        if found is not None:
            faster += found["epoch_ms"] < theirs
            run.note("mgg", name, True, **found, ratio=theirs / found["epoch_ms"])
    judge(run, "mgg", "goal: faster than eight A100s, of five", faster, least=goals.MGG_FASTER)


def amazon(run):
    """AmazonProducts, whose epoch takes Morphling 15.26 s on an A100 by its paper."""
    found = on_generated(run, "amazon", "amazonproducts", "amazonproducts", f"--model gcn {SHAPE}")
    if found is not None:
        run.note("amazon", "gcn", True, **found)
        judge(run, "amazon", "goal: epoch, s", 1e-3 * found["epoch_ms"], most=goals.AMAZON_SECONDS)


def on_generated(run, stage, name, spec, words):
    """Times 20 epochs on a data set that is made for this and removed; None, and a note, where it cannot be made."""
    if run.small:
        spec += ("," if ":" in spec else ":") + "features=8,nodes=200,edges=600"
    data = run.data(f"{stage}-{name}")
    done = run.call([ROOT / "gneiss", "data", "generate", spec, "--out", data, "--force"], 200)
    if done.returncode != 0:
        run.note(stage, f"data set {name}", False, said=done.stderr.strip()[-200:])
        return None
    try:
        return run.time_training((stage, name), f"{data} {words}", 20)[0]
    finally:
        shutil.rmtree(data)


STAGES = {"limits": limits, "speed": speed, "starts": starts, "exchange": exchange, "library": library, "kernels": kernels,
          "peers": peers, "choices": choices, "mgg": mgg, "amazon": amazon}
