"""Times epochs of GCN, GraphSAGE, GIN and GAT in PyTorch Geometric and in plain PyTorch on one card.

    python bench/peers/card.py FOLDER ... [--sparse FOLDER ...] [--layers NAME ...] [--seconds 140] [--case-seconds 1]
                               [--device cuda|cpu]

FOLDER is what `gneiss data generate SPEC --out FOLDER` writes. Three layers, hidden width 32 (GAT: 4 heads of 8), no dropout; an
epoch is forward, the loss over the training nodes, backward and one Adam step. The forms:

    edge_index   PyG's layers with a pair of ids an edge; GCNConv keeps its normalised edges
    compiled     the same through torch.compile
    csr          PyG's layers with a torch.sparse CSR matrix
    EdgeIndex    PyG's EdgeIndex with filled caches: both CSRs are kept; its matmul multiplies with them
    expert       both CSRs kept with 32-bit ids, GCN's normalisation among their values, the product with the features of the
                 first layer made once where a layer allows it, the whole step replayed as one CUDA graph

--sparse names data sets whose features are few: GCN alone, and of edge_index also with the features as a sparse CSR matrix
(`sparse`). --layers names layers of layers.py, which run on the first data set (`MessagePassing`).

The most telling cases come first; what --seconds leaves no time for is not run. Prints one JSON object a case: the median of an
epoch in ms, the peak of device memory in bytes from the first epoch on (set-up apart), or the error (out of memory is one).
"""

import argparse
import gc
import json
import pathlib
import statistics
import time
import warnings

import torch
from torch import nn
from train import load

warnings.filterwarnings("ignore")
HIDDEN = 32
HEADS = 4
FORMS = ("edge_index", "csr", "EdgeIndex", "expert", "compiled")
SPARSE_FORMS = ("edge_index", "sparse", "csr", "EdgeIndex", "expert")
MODELS = ("gcn", "sage", "gin", "gat")


class Graph:
    """A folder on the device: row v of the CSR holds the sources of v's in-edges."""

    def __init__(self, folder, device):
        indptr, indices, x, labels, train, _ = load(folder)
        self.device = device
        self.nodes = len(indptr) - 1
        self.offsets = torch.from_numpy(indptr.astype("int64")).to(device)
        self.sources = torch.from_numpy(indices.astype("int64")).to(device)
        self.x = x.to(device)
        self.train = train.to(device)
        if labels.dim() == 2:
            self.outputs, self.targets = labels.shape[1], labels.float().to(device)[self.train]
            self.loss_of = nn.functional.binary_cross_entropy_with_logits
        else:
            self.outputs, self.targets = int(labels.max()) + 1, labels.long().to(device)[self.train]
            self.loss_of = nn.functional.cross_entropy
        self.widths = [(x.shape[1], HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, self.outputs)]

    def bytes_of_training(self):
        """Of what every form takes besides its edges."""
        return sum(t.numel() * t.element_size() for t in (self.x, self.train, self.targets))

    def edge_index(self):
        return torch.stack([self.sources, self.destinations()])

    def destinations(self):
        return torch.repeat_interleave(torch.arange(self.nodes, device=self.device), self.offsets.diff())


def mlp(a, b):
    return nn.Sequential(nn.Linear(a, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, b))


