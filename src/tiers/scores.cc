// Every iteration first turns scores into what a node gives to each of its in-edges, then each node adds up what its
// out-edges bring. A row is summed by one thread, front to back, so that the sum has one value.
#include "tiers/scores.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"

namespace gneiss::tiers {
namespace {

constexpr std::int64_t kGrain = 4096;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

template <class Body>
void for_nodes(std::int64_t nodes, int threads, const Body& body) {
  parallel_chunks(threads, nodes, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t v = begin; v < end; ++v) body(v);
  });
}

/// Sum of |a - b|, in chunks that no number of threads changes.
double distance(std::span<const double> a, std::span<const double> b, int threads) {
  const auto size = static_cast<std::int64_t>(a.size());
  std::vector<double> part(at(num_chunks(size, kGrain)), 0);
  parallel_chunks(threads, size, kGrain, [&](std::int64_t begin, std::int64_t end) {
    double sum = 0;
    for (std::int64_t i = begin; i < end; ++i) sum += std::abs(a[at(i)] - b[at(i)]);
    part[at(begin / kGrain)] = sum;
  });
  double sum = 0;
  for (const double p : part) sum += p;
  return sum;
}

void check_train(std::span<const NodeId> train) {
  if (!train.empty()) return;
  throw Error(ErrorCode::kUsage, "a score that starts at training nodes needs some, and there are none", "--score",
              "use degree or rpr, or name a split with --split");
}

/// The chance that a node draws a given one of its in-edges in a hop.
double draw_chance(std::int64_t fanout, std::int64_t degree, bool replace) {
  if (degree == 0) return 0;
  if (fanout < 0) return 1;
  const auto draws = static_cast<double>(fanout);
  const auto edges = static_cast<double>(degree);
  if (replace) return degree == 1 ? 1 : -std::expm1(draws * std::log1p(-1 / edges));
  return std::min(1.0, draws / edges);
}

}  // namespace

BothEnds::BothEnds(const graph::Graph& graph, int threads) : graph_(graph) {
  if (!graph.symmetric()) copy_ = graph::transpose(graph.in_edges(), false, threads);
  out_ = copy_ ? copy_->pattern() : graph.in_edges();
}

std::vector<double> degree_score(const BothEnds& graph) {
  std::vector<double> score(at(graph.num_nodes()));
  for (std::int64_t u = 0; u < graph.num_nodes(); ++u) score[at(u)] = static_cast<double>(graph.out_degree(u));
  return score;
}

std::vector<double> reverse_pagerank(const BothEnds& graph, std::span<const NodeId> train,
                                     const PageRankOptions& options, int threads) {
  const double d = options.damping;
  GNEISS_CHECK(d >= 0 && d <= 1, ErrorCode::kUsage, "--damping: expected a number from 0 to 1, got {}", d);
  GNEISS_CHECK(d < 1 || options.iterations > 0, ErrorCode::kUsage,
               "--damping 1: scores may never settle; give --iterations too");
  const std::int64_t n = graph.num_nodes();
  const double even = n == 0 ? 0 : 1 / static_cast<double>(n);
  std::vector<double> now(at(n), even);
  for (const NodeId v : train) now[at(v)] = 1 / static_cast<double>(train.size());
  std::vector<double> part(at(n));
  std::vector<double> next(at(n));
  const int most = options.iterations > 0 ? options.iterations : options.most;
  for (int i = 0; i < most; ++i) {
    for_nodes(n, threads, [&](std::int64_t v) {
      const std::int64_t degree = graph.in_degree(v);
      part[at(v)] = degree == 0 ? 0 : now[at(v)] / static_cast<double>(degree);
    });
    for_nodes(n, threads, [&](std::int64_t u) {
      double sum = 0;
      for (const NodeId v : graph.out_row(u)) sum += part[at(v)];
      next[at(u)] = (1 - d) * even + d * sum;
    });
    std::swap(now, next);
    if (options.iterations == 0 && distance(now, next, threads) <= options.tolerance) break;
  }
  return now;
}

std::vector<double> inclusion_score(const BothEnds& graph, std::span<const NodeId> train, std::int64_t batch_size,
                                    const minibatch::SamplerOptions& sampler, int threads) {
  check_train(train);
  if (sampler.weighted) {
    throw Error(ErrorCode::kUnsupported, "the score vip knows even draws only, --weighted draws by weight", "--score",
                "use presample, which counts what is drawn");
  }
  const std::int64_t n = graph.num_nodes();
  const bool once = sampler.semantics == minibatch::Semantics::kSubgraph;
  const double start = std::min(1.0, static_cast<double>(batch_size) / static_cast<double>(train.size()));
  std::vector<double> first(at(n), 0);
  for (const NodeId v : train) first[at(v)] = start;
  std::vector<double> in_batch = first;
  std::vector<double> before(at(n), 0);
  std::vector<double> drawn(at(n), 0);  // x
  for (const std::int64_t fanout : sampler.fanout) {
    for_nodes(n, threads, [&](std::int64_t v) {
      const double without = once ? before[at(v)] : drawn[at(v)];
      drawn[at(v)] += draw_chance(fanout, graph.in_degree(v), sampler.replace) * (in_batch[at(v)] - without);
    });
    std::swap(before, in_batch);
    for_nodes(n, threads, [&](std::int64_t u) {
      double p = first[at(u)];
      for (const NodeId v : graph.out_row(u)) p += drawn[at(v)] * (1 - p);  // exact for small p, as 1 - product is not
      in_batch[at(u)] = p;
    });
  }
  return in_batch;
}

}  // namespace gneiss::tiers
