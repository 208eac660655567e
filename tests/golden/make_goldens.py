"""Writes the numbers that Gneiss is compared with: PyG's logits, gradients and losses, and a few from torch and scikit-learn.

Everything is computed in float64, so that the yardstick is exact beside Gneiss's float32; initial weights are float32
numbers, hence exact in both. They are drawn, not rounded to few digits: coarse ones would put values exactly on ReLU's kink,
where rounding decides, and make neighbours tie under max, where torch splits a gradient evenly and Gneiss gives it to the
first. Each file records the versions that wrote it.

    python tests/golden/make_goldens.py            writes tests/golden/data/

data/graph_NAME.npz   edge_src, edge_dst, edge_weight; features (dense x, or x_indptr and x_indices of ones); labels; train_mask
data/MODEL_GRAPH_VARIANT.npz
    spec         JSON as bytes: model, args (names as in models/*.gneiss), graph, weighted, optimizer, versions
    param.KEY    initial value of each parameter under PyG's state_dict key
    state.KEY    initial running statistics
    logits       of the first forward pass in training mode (dropout is 0)
    grad.KEY     gradient of the masked cross-entropy of those logits
    losses       eleven: before each of ten Adam steps (weight decay on all parameters) and after the last
    state10.KEY  running statistics after the eleven forward passes in training mode
    eval_logits  inference with the parameters after ten steps and those statistics (small graphs)
data/metrics.json, data/optimizers.json, data/schedules.json   inputs and expected values
"""

import json
import pathlib
import platform
import warnings

import numpy as np
import sklearn
import sklearn.metrics
import torch
import torch_geometric
from torch_geometric.nn import GATConv
from torch_geometric.nn.models import GAT, GCN, GIN, GraphSAGE

warnings.filterwarnings("ignore")
torch.set_num_threads(1)

DATA = pathlib.Path(__file__).parent / "data"
VERSIONS = {
    "torch": torch.__version__.split("+")[0],
    "torch_geometric": torch_geometric.__version__,
    "numpy": np.__version__,
    "scikit_learn": sklearn.__version__,
    "python": platform.python_version(),
}
ADAM = {"name": "adam", "lr": 0.01, "weight_decay": 5e-4}
STEPS = 10


# ---------------------------------------------------------------- graphs


def awkward_graph():
    """Directed, asymmetric, weighted; a hub, isolated nodes, self loops and parallel edges."""
    rng = np.random.default_rng(7)
    n, features, classes = 40, 12, 4
    pairs = [(int(u), int(v)) for u, v in rng.integers(0, 36, (70, 2)) if u != v]
    pairs += [(u, 3) for u in range(4, 34)]  # a hub by in-degree
    pairs += [(5, v) for v in range(10, 30)]  # a hub by out-degree
    pairs += [(8, 9), (8, 9), (8, 9), (20, 21), (20, 21)]  # parallel
    pairs += [(2, 2), (9, 9), (31, 31)]  # at most one loop a node: PyG leaves open which weight of several survives
    # Nodes 36 to 39 keep no edge at all, except 39, which has only a loop.
    pairs += [(39, 39)]
    order = rng.permutation(len(pairs))
    src, dst = np.array(pairs, dtype=np.int32)[order].T
    return {
        "edge_src": src,
        "edge_dst": dst,
        "edge_weight": (rng.integers(1, 400, len(pairs)) / 128).astype(np.float32),
        "x": (rng.integers(-512, 512, (n, features)) / 256).astype(np.float32),
        "labels": rng.integers(0, classes, n).astype(np.int32),
        "train_mask": np.arange(n) % 2 == 0,
        "num_classes": np.int64(classes),
    }


