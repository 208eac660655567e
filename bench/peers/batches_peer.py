"""Mini-batches by DGL's GraphBolt on a graph that Gneiss exported: sampling, sampling with features, training.

    python bench/peers/batches_peer.py FOLDER --mode sample|features|train [--hidden 32] [--threads 2] [--batches 50]

FOLDER is what `gneiss data generate SPEC --out FOLDER` writes. GraphBolt's own pipeline: ItemSampler, sample_neighbor
(every node draws anew at each hop, without replacement), fetch_feature, DataLoader without worker processes, its best
setting on few cores; PyTorch's threads do the work inside a batch. Training is SAGE with means, three layers, Adam. The
first batches warm up and do not count. Prints one JSON object.
"""

import argparse
import json
import os
import pathlib
import resource
import time
import warnings

import numpy as np

warnings.filterwarnings("ignore")
os.environ["DGLBACKEND"] = "pytorch"
WARM_UP = 3


def load(folder):
    import torch

    def array(name):
        return np.load(folder / f"{name}.npy")

    def part(name):
        if (folder / f"{name}_idx.npy").exists():
            return torch.from_numpy(array(f"{name}_idx").astype(np.int64))
        return torch.from_numpy(np.flatnonzero(array(f"{name}_mask")))

    return (torch.from_numpy(array("in_indptr").astype(np.int64)), torch.from_numpy(array("in_indices").astype(np.int32)),
            torch.from_numpy(array("features").astype(np.float32, copy=False)), torch.from_numpy(array("labels")).long(),
            part("train"), part("test"))


def loader(args, graph, store, nodes, labels, features):
    import dgl.graphbolt as gb

    items = gb.ItemSet((nodes.int(), labels[nodes]), names=("seed_nodes", "labels"))
    pipe = gb.ItemSampler(items, batch_size=args.batch_size, shuffle=True)
    pipe = pipe.sample_neighbor(graph, args.fanout)
    if features:
        pipe = pipe.fetch_feature(store, node_feature_keys=["feat"])
    return gb.DataLoader(pipe, num_workers=0)


def count(batch):
    return sum(int(block.sampled_csc.indices.numel()) for block in batch.sampled_subgraphs)


def epochs(loader):
    while True:
        yield from loader


def timed(loader, most, step=lambda batch: None):
    """Seconds and sampled edges of the batches after the first few, over as many epochs as that takes."""
    edges = done = 0
    start = time.perf_counter()
    for i, batch in enumerate(epochs(loader)):
        step(batch)
        edges += count(batch)
        done += 1
        if i == WARM_UP - 1:
            edges = done = 0
            start = time.perf_counter()
        if i == WARM_UP + most - 1:
            break
    return {"seconds": time.perf_counter() - start, "edges": edges, "batches": done}


def make_model(width, hidden, classes, layers):
    import dgl.nn as dnn
    import torch

    class Sage(torch.nn.Module):
        def __init__(self):
            super().__init__()
            widths = [width] + [hidden] * (layers - 1) + [classes]
            self.layers = torch.nn.ModuleList(dnn.SAGEConv(a, b, "mean") for a, b in zip(widths, widths[1:]))

        def forward(self, blocks, x):
            for i, (layer, block) in enumerate(zip(self.layers, blocks)):
                x = layer(block, x)
                x = torch.relu(x) if i + 1 < layers else x
            return x

    return Sage()


def train(args, graph, store, nodes, labels, test, width, classes):
    import torch

    torch.manual_seed(args.seed)
    model = make_model(width, args.hidden, classes, len(args.fanout))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []

    def step(batch):
        blocks = batch.blocks
        logits = model(blocks, batch.node_features["feat"])
        loss = torch.nn.functional.cross_entropy(logits, batch.labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

    an_epoch = -(-len(nodes) // args.batch_size)
    result = timed(loader(args, graph, store, nodes, labels, True), args.epochs * an_epoch - WARM_UP, step)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {**result, "last_loss": float(np.mean(losses[-20:])), "training_rss_bytes": peak,
            "test": test_score(args, model, labels, test)}


def test_score(args, model, labels, test):
    """By whole neighbourhoods, as Gneiss scores."""
    import dgl
    import torch

    indptr = torch.from_numpy(np.load(args.folder / "in_indptr.npy").astype(np.int64))
    indices = torch.from_numpy(np.load(args.folder / "in_indices.npy").astype(np.int64))
    whole = dgl.graph(("csc", (indptr, indices, [])))
    x = torch.from_numpy(np.load(args.folder / "features.npy").astype(np.float32, copy=False))
    with torch.no_grad():
        logits = model([whole] * len(args.fanout), x)
    return float((logits[test].argmax(1) == labels[test]).float().mean())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--mode", choices=["sample", "features", "train"], required=True)
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batches", type=int, default=50, help="that are timed of sampling")
    parser.add_argument("--epochs", type=int, default=3, help="of training")
    parser.add_argument("--batch-size", type=int, default=1024)
    parser.add_argument("--fanout", type=lambda text: [int(f) for f in text.split(",")], default=[15, 10, 5])
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    args.fanout = args.fanout[::-1]  # GraphBolt's first number is the model's first layer

    import dgl.graphbolt as gb
    import torch

    torch.set_num_threads(args.threads)
    indptr, indices, x, labels, nodes, test = load(args.folder)
    graph = gb.fused_csc_sampling_graph(indptr, indices)
    store = gb.BasicFeatureStore({("node", None, "feat"): gb.TorchBasedFeature(x)})
    if args.mode == "train":
        result = train(args, graph, store, nodes, labels, test, x.shape[1], int(labels.max()) + 1)
    else:
        result = timed(loader(args, graph, store, nodes, labels, args.mode == "features"), args.batches)
    result["peak_rss_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps(result))


if __name__ == "__main__":
    main()
