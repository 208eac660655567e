// From an edge list to the canonical graph: a stable counting sort by destination on all threads, then each row by
// source where it does not ascend already, so that parallel edges keep their order in the list. One copy of the edges
// and 2 bytes an edge; lists that were sorted by source, or by destination and source, are left as the first sort puts
// them.
//
// A list in the memory of a caller is seldom in no order: libraries keep edges by source or by destination. One sweep
// looks whether it is. By destination it is the graph already, but for offsets. By source it is the transposed graph,
// which is the graph itself where every edge has its reverse. A list in no order is sorted twice, by source and then by
// destination: that takes two thirds of the time of one sort and another one within each row.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "graph/graph.h"
#include "graph/key_sort.h"
#include "graph/symmetry.h"

namespace gneiss::graph {
namespace {

constexpr std::int64_t kEdges = std::int64_t{1} << 18;  ///< that a thread looks at together
constexpr std::int64_t kRows = 4096;

void check_ids(const EdgeList& edges, std::int64_t num_nodes, int threads) {
  GNEISS_CHECK(edges.src.size() == edges.dst.size(), ErrorCode::kShape, "edge list: {} sources but {} destinations",
               edges.src.size(), edges.dst.size());
  GNEISS_CHECK(edges.weight.empty() || edges.weight.size() == edges.src.size(), ErrorCode::kShape,
               "edge list: {} weights for {} edges", edges.weight.size(), edges.src.size());
  const auto size = static_cast<std::int64_t>(edges.src.size());
  const bool inside = all_chunks(threads, size, kEdges, [&](std::int64_t begin, std::int64_t end) {
    bool all = true;  // of a chunk, without a branch for each
    for (auto e = static_cast<std::size_t>(begin); e < static_cast<std::size_t>(end); ++e) {
      const NodeId u = edges.src[e];
      const NodeId v = edges.dst[e];
      all &= u >= 0 && u < num_nodes && v >= 0 && v < num_nodes;
    }
    return all;
  });
  // Which is not? The first is named.
  for (std::size_t e = 0; !inside && e < edges.src.size(); ++e) {
    for (const NodeId id : {edges.src[e], edges.dst[e]}) {
      GNEISS_CHECK(id >= 0 && id < num_nodes, ErrorCode::kBadData, "edge {} ({} -> {}) names node {}, outside 0..{}", e,
                   edges.src[e], edges.dst[e], id, num_nodes - 1);
    }
  }
}

/// Edges without self loops and, if asked for, with their reverses appended.
EdgeList expand(const EdgeList& edges, const BuildOptions& options) {
  const auto kept = [&](std::size_t e) { return !options.remove_self_loops || edges.src[e] != edges.dst[e]; };
  std::size_t count = 0;
  for (std::size_t e = 0; e < edges.src.size(); ++e) count += kept(e) ? 1 : 0;
  const std::size_t total = options.to_undirected ? 2 * count : count;
  EdgeList out{Buffer<NodeId>(total), Buffer<NodeId>(total), Buffer<float>(edges.weight.empty() ? 0 : total)};
  std::size_t at = 0;
  for (int direction = 0; direction < (options.to_undirected ? 2 : 1); ++direction) {
    const Buffer<NodeId>& from = direction == 0 ? edges.src : edges.dst;
    const Buffer<NodeId>& to = direction == 0 ? edges.dst : edges.src;
    for (std::size_t e = 0; e < edges.src.size(); ++e) {
      if (!kept(e)) continue;
      out.src[at] = from[e];
      out.dst[at] = to[e];
      if (!edges.weight.empty()) out.weight[at] = edges.weight[e];
      ++at;
    }
  }
  return out;
}

/// Edges by destination, and by source within one; parallel edges in the order of the list.
struct Sorted {
  Buffer<EdgeId> offsets;
  Buffer<NodeId> sources;
  Buffer<float> weights;  ///< or empty
};

/// Sorts entries [begin, end) stably by source.
void sort_row(std::size_t begin, std::size_t end, Sorted* edges, std::vector<std::pair<NodeId, float>>* scratch) {
  const auto first = edges->sources.begin() + begin;
  const auto last = edges->sources.begin() + end;
  if (std::is_sorted(first, last)) return;
  if (edges->weights.empty()) {
    std::sort(first, last);
    return;
  }
  scratch->clear();
  for (std::size_t k = begin; k < end; ++k) scratch->emplace_back(edges->sources[k], edges->weights[k]);
  std::stable_sort(scratch->begin(), scratch->end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t k = begin; k < end; ++k) {
    edges->sources[k] = (*scratch)[k - begin].first;
    edges->weights[k] = (*scratch)[k - begin].second;
  }
}

Sorted sort_edges(const EdgeList& edges, std::int64_t num_nodes, int threads) {
  Sorted sorted{Buffer<EdgeId>::zeros(static_cast<std::size_t>(num_nodes) + 1), Buffer<NodeId>(edges.src.size()),
                Buffer<float>(edges.weight.size())};
  const auto walk = [&](std::int64_t begin, std::int64_t end, const auto& fn) {
    for (std::int64_t e = begin; e < end; ++e)
      fn(edges.dst[static_cast<std::size_t>(e)], edges.src[static_cast<std::size_t>(e)], e);
  };
  sort_by_key(num_nodes, static_cast<std::int64_t>(edges.src.size()), threads, walk, &sorted.offsets, &sorted.sources,
              &sorted.weights, [&](EdgeId e) { return edges.weight[static_cast<std::size_t>(e)]; });
  parallel_chunks(threads, num_nodes, kRows, [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::pair<NodeId, float>> scratch;
    for (auto v = static_cast<std::size_t>(begin); v < static_cast<std::size_t>(end); ++v)
      sort_row(static_cast<std::size_t>(sorted.offsets[v]), static_cast<std::size_t>(sorted.offsets[v + 1]), &sorted,
               &scratch);
  });
  return sorted;
}

/// Makes one edge of parallel ones, with the sum of their weights.
void merge_parallel(Sorted* edges) {
  std::size_t count = 0;
  std::size_t k = 0;
  for (std::size_t v = 0; v + 1 < edges->offsets.size(); ++v) {
    const auto row = count;
    for (const auto end = static_cast<std::size_t>(edges->offsets[v + 1]); k < end; ++k) {
      const bool again = count > row && edges->sources[count - 1] == edges->sources[k];
      if (again && !edges->weights.empty()) edges->weights[count - 1] += edges->weights[k];
      if (again) continue;
      edges->sources[count] = edges->sources[k];
      if (!edges->weights.empty()) edges->weights[count] = edges->weights[k];
      ++count;
    }
    edges->offsets[v + 1] = static_cast<EdgeId>(count);
  }
  if (count == edges->sources.size()) return;
  edges->sources = Buffer<NodeId>::copy_of(std::as_const(edges->sources).span().first(count));
  if (!edges->weights.empty())
    edges->weights = Buffer<float>::copy_of(std::as_const(edges->weights).span().first(count));
}

/// A list of edges as it lies.
template <class Id>
struct Columns {
  std::span<const Id> src;
  std::span<const Id> dst;
  std::span<const float> weight;  ///< or empty
};

struct ListOrder {
  bool inside = true;  ///< every id is one of a node
  bool by_target = true;
  bool by_source = true;
};

/// Do the edges ascend by (major, minor)? Ids are below 2^32, or else the answer is not used.
template <class Id>
bool ascend(std::span<const Id> major, std::span<const Id> minor, std::size_t begin, std::size_t end) {
  const auto key = [&](std::size_t e) {
    return static_cast<std::uint64_t>(major[e]) << 32 | static_cast<std::uint32_t>(minor[e]);
  };
  bool right = true;
  for (std::size_t e = std::max<std::size_t>(begin, 1); e < end; ++e) right &= key(e - 1) <= key(e);
  return right;
}

template <class Id>
ListOrder order_of(const Columns<Id>& edges, std::int64_t num_nodes, int threads) {
  constexpr std::int64_t kInCache = 8192;  // edges that are looked at up to three times
  std::atomic<bool> by_target = true;
  std::atomic<bool> by_source = true;
  const auto size = static_cast<std::int64_t>(edges.src.size());
  const bool inside = all_chunks(threads, size, kInCache, [&](std::int64_t begin, std::int64_t end) {
    const auto first = static_cast<std::size_t>(begin);
    const auto last = static_cast<std::size_t>(end);
    bool all = true;
    for (std::size_t e = first; e < last; ++e) {
      const Id u = edges.src[e];
      const Id v = edges.dst[e];
      all &= u >= 0 && u < num_nodes && v >= 0 && v < num_nodes;
    }
    if (by_target.load(std::memory_order_relaxed) && !ascend(edges.dst, edges.src, first, last)) by_target = false;
    if (by_source.load(std::memory_order_relaxed) && !ascend(edges.src, edges.dst, first, last)) by_source = false;
    return all;
  });
  return {inside, by_target, by_source};
}

/// Rows of entries whose row numbers ascend.
template <class Id>
Sorted compress(std::span<const Id> rows, std::span<const Id> entries, std::int64_t num_rows, int threads) {
  Sorted out{Buffer<EdgeId>(static_cast<std::size_t>(num_rows) + 1), Buffer<NodeId>(rows.size()), {}};
  parallel_chunks(threads, static_cast<std::int64_t>(rows.size()), kEdges, [&](std::int64_t begin, std::int64_t end) {
    for (auto e = static_cast<std::size_t>(begin); e < static_cast<std::size_t>(end); ++e) {
      out.sources[e] = static_cast<NodeId>(entries[e]);
      // Rows behind that of the entry before begin here, up to this one's.
      for (Id r = e == 0 ? 0 : rows[e - 1] + 1; r <= rows[e]; ++r)
        out.offsets[static_cast<std::size_t>(r)] = static_cast<EdgeId>(e);
    }
  });
  const std::size_t behind = rows.empty() ? 0 : static_cast<std::size_t>(rows.back()) + 1;
  std::fill(out.offsets.begin() + behind, out.offsets.end(), static_cast<EdgeId>(rows.size()));
  return out;
}

/// Edges of a list in no order by source, in the order of the list within one.
template <class Id>
Sorted sort_by_source(const Columns<Id>& edges, std::int64_t num_nodes, int threads) {
  Sorted out{Buffer<EdgeId>::zeros(static_cast<std::size_t>(num_nodes) + 1), Buffer<NodeId>(edges.src.size()),
             Buffer<float>(edges.weight.size())};
  const auto walk = [&](std::int64_t begin, std::int64_t end, const auto& fn) {
    for (auto e = static_cast<std::size_t>(begin); e < static_cast<std::size_t>(end); ++e)
      fn(edges.src[e], static_cast<NodeId>(edges.dst[e]), static_cast<EdgeId>(e));
  };
  sort_by_key(num_nodes, static_cast<std::int64_t>(edges.src.size()), threads, walk, &out.offsets, &out.sources,
              &out.weights, [&](EdgeId e) { return edges.weight[static_cast<std::size_t>(e)]; });
  return out;
}

template <class Id>
std::optional<Graph> graph_of_columns(std::span<const Id> src, std::span<const Id> dst, Buffer<float> weights,
                                      std::int64_t num_nodes, int threads) {
  GNEISS_ASSERT(src.size() == dst.size() && (weights.empty() || weights.size() == src.size()),
                "{} sources, {} destinations, {} weights", src.size(), dst.size(), weights.size());
  const Columns<Id> edges{src, dst, weights};
  const auto [inside, by_target, by_source] = order_of(edges, num_nodes, threads);
  if (!inside) return {};
  if (by_target) {
    Sorted in = compress(dst, src, num_nodes, threads);
    return Graph::of_fitting(num_nodes, std::move(in.offsets), std::move(in.sources), std::move(weights), {}, threads);
  }
  Sorted out = by_source ? compress(src, dst, num_nodes, threads) : sort_by_source(edges, num_nodes, threads);
  const std::span<const float> values = by_source ? std::span<const float>(weights) : out.weights;
  const SparsePattern rows{num_nodes, num_nodes, out.offsets, out.sources, {}};
  if (by_source && is_symmetric(rows, values, threads))
    return Graph::of_fitting(num_nodes, std::move(out.offsets), std::move(out.sources), std::move(weights), true);
  // By source before by destination: then the rows ascend, and none is left to sort.
  Transpose in = values.empty() ? transpose(rows, false, threads) : transpose(rows, values, threads);
  const auto symmetric = by_source ? std::optional(false) : std::nullopt;
  return Graph::of_fitting(num_nodes, std::move(in.offsets), std::move(in.indices), std::move(in.values), symmetric,
                           threads);
}

}  // namespace

Graph build_graph(const EdgeList& edges, std::int64_t num_nodes, const BuildOptions& options) {
  check_ids(edges, num_nodes, options.threads);
  const bool rewrite = options.remove_self_loops || options.to_undirected;
  const EdgeList expanded = rewrite ? expand(edges, options) : EdgeList{};
  const EdgeList& list = rewrite ? expanded : edges;
  Sorted sorted = sort_edges(list, num_nodes, options.threads);
  if (options.coalesce || options.to_undirected) merge_parallel(&sorted);
  Graph graph = Graph::of_fitting(num_nodes, std::move(sorted.offsets), std::move(sorted.sources),
                                  std::move(sorted.weights), {}, options.threads);
  return options.add_self_loops ? add_remaining_self_loops(graph, options.threads) : std::move(graph);
}

std::optional<Graph> graph_of_list(std::span<const std::int64_t> src, std::span<const std::int64_t> dst,
                                   Buffer<float> weights, std::int64_t num_nodes, int threads) {
  return graph_of_columns(src, dst, std::move(weights), num_nodes, threads);
}

std::optional<Graph> graph_of_list(std::span<const NodeId> src, std::span<const NodeId> dst, Buffer<float> weights,
                                   std::int64_t num_nodes, int threads) {
  return graph_of_columns(src, dst, std::move(weights), num_nodes, threads);
}

}  // namespace gneiss::graph