def cora_sized_graph():
    """Cora's counts: 2708 nodes, 10556 directed edges of a symmetric graph, 1433 binary features, 7 classes, 140 to train."""
    rng = np.random.default_rng(11)
    n, half, features, classes = 2708, 5278, 1433, 7
    popularity = 1.0 / np.arange(1, n + 1) ** 0.6
    popularity = rng.permutation(popularity / popularity.sum())
    edges = set()
    while len(edges) < half:
        u, v = rng.choice(n, 2, p=popularity)
        if u != v:
            edges.add((min(u, v), max(u, v)))
    a, b = np.array(sorted(edges)).T
    src, dst = np.concatenate([a, b]), np.concatenate([b, a])
    words = 1.0 / np.arange(1, features + 1) ** 0.5
    words /= words.sum()
    rows = [np.sort(rng.choice(features, rng.integers(8, 29), replace=False, p=words)) for _ in range(n)]
    mask = np.zeros(n, dtype=bool)
    mask[rng.permutation(n)[:140]] = True
    return {
        "edge_src": src.astype(np.int16),
        "edge_dst": dst.astype(np.int16),
        "x_indptr": np.cumsum([0] + [len(r) for r in rows]).astype(np.int32),
        "x_indices": np.concatenate(rows).astype(np.int16),
        "x_cols": np.int64(features),
        "labels": rng.integers(0, classes, n).astype(np.int32),
        "train_mask": mask,
        "num_classes": np.int64(classes),
    }


def dense_features(graph):
    if "x" in graph:
        return torch.tensor(graph["x"], dtype=torch.float64)
    n = len(graph["labels"])
    x = torch.zeros(n, int(graph["x_cols"]), dtype=torch.float64)
    rows = np.repeat(np.arange(n), np.diff(graph["x_indptr"]))
    x[torch.tensor(rows), torch.tensor(graph["x_indices"].astype(np.int64))] = 1
    return x


# ---------------------------------------------------------------- models


class Residual(torch.nn.Module):
    """h + conv(h) where the widths agree; the keys of the convolution stay as they are."""

    def __init__(self, conv):
        super().__init__()
        self.conv = conv

    def forward(self, x, *args, **kwargs):
        y = self.conv(x, *args, **kwargs)
        return y + x if y.shape == x.shape else y


def pyg_arguments(args):
    """Gneiss's argument names to those of PyG's BasicGNN."""
    out = {"hidden_channels": args["hidden_channels"], "num_layers": args["num_layers"], "dropout": 0.0}
    norms = {
        "none": (None, None),
        "batch": ("BatchNorm", None),
        "layer": ("LayerNorm", {"mode": "node"}),
        "layer_graph": ("LayerNorm", {"mode": "graph"}),
    }
    out["norm"], out["norm_kwargs"] = norms[args.get("norm", "none")]
    out["jk"] = None if args.get("jk", "none") == "none" else args["jk"]
    out["act"] = args["act"]
    for name in ("heads", "train_eps", "eps", "aggr", "normalize", "project", "v2"):
        if name in args:
            out[name] = args[name]
    return out


def build(model, args, in_channels, out_channels):
    kind = {"gcn": GCN, "sage": GraphSAGE, "gin": GIN, "gat": GAT}[model]
    options = pyg_arguments(args)
    if model == "gat":
        options["residual"] = args.get("residual", False)
    torch.manual_seed(1)
    net = kind(in_channels, out_channels=out_channels, **options)
    if args.get("output_heads", 0) == 1:  # as in the paper; PyG's model has one number of heads
        net.convs[-1] = GATConv(args["hidden_channels"], out_channels, heads=1, concat=False)
    net = net.double()
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for name, value in net.named_parameters():
            # Biases and the like start at 0 or 1; shift them so that none is special.
            if value.dim() == 1:
                value += torch.rand(value.shape, generator=generator, dtype=torch.float64) * 0.2 - 0.1
            value.copy_(value.float())
    if args.get("residual") and model != "gat":  # GATConv has a residual connection of its own
        for i, conv in enumerate(net.convs):
            net.convs[i] = Residual(conv)
    return net


def clean(key):
    return key.replace(".conv.", ".")


def is_state(key):
    return key.endswith(("running_mean", "running_var", ".eps"))


