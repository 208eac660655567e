// Degree order, reverse Cuthill-McKee, and what all orders share. Clusters have a file of their own.
#include "graph/reorder.h"

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/file_pages.h"
#include "base/parallel.h"
#include "base/prefetch.h"

namespace gneiss::graph {
namespace {

constexpr std::int64_t kRowGrain = 2048;
constexpr std::int64_t kNodeGrain = 65536;
constexpr std::int64_t kPrefetchRows = 8;   // ahead of those that are moved
constexpr std::int64_t kPrefetchNames = 2;  // the same of new names of their sources
constexpr std::int64_t kSampledEdges = 1 << 20;
constexpr std::int64_t kSampleGrain = 1 << 15;
constexpr std::int64_t kPrefetchEdges = 16;  // of the sampled ones

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

/// Sorts a row: a short one of distinct numbers by counting those before each (no branch depends on them, and a
/// compiler makes vectors of the counting), a longer one by Highway's sort.
void sort_row(std::span<NodeId> row, hwy::Sorter& long_rows) {
  constexpr std::size_t kLongest = 64;
  constexpr std::size_t kTogether = 16;
  if (row.size() > kLongest) return long_rows(row.data(), row.size(), hwy::SortAscending());
  std::array<NodeId, kLongest> keys;
  const std::size_t padded = (row.size() + kTogether - 1) / kTogether * kTogether;
  std::copy(row.begin(), row.end(), keys.begin());
  std::fill(keys.begin() + static_cast<std::ptrdiff_t>(row.size()), keys.begin() + static_cast<std::ptrdiff_t>(padded),
            std::numeric_limits<NodeId>::max());
  std::size_t ranks = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const NodeId key = keys[i];
    std::int32_t before = 0;
    for (std::size_t j = 0; j < padded; ++j) before += keys[j] < key ? 1 : 0;
    row[at(before)] = key;
    ranks += at(before);
  }
  if (2 * ranks == row.size() * (row.size() - 1)) return;
  // Equal ones met at one place.
  std::copy_n(keys.begin(), row.size(), row.begin());
  std::sort(row.begin(), row.end());
}

/// Rows of a graph under new names of their sources.
class RowMover {
 public:
  RowMover(const Graph& graph, std::span<const NodeId> position) : graph_(graph), position_(position) {}

  /// Where a row lies that will be moved later.
  void fetch_place(NodeId v) const { prefetch(&graph_.offsets()[at(v)]); }

  /// The new names in a row that will be moved soon.
  void fetch_names(NodeId v) const {
    for (const NodeId u : graph_.sources().subspan(at(begin(v)), degree(v))) prefetch_far(&position_[at(u)]);
  }

  /// The first cache lines of a row that will be moved later; rows lie anywhere.
  void fetch(NodeId v) const {
    constexpr EdgeId kPerLine = 16;
    constexpr EdgeId kLines = 4;
    const EdgeId begin = graph_.offsets()[at(v)];
    const EdgeId end = std::min(graph_.offsets()[at(v) + 1], begin + kLines * kPerLine);
    for (EdgeId k = begin; k < end; k += kPerLine) prefetch(&graph_.sources()[at(k)]);
  }

  /// Both, to where the renamed row begins.
  void move_row(NodeId v, EdgeId to, Buffer<NodeId>* sources, Buffer<float>* weights) {
    if (weights->empty()) return move(v, sources->data() + to);
    move_weighted(v, sources->data() + to, weights->data() + to);
  }

 private:
  void move(NodeId v, NodeId* sources) {
    const auto row = graph_.sources().subspan(at(begin(v)), degree(v));
    for (std::size_t k = 0; k < row.size(); ++k) sources[k] = position_[at(row[k])];
    sort_row({sources, row.size()}, sorter_);
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

  EdgeId begin(NodeId v) const { return graph_.offsets()[at(v)]; }
  std::size_t degree(NodeId v) const { return at(graph_.offsets()[at(v) + 1] - begin(v)); }

  const Graph& graph_;
  std::span<const NodeId> position_;
  hwy::Sorter sorter_;
  std::vector<std::pair<NodeId, std::size_t>> moved_;  ///< new source, place in the old row
};

/// Where rows of a graph go.
class Renaming {
 public:
  Renaming(const Graph& graph, std::span<const NodeId> order, int threads) : graph_(graph), order_(order) {
    GNEISS_CHECK(static_cast<std::int64_t>(order.size()) == graph.num_dst() && graph.num_src() == graph.num_dst(),
                 ErrorCode::kShape, "order: {} entries for a graph of {} nodes", order.size(), graph.num_dst());
    position_ = Buffer<NodeId>::copy_of(inverse_order(order, threads));  // on huge pages: it is read at random
  }

  /// New ids by old id.
  std::span<const NodeId> position() const { return position_; }
  Buffer<EdgeId> new_offsets() const {
    Buffer<EdgeId> offsets(order_.size() + 1);
    offsets[0] = 0;
    for (std::size_t v = 0; v < order_.size(); ++v)
      offsets[v + 1] = offsets[v] + graph_.offsets()[at(order_[v]) + 1] - graph_.offsets()[at(order_[v])];
    return offsets;
  }

