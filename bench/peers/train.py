"""Trains GCN, GraphSAGE, GIN or GAT with PyG or DGL on a graph that Gneiss exported, and reports the time of an epoch.

    python bench/peers/train.py FOLDER --system dgl|pyg-csr|pyg-edge_index --model gcn|sage|gin|gat [--epochs 5] [--threads 2] [--until 100 --seed 0]
    python bench/peers/train.py FOLDER --system pyg-message --model gated_mean|edge_conv|…          (layers.py)

FOLDER is what `gneiss data generate SPEC --out FOLDER` writes (NumPy arrays). One epoch is forward, the loss over the
training nodes, backward and one Adam step; nothing is evaluated, nothing dropped. Three layers, hidden width 32 (GAT: 4 heads
of 8). Each system has its best settings: PyG's GCNConv caches its normalised adjacency; DGL's graph gets explicit int32 edge
ids, without which its blocked kernel refuses GAT. `first` is the time from the start of the process to the end of the first
epoch. With --until, training goes on to that many epochs, and `score` is the accuracy (several labels: micro-averaged F1) on
the test nodes after them; DGL's GraphSAGE, which draws wider first weights than PyG's, then starts from PyG's rule, as Gneiss
does. Prints one JSON object.
"""

import argparse
import json
import os
import pathlib
import resource
import statistics
import time
import warnings

import numpy as np

STARTED = time.time() - (time.clock_gettime(time.CLOCK_BOOTTIME) -
                         int(pathlib.Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19]) / os.sysconf("SC_CLK_TCK"))
warnings.filterwarnings("ignore")
os.environ["DGLBACKEND"] = "pytorch"
HIDDEN = 32
SECONDS = 1200  # stop after an epoch when this much time has passed in epochs, and there are two to count


def load(folder):
    import torch

    def array(name):
        return np.load(folder / f"{name}.npy")

    manifest = json.loads((folder / "manifest.json").read_text())
    indptr, indices = array("in_indptr"), array("in_indices")
    n = len(indptr) - 1
    if (folder / "features.npy").exists():
        x = torch.from_numpy(array("features").astype(np.float32, copy=False))
    else:
        offsets, columns = array("features_indptr"), array("features_indices")
        x = torch.zeros(n, manifest["features"]["width"])
        rows = np.repeat(np.arange(n), np.diff(offsets))
        x[torch.from_numpy(rows), torch.from_numpy(columns.astype(np.int64))] = torch.from_numpy(array("features_data"))
    labels = torch.from_numpy(array("labels"))

    def part(name):
        if (folder / f"{name}_idx.npy").exists():
            return torch.from_numpy(array(f"{name}_idx").astype(np.int64))
        return torch.from_numpy(np.flatnonzero(array(f"{name}_mask")))

    return indptr, indices, x, labels, part("train"), part("test")


def score_of(logits, labels):
    """Accuracy, or the micro-averaged F1 of several labels, in %."""
    if labels.dim() == 1:
        return 100 * (logits.argmax(1) == labels).float().mean().item()
    said, true = logits > 0, labels > 0.5
    hits, all_said_and_true = (said & true).sum().item(), said.sum().item() + true.sum().item()
    return 200 * hits / max(1, all_said_and_true)


def pyg_layers(args, indptr, indices, widths):
    """The layers and the adjacency they take."""
    import torch
    import torch_geometric
    from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv

    n = len(indptr) - 1
    offsets, sources = torch.from_numpy(indptr.astype(np.int64)), torch.from_numpy(indices.astype(np.int64))
    if args.system == "pyg-csr":
        # Row v holds the sources of v's in-edges, which is what PyG calls adj_t.
        adjacency = torch.sparse_csr_tensor(offsets, sources, torch.ones(len(sources)), size=(n, n))
    else:
        adjacency = torch.stack([sources, torch.repeat_interleave(torch.arange(n), offsets.diff())])
    if args.system == "pyg-message":
        from layers import LAYERS

        layers = [LAYERS[args.model](a, b) for a, b in widths]
    elif args.model == "gcn":
        layers = [GCNConv(a, b, cached=True) for a, b in widths]
    elif args.model == "sage":
        layers = [SAGEConv(a, b) for a, b in widths]
    elif args.model == "gin":
        layers = [GINConv(mlp(a, b)) for a, b in widths]
    else:
        layers = [GATConv(a, *heads(b, i)) for i, (a, b) in enumerate(widths)]
    return layers, adjacency, {"torch_geometric": torch_geometric.__version__}