def run(model, variant, graph_name, graph, args, weighted, eval_logits):
    x = dense_features(graph)
    edge_index = torch.tensor(np.stack([graph["edge_src"], graph["edge_dst"]]).astype(np.int64))
    labels = torch.tensor(graph["labels"].astype(np.int64))
    mask = torch.tensor(graph["train_mask"])
    net = build(model, args, x.shape[1], int(graph["num_classes"]))
    kwargs = {}
    if weighted and model == "gcn":
        kwargs["edge_weight"] = torch.tensor(graph["edge_weight"], dtype=torch.float64)

    small = np.float64 if len(labels) < 100 else np.float32
    out = {}
    for key, value in net.named_parameters():
        out["param." + clean(key)] = value.detach().numpy().astype(np.float32)
        assert np.array_equal(out["param." + clean(key)], value.detach().numpy())
    for key, value in net.named_buffers():
        if is_state(key):
            out["state." + clean(key)] = value.numpy().astype(np.float32)

    optimizer = torch.optim.Adam(net.parameters(), lr=ADAM["lr"], weight_decay=ADAM["weight_decay"])
    losses = []
    for step in range(STEPS + 1):
        net.train()
        optimizer.zero_grad()
        logits = net(x, edge_index, **kwargs)
        loss = torch.nn.functional.cross_entropy(logits[mask], labels[mask])
        loss.backward()
        losses.append(loss.item())
        if step == 0:
            out["logits"] = logits.detach().numpy().astype(small)
            for key, value in net.named_parameters():
                out["grad." + clean(key)] = value.grad.numpy().astype(small)
        if step < STEPS:
            optimizer.step()
    out["losses"] = np.array(losses)
    for key, value in net.named_buffers():
        if is_state(key):
            out["state10." + clean(key)] = value.numpy().astype(np.float64)
    if eval_logits:
        net.eval()
        with torch.no_grad():
            out["eval_logits"] = net(x, edge_index, **kwargs).numpy()

    spec = {
        "model": model,
        "args": {**args, "dropout": 0.0, "input_dropout": 0.0},
        "graph": graph_name,
        "weighted": weighted,
        "optimizer": ADAM,
        "computed_in": "float64",
        "versions": VERSIONS,
    }
    out["spec"] = np.frombuffer(json.dumps(spec).encode(), dtype=np.uint8)
    np.savez_compressed(DATA / f"{model}_{graph_name}_{variant}.npz", **out)


def model_goldens():
    awkward, cora = awkward_graph(), cora_sized_graph()
    np.savez_compressed(DATA / "graph_awkward.npz", **awkward)
    np.savez_compressed(DATA / "graph_cora_sized.npz", **cora)

    base = {"hidden_channels": 8, "num_layers": 2, "act": "relu"}
    deep = {"hidden_channels": 8, "num_layers": 3, "act": "relu"}
    elu = {**deep, "act": "elu"}
    common = {
        "plain": base,
        "deep_elu": elu,
        "batch_norm": {**deep, "norm": "batch"},
        "layer_norm": {**deep, "norm": "layer"},
        "layer_norm_graph": {**deep, "norm": "layer_graph"},
        "jk_cat": {**deep, "jk": "cat"},
        "jk_max": {**deep, "jk": "max"},
        "jk_last": {**deep, "jk": "last"},
        "residual": {**deep, "residual": True},
    }
    own = {
        "gcn": {"unweighted": base},
        "sage": {
            "max": {**base, "aggr": "max"},
            "sum": {**base, "aggr": "sum"},
            "max_deep_elu": {**elu, "aggr": "max"},
            "sum_batch_norm": {**deep, "norm": "batch", "aggr": "sum"},
            "normalize": {**elu, "normalize": True},
            "project": {**base, "project": True},
        },
        "gin": {"train_eps": {**base, "train_eps": True, "eps": 0.25}, "eps": {**base, "eps": 0.25}},
        "gat": {"paper": {**base, "act": "elu", "output_heads": 1}, "v2": {**elu, "v2": True}},
    }
    always = {
        "gcn": {},
        "sage": {"aggr": "mean"},
        "gin": {},
        "gat": {"heads": 4, "output_heads": 4, "attention_dropout": 0.0},
    }
    for model, variants in own.items():
        for name, args in {**common, **variants}.items():
            run(model, name, "awkward", awkward, {**always[model], **args}, name != "unweighted", eval_logits=True)

    def large(model, name, args):
        run(model, name, "cora_sized", cora, {**always[model], **args}, False, False)

    large("gcn", "plain", base)
    large("gcn", "batch_norm", {**deep, "norm": "batch"})
    for aggr in ("mean", "max", "sum"):
        large("sage", aggr, {**base, "aggr": aggr})
    large("gin", "plain", base)
    large("gat", "plain", base)


