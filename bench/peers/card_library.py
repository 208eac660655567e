"""Times cuSPARSE and cuBLAS through torch on one card: the sums and products of device_sums_bench.

    python bench/peers/card_library.py FOLDER ... [--seconds 60] [--device cuda|cpu]

FOLDER is what `gneiss data generate SPEC --out FOLDER` writes. Sums are csr @ dense with 32-bit ids, by the algorithm that torch
takes of cuSPARSE, whose set-up torch makes anew in each call; products are f32 without TF32. Prints one JSON object a measurement:
the median of five runs of several calls each, in ms.
"""

import argparse
import json
import pathlib
import statistics
import time

import torch
from train import load

COLUMNS = (16, 32, 64, 128, 256)


def wait(device):
    if device.type == "cuda":
        torch.cuda.synchronize()


def milliseconds(call, device, repeats):
    call()
    wait(device)
    runs = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        wait(device)
        runs.append(1e3 * (time.perf_counter() - start) / repeats)
    return statistics.median(runs)


def cases(folder, device):
    """What is measured, and the call."""
    indptr, indices, x, labels, _, _ = load(folder)
    nodes = len(indptr) - 1
    classes = labels.shape[1] if labels.dim() == 2 else int(labels.max()) + 1
    offsets, sources = (torch.from_numpy(a.astype("int32")).to(device) for a in (indptr, indices))
    matrix = torch.sparse_csr_tensor(offsets, sources, torch.ones(len(sources), device=device), size=(nodes, nodes))
    for columns in COLUMNS:
        dense = torch.rand(nodes, columns, device=device)
        yield f"spmm {columns} columns", lambda dense=dense: matrix @ dense
    for inner, columns in ((x.shape[1], 32), (32, 32), (32, classes), (128, 128), (256, 256)):
        rows, weights = torch.rand(nodes, inner, device=device), torch.rand(inner, columns, device=device)
        yield f"product {inner} to {columns} columns", lambda rows=rows, weights=weights: rows @ weights


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", type=pathlib.Path, nargs="+")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    end = time.monotonic() + args.seconds
    device = torch.device(args.device)
    torch.backends.cuda.matmul.allow_tf32 = False
    for folder in args.folders:
        for what, call in cases(folder, device):
            if time.monotonic() > end:
                return
            try:
                result = {"ms": milliseconds(call, device, 10 if device.type == "cuda" else 1)}
            except Exception as error:  # its fault is a result
                result = {"error": f"{type(error).__name__}: {error}"[:200]}
            print(json.dumps({"data": folder.name, "what": what, **result}), flush=True)


if __name__ == "__main__":
    main()
