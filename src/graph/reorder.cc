// Degree order, reverse Cuthill-McKee, and what all orders share. Clusters have a file of their own.
#include "graph/reorder.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "base/prefetch.h"

namespace gneiss::graph {
namespace {

constexpr std::int64_t kRowGrain = 2048;
constexpr std::int64_t kPrefetchRows = 8;
constexpr std::int64_t kSampledEdges = 1 << 20;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Ids by ascending key, equal keys by id: a counting sort.
Order sort_by_key(std::span<const std::int64_t> key) {
  const std::int64_t largest = key.empty() ? 0 : *std::max_element(key.begin(), key.end());
  std::vector<std::int64_t> start(at(largest) + 2, 0);
  for (const std::int64_t k : key) ++start[at(k) + 1];
  std::partial_sum(start.begin(), start.end(), start.begin());
  Order order(key.size());
  for (std::size_t v = 0; v < key.size(); ++v) order[at(start[at(key[v])]++)] = static_cast<NodeId>(v);
  return order;
}

/// Breadth-first search over in-edges and, where they differ, out-edges.
class CuthillMcKee {
 public:
  explicit CuthillMcKee(const Graph& graph)
      : in_(graph.in_edges()), seen_(at(graph.num_nodes()), 0), degree_(at(graph.num_nodes())) {
    if (!graph.symmetric()) out_ = transpose(in_);
    for (std::size_t v = 0; v < degree_.size(); ++v) {
      degree_[v] = in_.offsets[v + 1] - in_.offsets[v];
      if (out_) degree_[v] += out_->offsets[v + 1] - out_->offsets[v];
    }
  }

  Order run() {
    order_.reserve(seen_.size());
    for (const NodeId root : sort_by_key(degree_)) {
      if (seen_[at(root)] != 0 || degree_[at(root)] == 0) continue;
      visit(root);
      for (std::size_t next = order_.size() - 1; next < order_.size(); ++next) expand(order_[next]);
    }
    for (std::size_t v = 0; v < seen_.size(); ++v) {
      if (seen_[v] == 0) order_.push_back(static_cast<NodeId>(v));
    }
    std::reverse(order_.begin(), order_.end());
    return std::move(order_);
  }

 private:
  void visit(NodeId v) {
    seen_[at(v)] = 1;
    order_.push_back(v);
  }
  void visit_row(std::span<const EdgeId> offsets, std::span<const NodeId> indices, NodeId v) {
    for (EdgeId k = offsets[at(v)]; k < offsets[at(v) + 1]; ++k) {
      if (seen_[at(indices[at(k)])] == 0) visit(indices[at(k)]);
    }
  }
  void expand(NodeId v) {
    const auto first = static_cast<std::ptrdiff_t>(order_.size());
    visit_row(in_.offsets, in_.indices, v);
    if (out_) visit_row(out_->offsets, out_->indices, v);
    std::sort(order_.begin() + first, order_.end(),
              [&](NodeId a, NodeId b) { return std::pair(degree_[at(a)], a) < std::pair(degree_[at(b)], b); });
  }

  SparsePattern in_;
  std::optional<Transpose> out_;
  std::vector<std::uint8_t> seen_;
  std::vector<std::int64_t> degree_;
  Order order_;
};

/// Rows of a graph under new names of their sources.
class RowMover {
 public:
  RowMover(const Graph& graph, std::span<const NodeId> position) : graph_(graph), position_(position) {}

  /// The first cache lines of a row that will be moved soon; rows lie anywhere.
  void fetch(NodeId v) const {
    constexpr EdgeId kPerLine = 16;
    constexpr EdgeId kLines = 4;
    const EdgeId begin = graph_.offsets()[at(v)];
    const EdgeId end = std::min(graph_.offsets()[at(v) + 1], begin + kLines * kPerLine);
    for (EdgeId k = begin; k < end; k += kPerLine) prefetch(&graph_.sources()[at(k)]);
  }

  void move(NodeId v, NodeId* sources) const {
    const auto row = graph_.sources().subspan(at(begin(v)), degree(v));
    for (std::size_t k = 0; k < row.size(); ++k) sources[k] = position_[at(row[k])];
    std::sort(sources, sources + row.size());
  }

