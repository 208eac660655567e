"""What stages run in: calls within the time that is left, results as JSON lines, and the table at the end."""
import json
import os
import re
import shutil
import statistics
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gpu_check.cases import EPOCHS, ROOT, SMALL, command, epochs_of

MIB = 1 << 20


class Runner:
    def __init__(self, args, limits):
        self.device = args.device
        self.on_card = args.device.startswith("cuda")
        self.small = args.small or not self.on_card
        self.judges = self.on_card and not self.small
        self.patience = 1 if self.judges else 20  # times the limits of a card
        self.limits = limits
        self.python = args.python
        self.out = Path(args.out).resolve()
        self.out.mkdir(parents=True, exist_ok=True)
        self.end = time.monotonic() + (args.seconds or 0)  # else the one who runs stages says so
        self.stage_end = self.end
        self.results = (self.out / "results.jsonl").open("a")
        self.failed = 0
        self.table = []
        # Rates that the card is measured with are this run's, and so is what is compiled.
        self.env = dict(os.environ, LD_LIBRARY_PATH=f"{ROOT / 'lib'}:{os.environ.get('LD_LIBRARY_PATH', '')}",
                        XDG_CACHE_HOME=str(self.out / "cache"))
        if nvrtc := nvrtc_of(args.python) if self.on_card and "GNEISS_NVRTC" not in self.env else None:
            self.env["GNEISS_NVRTC"] = nvrtc
        self.expected = json.loads((ROOT / "expected.json").read_text())
        self.datasets = {}  # that are being made
        self.epochs_ms = {}  # of ours: (data set, model)
        self.taken = {}      # bytes of the card, likewise
        self.sums = {}       # what device_sums_bench has measured: (data set, what)

    def begin(self, stage):
        self.stage_end = min(self.end, time.monotonic() + self.limits[stage] * self.patience)

    def left(self, most=float("inf")):
        """Seconds of this stage, at most so many."""
        return max(1.0, min(most * self.patience, self.stage_end - time.monotonic()))

    def call(self, words, most=60, **env):
        return subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=self.left(most),
                              env=dict(self.env, **env))

    def side_by_side(self, function, items):
        """What function(*item) gives or throws, in order; a few at a time."""
        def one(item):
            try:
                return function(*item)
            except Exception as error:  # for the one who asked
                return error
        with ThreadPoolExecutor(max(1, min(4, (os.cpu_count() or 1) // 4))) as pool:
            return list(pool.map(one, items))

    def note(self, stage, what, ok, **numbers):
        """`ok` is None for what could not be checked here."""
        what = " ".join(what.split())
        self.failed += ok is False
        self.keep(stage, what, ok, **numbers)
        shown = " ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in numbers.items())
        shown = " ".join(shown.split())
        verdict = "skip" if ok is None else "ok  " if ok else "FAIL"
        self.table.append(f"{verdict} {stage:10} {what:28} {shown}"[:160])

    def keep(self, stage, what, ok, **numbers):
        """In the file alone."""
        self.results.write(json.dumps({"stage": stage, "what": what, "ok": ok, "device": self.device, **numbers}) + "\n")
        self.results.flush()

    def shown(self, most):
        """Lines of the table: failures, then goals, then the rest; where they are many, what was as expected and has no
        time is left out."""
        lines = sorted(self.table, key=lambda line: (not line.startswith("FAIL"), " goal: " not in line))
        if len(lines) > most:
            lines = [line for line in lines if not re.match("ok   (bits|cpu|faults|sanitizer)", line)]
        return lines[:most]

    def train(self, case, out, *more, device=None, most=60, epochs=EPOCHS, **env):
        done = self.call(command(ROOT / "gneiss", case, device or self.device, out, *more, epochs=epochs), most, **env)
        if done.returncode != 0:
            raise RuntimeError(f"exit {done.returncode}: {done.stderr.strip()[-300:]}")
        return epochs_of(out)

    def time_training(self, key, shape, epochs, *more, **env):
        """Median of the epochs after the first in ms, and what the run's report says of the card; key: (data, model)."""
        out = self.out / "runs" / "-".join(key).replace(" ", "-")
        times = [e["seconds"] for e in self.train(shape, out, "--eval-every", str(epochs), *more, most=120,
                                                  epochs=str(epochs), **env)][1:]
        report = json.loads((out / "report.json").read_text())
        said = re.search(r"([\d.]+) MiB of its memory.*an epoch takes ([\d.]+) ms", " ".join(report["notes"]))
        found = {"epoch_ms": 1e3 * statistics.median(times), "least_ms": 1e3 * min(times), "most_ms": 1e3 * max(times),
                 "taken_bytes": int(float(said[1]) * MIB), "modelled_ms": float(said[2])}
        self.epochs_ms[key], self.taken[key] = found["epoch_ms"], found["taken_bytes"]
        return found, report

    # Data sets, made while other stages run.

    def data(self, name):
        return self.out / "data" / name

    def generate(self, names):
        for name in names:
            if not (self.data(name) / "manifest.json").exists():
                shutil.rmtree(self.data(name), ignore_errors=True)
                spec = name + (SMALL if self.small else "")
                words = [ROOT / "gneiss", "data", "generate", spec, "--out", self.data(name)]
                self.datasets[name] = subprocess.Popen([str(w) for w in words], env=self.env, stdout=subprocess.DEVNULL,
                                                       stderr=subprocess.DEVNULL)

    def is_there(self, name):
        """Waits for the data set."""
        process = self.datasets.get(name)
        return (process is None or process.wait(self.left()) == 0) and (self.data(name) / "manifest.json").exists()

    def close(self):
        for process in self.datasets.values():
            if process.poll() is None:
                process.kill()


def nvrtc_of(python):
    """The NVRTC that torch has brought to an interpreter; None if there is none."""
    ask = [python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"]
    packages = Path(subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip())
    found = sorted(packages.glob("nvidia/*/lib/libnvrtc.so.*"))
    return str(found[0]) if found else None


def fault_of(text, status):
    """What the first test that failed says."""
    fault = re.search(r'Failure\n(?:C\+\+ exception with description ")?(.*)', text)
    return fault[1] if fault else f"exit {status}"
