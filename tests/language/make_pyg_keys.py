"""Writes cases/pyg_keys.txt: keys and shapes of PyG's state_dict for the built-in models.

    python tests/language/make_pyg_keys.py      needs PyTorch and PyG; written with PyG 2.8.1

`num_batches_tracked` is left out: it is a counter that the writer of the file adds.
"""

import pathlib

from torch_geometric.nn.models import GAT, GCN, GIN, MLP, GraphSAGE

OUT = pathlib.Path(__file__).parent / "cases" / "pyg_keys.txt"
SIZES = {"in_channels": 7, "hidden_channels": 8, "out_channels": 3}
KINDS = {"gcn": GCN, "sage": GraphSAGE, "gin": GIN, "gat": GAT, "mlp": MLP}

# (model, our arguments, PyG's arguments)
CASES = [
    ("gcn", "num_layers=2", {}),
    ("gcn", "num_layers=1", {"num_layers": 1}),
    ("gcn", "num_layers=3 norm=batch jk=cat", {"num_layers": 3, "norm": "batch", "jk": "cat"}),
    ("gcn", "norm=layer jk=last", {"norm": "layer", "jk": "last"}),
    ("gcn", "bias=false", {"bias": False}),
    ("sage", "num_layers=3 aggr=max", {"num_layers": 3, "aggr": "max"}),
    ("sage", "project=true norm=batch", {"project": True, "norm": "batch"}),
    ("sage", "root_weight=false bias=false", {"root_weight": False, "bias": False}),
    ("gin", "train_eps=true norm=batch", {"train_eps": True, "norm": "batch"}),
    ("gin", "norm=layer_graph jk=max", {"norm": "layer", "jk": "max"}),
    ("gin", "num_layers=3", {"num_layers": 3}),
    ("gat", "heads=4 output_heads=4", {"heads": 4}),
    ("gat", "heads=4 output_heads=4 residual=true", {"heads": 4, "residual": True}),
    ("gat", "heads=4 output_heads=4 v2=true residual=true", {"heads": 4, "v2": True, "residual": True}),
    ("gat", "heads=4 output_heads=4 jk=cat norm=batch num_layers=3", {"heads": 4, "jk": "cat", "norm": "batch", "num_layers": 3}),
    ("gat", "heads=1 output_heads=1 bias=false", {"heads": 1, "bias": False}),
    ("mlp", "num_layers=3 norm=batch", {"num_layers": 3, "norm": "batch_norm"}),
    ("mlp", "num_layers=2", {"norm": None}),
]

with OUT.open("w") as out:
    for model, ours, theirs in CASES:
        net = KINDS[model](**SIZES, **{"num_layers": 2, **theirs})
        out.write(f"=== {model} {ours}\n@ model {model}\n@ args hidden_channels=8 {ours}\n--- expected\n")
        for line in sorted(" ".join([key, *map(str, value.shape)]) for key, value in net.state_dict().items()):
            if "num_batches_tracked" not in line:
                out.write(line + "\n")