def pyg_model(model, graph, adjacency, x=None):
    """PyG's layers: a function of the features, which are the graph's or x."""
    from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv

    def layer(i, a, b):
        if model == "gcn":
            return GCNConv(a, b, cached=True)
        if model == "sage":
            return SAGEConv(a, b)
        if model == "gin":
            return GINConv(mlp(a, b))
        return GATConv(a, b // HEADS, HEADS) if i < 2 else GATConv(a, b, 1)

    return in_order([layer(i, a, b) for i, (a, b) in enumerate(graph.widths)], graph, adjacency, graph.x if x is None else x)


def in_order(layers, graph, adjacency, x):
    layers = nn.ModuleList(layers).to(graph.device)

    def forward():
        h = x
        for i, one in enumerate(layers):
            h = one(h, adjacency)
            h = torch.relu(h) if i < 2 else h
        return h

    return layers, forward


def with_self_loops(graph):
    """Edges of GCN: sources, destinations and 1/sqrt(d_u d_v), by destination; a node that has a loop gets no other."""
    sources, destinations = graph.sources, graph.destinations()
    other = sources != destinations
    every = torch.arange(graph.nodes, device=graph.device)
    sources, destinations = torch.cat([sources[other], every]), torch.cat([destinations[other], every])
    order = torch.argsort(destinations * graph.nodes + sources)
    sources, destinations = sources[order], destinations[order]
    root = torch.bincount(destinations, minlength=graph.nodes).float().rsqrt()
    return sources, destinations, root[sources] * root[destinations]


def edges_of(model, graph):
    """What a layer of the model sums over: sources, destinations and weights."""
    if model == "gcn":
        return with_self_loops(graph)
    destinations = graph.destinations()
    if model == "sage":
        weights = graph.offsets.diff().clamp(min=1).float().reciprocal()[destinations]
    else:
        weights = torch.ones(len(destinations), device=graph.device)
    return graph.sources, destinations, weights


def csr(rows, columns, values, nodes):
    """A CSR matrix with 32-bit ids; rows are sorted."""
    offsets = torch.zeros(nodes + 1, dtype=torch.int64, device=rows.device)
    offsets[1:] = torch.cumsum(torch.bincount(rows, minlength=nodes), 0)
    return torch.sparse_csr_tensor(offsets.int(), columns.int(), values, size=(nodes, nodes))


class Multiply(torch.autograd.Function):
    """The product with a constant matrix, whose transpose is at hand."""

    @staticmethod
    def forward(ctx, x, matrix, transposed):
        ctx.transposed = transposed
        return matrix @ x

    @staticmethod
    def backward(ctx, gradient):
        return ctx.transposed @ gradient, None, None


class SumLayers(nn.Module):
    """GCN, SAGE and GIN by a given sum over in-edges; as narrow as it can be where the sum comes before or after the weights."""

    def __init__(self, model, graph, aggregate, first):
        super().__init__()
        self.model = model
        self.aggregate = aggregate
        self.first = first  # of the features, which never change; None: summed in every epoch
        self.x = graph.x
        if model == "gin":
            self.own = nn.ModuleList(mlp(a, b) for a, b in graph.widths)
        else:
            self.own = nn.ModuleList(nn.Linear(a, b) for a, b in graph.widths)
        if model == "sage":
            self.root = nn.ModuleList(nn.Linear(a, b, bias=False) for a, b in graph.widths)

    def layer(self, i, h):
        own = self.own[i]
        if i == 0 and self.first is not None:
            total = self.first
        elif self.model == "gin":
            total = self.aggregate(h)
        elif own.out_features < own.in_features or i == 0:
            total = None  # the weights come first
        else:
            total = self.aggregate(h)
        if self.model == "gin":
            return own(h + total)
        if total is None:
            result = self.aggregate(nn.functional.linear(h, own.weight)) + own.bias
        else:
            result = own(total)
        return result + self.root[i](h) if self.model == "sage" else result

    def forward(self):
        h = self.x
        for i in range(3):
            h = self.layer(i, h)
            h = torch.relu(h) if i < 2 else h
        return h


def expert_model(model, graph):
    if model == "gat":
        raise NotImplementedError("no expert's form of GAT: torch has no sparse product over several heads")
    sources, destinations, weights = edges_of(model, graph)
    matrix = csr(destinations, sources, weights, graph.nodes)
    order = torch.argsort(sources, stable=True)
    transposed = csr(sources[order], destinations[order], weights[order], graph.nodes)
    del sources, destinations, weights, order
    layers = SumLayers(model, graph, lambda h: Multiply.apply(h, matrix, transposed), matrix @ graph.x)
    layers.to(graph.device)
    return layers, layers.forward


def edge_index_model(model, graph):
    from torch_geometric import EdgeIndex

    if model == "gat":
        index = EdgeIndex(graph.edge_index(), sparse_size=(graph.nodes, graph.nodes), sort_order="col").fill_cache_()
        return pyg_model(model, graph, index)
    sources, destinations, weights = edges_of(model, graph)
    index = EdgeIndex(torch.stack([sources, destinations]), sparse_size=(graph.nodes, graph.nodes), sort_order="col")
    index.fill_cache_()
    if model == "gcn":
        layers = SumLayers(model, graph, lambda h: index.matmul(h, weights, transpose=True), None)
    elif model == "sage":  # as its own mean: the sum, then a division
        counts = graph.offsets.diff().clamp(min=1).float().view(-1, 1)
        layers = SumLayers(model, graph, lambda h: index.matmul(h, transpose=True) / counts, None)
    else:
        layers = SumLayers(model, graph, lambda h: index.matmul(h, transpose=True), None)
    layers.to(graph.device)
    return layers, layers.forward


def model_of(form, model, graph):
    if form == "expert":
        return expert_model(model, graph)
    if form == "EdgeIndex":
        return edge_index_model(model, graph)
    if form == "csr":
        ones = torch.ones(len(graph.sources), device=graph.device)
        size = (graph.nodes, graph.nodes)
        return pyg_model(model, graph, torch.sparse_csr_tensor(graph.offsets, graph.sources, ones, size=size))
    if form == "MessagePassing":
        return layers_of_users(model, graph)
    layers, forward = pyg_model(model, graph, graph.edge_index(), graph.x.to_sparse_csr() if form == "sparse" else graph.x)
    return layers, torch.compile(forward) if form == "compiled" else forward


def layers_of_users(name, graph):
    from layers import LAYERS

    return in_order([LAYERS[name](a, b) for a, b in graph.widths], graph, graph.edge_index(), graph.x)


def wait(graph):
    if graph.device.type == "cuda":
        torch.cuda.synchronize()


def captured(step):
    """The step as a CUDA graph, after a few ordinary ones on a stream of its own."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    recorded = torch.cuda.CUDAGraph()
    with torch.cuda.graph(recorded):
        step()
    return recorded.replay


def time_case(form, model, graph, seconds):
    on_card = graph.device.type == "cuda"
    layers, forward = model_of(form, model, graph)
    if on_card:
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    whole = form == "expert" and on_card
    optimizer = torch.optim.Adam(layers.parameters(), lr=0.01, **({"capturable": True} if whole else {}))
    losses = torch.zeros(1, device=graph.device)

    def step():
        optimizer.zero_grad(set_to_none=not whole)
        loss = graph.loss_of(forward()[graph.train], graph.targets)
        loss.backward()
        optimizer.step()
        losses.copy_(loss.detach())

    step()
    first = losses.item()
    run = captured(step) if whole else step
    times = []
    begin = time.perf_counter()
    while len(times) < 5 or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        run()
        wait(graph)
        times.append(time.perf_counter() - start)
        if time.perf_counter() - begin > 4 * seconds and len(times) >= 3:
            break
    times = times[2:] if len(times) > 4 else times[1:]
    return {"ms": 1e3 * statistics.median(times), "epochs": len(times), "first_loss": first, "last_loss": losses.item()}


def case(form, model, graph, seconds):
    on_card = graph.device.type == "cuda"
    others = torch.cuda.memory_allocated() - graph.bytes_of_training() if on_card else 0
    try:
        result = time_case(form, model, graph, seconds)
    except Exception as error:  # a peer's fault is a result
        result = {"error": f"{type(error).__name__}: {error}"[:200]}
    if on_card:
        result["peak_bytes"] = torch.cuda.max_memory_allocated() - others
    return result


def order_of(folders, sparse, layers):
    """GCN by its default and by an expert first, then other forms and models; what takes long to compile comes last."""
    telling = [(f, "gcn", form) for f in folders for form in ("edge_index", "expert")]
    telling += [(f, "gcn", form) for f in sparse for form in SPARSE_FORMS]
    telling += [(folders[0], layer, "MessagePassing") for layer in layers]
    rest = [(f, model, form) for form in FORMS for model in MODELS for f in folders]
    return telling + [one for one in rest if one not in telling]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", type=pathlib.Path, nargs="+")
    parser.add_argument("--sparse", type=pathlib.Path, nargs="*", default=[])
    parser.add_argument("--layers", nargs="*", default=[])
    parser.add_argument("--seconds", type=float, default=140)
    parser.add_argument("--case-seconds", type=float, default=1)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    end = time.monotonic() + args.seconds
    torch.manual_seed(0)
    device = torch.device(args.device)
    graphs = {}
    for folder, model, form in order_of(args.folders, args.sparse, args.layers):
        if time.monotonic() > end:
            break
        begin = time.monotonic()
        if folder not in graphs:
            graphs[folder] = Graph(folder, device)
        result = case(form, model, graphs[folder], args.case_seconds)
        gc.collect()
        if device.type == "cuda":
            torch.cuda.empty_cache()
        took = time.monotonic() - begin
        print(json.dumps({"data": folder.name, "model": model, "form": form, **result, "seconds": took}), flush=True)


if __name__ == "__main__":
    main()
