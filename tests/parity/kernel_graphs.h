// Small graphs with everything that breaks kernels: no edge, one node, isolated nodes, a hub, parallel edges, self
// loops, more sources than destinations.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/matrix_view.h"
#include "base/random.h"

namespace gneiss::testing {

/// A pattern by destination and its transpose, which names slots.
struct KernelGraph {
  std::string name;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<EdgeId> offsets, t_offsets, t_slots;
  std::vector<NodeId> indices, t_indices;

  std::int64_t edges() const { return static_cast<std::int64_t>(indices.size()); }
  SparsePattern in_edges() const { return {rows, cols, offsets, indices, {}}; }
  SparsePattern out_edges() const { return {cols, rows, t_offsets, t_indices, t_slots}; }
};

/// From (destination, source) pairs, in any order.
inline KernelGraph make_kernel_graph(std::string name, std::int64_t rows, std::int64_t cols,
                                     std::vector<std::pair<NodeId, NodeId>> edges) {
  std::stable_sort(edges.begin(), edges.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  KernelGraph g;
  g.name = std::move(name);
  g.rows = rows;
  g.cols = cols;
  g.offsets.assign(static_cast<std::size_t>(rows) + 1, 0);
  g.t_offsets.assign(static_cast<std::size_t>(cols) + 1, 0);
  for (const auto& [dst, src] : edges) {
    ++g.offsets[static_cast<std::size_t>(dst) + 1];
    ++g.t_offsets[static_cast<std::size_t>(src) + 1];
    g.indices.push_back(src);
  }
  for (std::size_t i = 1; i < g.offsets.size(); ++i) g.offsets[i] += g.offsets[i - 1];
  for (std::size_t i = 1; i < g.t_offsets.size(); ++i) g.t_offsets[i] += g.t_offsets[i - 1];
  std::vector<EdgeId> next(g.t_offsets.begin(), g.t_offsets.end() - 1);
  g.t_indices.resize(edges.size());
  g.t_slots.resize(edges.size());
  for (std::size_t k = 0; k < edges.size(); ++k) {
    const auto at = static_cast<std::size_t>(next[static_cast<std::size_t>(edges[k].second)]++);
    g.t_indices[at] = edges[k].first;
    g.t_slots[at] = static_cast<EdgeId>(k);
  }
  return g;
}

/// The same graph with every row's sources in order, as a graph::Graph has them.
inline KernelGraph sorted_rows(const KernelGraph& from) {
  std::vector<std::pair<NodeId, NodeId>> edges;
  for (std::size_t v = 0; v + 1 < from.offsets.size(); ++v) {
    for (auto k = static_cast<std::size_t>(from.offsets[v]); k < static_cast<std::size_t>(from.offsets[v + 1]); ++k) {
      edges.push_back({static_cast<NodeId>(v), from.indices[k]});
    }
  }
  std::sort(edges.begin(), edges.end());
  return make_kernel_graph(from.name, from.rows, from.cols, std::move(edges));
}

/// `count` random edges; sources are skewed towards low ids.
inline std::vector<std::pair<NodeId, NodeId>> random_edges(std::int64_t rows, std::int64_t cols, std::int64_t count,
                                                           std::uint64_t seed) {
  RandomStream random(seed, 11);
  std::vector<std::pair<NodeId, NodeId>> edges;
  for (std::int64_t i = 0; i < count; ++i) {
    const double skew = random.uniform();
    edges.push_back({static_cast<NodeId>(random.below(static_cast<std::uint64_t>(rows))),
                     static_cast<NodeId>(skew * skew * static_cast<double>(cols))});
  }
  return edges;
}

/// Directed and asymmetric: a hub, isolated nodes (the last two), self loops, parallel edges.
inline KernelGraph mixed_graph() {
  std::vector<std::pair<NodeId, NodeId>> edges = random_edges(11, 11, 25, 3);
  for (NodeId u = 1; u < 9; ++u) edges.push_back({0, u});
  edges.insert(edges.end(), {{2, 2}, {3, 3}, {3, 3}, {4, 1}, {4, 1}, {4, 1}});
  return make_kernel_graph("mixed", 13, 13, std::move(edges));
}

inline std::vector<KernelGraph> kernel_graphs() {
  std::vector<KernelGraph> graphs;
  graphs.push_back(make_kernel_graph("empty", 5, 5, {}));
  graphs.push_back(make_kernel_graph("no nodes", 0, 0, {}));
  graphs.push_back(make_kernel_graph("one node", 1, 1, {}));
  graphs.push_back(make_kernel_graph("self loop", 1, 1, {{0, 0}}));
  graphs.push_back(make_kernel_graph("parallel", 3, 3, {{1, 2}, {1, 2}, {1, 2}, {0, 1}}));
  graphs.push_back(mixed_graph());
  graphs.push_back(make_kernel_graph("block", 20, 90, random_edges(20, 90, 150, 5)));
  std::vector<std::pair<NodeId, NodeId>> hub = random_edges(300, 300, 700, 7);
  for (NodeId u = 0; u < 300; ++u) hub.insert(hub.end(), {{17, u}, {17, u}, {u, 9}});
  graphs.push_back(make_kernel_graph("hub", 302, 302, std::move(hub)));
  // Rows one edge short of a vector of edges, of a batch of them or of several, that fill it, and with one edge more.
  std::vector<std::pair<NodeId, NodeId>> batches;
  for (const NodeId edges : {4, 8, 16, 32, 64, 512}) {
    for (const NodeId length : {edges - 1, edges, edges + 1}) {
      for (auto [row, u] : random_edges(1, 60, length, 13))
        batches.push_back({edges / 4 + (length - edges + 1) * 129, u});
    }
  }
  graphs.push_back(make_kernel_graph("batches", 400, 60, std::move(batches)));
  // So many edges a row that devices give it more lanes, and one that is long even there.
  std::vector<std::pair<NodeId, NodeId>> dense = random_edges(40, 64, 3200, 15);
  for (auto [row, u] : random_edges(1, 64, 1100, 17)) dense.push_back({11 + row, u});
  graphs.push_back(make_kernel_graph("dense", 40, 64, std::move(dense)));
  // Enough edges for several chunks at every width.
  graphs.push_back(make_kernel_graph("large", 4000, 4000, random_edges(4000, 4000, 60000, 9)));
  return graphs;
}

}  // namespace gneiss::testing
