// The immutable graph: in-edges of every destination, compressed by destination (CSC of the adjacency matrix).
//
// Edge u -> v carries a message from u to v. Edge e of the canonical order is the e-th entry of the in-edge arrays:
// destinations ascending, within one destination sources ascending, parallel edges next to each other and kept apart.
// Every array of edge values is in this order. A full graph has one node set (num_src == num_dst); a block of a
// mini-batch is bipartite.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "base/buffer.h"
#include "base/ids.h"
#include "base/matrix_view.h"

namespace gneiss::graph {

class Graph {
 public:
  Graph() = default;
  /// Takes arrays that already hold: offsets [num_dst + 1] from 0, never falling; sources [m] in [0, num_src),
  /// ascending within a row; weights [m] or empty (all ones). `symmetric` spares the search where the answer is known;
  /// whoever gives it answers for it. `threads` look at the arrays. Errors: kShape / kBadData naming the first offence.
  Graph(std::int64_t num_src, Buffer<EdgeId> offsets, Buffer<NodeId> sources, Buffer<float> weights = {},
        std::optional<bool> symmetric = {}, int threads = 1);
  /// The same of arrays that fit_graph has looked at.
  static Graph of_fitting(std::int64_t num_src, Buffer<EdgeId> offsets, Buffer<NodeId> sources,
                          Buffer<float> weights = {}, std::optional<bool> symmetric = {}, int threads = 1);

  std::int64_t num_src() const { return num_src_; }
  std::int64_t num_dst() const { return static_cast<std::int64_t>(offsets_.size()) - 1; }
  /// For a graph with one node set.
  std::int64_t num_nodes() const { return num_src_; }
  std::int64_t num_edges() const { return offsets_[offsets_.size() - 1]; }
  bool weighted() const { return !weights_.empty(); }
  /// For each edge u -> v there are as many v -> u, with the same weights.
  bool symmetric() const { return symmetric_; }
  std::int64_t bytes() const;

  /// Frees the arrays of edges, of a graph that nobody walks any more: sources() and weights() are empty then, the
  /// counts stay.
  void drop_edges() {
    sources_ = {};
    weights_ = {};
  }

  std::span<const EdgeId> offsets() const { return offsets_; }
  std::span<const NodeId> sources() const { return sources_; }
  std::span<const float> weights() const { return weights_; }

  /// Rows are destinations, columns are sources.
  SparsePattern in_edges() const { return {num_dst(), num_src_, offsets_, sources_, {}}; }

 private:
  /// The last of what a constructor does; the edges are there.
  void set_weights(Buffer<float> weights, std::optional<bool> symmetric, int threads);

  friend void order_rows(std::span<const std::int64_t> keys, int threads, Graph* graph);
  friend Graph permute(const Graph& graph, std::span<const NodeId> order, int threads);
  friend Graph permute_once(Graph&& graph, std::span<const NodeId> order, int threads);
  /// `renamed` under other node ids: its arrays need no check, and symmetry is a property of the structure.
  Graph(const Graph& renamed, Buffer<EdgeId> offsets, Buffer<NodeId> sources, Buffer<float> weights)
      : num_src_(renamed.num_src_),
        offsets_(std::move(offsets)),
        sources_(std::move(sources)),
        weights_(std::move(weights)),
        symmetric_(renamed.symmetric_) {}

  std::int64_t num_src_ = 0;
  Buffer<EdgeId> offsets_ = Buffer<EdgeId>::zeros(1);
  Buffer<NodeId> sources_;
  Buffer<float> weights_;
  bool symmetric_ = false;
};

/// Do offsets and sources hold what a Graph asks of them? Threads look in one sweep, and nothing says what is wrong.
bool fit_graph(std::int64_t num_src, std::span<const EdgeId> offsets, std::span<const NodeId> sources, int threads = 1);

/// The same edges by source: row u lists the destinations of u's out-edges, ascending, with each edge's canonical slot.
struct Transpose {
  std::int64_t cols = 0;
  Buffer<EdgeId> offsets;
  Buffer<NodeId> indices;
  Buffer<EdgeId> slots;  ///< may be absent
  Buffer<float> values;  ///< of the entries, in their order here; may be absent

