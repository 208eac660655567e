// Workers sample ahead, the caller counts: an increment a row is little beside drawing it. The order is a sort of pairs
// of a score's bits and a place among the original ids, which no two nodes share.
#include "tiers/accesses.h"

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "minibatch/capacity.h"
#include "minibatch/loader.h"
#include "tiers/split.h"
#include "tiers/tiered_edges.h"

namespace gneiss::tiers {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Bits that sort as the numbers do, largest first.
std::uint64_t falling_key(double score) {
  const auto bits = std::bit_cast<std::uint64_t>(score + 0.0);  // one zero, not two
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  return ~(bits & kSign ? ~bits : bits | kSign);
}

/// Nodes by ascending original id; empty: as they are.
graph::Order by_original_id(std::span<const std::int64_t> orig_id) {
  if (std::is_sorted(orig_id.begin(), orig_id.end())) return {};
  graph::Order nodes(orig_id.size());
  std::iota(nodes.begin(), nodes.end(), NodeId{0});
  std::sort(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) { return orig_id[at(a)] < orig_id[at(b)]; });
  return nodes;
}

}  // namespace

namespace {

/// Calls visit(batch) for each batch of some epochs, in order. How many they were.
template <class Visit>
std::int64_t walk(const Batches& batches, std::uint64_t seed, std::int64_t first_epoch, std::int64_t epochs,
                  int threads, const Visit& visit) {
  const minibatch::InEdges<NodeId>& graph = batches.sampler.graph();
  const minibatch::SeedOrder<NodeId> order(batches.seeds, graph.num_nodes(), graph.orig_id,
                                           {batches.batch_size, seed, true});
  minibatch::LoaderOptions options;
  options.batches = epochs * order.batches_per_epoch();
  options.workers = static_cast<int>(std::clamp<std::int64_t>(options.batches, 1, std::max(threads, 1)));
  options.seed = seed;
  options.batches_per_epoch = order.batches_per_epoch();
  options.first_epoch = first_epoch;
  if (options.batches == 0) return 0;
  options.slab_bytes = minibatch::capacity(batches.sampler, order, {seed, first_epoch, 0}, 2).bytes;
  minibatch::Loader loader(minibatch::sampling(batches.sampler, order, options.workers), options);
  for (std::optional<minibatch::Loader::Held> held; (held.reset(), held = loader.next());)
    visit(minibatch::MiniBatch<NodeId>(held->slab()));
  return options.batches;
}

}  // namespace

Accesses count_accesses(const Batches& batches, std::uint64_t seed, std::int64_t first_epoch, std::int64_t epochs,
                        int threads) {
  const auto began = std::chrono::steady_clock::now();
  Accesses accesses;
  accesses.counts.assign(at(batches.sampler.graph().num_nodes()), 0);
  accesses.batches = walk(batches, seed, first_epoch, epochs, threads, [&](const minibatch::MiniBatch<NodeId>& batch) {
    for (const NodeId v : batch.nodes()) ++accesses.counts[at(v)];
    accesses.rows += std::ssize(batch.nodes());
  });
  accesses.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return accesses;
}

std::vector<double> graph_reads(const Batches& batches, std::uint64_t seed, std::int64_t epochs, int threads) {
  const std::span<const EdgeId> offsets = batches.sampler.graph().offsets;
  std::vector<std::int64_t> pieces(at(batches.sampler.graph().num_nodes()), 0);
  const minibatch::Semantics semantics = batches.sampler.options().semantics;
  const std::int64_t count = walk(batches, seed, 1, epochs, threads, [&](const minibatch::MiniBatch<NodeId>& batch) {
    for_rows_drawn_from(batch, semantics, [&](NodeId v, std::int64_t drawn) {
      pieces[at(v)] += graph_pieces(drawn, offsets[at(v) + 1] - offsets[at(v)], 128);
    });
  });
  std::vector<double> reads;
  for (const std::int64_t sum : pieces)
    reads.push_back(static_cast<double>(sum) / static_cast<double>(std::max<std::int64_t>(1, count)));
  return reads;
}

graph::Order hot_order(std::span<const double> scores, std::span<const std::int64_t> orig_id) {
  GNEISS_CHECK(orig_id.empty() || orig_id.size() == scores.size(), ErrorCode::kShape, "{} scores for {} nodes",
               scores.size(), orig_id.size());
  const graph::Order nodes = by_original_id(orig_id);
  std::vector<hwy::uint128_t> keys(scores.size());
  for (std::size_t place = 0; place < keys.size(); ++place) {
    const double score = scores[nodes.empty() ? place : at(nodes[place])];
    GNEISS_ASSERT(!std::isnan(score), "the score of node {} is no number", place);
    keys[place] = {place, falling_key(score)};
  }
  hwy::Sorter()(keys.data(), keys.size(), hwy::SortAscending());
  graph::Order order(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i)
    order[i] = nodes.empty() ? static_cast<NodeId>(keys[i].lo) : nodes[keys[i].lo];
  return order;
}

std::int64_t hot_rows(double share, std::int64_t nodes) {
  if (share <= 0 || nodes == 0) return 0;
  return std::clamp<std::int64_t>(std::llround(share * static_cast<double>(nodes)), 1, nodes);
}

std::vector<double> heat_of(const Accesses& accesses, std::span<const NodeId> order) {
  std::vector<double> heat;
  heat.reserve(order.size());
  const auto batches = static_cast<double>(std::max<std::int64_t>(1, accesses.batches));
  for (const NodeId v : order) heat.push_back(static_cast<double>(accesses.counts[at(v)]) / batches);
  return falling(heat);
}

double hit_rate(const Accesses& accesses, std::span<const NodeId> order, std::int64_t hot) {
  if (accesses.rows == 0) return 0;
  std::int64_t hits = 0;
  for (const NodeId v : order.first(at(std::min(hot, std::ssize(order))))) hits += accesses.counts[at(v)];
  return static_cast<double>(hits) / static_cast<double>(accesses.rows);
}

}  // namespace gneiss::tiers