def dgl_layers(args, indptr, indices, widths):
    """The layers and the graph they take."""
    import torch
    import dgl
    from dgl.nn import GATConv, GINConv, GraphConv, SAGEConv

    ids = torch.arange(len(indices), dtype=torch.int32)
    csc = (torch.from_numpy(indptr.astype(np.int32)), torch.from_numpy(indices.astype(np.int32)), ids)
    graph = dgl.graph(("csc", csc), num_nodes=len(indptr) - 1)
    if args.model == "gcn":
        # DGL adds no self loops of its own; its norm='both' is GCN's.
        graph = dgl.add_self_loop(dgl.remove_self_loop(graph))
        layers = [GraphConv(a, b, allow_zero_in_degree=True) for a, b in widths]
    elif args.model == "sage":
        layers = [SAGEConv(a, b, "mean") for a, b in widths]
    elif args.model == "gin":
        layers = [GINConv(mlp(a, b), "sum") for a, b in widths]
    else:
        graph = dgl.add_self_loop(dgl.remove_self_loop(graph))
        layers = [GATConv(a, *heads(b, i), allow_zero_in_degree=True) for i, (a, b) in enumerate(widths)]
    return layers, graph, {"dgl": dgl.__version__}


def mlp(a, b):
    import torch

    return torch.nn.Sequential(torch.nn.Linear(a, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, b))


def heads(width, layer):
    return (width // 4, 4) if layer < 2 else (width, 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--system", choices=("dgl", "pyg-csr", "pyg-edge_index", "pyg-message"), required=True)
    parser.add_argument("--model", default="gcn", help="gcn, sage, gin or gat; for pyg-message a layer of layers.py")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--until", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    import torch

    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    indptr, indices, x, labels, train, test = load(args.folder)
    if labels.dim() == 2:
        outputs, targets, loss_of = labels.shape[1], labels.float()[train], torch.nn.functional.binary_cross_entropy_with_logits
    else:
        outputs, targets, loss_of = int(labels.max()) + 1, labels.long()[train], torch.nn.functional.cross_entropy
    widths = [(x.shape[1], HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, outputs)]
    build = dgl_layers if args.system == "dgl" else pyg_layers
    layers, structure, versions = build(args, indptr, indices, widths)
    del indptr, indices
    layers = torch.nn.ModuleList(layers)
    if args.until and args.system == "dgl" and args.model == "sage":
        for layer in layers:
            layer.fc_self.reset_parameters()
            layer.fc_neigh.reset_parameters()
    optimizer = torch.optim.Adam(layers.parameters(), lr=0.01)

    def forward():
        h = x
        for i, layer in enumerate(layers):
            h = layer(structure, h) if args.system == "dgl" else layer(h, structure)
            h = h.flatten(1)
            if i + 1 < len(layers):
                h = torch.relu(h)
        return h

    def step():
        optimizer.zero_grad()
        loss = loss_of(forward()[train], targets)
        loss.backward()
        optimizer.step()
        return loss.item()

    seconds, losses, first = [], [], None
    while len(seconds) < args.epochs + 2 and (len(seconds) < 4 or sum(seconds) < SECONDS):
        begin = time.perf_counter()
        losses.append(step())
        seconds.append(time.perf_counter() - begin)
        first = first or time.time() - STARTED
    while len(losses) < args.until:
        losses.append(step())
    with torch.no_grad():
        score = score_of(forward()[test], labels[test]) if args.until else None
    seconds = seconds[2:]  # the first builds formats or fills the cache, the second the allocator
    print(json.dumps({
        "median": statistics.median(seconds),
        "first": first,
        "first_loss": losses[0],
        "last_loss": losses[-1],
        **({"score": score} if args.until else {}),
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "versions": {"torch": torch.__version__, **versions},
    }))


if __name__ == "__main__":
    main()
