// Fennel's rule with loads in place of numbers of nodes: of the parts with room, the one where
//   neighbours there  -  price * 1.5 * sqrt(load)
// is largest. The price is Fennel's: edges sqrt(parts) / load^1.5, so that gains and prices are of one size.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "partition/cuts.h"

namespace gneiss::partition {
namespace {

constexpr double kMostLoad = 1.05;
constexpr int kPasses = 3;

}  // namespace

Owners cut_by_stream(const graph::Graph& graph, const NeighbourRows& neighbours, const CutOptions& options) {
  const std::vector<double> work = node_work(graph, options);
  const double all = std::accumulate(work.begin(), work.end(), 0.0);
  const auto parts = static_cast<std::size_t>(options.parts);
  const double room = kMostLoad * all / options.parts;
  const double edges = static_cast<double>(neighbours.entries) / 2;
  const double price = all > 0 ? 1.5 * edges * std::sqrt(static_cast<double>(options.parts)) / std::pow(all, 1.5) : 0;
  // A node of much work pays for all of it.
  Owners owners(work.size(), -1);
  std::vector<double> load(parts);
  std::vector<double> near(parts);
  std::vector<std::int32_t> touched;
  for (int pass = 0; pass < kPasses; ++pass) {
    for (std::size_t v = 0; v < owners.size(); ++v) {
      if (owners[v] >= 0) load[static_cast<std::size_t>(owners[v])] -= work[v];
      touched.clear();
      for (const NodeId u : neighbours.of(static_cast<std::int64_t>(v))) {
        const std::int32_t part = owners[static_cast<std::size_t>(u)];
        if (part < 0) continue;
        if (near[static_cast<std::size_t>(part)]++ == 0) touched.push_back(part);
      }
      std::size_t best = parts;
      double best_score = 0;
      std::size_t emptiest = 0;
      for (std::size_t p = 0; p < parts; ++p) {
        if (load[p] < load[emptiest]) emptiest = p;
        if (load[p] + work[v] > room) continue;
        const double score = near[p] - price * work[v] * std::sqrt(load[p]);
        if (best < parts && score <= best_score) continue;
        best = p;
        best_score = score;
      }
      if (best == parts) best = emptiest;
      owners[v] = static_cast<std::int32_t>(best);
      load[best] += work[v];
      for (const std::int32_t part : touched) near[static_cast<std::size_t>(part)] = 0;
    }
  }
  return owners;
}

}  // namespace gneiss::partition