# ---------------------------------------------------------------- metrics, optimizers, schedules


def with_nulls(array):
    return [[None if np.isnan(v) else float(v) for v in row] for row in np.atleast_2d(array).tolist()]


def ogb_rocauc(truth, score):
    """OGB's rule: the mean over the tasks that have both classes, unlabelled (NaN) entries left out."""
    values = []
    for task in range(truth.shape[1]):
        column = truth[:, task]
        if np.sum(column == 1) > 0 and np.sum(column == 0) > 0:
            labelled = column == column
            values.append(sklearn.metrics.roc_auc_score(column[labelled], score[labelled, task]))
    return sum(values) / len(values)


def metric_goldens():
    rng = np.random.default_rng(3)
    cases = []
    for n, classes in ((50, 4), (200, 7), (30, 2)):
        truth = rng.integers(0, classes, n)
        logits = rng.normal(size=(n, classes)).round(3)
        logits[np.arange(n), truth] += rng.random(n) * 2
        prediction = logits.argmax(1)
        cases.append({
            "kind": "single",
            "classes": classes,
            "truth": truth.tolist(),
            "logits": logits.tolist(),
            "accuracy": float((truth == prediction).mean()),
            "micro_f1": sklearn.metrics.f1_score(truth, prediction, average="micro"),
            "macro_f1": sklearn.metrics.f1_score(truth, prediction, average="macro"),
        })
    # A class that is neither present nor predicted does not count towards the macro average.
    truth = np.array([0, 0, 1, 1, 3])
    prediction = np.array([0, 1, 1, 1, 0])
    cases.append({
        "kind": "single",
        "classes": 5,
        "truth": truth.tolist(),
        "logits": np.eye(5)[prediction].tolist(),
        "accuracy": float((truth == prediction).mean()),
        "micro_f1": sklearn.metrics.f1_score(truth, prediction, average="micro"),
        "macro_f1": sklearn.metrics.f1_score(truth, prediction, average="macro"),
    })
    for n, tasks, ties, missing in ((60, 1, False, 0), (80, 1, True, 0), (70, 5, True, 0.2), (40, 3, False, 0.1)):
        truth = (rng.random((n, tasks)) < 0.4).astype(float)
        score = rng.normal(size=(n, tasks)) + truth
        score = score.round(1) if ties else score.round(6)
        truth[rng.random((n, tasks)) < missing] = np.nan
        if tasks == 5:
            truth[:, 2] = np.where(np.isnan(truth[:, 2]), np.nan, 1.0)  # one class only: left out of ROC-AUC
        labelled = truth == truth
        correct = [
            float(((score[labelled[:, t], t] > 0) == truth[labelled[:, t], t]).mean()) for t in range(tasks)
        ]
        case = {
            "kind": "multi",
            "truth": with_nulls(truth),
            "logits": score.tolist(),
            "rocauc": ogb_rocauc(truth, score),
            "accuracy": sum(correct) / len(correct),
        }
        if missing == 0:
            case["micro_f1"] = sklearn.metrics.f1_score(truth.ravel(), (score > 0).ravel())
        cases.append(case)
    write_json("metrics.json", {"versions": VERSIONS, "cases": cases})


