// Random simple graphs of an exact number of edges, drawn twice instead of stored. Internal to this folder.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "graph/graph.h"

namespace gneiss::data {

struct NodePair {
  NodeId u;
  NodeId v;
};

/// Writes the draws first, first + 1, … to the span; a pure function of the draw's number, called from many threads.
using FillPairs = std::function<void(std::uint64_t first, std::span<NodePair> pairs)>;

struct SampleOptions {
  std::int64_t nodes = 0;
  std::int64_t edges = 0;       ///< stored edges
  bool directed = false;        ///< one direction of each pair, chosen by hash; otherwise both
  bool exact = true;            ///< reach `edges` exactly; otherwise draw that many (pairs) and keep what is distinct
  double draws = 0;             ///< how many draws should give enough distinct pairs; 0 = a few more than pairs
  std::int64_t room_bytes = 0;  ///< for drawn edges; more than that lie in a scratch file (base/file.h). 0: no limit
  std::uint64_t seed = 0;
  int threads = 1;
};

/// Builds a graph without parallel edges, and without self loops but for one on node 0 when an odd number of edges is
/// to be stored in both directions (a symmetric graph with an odd count has a loop). Method: draws are counted per
/// node, drawn again into their rows, sorted and made distinct; too few distinct ones mean another attempt with more
/// draws, surplus ones are dropped by hash. Neither threads nor room change the graph. Memory: the graph's own arrays
/// and a few per cent; with `room_bytes` the offsets and that much, or the longest row if it is more, and every draw is
/// made once for each such piece. Errors: kUsage when so many distinct edges cannot be found; kDisk for the scratch
/// file.
graph::Graph sample_graph(const SampleOptions& options, const FillPairs& fill);

/// Draws that are expected to give `wanted` distinct pairs, with a small margin. `probability` is the chance that one
/// draw gives a pair, either way round. Solves wanted = R * mean over draws of (1 - exp(-R p)) / (R p) on a sample.
double expected_draws(double wanted, const FillPairs& fill, const std::function<double(NodePair)>& probability);

/// An independent 64-bit seed for a purpose.
std::uint64_t derive_seed(std::uint64_t seed, std::uint32_t purpose);

}  // namespace gneiss::data
