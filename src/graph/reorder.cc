// Degree order, reverse Cuthill-McKee, and what all orders share. Clusters have a file of their own.
#include "graph/reorder.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"

namespace gneiss::graph {
namespace {

constexpr std::int64_t kRowGrain = 2048;
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

/// One edge of a row under its new source, with its slot in the old graph.
struct MovedEdge {
  NodeId source;
  std::uint32_t place;  ///< within the row
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
  const auto old_offsets = graph.offsets();
  const auto old_sources = graph.sources();
  Buffer<EdgeId> offsets(order.size() + 1);
  offsets[0] = 0;
  for (std::size_t v = 0; v < order.size(); ++v)
    offsets[v + 1] = offsets[v] + old_offsets[at(order[v]) + 1] - old_offsets[at(order[v])];
  Buffer<NodeId> sources(old_sources.size());
  Buffer<float> weights(graph.weights().size());
  parallel_chunks(threads, graph.num_dst(), kRowGrain, [&](std::int64_t begin, std::int64_t end) {
    std::vector<MovedEdge> row;
    for (std::int64_t v = begin; v < end; ++v) {
      const EdgeId from = old_offsets[at(order[at(v)])];
      const EdgeId to = offsets[at(v)];
      const auto degree = at(offsets[at(v) + 1] - to);
      if (weights.empty()) {
        for (std::size_t k = 0; k < degree; ++k) sources[at(to) + k] = position[at(old_sources[at(from) + k])];
        std::sort(sources.begin() + to, sources.begin() + to + degree);
        continue;
      }
      row.clear();
      for (std::size_t k = 0; k < degree; ++k)
        row.push_back({position[at(old_sources[at(from) + k])], static_cast<std::uint32_t>(k)});
      std::sort(row.begin(), row.end(), [](const MovedEdge& a, const MovedEdge& b) {
        return std::pair(a.source, a.place) < std::pair(b.source, b.place);
      });
      for (std::size_t k = 0; k < degree; ++k) {
        sources[at(to) + k] = row[k].source;
        weights[at(to) + k] = graph.weights()[at(from) + row[k].place];
      }
    }
  });
  return {graph, std::move(offsets), std::move(sources), std::move(weights)};
}

double same_block_share(const Graph& graph, std::span<const NodeId> position) {
  const std::int64_t m = graph.num_edges();
  if (m == 0) return 1;
  const std::int64_t step = std::max<std::int64_t>(1, m / kSampledEdges);
  const auto block = [&](std::int64_t v) { return (position.empty() ? v : position[at(v)]) / kBlockNodes; };
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