def optimizer_goldens():
    """x over eleven points of ten steps on 1/2 (x - c)' A (x - c), whose gradient is A (x - c)."""
    rng = np.random.default_rng(5)
    root = rng.normal(size=(6, 6))
    a = root @ root.T + np.eye(6)
    c, start = rng.normal(size=6), rng.normal(size=6)
    settings = {
        "sgd": ("SGD", {"lr": 0.05}, 0),
        "sgd_decay": ("SGD", {"lr": 0.05, "weight_decay": 0.1}, 0),
        "sgd_momentum": ("SGD", {"lr": 0.02, "momentum": 0.9}, 0),
        "sgd_nesterov": ("SGD", {"lr": 0.02, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}, 0),
        "adam": ("Adam", {"lr": 0.1}, 0),
        "adam_decay": ("Adam", {"lr": 0.1, "weight_decay": 0.05, "betas": (0.8, 0.95), "eps": 1e-6}, 0),
        "adamw": ("AdamW", {"lr": 0.1, "weight_decay": 0.2}, 0),
        "sgd_clipped": ("SGD", {"lr": 0.1, "momentum": 0.5}, 0.5),
        "adam_clipped": ("Adam", {"lr": 0.1}, 0.5),
        "adamw_clipped": ("AdamW", {"lr": 0.1, "weight_decay": 0.2}, 0.25),
    }
    cases = {}
    for name, (kind, options, clip) in settings.items():
        x = torch.tensor(start, requires_grad=True)
        optimizer = getattr(torch.optim, kind)([x], **options)
        points = [x.detach().tolist()]
        for _ in range(STEPS):
            x.grad = torch.tensor(a) @ (x.detach() - torch.tensor(c))
            if clip:
                torch.nn.utils.clip_grad_norm_([x], clip)
            optimizer.step()
            points.append(x.detach().tolist())
        cases[name] = {"kind": kind.lower(), "options": options, "clip_norm": clip, "points": points}
    write_json("optimizers.json", {"versions": VERSIONS, "a": a.tolist(), "c": c.tolist(), "cases": cases})


def schedule_goldens():
    """Learning rates that epochs 0, 1, 2 … train with."""
    schedulers = torch.optim.lr_scheduler

    def rates(make, epochs, metrics=None):
        optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
        scheduler = make(optimizer)
        out = []
        for epoch in range(epochs):
            out.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            scheduler.step() if metrics is None else scheduler.step(metrics[epoch])
        return out

    # Falls, then rises: progress, noise within patience, and a long stretch without progress.
    rng = np.random.default_rng(9)
    metrics = (1.0 / (1 + np.arange(40) / 4) + 0.05 * rng.random(40) + (np.arange(40) > 18) * 0.2).round(4).tolist()
    third = 1 / 3
    warm = lambda o, start, n: schedulers.LinearLR(o, start_factor=start, total_iters=n)
    cases = {
        "cosine": {"base": 0.1, "epochs": 50, "min_lr": 0.001,
                   "lr": rates(lambda o: schedulers.CosineAnnealingLR(o, 50, 0.001), 50)},
        "cosine_to_zero": {"base": 0.1, "epochs": 20, "min_lr": 0.0,
                           "lr": rates(lambda o: schedulers.CosineAnnealingLR(o, 20), 20)},
        "warmup": {"base": 0.1, "epochs": 12, "warmup_epochs": 5, "warmup_start": 0.1,
                   "lr": rates(lambda o: warm(o, 0.1, 5), 12)},
        "warmup_cosine": {"base": 0.1, "epochs": 30, "warmup_epochs": 5, "warmup_start": third, "min_lr": 0.0, "lr": rates(
            lambda o: schedulers.SequentialLR(o, [warm(o, third, 5), schedulers.CosineAnnealingLR(o, 25)], [5]), 30)},
        "plateau": {"base": 0.1, "epochs": 40, "mode": "min", "factor": 0.5, "patience": 3, "min_lr": 0.01, "metrics": metrics,
                    "lr": rates(lambda o: schedulers.ReduceLROnPlateau(o, "min", 0.5, 3, min_lr=0.01), 40, metrics)},
        "plateau_max": {"base": 0.1, "epochs": 40, "mode": "max", "factor": 0.3, "patience": 2, "min_lr": 0.0,
                        "metrics": [1 - m for m in metrics],
                        "lr": rates(lambda o: schedulers.ReduceLROnPlateau(o, "max", 0.3, 2), 40,
                                    [1 - m for m in metrics])},
    }
    write_json("schedules.json", {"versions": VERSIONS, "cases": cases})


def write_json(name, value):
    (DATA / name).write_text(json.dumps(value, indent=None, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    DATA.mkdir(exist_ok=True)
    model_goldens()
    metric_goldens()
    optimizer_goldens()
    schedule_goldens()
    files = sorted(DATA.iterdir())
    print(f"{len(files)} files, {sum(f.stat().st_size for f in files)} bytes in {DATA}")
