// The graph as a sampler reads it: the in-edges of every node, and who each node was before anyone renamed it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/buffer.h"
#include "base/ids.h"
#include "graph/graph.h"

namespace gneiss::minibatch {

/// A view of in-edges compressed by destination. Entries of a row are in the order of the sources' original ids:
/// picks are places in a row, and only so a renamed graph gives the renamed batch. Rows may lie in any order.
template <class Id = NodeId>
struct InEdges {
  std::span<const EdgeId> offsets;        ///< [n + 1]
  std::span<const Id> sources;            ///< [m]
  std::span<const float> weights;         ///< [m], or empty: all 1
  std::span<const EdgeId> slots;          ///< [m] the entry's position in the graph's own order, or empty: its own
  std::span<const std::int64_t> orig_id;  ///< [n], or empty: nodes were never renamed
  std::span<const EdgeId> begins = {};    ///< [n] where a row's entries begin, or empty: as `offsets` says

  std::int64_t num_nodes() const { return offsets.empty() ? 0 : static_cast<std::int64_t>(offsets.size()) - 1; }
  std::int64_t num_edges() const { return static_cast<std::int64_t>(sources.size()); }
  EdgeId begin(Id v) const {
    return begins.empty() ? offsets[static_cast<std::size_t>(v)] : begins[static_cast<std::size_t>(v)];
  }
  std::int64_t original(Id v) const {
    return orig_id.empty() ? static_cast<std::int64_t>(v) : orig_id[static_cast<std::size_t>(v)];
  }
};

/// A graph's in-edges as they lie in memory, where that is the order of the original ids.
InEdges<NodeId> in_edges(const graph::Graph& graph);

/// Who asks where an entry lies in the graph's own order (InEdges::slots).
enum class EdgeSlots : std::uint8_t { kKept, kOfWeights };

/// The in-edges of a renamed graph, each row sorted by original ids once and for all. 12 bytes an edge, 16 with
/// weights; 4 where slots are of weights alone and there are none: `slots` is empty then, and edges of a batch are
/// numbered here and not as in the graph.
class OriginalOrder {
 public:
  /// Both must outlive this object. Errors: kShape if there is not an original id for each node.
  OriginalOrder(const graph::Graph& graph, std::span<const std::int64_t> orig_id, int threads,
                EdgeSlots slots = EdgeSlots::kKept);
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(sources_.size_bytes() + slots_.size_bytes() + weights_.size_bytes());
  }
  InEdges<NodeId> in_edges() const;

 private:
  void sort_with_slots(std::int64_t row);
  void sort_sources(std::int64_t row);
  std::int64_t original(NodeId v) const { return orig_id_[static_cast<std::size_t>(v)]; }

  const graph::Graph& graph_;
  std::span<const std::int64_t> orig_id_;
  Buffer<NodeId> sources_;
  Buffer<EdgeId> slots_;
  Buffer<float> weights_;
};

/// The in-edges of a graph that may have been renamed (`orig_id` not empty): as they lie in memory where that is the
/// order of the original ids, else sorted, and `*sorted` has to outlive them.
InEdges<NodeId> in_edges(const graph::Graph& graph, std::span<const std::int64_t> orig_id, int threads,
                         std::optional<OriginalOrder>* sorted, EdgeSlots slots = EdgeSlots::kKept);

}  // namespace gneiss::minibatch
