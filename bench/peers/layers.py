"""Layers of users on PyG's MessagePassing, written as its documentation teaches: the counterparts of tests/synth/models/NAME.gneiss.

Products of node values are taken at the nodes, where that can be done by hand, and self loops are added once.
"""

import torch
from torch_geometric.nn import MessagePassing
from torch_geometric.utils import add_self_loops, softmax


class GatedMean(MessagePassing):
    def __init__(self, width, out):
        super().__init__(aggr="mean")
        self.w, self.u, self.g = (torch.nn.Linear(width, out, bias=False) for _ in range(3))
        self.bias = torch.nn.Parameter(torch.zeros(out))

    def forward(self, x, edges):
        z = self.w(x)
        return z + self.propagate(edges, z=z, g=self.g(x), u=self.u(x)) + self.bias

    def message(self, z_j, g_i, u_j):
        return torch.sigmoid(g_i + u_j) * z_j


class EdgeConv(MessagePassing):
    def __init__(self, width, out):
        super().__init__(aggr="max")
        self.a = torch.nn.Linear(width, out, bias=False)
        self.b = torch.nn.Linear(width, out, bias=False)
        self.c = torch.nn.Linear(out, out, bias=False)
        self.bias = torch.nn.Parameter(torch.zeros(out))

    def forward(self, x, edges):
        return self.propagate(edges, own=self.a(x), p=self.b(x))

    def message(self, own_i, p_i, p_j):
        return self.c(torch.relu(own_i + (p_j - p_i) + self.bias))


class OwnGatv2(MessagePassing):
    HEADS = 2

    def __init__(self, width, out):
        super().__init__(aggr="add", node_dim=0)
        self.left = torch.nn.Linear(width, self.HEADS * out, bias=False)
        self.right = torch.nn.Linear(width, self.HEADS * out, bias=False)
        self.score = torch.nn.Parameter(torch.randn(1, self.HEADS, out) / out)
        self.looped = None

    def forward(self, x, edges):
        if self.looped is None:
            self.looped, _ = add_self_loops(edges, num_nodes=len(x))
        left = self.left(x).view(len(x), self.HEADS, -1)
        right = self.right(x).view(len(x), self.HEADS, -1)
        return self.propagate(self.looped, left=left, right=right).mean(1)

    def message(self, left_j, right_i, index, size_i):
        e = (torch.nn.functional.leaky_relu(left_j + right_i, 0.2) * self.score).sum(-1)
        weight = torch.nn.functional.dropout(softmax(e, index, num_nodes=size_i), 0.3, self.training)
        return weight.unsqueeze(-1) * left_j


class EdgeAttention(MessagePassing):
    HEADS = 2

    def __init__(self, width, out):
        super().__init__(aggr="add", node_dim=0)
        self.w = torch.nn.Linear(width, self.HEADS * out, bias=False)
        self.source, self.target = (torch.nn.Parameter(torch.randn(1, self.HEADS, out) / out) for _ in range(2))
        self.edge = torch.nn.Parameter(torch.randn(1, self.HEADS))
        self.weight = None

    def forward(self, x, edges):
        if self.weight is None:
            self.weight = torch.ones(edges.shape[1], 1)
        z = self.w(x).view(len(x), self.HEADS, -1)
        a, b = (z * self.source).sum(-1), (z * self.target).sum(-1)
        return self.propagate(edges, z=z, a=a, b=b, w=self.weight).mean(1)

    def message(self, z_j, a_j, b_i, w, index, size_i):
        e = torch.nn.functional.leaky_relu(a_j + b_i + w * self.edge, 0.2)
        return softmax(e, index, num_nodes=size_i).unsqueeze(-1) * z_j


class WeightedGin(MessagePassing):
    def __init__(self, width, out):
        super().__init__(aggr="add")
        self.eps = torch.nn.Parameter(torch.zeros(1))
        self.mlp = torch.nn.Sequential(torch.nn.Linear(width, out), torch.nn.ReLU(), torch.nn.Linear(out, out))
        self.weight = None

    def forward(self, x, edges):
        if self.weight is None:
            self.weight = torch.ones(edges.shape[1], 1)
        return self.mlp((1 + self.eps) * x + self.propagate(edges, x=x, w=self.weight))

    def message(self, x_j, w):
        return w * x_j


LAYERS = {"gated_mean": GatedMean, "edge_conv": EdgeConv, "own_gatv2": OwnGatv2, "edge_attention": EdgeAttention,
          "weighted_gin": WeightedGin}
