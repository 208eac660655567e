"""Models of PyG out of runs, and the settings of such models. Built-ins equal those of torch_geometric.nn.models."""

import sys

from ._arrays import need
from .errors import UnsupportedError

_CLASSES = {"gcn": "GCN", "sage": "GraphSAGE", "gin": "GIN", "gat": "GAT"}
_NORMS = {"none": None, "batch": "batch_norm", "layer_graph": "layer_norm"}
_ACTIVATIONS = {"ReLU": "relu", "ELU": "elu", "LeakyReLU": "leaky_relu", "Tanh": "tanh", "NoneType": "none"}


def _refuse(what, hint):
    raise UnsupportedError(f"PyG has no model for {what}", "to_pyg", hint)


def _arguments(run):
    """The model's arguments: what was given, over the defaults of its text."""
    from . import _core

    model = run.report["model"]
    if model not in _CLASSES:
        _refuse(f"'{model}'", "state_dict() gives the weights by name")
    values = {}
    config = run.report["config"]
    for name, kind, initial, _ in _core.model_arguments(model):
        value = config.get(f"model.args.{name}", config.get(f"model.{name}", initial))
        if value is None or value == "":
            value = initial
        if kind == "bool":
            value = value if isinstance(value, bool) else str(value) == "true"
        elif kind == "int":
            value = int(value)
        elif kind == "float":
            value = float(value)
        values[name] = value
    return model, values


def model_of(run):
    """The PyG model of a run, its weights loaded with strict=True."""
    torch = need("torch", "to_pyg")
    models = need("torch_geometric.nn.models", "to_pyg")
    model, a = _arguments(run)
    if a.get("residual"):
        _refuse("residual connections", 'train with defaults="plain", or residual=False')
    if a["norm"] not in _NORMS:
        _refuse(f"norm='{a['norm']}'", "train with defaults='plain', or norm='batch'")
    common = {
        "in_channels": run.report["features"],
        "hidden_channels": a["hidden_channels"],
        "num_layers": a["num_layers"],
        "out_channels": run.report["classes"],
        "dropout": a["dropout"],
        "act": None if a["act"] == "none" else a["act"],
        "norm": _NORMS[a["norm"]],
        "jk": None if a["jk"] == "none" else a["jk"],
    }
    if model == "gcn":
        common.update(add_self_loops=a["self_loops"], bias=a["bias"])
    elif model == "sage":
        common.update(
            aggr=a["aggr"], project=a["project"], root_weight=a["root_weight"], normalize=a["normalize"], bias=a["bias"]
        )
    elif model == "gin":
        common.update(train_eps=a["train_eps"], eps=a["eps"])
    elif model == "gat":
        if a["output_heads"] != 1 and a["output_heads"] != a["heads"]:
            _refuse("another number of output heads", "train with output_heads=heads")
        common.update(heads=a["heads"], v2=a["v2"], negative_slope=a["slope"])
        common.update(add_self_loops=a["self_loops"], bias=a["bias"])
    made = getattr(models, _CLASSES[model])(**common)
    if model == "gat" and a["output_heads"] != a["heads"]:
        made = _with_one_output_head(made, common, a, torch)
    made.load_state_dict(run.state_dict(torch=True), strict=True)
    return made.eval()


def _with_one_output_head(made, common, a, torch):
    """torch_geometric's GAT has as many heads in its last layer as before; ours has its own number of them."""
    if common["jk"] is not None:
        return made
    conv = made.convs[-1]
    made.convs[-1] = type(conv)(
        conv.in_channels,
        conv.out_channels,
        heads=a["output_heads"],
        concat=False,
        dropout=conv.dropout,
        add_self_loops=conv.add_self_loops,
        negative_slope=conv.negative_slope,
        bias=a["bias"],
    )
    return made


def model_like(init):
    """The built-in that a model of PyG is, and its settings; "gcn" and none for anything else."""
    models = sys.modules.get("torch_geometric.nn.models")
    for name, kind in _CLASSES.items():
        if models is not None and type(init) is getattr(models, kind):
            return name, _settings_of(name, init)
    return "gcn", {}


def _settings_of(name, theirs):
    """The settings under which the built-in computes what ``theirs`` does."""

    def known(value, values, what):
        if value not in values:
            hint = f"gneiss has {what} {', '.join(str(one) for one in values)}"
            raise UnsupportedError(f"there is no built-in for {what}={value!r}", "init", hint)
        return values[value]

    conv = theirs.convs[0]
    for what, value, plain in (
        ("act_first", theirs.act_first, False),
        ("norm_kwargs", theirs.norm_kwargs or None, None),
        ("improved", getattr(conv, "improved", False), False),
        ("share_weights", getattr(conv, "share_weights", False), False),
        ("edge_dim", getattr(conv, "edge_dim", None), None),
    ):
        if value != plain:
            hint = f"use {what}={plain}, or write the layer in a .gneiss file"
            raise UnsupportedError(f"there is no built-in for {what}={value!r}", "init", hint)
    settings = {
        "hidden_channels": theirs.hidden_channels,
        "num_layers": theirs.num_layers,
        "dropout": getattr(theirs.dropout, "p", theirs.dropout),
        "input_dropout": 0.0,
        "act": known(type(theirs.act).__name__, _ACTIVATIONS, "act"),
        "norm": known(theirs.norm, {value: key for key, value in _NORMS.items()}, "norm"),
        "jk": known(theirs.jk_mode, {None: "none", "last": "last", "cat": "cat", "max": "max"}, "jk"),
        "residual": False,
    }
    if name == "gcn":
        settings.update(self_loops=conv.add_self_loops, bias=conv.bias is not None)
    elif name == "sage":
        settings.update(aggr=known(conv.aggr, {one: one for one in ("mean", "max", "sum", "min")}, "aggr"))
        settings.update(project=conv.project, root_weight=conv.root_weight, normalize=conv.normalize)
        settings.update(bias=conv.lin_l.bias is not None)
    elif name == "gin":
        settings.update(train_eps=conv.eps.requires_grad, eps=float(conv.initial_eps))
    elif name == "gat":
        settings.update(heads=conv.heads, output_heads=theirs.convs[-1].heads, v2=type(conv).__name__ == "GATv2Conv")
        settings.update(slope=conv.negative_slope, self_loops=conv.add_self_loops, bias=conv.bias is not None)
        settings.update(attention_dropout=conv.dropout)
    return settings
