"""Makes the folder that travels: programs, their libraries, what the emulation computes, peers' scripts, checksums."""
import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path

from gpu_check.cases import CASES, FAULTS, LAYERS, PARITY, ROOT, SEVERAL, SUMS, command, digest, epochs_of

MOST_BYTES = 55 << 20
PEERS = ("card.py", "card_library.py", "layers.py", "train.py")


def build(root):
    folder = root / "build-cuda"
    configure = [root / "tools/configure", folder, "-DGNEISS_CUDA=ON", "-DGNEISS_BUILD_TESTS=ON",
                 "-DGNEISS_BUILD_BENCH=ON"]
    subprocess.run(configure, cwd=root, check=True)
    subprocess.run(["cmake", "--build", folder, "--parallel", "2", "--target", "gneiss", *PARITY, *SEVERAL,
                    SUMS, FAULTS], check=True)
    return folder


def libraries(program):
    """Shared libraries of a program but those of the C library, which every machine has."""
    for line in subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout.splitlines():
        words = line.split()
        own = len(words) > 2 and words[1] == "=>" and not words[0].startswith(
            ("libc.", "libm.", "libdl.", "librt.", "libpthread.", "ld-linux"))
        if own:
            yield Path(words[2])


def copy_programs(folder, out):
    tests = [p for p in (folder / "tests" / name for name in PARITY) if p.exists()]
    more = [*(folder / "tests" / name for name in SEVERAL), *(folder / "bin" / name for name in (SUMS, FAULTS))]
    programs = [folder / "bin/gneiss", *tests, *(p for p in more if p.exists())]
    for source in programs:
        shutil.copy2(source, out)
        subprocess.run(["strip", out / source.name], check=True)
        for library in libraries(source):
            shutil.copy2(library, out / "lib")
        if source != programs[0]:  # each of the tests has all kernels
            packed = out / source.name
            (out / f"{source.name}.gz").write_bytes(gzip.compress(packed.read_bytes()))
            packed.unlink()
    if len(tests) < len(PARITY):
        print(f"gpu-check: {folder} has not all tests of parity; build them there: {' '.join(PARITY)}", file=sys.stderr)


def copy_texts(root, out):
    shutil.copy2(ROOT / "gpu-check", out / "gpu-check")
    (out / "gpu_check").mkdir()
    for source in sorted((ROOT / "gpu_check").glob("*.py")):
        shutil.copy2(source, out / "gpu_check")
    for name in PEERS:
        shutil.copy2(root / "bench/peers" / name, out / "peers")
    for name in LAYERS:
        shutil.copy2(root / "tests/synth/models" / f"{name}.gneiss", out / "models")
    # A driver that has a version, and that too old a one.
    text = 'extern "C" int cuInit(unsigned) { return 0; }\nextern "C" int cuDriverGetVersion(int* v) { *v = 11040; return 0; }\n'
    subprocess.run(["c++", "-shared", "-fPIC", "-x", "c++", "-", "-Wl,-soname,libcuda.so.1", "-o",
                    out / "old_driver/libcuda.so.1"], input=text, text=True, check=True)


def emulate(program, cases, out):
    """What the emulation computes."""
    wanted = {}
    for case in cases:
        run = out / "emulated" / case
        subprocess.run(command(program, case, "emulated", run), check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        report = json.loads((run / "report.json").read_text())
        if "--jit" in CASES[case] and any("loops" in w for w in report["warnings"]):
            sys.exit(f"gpu-check: {case} was trained without its loops: {report['warnings']}")
        wanted[case] = {"weights": digest(run / "model.safetensors"), "losses": [e["loss"] for e in epochs_of(run)]}
        print(f"emulated {case}: loss {wanted[case]['losses'][-1]:.6f}", flush=True)
    shutil.rmtree(out / "emulated")
    (out / "expected.json").write_text(json.dumps(wanted))


def pack(args):
    root = ROOT.parent
    out = Path(args.out).resolve()
    if out.exists():
        sys.exit(f"gpu-check: {out} is there already; name another folder, or remove it")
    folder = Path(args.build) if args.build else build(root)
    for name in ("lib", "peers", "models", "old_driver"):
        (out / name).mkdir(parents=True)
    copy_programs(folder, out)
    copy_texts(root, out)
    cases = args.cases or list(CASES)
    emulate(out / "gneiss", cases, out)
    files = sorted(p for p in out.rglob("*") if p.is_file())
    sums = "".join(f"{digest(p)}  {p.relative_to(out)}\n" for p in files)
    (out / "SHA256SUMS").write_text(sums)
    size = sum(p.stat().st_size for p in files)
    if size > MOST_BYTES:
        sys.exit(f"gpu-check: {out} has {size} bytes, {MOST_BYTES} are the most that travel")
    print(f"packed {out}: {size / (1 << 20):.1f} MiB, {len(cases)} trainings")
