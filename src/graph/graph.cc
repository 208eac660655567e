// Construction checks that offsets ascend and that sources are in range.
#include "graph/graph.h"

#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "graph/symmetry.h"

namespace gneiss::graph {
namespace {

void check_structure(std::int64_t num_src, std::span<const EdgeId> offsets, std::span<const NodeId> sources,
                     int threads) {
  GNEISS_CHECK(!offsets.empty() && offsets.front() == 0, ErrorCode::kBadData,
               "graph: in-edge offsets must start with 0");
  GNEISS_CHECK(offsets.back() == static_cast<EdgeId>(sources.size()), ErrorCode::kShape,
               "graph: offsets end at {}, but there are {} edges", offsets.back(), sources.size());
  if (fit_graph(num_src, offsets, sources, threads)) return;
  for (std::size_t v = 0; v + 1 < offsets.size(); ++v) {
    GNEISS_CHECK(offsets[v] <= offsets[v + 1], ErrorCode::kBadData, "graph: offsets fall at node {} ({} then {})", v,
                 offsets[v], offsets[v + 1]);
    // Bounded by offsets.back() only if no later entry falls back, so each row is checked against the end first.
    GNEISS_CHECK(offsets[v + 1] <= offsets.back(), ErrorCode::kBadData,
                 "graph: offset of node {} is {}, beyond {} edges", v + 1, offsets[v + 1], offsets.back());
    for (EdgeId k = offsets[v]; k < offsets[v + 1]; ++k) {
      const NodeId u = sources[static_cast<std::size_t>(k)];
      GNEISS_CHECK(u >= 0 && u < num_src, ErrorCode::kBadData,
                   "graph: edge {} of node {} comes from node {}, outside 0..{}", k, v, u, num_src - 1);
      GNEISS_CHECK(k == offsets[v] || sources[static_cast<std::size_t>(k - 1)] <= u, ErrorCode::kBadData,
                   "graph: sources of node {} are not in ascending order at edge {}", v, k);
    }
  }
}

}  // namespace

bool fit_graph(std::int64_t num_src, std::span<const EdgeId> offsets, std::span<const NodeId> sources, int threads) {
  constexpr std::int64_t kRows = 4096;
  if (offsets.empty() || offsets.front() != 0 || offsets.back() != static_cast<EdgeId>(sources.size())) return false;
  return all_chunks(
      threads, static_cast<std::int64_t>(offsets.size()) - 1, kRows, [&](std::int64_t begin, std::int64_t end) {
        for (auto v = static_cast<std::size_t>(begin); v < static_cast<std::size_t>(end); ++v) {
          if (offsets[v] < 0 || offsets[v] > offsets[v + 1] || offsets[v + 1] > offsets.back()) return false;
          const std::span<const NodeId> row = sources.subspan(static_cast<std::size_t>(offsets[v]),
                                                              static_cast<std::size_t>(offsets[v + 1] - offsets[v]));
          if (row.empty()) continue;
          bool right = row.front() >= 0 && row.back() < num_src;  // and all between them, where they ascend
          for (std::size_t k = 1; k < row.size(); ++k) right &= row[k - 1] <= row[k];
          if (!right) return false;
        }
        return true;
      });
}

Graph::Graph(std::int64_t num_src, Buffer<EdgeId> offsets, Buffer<NodeId> sources, Buffer<float> weights,
             std::optional<bool> symmetric, int threads)
    : num_src_(num_src), offsets_(std::move(offsets)), sources_(std::move(sources)) {
  check_structure(num_src_, offsets_, sources_, threads);
  set_weights(std::move(weights), symmetric, threads);
}

Graph Graph::of_fitting(std::int64_t num_src, Buffer<EdgeId> offsets, Buffer<NodeId> sources, Buffer<float> weights,
                        std::optional<bool> symmetric, int threads) {
  Graph graph;
  graph.num_src_ = num_src;
  graph.offsets_ = std::move(offsets);
  graph.sources_ = std::move(sources);
  graph.set_weights(std::move(weights), symmetric, threads);
  return graph;
}

void Graph::set_weights(Buffer<float> weights, std::optional<bool> symmetric, int threads) {
  weights_ = std::move(weights);
  GNEISS_CHECK(weights_.empty() || weights_.size() == sources_.size(), ErrorCode::kShape,
               "graph: {} edge weights for {} edges", weights_.size(), sources_.size());
  symmetric_ = symmetric ? *symmetric : is_symmetric(in_edges(), weights_, threads);
}

std::int64_t Graph::bytes() const {
  return static_cast<std::int64_t>(offsets_.size_bytes() + sources_.size_bytes() + weights_.size_bytes());
}

}  // namespace gneiss::graph
