// Places first, by two walks in order, then the rows' copies on all threads.
#include "tiers/tiered_edges.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/parallel.h"

namespace gneiss::tiers {
namespace {

constexpr std::int64_t kRowsPerTask = 4096;
constexpr EdgeId kNowhere = -1;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

EdgeId degree_of(const minibatch::InEdges<NodeId>& graph, std::int64_t v) {
  return graph.offsets[at(v) + 1] - graph.offsets[at(v)];
}

}  // namespace

TieredEdges::TieredEdges(const minibatch::InEdges<NodeId>& graph, std::span<const GraphRow> hot, std::int64_t devices,
                         int threads, minibatch::EdgeSlots slots)
    : graph_(graph),
      begins_(at(graph.num_nodes())),
      sources_(at(graph.num_edges())),
      slots_(slots == minibatch::EdgeSlots::kKept || !graph.weights.empty() ? at(graph.num_edges()) : 0),
      weights_(graph.weights.size()) {
  place(hot, std::max<std::int64_t>(1, devices));
  copy_rows(threads);
}

void TieredEdges::place(std::span<const GraphRow> hot, std::int64_t devices) {
  std::vector<EdgeId> held(at(devices), 0);
  device_bytes_.assign(at(devices), 0);
  std::fill(begins_.begin(), begins_.end(), kNowhere);
  for (std::size_t i = 0; i < hot.size(); ++i) {
    const NodeId v = hot[i].node;
    GNEISS_CHECK(v >= 0 && v < graph_.num_nodes(), ErrorCode::kUsage, "the graph has no row {}; its nodes are 0 to {}",
                 v, graph_.num_nodes() - 1);
    GNEISS_CHECK(begins_[at(v)] == kNowhere, ErrorCode::kUsage, "row {} of the graph is to lie in two places", v);
    const std::size_t device = i % held.size();
    begins_[at(v)] = held[device];
    held[device] += degree_of(graph_, v);
    device_bytes_[device] += graph_row_bytes(degree_of(graph_, v));
  }
  tables_ = {0};
  for (const EdgeId entries : held) tables_.push_back(tables_.back() + entries);
  for (std::size_t i = 0; i < hot.size(); ++i) begins_[at(hot[i].node)] += tables_[i % held.size()];
  EdgeId next = tables_.back();
  for (std::int64_t v = 0; v < graph_.num_nodes(); ++v) {
    if (begins_[at(v)] != kNowhere) continue;
    begins_[at(v)] = next;
    next += degree_of(graph_, v);
  }
}

void TieredEdges::copy_rows(int threads) {
  parallel_chunks(threads, graph_.num_nodes(), kRowsPerTask, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t v = first; v < last; ++v) {
      const EdgeId from = graph_.begin(static_cast<NodeId>(v));
      const EdgeId to = begins_[at(v)];
      const EdgeId degree = degree_of(graph_, v);
      for (EdgeId k = 0; k < degree; ++k) {
        sources_[at(to + k)] = graph_.sources[at(from + k)];
        if (!slots_.empty()) slots_[at(to + k)] = graph_.slots.empty() ? from + k : graph_.slots[at(from + k)];
        if (!graph_.weights.empty()) weights_[at(to + k)] = graph_.weights[at(from + k)];
      }
    }
  });
}

minibatch::InEdges<NodeId> TieredEdges::in_edges() const {
  minibatch::InEdges<NodeId> edges = graph_;
  edges.begins = begins_.span();
  edges.sources = sources_.span();
  edges.slots = slots_.span();
  edges.weights = weights_.span();
  return edges;
}

EdgePlace TieredEdges::place_of(NodeId v) const {
  const EdgeId begin = begins_[at(v)];
  // A row without edges may begin where the next table does, and takes nothing of either.
  if (begin >= tables_.back()) return {-1, begin - tables_.back()};
  const auto table = std::upper_bound(tables_.begin(), tables_.end(), begin) - tables_.begin() - 1;
  return {table, begin - tables_[at(table)]};
}

void TieredEdges::count_row(NodeId v, std::int64_t drawn, TierTraffic* traffic) const {
  const EdgePlace place = place_of(v);
  TierCount& counted = traffic->tier[static_cast<std::size_t>(place.device < 0 ? Tier::kHost : Tier::kPooled)];
  const std::int64_t bytes = std::int64_t{sizeof(EdgeId)} + drawn * std::int64_t{sizeof(NodeId)};
  ++counted.rows;
  counted.bytes += bytes;
  counted.pieces_32 += graph_pieces(drawn, degree_of(graph_, v), 32);
  counted.pieces_128 += graph_pieces(drawn, degree_of(graph_, v), 128);
  if (place.device < 0) return;
  if (std::ssize(traffic->pooled_bytes) <= place.device) traffic->pooled_bytes.resize(at(place.device) + 1);
  traffic->pooled_bytes[at(place.device)] += bytes;
}

void TieredEdges::count(const minibatch::MiniBatch<NodeId>& batch, minibatch::Semantics semantics,
                        TierTraffic* traffic) const {
  for_rows_drawn_from(batch, semantics, [&](NodeId v, std::int64_t drawn) { count_row(v, drawn, traffic); });
}

}  // namespace gneiss::tiers
