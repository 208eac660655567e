"""One process of a full-graph GCN on several, by torch.distributed with gloo: what is at hand without a graph library.

    MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 WORLD_SIZE=2 RANK=0 \\
        python bench/peers/ranks.py FOLDER [--epochs 5] [--threads 1]

FOLDER is what `gneiss data generate SPEC --out FOLDER` writes. Every process holds a run of nodes of about equal
in-edges with their rows of the normalised adjacency as a CSR tensor, and gathers all rows of X W before it multiplies
(all_gather); backward adds the gradients of all rows over the processes and keeps its own; gradients of weights are
added by all_reduce. Three layers, hidden width 32, Adam, nothing dropped, nothing evaluated: as train.py. Process 0
prints one JSON object.
"""

import argparse
import json
import pathlib
import time
import warnings

import numpy as np
import torch
import torch.distributed as dist

warnings.filterwarnings("ignore")  # of CSR tensors: beta


def load(folder):
    def array(name):
        return np.load(folder / f"{name}.npy")

    indptr, indices = array("in_indptr").astype(np.int64), array("in_indices").astype(np.int64)
    listed = (folder / "train_idx.npy").exists()
    train = array("train_idx").astype(np.int64) if listed else np.flatnonzero(array("train_mask"))
    return indptr, indices, array("features").astype(np.float32, copy=False), array("labels"), train


class AllRows(torch.autograd.Function):
    """Rows of all processes from each one's own; padded, because gloo gathers equal shapes."""

    @staticmethod
    def forward(context, mine, starts, rank):
        context.starts, context.rank = starts, rank
        longest = max(b - a for a, b in zip(starts, starts[1:]))
        padded = torch.zeros(longest, mine.shape[1])
        padded[: len(mine)] = mine
        gathered = [torch.empty_like(padded) for _ in starts[1:]]
        dist.all_gather(gathered, padded)
        return torch.cat([rows[: b - a] for rows, a, b in zip(gathered, starts, starts[1:])])

    @staticmethod
    def backward(context, gradient):
        gradient = gradient.contiguous()
        dist.all_reduce(gradient)
        return gradient[context.starts[context.rank] : context.starts[context.rank + 1]], None, None


class Product(torch.autograd.Function):
    """A X by a CSR tensor and its transpose, which is made once."""

    @staticmethod
    def forward(context, adjacency, transposed, x):
        context.transposed = transposed
        return adjacency @ x

    @staticmethod
    def backward(context, gradient):
        return None, None, context.transposed @ gradient


def part_of(indptr, indices, begin, end):
    """This process's rows of D^-1/2 (A + I) D^-1/2."""
    n = len(indptr) - 1
    scale = 1 / np.sqrt(np.diff(indptr) + 1.0)
    rows = np.repeat(np.arange(begin, end), np.diff(indptr[begin : end + 1]))
    rows = np.concatenate([rows, np.arange(begin, end)])
    columns = np.concatenate([indices[indptr[begin] : indptr[end]], np.arange(begin, end)])
    values = torch.from_numpy((scale[rows] * scale[columns]).astype(np.float32))
    at = torch.from_numpy(np.stack([rows - begin, columns]))
    part = torch.sparse_coo_tensor(at, values, (end - begin, n)).coalesce()
    return part.to_sparse_csr(), part.t().coalesce().to_sparse_csr()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    indptr, indices, features, labels, train = load(args.folder)
    wanted = [indptr[-1] * p // ranks for p in range(1, ranks)]
    starts = [0, *[int(s) for s in np.searchsorted(indptr, wanted)], len(indptr) - 1]
    begin, end = starts[rank], starts[rank + 1]
    adjacency, transposed = part_of(indptr, indices, begin, end)
    x = torch.from_numpy(np.ascontiguousarray(features[begin:end]))
    mine = train[(train >= begin) & (train < end)] - begin
    target = torch.from_numpy(labels[begin:end][mine].astype(np.int64))
    rows = torch.from_numpy(mine)
    classes = int(labels.max()) + 1
    torch.manual_seed(0)
    widths = [x.shape[1], 32, 32, classes]
    weights = [torch.nn.Parameter(torch.nn.init.xavier_uniform_(torch.empty(a, b))) for a, b in zip(widths, widths[1:])]
    biases = [torch.nn.Parameter(torch.zeros(b)) for b in widths[1:]]
    optimizer = torch.optim.Adam([*weights, *biases], lr=0.01)
    seconds, losses = [], []
    for _ in range(args.epochs + 1):
        dist.barrier()
        start = time.perf_counter()
        optimizer.zero_grad()
        h = x
        for layer, (weight, bias) in enumerate(zip(weights, biases)):
            h = Product.apply(adjacency, transposed, AllRows.apply(h @ weight, starts, rank)) + bias
            h = h.relu() if layer < 2 else h
        loss = torch.nn.functional.cross_entropy(h[rows], target, reduction="sum") / len(train)
        loss.backward()
        total = loss.detach().clone()
        dist.all_reduce(total)
        for parameter in [*weights, *biases]:
            dist.all_reduce(parameter.grad)
        optimizer.step()
        seconds.append(time.perf_counter() - start)
        losses.append(total.item())
    if rank == 0:
        print(json.dumps({"epoch": min(seconds[1:]), "losses": losses, "torch": torch.__version__}))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
