"""Stages that show that a card computes what the emulation does, and says what it has to."""
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from gpu_check.cases import CORA, FAULTS, PARITY, ROOT, SHARED, TENSOR_CORES, command, digest
from gpu_check.runner import fault_of

SANITIZERS = ("memcheck", "racecheck", "initcheck", "synccheck")
SANITIZED = ("gat", "sparse-features", "two-devices")  # the last has kernels that fetch rows while they add


def card(run):
    if shutil.which("nvidia-smi"):
        ask = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total,clocks.max.sm", "--format=csv,noheader"]
        done = run.call(ask, 10)
        run.note("card", done.stdout.strip() or done.stderr.strip()[:100], done.returncode == 0)
    else:
        run.note("card", "there is no nvidia-smi on this machine", None)
    done = run.call([ROOT / "gneiss", "doctor"], 20)
    cards = re.search(r"^ *cards +(.*)", done.stdout, re.M)
    there = done.returncode == 0 and cards is not None and not cards[1].startswith("none: ")
    ok = None if run.device == "emulated" and done.returncode == 0 else there
    run.note("card", "doctor", ok, said=cards[1] if cards else done.stderr.strip()[:200])


def bits(run):
    """Weights of every training equal those of the emulation, twice, and without a captured graph."""
    turns = (("first", {}), ("second", {}), ("not captured", {"GNEISS_DEVICE_SYNC": "1"}))
    asked = [(case, turn, env) for case in run.expected for turn, env in turns]
    for (case, turn, _), found in zip(asked, run.side_by_side(lambda *one: bits_of(run, *one), asked)):
        if isinstance(found, Exception):
            run.note("bits", f"{case}, {turn}", False, said=str(found)[:200])
        else:
            run.note("bits", f"{case}, {turn}", **found)
    if "two-processes" in run.expected:
        nvshmem(run, "two-processes")
    if run.on_card:
        tensor_cores(run)


def bits_of(run, case, turn, env):
    want = run.expected[case]
    out = run.out / "runs" / f"{case}-{turn.replace(' ', '-')}"
    losses = [e["loss"] for e in run.train(case, out, **env)]
    same = digest(out / "model.safetensors") == want["weights"] and losses == want["losses"]
    far = max(abs(a - b) for a, b in zip(losses, want["losses"]))
    warnings = json.loads((out / "report.json").read_text())["warnings"]
    unfused = [w for w in warnings if w.startswith("no loops over edges")]  # ops have other bits
    return {"ok": None if unfused and not same else same, "farthest_loss": far,
            **({"said": unfused[0][:120]} if unfused else {})}


def tensor_cores(run):
    """The same bits twice, and the CPU's losses."""
    case, epochs = (TENSOR_CORES, "20") if not run.small else (TENSOR_CORES.replace("300", "40"), "2")
    outs = [run.out / "runs" / f"tensor-cores-{i}" for i in range(2)]
    losses = [[e["loss"] for e in run.train(case, out, "--tensor-cores", epochs=epochs)] for out in outs]
    host = [e["loss"] for e in run.train(case, run.out / "runs" / "tensor-cores-cpu", device="cpu", epochs=epochs)]
    far = max(abs(d - h) / abs(h) for d, h in zip(losses[0], host))
    same = digest(outs[0] / "model.safetensors") == digest(outs[1] / "model.safetensors")
    run.note("bits", "tensor cores, twice", same and far <= 1e-5, relative=far)


def nvshmem(run, case):
    """The same bits where devices show their rows in NVSHMEM's heap, if its library is there."""
    out = run.out / "runs" / f"{case}-nvshmem"
    done = run.call(command(ROOT / "gneiss", case, run.device, out, "--peer-memory", "nvshmem"))
    if "there is no NVSHMEM (" in done.stderr:
        return run.note("bits", f"{case}, nvshmem", None, said=done.stderr.strip()[:120])
    same = done.returncode == 0 and digest(out / "model.safetensors") == run.expected[case]["weights"]
    run.note("bits", f"{case}, nvshmem", same, **({} if same else {"said": done.stderr.strip()[-200:]}))