 private:
  const Graph& graph_;
  std::span<const NodeId> order_;
  Buffer<NodeId> position_;
};

/// Throws for the first entry that is wrong.
void check_order(std::span<const NodeId> order) {
  std::vector<bool> named(order.size(), false);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const NodeId v = order[i];
    GNEISS_CHECK(v >= 0 && at(v) < order.size() && !named[at(v)], ErrorCode::kShape,
                 "an order of {} nodes names each of them once; entry {} is {}", order.size(), i, v);
    named[at(v)] = true;
  }
}

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

Order inverse_order(std::span<const NodeId> order, int threads) {
  const auto size = static_cast<std::int64_t>(order.size());
  Order position(order.size(), -1);
  const auto is_node = [&](NodeId v) { return v >= 0 && v < size; };
  parallel_chunks(threads, size, kNodeGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const NodeId v = order[at(i)];
      if (is_node(v)) std::atomic_ref(position[at(v)]).store(static_cast<NodeId>(i), std::memory_order_relaxed);
    }
  });
  // Of two entries with one node, whichever wrote first does not find itself again.
  const bool once = all_chunks(threads, size, kNodeGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      if (!is_node(order[at(i)]) || position[at(order[at(i)])] != i) return false;
    }
    return true;
  });
  if (!once) check_order(order);
  return position;
}

Graph permute(const Graph& graph, std::span<const NodeId> order, int threads) {
  const Renaming renaming(graph, order, threads);
  Buffer<EdgeId> offsets = renaming.new_offsets();
  Buffer<NodeId> sources(graph.sources().size());
  Buffer<float> weights(graph.weights().size());
  parallel_chunks(threads, graph.num_dst(), kRowGrain, [&](std::int64_t begin, std::int64_t end) {
    RowMover mover(graph, renaming.position());
    for (std::int64_t v = begin; v < end; ++v) {
      if (v + 2 * kPrefetchRows < end) mover.fetch_place(order[at(v + 2 * kPrefetchRows)]);
      if (v + kPrefetchRows < end) mover.fetch(order[at(v + kPrefetchRows)]);
      if (v + kPrefetchNames < end) mover.fetch_names(order[at(v + kPrefetchNames)]);
      mover.move_row(order[at(v)], offsets[at(v)], &sources, &weights);
    }
  });
  return {graph, std::move(offsets), std::move(sources), std::move(weights)};
}

Graph permute_once(Graph&& graph, std::span<const NodeId> order, int threads) {
  if (!as_in_file(graph.sources_)) return permute(graph, order, threads);
  const bool weights_rest = as_in_file(graph.weights_);
  const Renaming renaming(graph, order, threads);
  Buffer<EdgeId> offsets = renaming.new_offsets();
  Buffer<NodeId> sources(graph.sources().size());
  Buffer<float> weights(graph.weights().size());
  parallel_chunks(threads, graph.num_dst(), kRowGrain, [&](std::int64_t begin, std::int64_t end) {
    RowMover mover(graph, renaming.position());
    for (std::int64_t v = begin; v < end; ++v) {
      if (v + kPrefetchNames < end) mover.fetch_names(static_cast<NodeId>(v + kPrefetchNames));
      const auto old = static_cast<NodeId>(v);
      mover.move_row(old, offsets[at(renaming.position()[at(v)])], &sources, &weights);
    }
    const std::size_t first = at(graph.offsets_[at(begin)]);
    const std::size_t count = at(graph.offsets_[at(end)]) - first;
    give_back_tail(graph.sources_.data() + first, 0, count * sizeof(NodeId));
    if (weights_rest) give_back_tail(graph.weights_.data() + first, 0, count * sizeof(float));
  });
  return {graph, std::move(offsets), std::move(sources), std::move(weights)};
}

Near near_edges(const Graph& graph, std::span<const NodeId> position, int threads) {
  const std::int64_t m = graph.num_edges();
  if (m == 0) return {1, 1};
  const std::int64_t step = std::max<std::int64_t>(1, m / kSampledEdges);
  const std::int64_t samples = num_chunks(m, step);
  const auto offsets = graph.offsets();
  const auto place = [&](std::int64_t v) { return static_cast<std::uint32_t>(position.empty() ? v : position[at(v)]); };
  std::atomic<std::int64_t> all_in_cluster = 0;
  std::atomic<std::int64_t> all_in_region = 0;
  parallel_chunks(threads, samples, kSampleGrain, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t v = std::upper_bound(offsets.begin(), offsets.end(), begin * step) - offsets.begin() - 1;
    std::int64_t in_cluster = 0;
    std::int64_t in_region = 0;
    for (EdgeId k = begin * step; k < end * step && k < m; k += step) {
      if (k + kPrefetchEdges * step < m) prefetch(&graph.sources()[at(k + kPrefetchEdges * step)]);
      while (offsets[at(v) + 1] <= k) ++v;
      const std::uint32_t from = place(graph.sources()[at(k)]);
      const std::uint32_t to = place(v);
      in_cluster += from / kClusterNodes == to / kClusterNodes ? 1 : 0;
      in_region += from / kRegionNodes == to / kRegionNodes ? 1 : 0;
    }
    all_in_cluster += in_cluster;
    all_in_region += in_region;
  });
  const auto share = [&](std::int64_t count) { return static_cast<double>(count) / static_cast<double>(samples); };
  return {share(all_in_cluster), share(all_in_region)};
}

}  // namespace gneiss::graph
