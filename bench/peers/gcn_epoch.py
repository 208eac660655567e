"""Seconds per training epoch of PyG's GCN on a graph that Gneiss exported.

    python bench/peers/gcn_epoch.py FOLDER --adjacency edge_index|csr [--epochs 20] [--threads 2]

FOLDER is what `gneiss data generate SPEC --out FOLDER` writes (NumPy arrays). One epoch is forward, cross-entropy over the
training nodes, backward and one Adam step; nothing is evaluated. GCNConv caches its normalised adjacency. `csr` hands PyG a
torch.sparse CSR tensor, its faster setting. Prints one JSON object.
"""

import argparse
import json
import pathlib
import resource
import statistics
import time
import warnings

import numpy as np

warnings.filterwarnings("ignore")


def load(folder):
    import torch

    def array(name):
        return np.load(folder / f"{name}.npy")

    indptr = array("in_indptr").astype(np.int64)
    src = torch.from_numpy(array("in_indices").astype(np.int64))
    n = len(indptr) - 1
    if (folder / "features.npy").exists():
        x = torch.from_numpy(array("features").astype(np.float32))
    else:
        manifest = json.loads((folder / "manifest.json").read_text())
        offsets, columns = array("features_indptr"), array("features_indices")
        x = torch.zeros(n, manifest["features"]["width"])
        rows = np.repeat(np.arange(n), np.diff(offsets))
        x[torch.from_numpy(rows), torch.from_numpy(columns.astype(np.int64))] = torch.from_numpy(array("features_data"))
    labels = torch.from_numpy(array("labels").astype(np.int64))
    if (folder / "train_idx.npy").exists():
        train = torch.from_numpy(array("train_idx").astype(np.int64))
    else:
        train = torch.from_numpy(np.flatnonzero(array("train_mask")))
    return torch.from_numpy(indptr), src, x, labels, train


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--adjacency", choices=("edge_index", "csr"), default="edge_index")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--hidden-channels", type=int, default=32)
    parser.add_argument("--num-layers", type=int, default=3)
    parser.add_argument("--dropout", type=float, default=0.5)
    args = parser.parse_args()

    import torch
    import torch_geometric
    from torch_geometric.nn.models import GCN

    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    indptr, src, x, labels, train = load(args.folder)
    if args.adjacency == "csr":
        # Row v holds the sources of v's in-edges, which is what PyG calls adj_t.
        adjacency = torch.sparse_csr_tensor(indptr, src, torch.ones(len(src)), size=(len(x), len(x)))
    else:
        dst = torch.repeat_interleave(torch.arange(len(x)), indptr.diff())
        adjacency = torch.stack([src, dst])
    classes = int(labels.max()) + 1
    model = GCN(x.shape[1], args.hidden_channels, args.num_layers, classes, dropout=args.dropout, cached=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    model.train()

    seconds, losses = [], []
    for _ in range(args.epochs + 2):
        begin = time.perf_counter()
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x, adjacency)[train], labels[train])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        seconds.append(time.perf_counter() - begin)
    seconds = seconds[2:]  # the first fills the cache, the second the allocator
    print(json.dumps({
        "median": statistics.median(seconds),
        "min": min(seconds),
        "max": max(seconds),
        "first_loss": losses[0],
        "last_loss": losses[-1],
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "versions": {"torch": torch.__version__, "torch_geometric": torch_geometric.__version__},
    }))


if __name__ == "__main__":
    main()
