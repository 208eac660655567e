"""PyG's models with the weights of a run. Built-in models are equal to those of torch_geometric.nn.models."""

from ._arrays import need
from .errors import UnsupportedError

_CLASSES = {"gcn": "GCN", "sage": "GraphSAGE", "gin": "GIN", "gat": "GAT"}
_NORMS = {"none": None, "batch": "batch_norm", "layer_graph": "layer_norm"}


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
        _refuse("residual connections", "train with residual=False")
    if a["norm"] not in _NORMS:
        _refuse(f"norm='{a['norm']}'", "train with norm='batch' or 'none'")
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
