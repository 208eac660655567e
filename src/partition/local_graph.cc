// Sources outside the range are sorted and made unique; each edge's source is then its place among them. A row stays
// ascending: own columns first, then ghosts. Parallel edges keep their order, so weights stay with them.
#include "partition/local_graph.h"

#include <algorithm>
#include <utility>

#include "partition/global_to_local.h"

namespace gneiss::partition {

LocalGraph local_graph(const graph::Graph& whole, std::int64_t begin, std::int64_t end) {
  const auto first = static_cast<std::size_t>(whole.offsets()[static_cast<std::size_t>(begin)]);
  const auto last = static_cast<std::size_t>(whole.offsets()[static_cast<std::size_t>(end)]);
  const auto owned = static_cast<std::size_t>(end - begin);
  const std::span<const NodeId> sources = whole.sources().subspan(first, last - first);
  const auto is_own = [&](NodeId u) { return u >= begin && u < end; };

  LocalGraph local;
  std::copy_if(sources.begin(), sources.end(), std::back_inserter(local.ghosts), [&](NodeId u) { return !is_own(u); });
  std::sort(local.ghosts.begin(), local.ghosts.end());
  local.ghosts.erase(std::unique(local.ghosts.begin(), local.ghosts.end()), local.ghosts.end());
  local.ghosts.shrink_to_fit();

  const GlobalToLocal place(begin, end, local.ghosts);
  Buffer<EdgeId> offsets(owned + 1);
  for (std::size_t v = 0; v <= owned; ++v)
    offsets[v] = whole.offsets()[static_cast<std::size_t>(begin) + v] - static_cast<EdgeId>(first);
  Buffer<NodeId> columns(sources.size());
  Buffer<float> weights(whole.weighted() ? sources.size() : 0);
  for (std::size_t v = 0; v < owned; ++v) {
    auto at = static_cast<std::size_t>(offsets[v]);
    for (const bool own : {true, false}) {
      for (auto k = static_cast<std::size_t>(offsets[v]); k < static_cast<std::size_t>(offsets[v + 1]); ++k) {
        if (is_own(sources[k]) != own) continue;
        columns[at] = own ? static_cast<NodeId>(sources[k] - begin) : place.column(sources[k]);
        if (!weights.empty()) weights[at] = whole.weights()[first + k];
        ++at;
      }
    }
  }
  local.graph = graph::Graph(static_cast<std::int64_t>(owned) + std::ssize(local.ghosts), std::move(offsets),
                             std::move(columns), std::move(weights), false);
  return local;
}

}  // namespace gneiss::partition