def parity(run):
    """Every test of a kernel, in shards side by side: outputs on the card have the bits of the emulation."""
    card = "cuda" if run.on_card else run.device
    there = [name for name in PARITY if (ROOT / name).exists()]
    if len(there) < len(PARITY):
        run.note("parity", "programs", False, missing=" ".join(sorted(set(PARITY) - set(there))))
    shards = max(1, (os.cpu_count() or 1) // len(PARITY))
    give_up = time.monotonic() + run.left()
    running = []
    for name, shard in [(name, shard) for name in there for shard in range(shards)]:
        env = dict(run.env, GNEISS_PARITY_CARD=card, OMP_NUM_THREADS="1", GTEST_TOTAL_SHARDS=str(shards),
                   GTEST_SHARD_INDEX=str(shard))
        log = run.out / f"{name}-{shard}.txt"
        with log.open("w") as file:
            running.append((name, log, subprocess.Popen([ROOT / name], env=env, stdout=file, stderr=file)))
    sums = {name: {"runs": 0, "tests": 0, "bad": 0} for name in there}
    said = {}  # by those that failed, first
    for name, log, process in running:
        try:
            process.wait(max(0.1, give_up - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        sums[name]["bad"] += process.returncode != 0
        if process.returncode != 0 and name not in said:
            said[name] = {"said": fault_of(log.read_text(), process.returncode)}
        found = re.search(r"^parity on .*: (\d+) runs of \d+ kernels in (\d+) tests$", log.read_text(), re.M)
        sums[name]["runs"] += int(found[1]) if found else 0
        sums[name]["tests"] += int(found[2]) if found else 0
    for name, sum_ in sums.items():
        run.note("parity", name, sum_["bad"] == 0 and sum_["tests"] > 0, **sum_, **said.get(name, {}))


def cpu(run):
    """Losses beside those of this machine's CPU, 1e-5 of them; and scores."""
    for case in run.expected:
        device = run.train(case, run.out / "runs" / f"{case}-device")
        host = run.train(case, run.out / "runs" / f"{case}-cpu", device="cpu")
        far = max(abs(d["loss"] - h["loss"]) / abs(h["loss"]) for d, h in zip(device, host))
        run.note("cpu", case, far <= 1e-5 and len(device) == len(host), relative=far)
    if "gcn" in run.expected:
        scores(run)


def scores(run):
    """Test accuracies of some seeds on a graph of Cora's size: means no farther apart than the seeds spread."""
    data, seeds, epochs = (CORA, "5", "100") if not run.small else (CORA.replace("2708", "150"), "2", "10")
    found = {}
    for device in (run.device, "cpu"):
        out = run.out / "runs" / f"scores-{device.replace(':', '-')}"
        run.train(f"{data} --model gcn --runs {seeds} --dropout 0.5", out, device=device, epochs=epochs)
        found[device] = json.loads((out / "report.json").read_text())["test"]["accuracy"]
    here, there = found[run.device], found["cpu"]
    apart = abs(here["mean"] - there["mean"])
    run.note("cpu", "scores", apart <= max(here["std"], there["std"]), accuracy=here["mean"], cpu=there["mean"],
             spread=max(here["std"], there["std"]))


def faults(run):
    """What has to be refused: with which exit status, and in which words."""
    gneiss = ROOT / "gneiss"
    base = [gneiss, "train", "karate", "--no-save"]
    cases = {
        "no such device": ([*base, "--device", "gpu"], 2, "there is no device 'gpu'"),
        "too little memory": ([*base, "--device", run.device, "--device-mem", "1K"], 4, "are free; the largest:"),
        "loss not finite": ([*base, "--epochs", "30", "--device", run.device, "--lr", "1e30"], 5, "loss is "),
    }
    if run.on_card:
        cases["no such card"] = ([*base, "--device", "cuda:999"], 2, "there is no card")
    for what, (words, code, said) in cases.items():
        refused(run, what, run.call(words, 30), code, said)
    if run.on_card:
        hidden = run.call([*base, "--device", "cuda"], 30, CUDA_VISIBLE_DEVICES="")
        refused(run, "hidden card", hidden, 2, "this machine has no CUDA card")
        hidden_driver(run, base)
        faults_on_card(run)


def hidden_driver(run, base):
    """A driver that cannot be loaded, and one that is too old, come before the machine's own."""
    hidden = run.out / "no-driver"
    hidden.mkdir(exist_ok=True)
    for name in ("libcuda.so.1", "libcuda.so"):
        (hidden / name).write_bytes(b"")
    for what, folder, said in (("hidden driver", hidden, "there is no CUDA driver"),
                               ("old driver", ROOT / "old_driver", "the driver is for CUDA 11.4")):
        done = run.call([*base, "--device", "cuda"], 30, LD_LIBRARY_PATH=f"{folder}:{run.env['LD_LIBRARY_PATH']}")
        refused(run, what, done, 2, said)


def faults_on_card(run):
    """Memory that another process took, and a product that reads where nothing lies: told, and gone on with."""
    if not (ROOT / FAULTS).exists():
        return run.note("faults", f"{FAULTS} was not packed", False)
    hog = subprocess.Popen([ROOT / FAULTS, "take", run.device, str(2 << 30)], env=run.env, text=True,
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        if hog.stdout.readline() != "taken\n":
            raise RuntimeError(hog.stderr.read().strip()[:200])
        done = run.call([ROOT / "gneiss", "train", "karate", "--no-save", "--num-layers", "3", "--hidden", "16384",
                          "--device", run.device], 30)
    finally:
        hog.communicate()  # its input ends, and it gives the memory back
    refused(run, "memory taken by another process", done, 4, "bytes are free; the largest:")
    for what, said, more in (
            ("a read where nothing lies", r"epoch 1: .*illegal memory access", {"CARD_FAULT": "3"}),
            ("the same, every kernel waited for", r"(epoch \d+|evaluation): gemm \(line \d+ of the model\): ",
             {"CARD_FAULT": "40", "GNEISS_DEVICE_SYNC": "1"})):
        out = run.out / "runs" / what.replace(" ", "-").replace(",", "")
        done = run.call(command(ROOT / FAULTS, "gcn", run.device, out, "--checkpoint-every", "1"), 30, **more)
        ok = done.returncode == 1 and re.search(said, done.stderr) is not None
        run.note("faults", what, ok, code=done.returncode, **({} if ok else {"said": done.stderr.strip()[:200]}))
    done = run.call([ROOT / "gneiss", "resume", out], 30)
    same = done.returncode == 0 and digest(out / "model.safetensors") == run.expected["gcn"]["weights"]
    run.note("faults", "gone on with behind it", same, **({} if same else {"said": done.stderr.strip()[:200]}))


def refused(run, what, done, code, said):
    ok = done.returncode == code and said in done.stderr
    run.note("faults", what, ok, code=done.returncode, **({} if ok else {"said": done.stderr.strip()[:200]}))


def resume(run):
    """Killed in mid-training and gone on with: the bits of the undisturbed run."""
    case = "sage-mean-batch-norm"
    whole = run.out / "runs" / "whole"
    run.train(case, whole, epochs="400")
    part = run.out / "runs" / "killed"
    words = command(ROOT / "gneiss", case, run.device, part, "--checkpoint-every", "5", epochs="400")
    process = subprocess.Popen([str(w) for w in words], env=run.env, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    give_up = time.monotonic() + 60 * run.patience
    while process.poll() is None and not list(part.parent.glob("killed*/checkpoint.bin")):
        if time.monotonic() > give_up:
            break
        time.sleep(0.002)
    process.kill()
    process.wait()
    if process.returncode != -9:
        raise RuntimeError("the training ended before it was killed; give it more epochs")
    done = run.call([ROOT / "gneiss", "resume", part], 60)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip()[-300:])
    same = digest(part / "model.safetensors") == digest(whole / "model.safetensors")
    run.note("resume", case, same)


def cards(run):
    """Devices on cards of their own, and all on one: threads and processes have the emulation's bits."""
    done = run.call([ROOT / "gneiss", "doctor"], 20)
    there = re.findall(r"^(?: *cards)? *cuda:\d+, (?!.*not used).*$", done.stdout, re.M)
    if len(there) < 2:
        return run.note("cards", "this machine has fewer than two cards", None)
    for case in [c for c in SHARED if c in run.expected]:
        for device, most in (("cuda", len(there)), ("cuda:0", 1)):
            out = run.out / "runs" / f"{case}-{device.replace(':', '-')}"
            done = run.call(command(ROOT / "gneiss", case, device, out))
            if "cannot read the memory of" in done.stderr:
                run.note("cards", f"{case} {device}", None, said=done.stderr.strip()[:200])
                continue
            if done.returncode != 0:
                raise RuntimeError(f"exit {done.returncode}: {done.stderr.strip()[-300:]}")
            used = json.loads((out / "report.json").read_text())["routes"]["cards"]
            ok = digest(out / "model.safetensors") == run.expected[case]["weights"]
            apart = len(set(used)) == min(most, len(used))
            run.note("cards", f"{case} {device}", ok and apart, cards=",".join(map(str, used)))
    if not set(SHARED) & set(run.expected):
        run.note("cards", "no training on several devices was packed", None)


def sanitizer(run):
    """The four tools find nothing in trainings whose kernels share memory or write what others write."""
    tool = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not Path(tool).exists():
        return run.note("sanitizer", "compute-sanitizer is not on this machine", None)

    def check(case, kind):
        words = [tool, "--tool", kind, "--error-exitcode", "9",
                 *command(ROOT / "gneiss", case, run.device, run.out / "runs" / f"{case}-{kind}", epochs="2")]
        done = run.call(words)
        return done.returncode, (done.stdout + done.stderr).strip()[-200:]

    asked = [(case, kind) for case in SANITIZED for kind in SANITIZERS]
    for (case, kind), found in zip(asked, run.side_by_side(check, asked)):
        code, said = (None, str(found)[:200]) if isinstance(found, Exception) else found
        run.note("sanitizer", f"{case}, {kind}", code == 0, **({} if code == 0 else {"code": code, "said": said}))


STAGES = {"card": card, "bits": bits, "parity": parity, "cpu": cpu, "faults": faults, "resume": resume, "cards": cards,
          "sanitizer": sanitizer}
