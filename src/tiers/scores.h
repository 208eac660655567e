// How likely a node is to be in a batch, foretold from the graph and the training nodes.
//
// A batch walks against the edges: node v draws some of its in-edges u -> v, and so the rows of their sources are read.
// What counts for u are therefore its out-edges, and how many rivals it has at their other ends. All scores here pull
// along out-edges in a fixed order, in f64, from one array into another: they do not depend on the number of threads.
// Only the order that a score puts the nodes in matters, not its unit.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/matrix_view.h"
#include "graph/graph.h"
#include "minibatch/sampler.h"

namespace gneiss::tiers {

/// A graph seen from both ends. A symmetric graph needs no copy of its edges; of another there is one, 4 bytes an edge.
class BothEnds {
 public:
  /// `graph` must outlive this.
  explicit BothEnds(const graph::Graph& graph, int threads);

  std::int64_t num_nodes() const { return graph_.num_nodes(); }
  std::int64_t in_degree(std::int64_t v) const { return degree(graph_.offsets(), v); }
  std::int64_t out_degree(std::int64_t u) const { return degree(out_.offsets, u); }
  /// Destinations of a node's out-edges, ascending; parallel edges apart.
  std::span<const NodeId> out_row(std::int64_t u) const {
    const auto begin = static_cast<std::size_t>(out_.offsets[static_cast<std::size_t>(u)]);
    return out_.indices.subspan(begin, static_cast<std::size_t>(out_degree(u)));
  }

 private:
  static std::int64_t degree(std::span<const EdgeId> offsets, std::int64_t v) {
    return offsets[static_cast<std::size_t>(v) + 1] - offsets[static_cast<std::size_t>(v)];
  }

  const graph::Graph& graph_;
  std::optional<graph::Transpose> copy_;
  SparsePattern out_;
};

/// Out-degrees.
std::vector<double> degree_score(const BothEnds& graph);

struct PageRankOptions {
  int iterations = 0;       ///< 0: until nothing moves
  double damping = 0.85;    ///< what a node hands on of its score; the rest is spread over all nodes
  double tolerance = 1e-9;  ///< without `iterations`: until an iteration moves less, summed over all nodes …
  int most = 1000;          ///< … or this many are done
};

/// Reverse PageRank: a node gets from each node that may draw it an equal part of that one's score.
///   next[u] = (1 - d)/n + d * sum over u -> v of now[v]/indeg(v);   start: now = 1/n everywhere, and with training
///   nodes t of them, 1/t at these (the weighted score)
/// Aliasing  double buffered: no node sees a score of the iteration under way. In-degree 0: handed to nobody
/// Cost      8 bytes an edge and iteration read at random
/// Errors    kUsage for a damping outside [0, 1], and for 1 without a number of iterations: it may never settle
/// Source    [min2022data_tiering], Algorithm 1; how we differ: the printed loop writes scores that it still reads, and
///           divides by an in-degree of 0
std::vector<double> reverse_pagerank(const BothEnds& graph, std::span<const NodeId> train,
                                     const PageRankOptions& options, int threads);

/// The chance that a node is in a batch (vertex inclusion probability), for independent neighbours: exact where the
/// nodes that may reach a node never share a way, as in a tree.
///   P_0(u) = B/t for training nodes, 0 else
///   x_h(v) = x_{h-1}(v) + q_h(v) (P_h(v) - x_{h-1}(v))          an edge into v has been drawn by hop h
///   P_{h+1}(u) = 1 - (1 - P_0(u)) * product over u -> v of (1 - x_h(v))
/// with q_h(v) = min(1, f_h/indeg(v)), or 1 - (1 - 1/indeg(v))^f_h with replacement. Where a node draws once
/// (Semantics::kSubgraph), x_h(v) = x_{h-1}(v) + q_h(v) (P_h(v) - P_{h-1}(v)).
/// Cost      8 bytes an edge and hop read at random
/// Errors    kUnsupported for draws by weight; kUsage without training nodes
/// Source    [kaler2023salientpp]; how we differ: all draws of a node over the hops are one event, there each hop's
///           nodes are taken for others
std::vector<double> inclusion_score(const BothEnds& graph, std::span<const NodeId> train, std::int64_t batch_size,
                                    const minibatch::SamplerOptions& sampler, int threads);

}  // namespace gneiss::tiers