  SparsePattern pattern() const {
    return {static_cast<std::int64_t>(offsets.size()) - 1, cols, offsets, indices, slots};
  }
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(offsets.size_bytes() + indices.size_bytes() + slots.size_bytes() +
                                     values.size_bytes());
  }
};

/// Transposes any compressed-row pattern, so that rows ascend; slots name the entries of the original, where
/// `with_slots` asks for them (values of entries are found by them). Used for A^T and for the CSC copy of sparse
/// features.
///
/// Threads   the result does not depend on them
/// Cost      O(rows + cols + nnz); while it runs 2 bytes an entry, and a copy of the entries that the threads sort at
/// the time:
///           transpose_scratch_bytes at most
Transpose transpose(const SparsePattern& pattern, bool with_slots = true, int threads = 1);
/// The same with the values of the entries (`values`: [nnz] by slot) in place of slots, for values that stay what they
/// are.
Transpose transpose(const SparsePattern& pattern, std::span<const float> values, int threads = 1);
/// `entry_bytes`: of what goes with an entry, a slot or a value; 0 if nothing does.
std::int64_t transpose_scratch_bytes(std::int64_t nnz, std::size_t entry_bytes);

/// A list of edges as read from a file, before it becomes a graph.
struct EdgeList {
  Buffer<NodeId> src;
  Buffer<NodeId> dst;
  Buffer<float> weight;  ///< [m] or empty
};

/// What to do to an edge list on the way in; PyG's names. Applied in the order of the members.
struct BuildOptions {
  bool remove_self_loops = false;
  bool to_undirected = false;   ///< add v -> u for every u -> v; duplicates that arise are merged (coalesced)
  bool coalesce = false;        ///< merge parallel edges; weights are summed
  bool add_self_loops = false;  ///< add remaining self loops, see add_remaining_self_loops
  int threads = 1;              ///< the graph does not depend on them
};

/// Builds the graph by counting sort. Ids must lie in [0, num_nodes). Errors: kBadData naming the first bad edge.
Graph build_graph(const EdgeList& edges, std::int64_t num_nodes, const BuildOptions& options = {});

/// The graph of a list that somebody else holds, the same as build_graph makes of it, without a copy of the list.
/// Nothing if an id is outside [0, num_nodes): whoever asks says which.
///
/// Threads   the result does not depend on them
/// Cost      two sweeps over a list that is in order of its destinations, or of its sources if every edge has its
///           reverse; else one or two counting sorts, O(num_nodes + edges), with 6 bytes an edge while they run
std::optional<Graph> graph_of_list(std::span<const std::int64_t> src, std::span<const std::int64_t> dst,
                                   Buffer<float> weights, std::int64_t num_nodes, int threads = 1);
std::optional<Graph> graph_of_list(std::span<const NodeId> src, std::span<const NodeId> dst, Buffer<float> weights,
                                   std::int64_t num_nodes, int threads = 1);

/// The edges into `rows` alone, ascending nodes: destination i is rows[i].
Graph edges_into(const Graph& graph, std::span<const NodeId> rows, int threads = 1);

/// Sorts the edges into each node by the keys of their sources (`keys`: [num_src]), in place; equal keys keep their
/// order, and weights go along. Rows no longer ascend then: self loops and tiles of sources come before.
void order_rows(std::span<const std::int64_t> keys, int threads, Graph* graph);

/// One edge from rows[i] to destination i, of `num_nodes` sources.
Graph selection(std::int64_t num_nodes, std::span<const NodeId> rows);

/// Edges v -> v. PyG: what utils.contains_self_loops asks for, counted.
std::int64_t num_self_loops(const Graph& graph, int threads = 1);

/// PyG's add_remaining_self_loops: every node ends with exactly one self loop; of existing ones the last one's weight
/// survives, new ones weigh `fill`. An unweighted graph stays unweighted. Of a graph with further sources the first are
/// the destinations. Source: pyg utils/loop.py.
Graph add_remaining_self_loops(const Graph& graph, int threads = 1, float fill = 1.0F);

/// PyG's remove_self_loops followed by add_self_loops: like the above, but every loop weighs `fill`.
Graph replace_self_loops(const Graph& graph, int threads = 1, float fill = 1.0F);

}  // namespace gneiss::graph
