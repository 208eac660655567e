// A graph's in-edges with the rows that batches read most in devices' memories, for sampling on devices.
//
// Rows of the graph have an order of their own, by reads a byte: a long row that is read often may be worth less than
// two short ones, and what is hot of the features need not be hot here. So the numbers of the nodes say nothing about
// where their rows lie, and one word a node does. Rows are dealt to the devices by turns; the rest stays in main
// memory. All tables lie behind one another in one array here, so that a sampler reads through one address space; it
// draws places in a row, and so the batches are the same.
//
// Source: [min2022data_tiering] spreads the whole graph over the devices (section 5.5), [zhang2023ducati] keeps rows by
// reads a byte on one. Here both at once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "minibatch/batch.h"
#include "minibatch/in_edges.h"
#include "tiers/split.h"
#include "tiers/tiered_rows.h"

namespace gneiss::tiers {

/// Pieces of `size` bytes that drawing from a row reads: the word that says where it begins, and one for each source
/// drawn, as long as the row has so many.
constexpr std::int64_t graph_pieces(std::int64_t drawn, EdgeId degree, std::int64_t size) {
  const std::int64_t in_row = (degree * std::int64_t{sizeof(NodeId)} + size - 1) / size;
  return 1 + (drawn < in_row ? drawn : in_row);
}

/// visit(node, drawn) for each row of the graph that sampling a batch read: once for each time that its node drew.
template <class Visit>
void for_rows_drawn_from(const minibatch::MiniBatch<NodeId>& batch, minibatch::Semantics semantics,
                         const Visit& visit) {
  const std::span<const NodeId> nodes = batch.nodes();
  std::int64_t done = 0;  // rows of earlier hops, where a node draws once
  for (int hop = 0; hop < batch.shape().hops; ++hop) {
    const minibatch::Block block = batch.hop(hop);
    for (std::int64_t i = semantics == minibatch::Semantics::kSubgraph ? done : 0; i < block.num_dst; ++i) {
      const auto at = static_cast<std::size_t>(i);
      visit(nodes[at], block.offsets[at + 1] - block.offsets[at]);
    }
    done = block.num_dst;
  }
}

/// Where a node's row of the graph lies.
struct EdgePlace {
  std::int64_t device = -1;  ///< -1: main memory
  EdgeId begin = 0;          ///< of its sources, in that memory's table
};

class TieredEdges {
 public:
  /// The rows `hot` on `devices` devices by turns. `graph` must outlive this, without its sources and weights, which
  /// are copied: 12 bytes an edge, 16 with weights; 4 where `slots` are of weights alone and there are none, and edges
  /// of a batch are numbered here then. Errors: kUsage for a node that stands in `hot` twice, or is none.
  TieredEdges(const minibatch::InEdges<NodeId>& graph, std::span<const GraphRow> hot, std::int64_t devices, int threads,
              minibatch::EdgeSlots slots = minibatch::EdgeSlots::kKept);

  /// For samplers; valid as long as this.
  minibatch::InEdges<NodeId> in_edges() const;
  EdgePlace place_of(NodeId v) const;
  /// Of all copies.
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(begins_.size_bytes() + sources_.size_bytes() + slots_.size_bytes() +
                                     weights_.size_bytes());
  }
  /// Of a device's rows, with a word each that says where they begin.
  std::int64_t device_bytes(std::int64_t device) const { return device_bytes_[static_cast<std::size_t>(device)]; }

  /// Adds what sampling a batch read: a row for each node that drew, in pieces as graph_pieces says.
  void count(const minibatch::MiniBatch<NodeId>& batch, minibatch::Semantics semantics, TierTraffic* traffic) const;

 private:
  void place(std::span<const GraphRow> hot, std::int64_t devices);
  void copy_rows(int threads);
  void count_row(NodeId v, std::int64_t drawn, TierTraffic* traffic) const;

  minibatch::InEdges<NodeId> graph_;
  std::vector<EdgeId> tables_;  ///< where each device's table begins, then that of main memory
  std::vector<std::int64_t> device_bytes_;
  Buffer<EdgeId> begins_;  ///< [n]
  Buffer<NodeId> sources_;
  Buffer<EdgeId> slots_;
  Buffer<float> weights_;
};

}  // namespace gneiss::tiers