  /// Parallel edges keep their order, so that their weights do.
  void move_weighted(NodeId v, NodeId* sources, float* weights) {
    const auto row = graph_.sources().subspan(at(begin(v)), degree(v));
    const auto row_weights = graph_.weights().subspan(at(begin(v)), degree(v));
    moved_.clear();
    for (std::size_t k = 0; k < row.size(); ++k) moved_.emplace_back(position_[at(row[k])], k);
    std::sort(moved_.begin(), moved_.end());
    for (std::size_t k = 0; k < row.size(); ++k) {
      sources[k] = moved_[k].first;
      weights[k] = row_weights[moved_[k].second];
    }
  }

 private:
  EdgeId begin(NodeId v) const { return graph_.offsets()[at(v)]; }
  std::size_t degree(NodeId v) const { return at(graph_.offsets()[at(v) + 1] - begin(v)); }

  const Graph& graph_;
  std::span<const NodeId> position_;
  std::vector<std::pair<NodeId, std::size_t>> moved_;  ///< new source, place in the old row
};

}  // namespace

Order degree_order(const Graph& graph) {
  const auto offsets = graph.offsets();
  std::vector<std::int64_t> key(at(graph.num_dst()));
  std::int64_t largest = 0;
  for (std::size_t v = 0; v < key.size(); ++v) largest = std::max(largest, key[v] = offsets[v + 1] - offsets[v]);
  for (std::int64_t& k : key) k = largest - k;
  return sort_by_key(key);
}

Order rcm_order(const Graph& graph) { return CuthillMcKee(graph).run(); }

Order inverse_order(std::span<const NodeId> order) {
  Order position(order.size(), -1);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const NodeId v = order[i];
    GNEISS_CHECK(v >= 0 && at(v) < order.size() && position[at(v)] < 0, ErrorCode::kShape,
                 "an order of {} nodes names each of them once; entry {} is {}", order.size(), i, v);
    position[at(v)] = static_cast<NodeId>(i);
  }
  return position;
}

Graph permute(const Graph& graph, std::span<const NodeId> order, int threads) {
  GNEISS_CHECK(static_cast<std::int64_t>(order.size()) == graph.num_dst() && graph.num_src() == graph.num_dst(),
               ErrorCode::kShape, "order: {} entries for a graph of {} nodes", order.size(), graph.num_dst());
  const auto position = Buffer<NodeId>::copy_of(inverse_order(order));  // on huge pages: it is read at random
  Buffer<EdgeId> offsets(order.size() + 1);
  offsets[0] = 0;
  for (std::size_t v = 0; v < order.size(); ++v) {
    offsets[v + 1] = offsets[v] + graph.offsets()[at(order[v]) + 1] - graph.offsets()[at(order[v])];
  }
  Buffer<NodeId> sources(graph.sources().size());
  Buffer<float> weights(graph.weights().size());
  parallel_chunks(threads, graph.num_dst(), kRowGrain, [&](std::int64_t begin, std::int64_t end) {
    RowMover mover(graph, position);
    for (std::int64_t v = begin; v < end; ++v) {
      if (v + kPrefetchRows < end) mover.fetch(order[at(v + kPrefetchRows)]);
      NodeId* row = sources.data() + offsets[at(v)];
      if (weights.empty()) {
        mover.move(order[at(v)], row);
      } else {
        mover.move_weighted(order[at(v)], row, weights.data() + offsets[at(v)]);
      }
    }
  });
  return {graph, std::move(offsets), std::move(sources), std::move(weights)};
}

double same_block_share(const Graph& graph, std::span<const NodeId> position, std::int64_t nodes) {
  const std::int64_t m = graph.num_edges();
  if (m == 0) return 1;
  const std::int64_t step = std::max<std::int64_t>(1, m / kSampledEdges);
  const auto block = [&](std::int64_t v) { return (position.empty() ? v : position[at(v)]) / nodes; };
  std::int64_t v = 0;
  std::int64_t same = 0;
  std::int64_t seen = 0;
  for (EdgeId k = 0; k < m; k += step, ++seen) {
    while (graph.offsets()[at(v) + 1] <= k) ++v;
    same += block(v) == block(graph.sources()[at(k)]) ? 1 : 0;
  }
  return static_cast<double>(same) / static_cast<double>(seen);
}

}  // namespace gneiss::graph
