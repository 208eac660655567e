// Nodes outside the range are sorted and made unique; each edge's source is then its place among them. A row stays
// ascending: own columns first, then ghosts. Parallel edges keep their order, so weights stay with them.
#include "partition/local_graph.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "partition/global_to_local.h"

namespace gneiss::partition {
namespace {

/// Rows of own nodes whose entries name nodes of the whole graph, ascending.
struct GlobalRows {
  Buffer<EdgeId> offsets;
  std::span<const NodeId> nodes;
  std::span<const float> weights;  ///< or empty
  // What `nodes` and `weights` are views of, unless that is the whole graph.
  Buffer<NodeId> own_nodes = {};
  Buffer<float> own_weights = {};
};

GlobalRows in_edges_of(const graph::Graph& whole, std::int64_t begin, std::int64_t end) {
  const auto first = static_cast<std::size_t>(whole.offsets()[static_cast<std::size_t>(begin)]);
  const auto last = static_cast<std::size_t>(whole.offsets()[static_cast<std::size_t>(end)]);
  GlobalRows rows;
  rows.offsets = Buffer<EdgeId>::copy_of(
      whole.offsets().subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin) + 1));
  for (EdgeId& offset : rows.offsets) offset -= static_cast<EdgeId>(first);
  rows.nodes = whole.sources().subspan(first, last - first);
  if (whole.weighted()) rows.weights = whole.weights().subspan(first, last - first);
  return rows;
}

/// The ends of own nodes' out-edges. Destinations are walked in their order, so that rows ascend.
GlobalRows out_edges_of(const graph::Graph& whole, std::int64_t begin, std::int64_t end) {
  const auto owned = static_cast<std::size_t>(end - begin);
  const std::span<const NodeId> sources = whole.sources();
  const auto is_own = [&](NodeId u) { return u >= begin && u < end; };
  GlobalRows rows;
  rows.offsets = Buffer<EdgeId>::zeros(owned + 1);
  for (const NodeId u : sources) {
    if (is_own(u)) ++rows.offsets[static_cast<std::size_t>(u - begin) + 1];
  }
  for (std::size_t u = 0; u < owned; ++u) rows.offsets[u + 1] += rows.offsets[u];
  rows.own_nodes = Buffer<NodeId>(static_cast<std::size_t>(rows.offsets[owned]));
  if (whole.weighted()) rows.own_weights = Buffer<float>(rows.own_nodes.size());
  std::vector<EdgeId> at(rows.offsets.begin(), rows.offsets.end());
  for (std::int64_t v = 0; v < whole.num_dst(); ++v) {
    const EdgeId last = whole.offsets()[static_cast<std::size_t>(v) + 1];
    for (EdgeId k = whole.offsets()[static_cast<std::size_t>(v)]; k < last; ++k) {
      const NodeId u = sources[static_cast<std::size_t>(k)];
      if (!is_own(u)) continue;
      const auto to = static_cast<std::size_t>(at[static_cast<std::size_t>(u - begin)]++);
      rows.own_nodes[to] = static_cast<NodeId>(v);
      if (!rows.own_weights.empty()) rows.own_weights[to] = whole.weights()[static_cast<std::size_t>(k)];
    }
  }
  rows.nodes = rows.own_nodes.span();
  rows.weights = rows.own_weights.span();
  return rows;
}

/// The same over columns of the part.
graph::Graph renumbered(GlobalRows rows, std::int64_t begin, std::int64_t end, std::span<const NodeId> ghosts) {
  const GlobalToLocal place(begin, end, ghosts);
  const auto is_own = [&](NodeId u) { return u >= begin && u < end; };
  Buffer<NodeId> columns(rows.nodes.size());
  Buffer<float> weights(rows.weights.size());
  for (std::size_t v = 0; v + 1 < rows.offsets.size(); ++v) {
    auto at = static_cast<std::size_t>(rows.offsets[v]);
    for (const bool own : {true, false}) {
      for (auto k = static_cast<std::size_t>(rows.offsets[v]); k < static_cast<std::size_t>(rows.offsets[v + 1]); ++k) {
        if (is_own(rows.nodes[k]) != own) continue;
        columns[at] = own ? static_cast<NodeId>(rows.nodes[k] - begin) : place.column(rows.nodes[k]);
        if (!weights.empty()) weights[at] = rows.weights[k];
        ++at;
      }
    }
  }
  return {end - begin + std::ssize(ghosts), std::move(rows.offsets), std::move(columns), std::move(weights), false};
}

}  // namespace

LocalGraph local_graph(const graph::Graph& whole, std::int64_t begin, std::int64_t end, bool both_ways) {
  GlobalRows in = in_edges_of(whole, begin, end);
  GlobalRows out;
  if (both_ways) out = out_edges_of(whole, begin, end);
  LocalGraph local;
  for (const std::span<const NodeId> nodes : {in.nodes, out.nodes}) {
    std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(local.ghosts),
                 [&](NodeId u) { return u < begin || u >= end; });
  }
  std::sort(local.ghosts.begin(), local.ghosts.end());
  local.ghosts.erase(std::unique(local.ghosts.begin(), local.ghosts.end()), local.ghosts.end());
  local.ghosts.shrink_to_fit();
  local.graph = renumbered(std::move(in), begin, end, local.ghosts);
  if (both_ways) local.reversed = renumbered(std::move(out), begin, end, local.ghosts);
  return local;
}

}  // namespace gneiss::partition
