// Edges are drawn several times from the same random streams, to count and to fill, so that no list of them is kept.
// More are drawn than are wanted: double ones are dropped, and of the rest those whose hash lies below a threshold that
// leaves the exact number.
#include "data/sample_graph.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "base/random.h"

namespace gneiss::data {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20;
constexpr std::int64_t kDrawGrain = 1 << 14;
constexpr std::int64_t kRowGrain = 1 << 12;
constexpr int kMaxAttempts = 12;
constexpr std::size_t kSampledDraws = std::size_t{1} << 17;
constexpr NodeId kDropped = -1;

std::uint64_t pair_hash(std::uint64_t seed, NodeId a, NodeId b) {
  const auto [low, high] = std::minmax(a, b);
  const PhiloxBlock block =
      philox(seed, {static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(high), 0xED6E, 0});
  return std::uint64_t{block[0]} << 32 | block[1];
}

/// Calls body(src, dst) for every stored edge of `draws` draws, in order; drawing is parallel, the calls are not.
template <class Body>
void for_each_edge(const SampleOptions& options, const FillPairs& fill, std::uint64_t draws, const Body& body) {
  std::vector<NodePair> block(std::min<std::uint64_t>(kBlock, draws));
  for (std::uint64_t first = 0; first < draws; first += kBlock) {
    const auto count = static_cast<std::int64_t>(std::min<std::uint64_t>(kBlock, draws - first));
    parallel_chunks(options.threads, count, kDrawGrain, [&](std::int64_t begin, std::int64_t end) {
      fill(first + static_cast<std::uint64_t>(begin), {block.data() + begin, static_cast<std::size_t>(end - begin)});
      if (!options.directed) return;
      for (std::int64_t i = begin; i < end; ++i) {
        NodePair& pair = block[static_cast<std::size_t>(i)];
        const bool forward = (pair_hash(options.seed, pair.u, pair.v) & 1U) != 0;
        if (forward == (pair.u > pair.v)) std::swap(pair.u, pair.v);
      }
    });
    for (std::int64_t i = 0; i < count; ++i) {
      const auto [u, v] = block[static_cast<std::size_t>(i)];
      if (u == v) continue;
      body(u, v);
      if (!options.directed) body(v, u);
    }
  }
}

struct Rows {
  Buffer<EdgeId> offsets;
  Buffer<NodeId> sources;
};

/// All draws by destination, sorted within a row; later copies of an edge are marked kDropped and sorted to the end.
Rows draw_rows(const SampleOptions& options, const FillPairs& fill, std::uint64_t draws, bool loop) {
  const auto n = static_cast<std::size_t>(options.nodes);
  Rows rows{Buffer<EdgeId>::zeros(n + 1), {}};
  if (loop) ++rows.offsets[1];
  for_each_edge(options, fill, draws, [&](NodeId, NodeId v) { ++rows.offsets[static_cast<std::size_t>(v) + 1]; });
  for (std::size_t v = 0; v < n; ++v) rows.offsets[v + 1] += rows.offsets[v];
  rows.sources = Buffer<NodeId>(static_cast<std::size_t>(rows.offsets[n]));
  std::vector<EdgeId> cursor(rows.offsets.begin(), rows.offsets.end() - 1);
  if (loop) rows.sources[static_cast<std::size_t>(cursor[0]++)] = 0;
  for_each_edge(options, fill, draws, [&](NodeId u, NodeId v) {
    rows.sources[static_cast<std::size_t>(cursor[static_cast<std::size_t>(v)]++)] = u;
  });
  parallel_chunks(options.threads, options.nodes, kRowGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t v = begin; v < end; ++v) {
      NodeId* const first = rows.sources.data() + rows.offsets[static_cast<std::size_t>(v)];
      NodeId* const last = rows.sources.data() + rows.offsets[static_cast<std::size_t>(v) + 1];
      std::sort(first, last);
      std::fill(std::unique(first, last), last, kDropped);
    }
  });
  return rows;
}

/// Calls body(v, &source) for each edge that is still there.
template <class Body>
void for_each_kept(Rows& rows, const Body& body) {
  for (std::size_t v = 0; v + 1 < rows.offsets.size(); ++v) {
    for (EdgeId k = rows.offsets[v]; k < rows.offsets[v + 1]; ++k) {
      NodeId& source = rows.sources[static_cast<std::size_t>(k)];
      if (source != kDropped) body(static_cast<NodeId>(v), source);
    }
  }
}

/// The hash below or at which exactly `surplus` pairs lie: a histogram of the top 16 bits, then one bin in full.
std::uint64_t drop_threshold(const SampleOptions& options, Rows& rows, std::int64_t surplus) {
  const auto counted = [&](NodeId v, NodeId u) { return options.directed || u < v; };
  std::vector<std::int64_t> histogram(1 << 16, 0);
  for_each_kept(rows, [&](NodeId v, NodeId u) {
    if (counted(v, u)) ++histogram[pair_hash(options.seed, u, v) >> 48];
  });
  std::size_t bin = 0;
  while (surplus > histogram[bin]) surplus -= histogram[bin++];
  std::vector<std::uint64_t> hashes;
  for_each_kept(rows, [&](NodeId v, NodeId u) {
    const std::uint64_t hash = pair_hash(options.seed, u, v);
    if (counted(v, u) && hash >> 48 == bin) hashes.push_back(hash);
  });
  std::nth_element(hashes.begin(), hashes.begin() + (surplus - 1), hashes.end());
  return hashes[static_cast<std::size_t>(surplus - 1)];
}

void drop_surplus(const SampleOptions& options, Rows& rows, std::uint64_t threshold) {
  parallel_chunks(options.threads, options.nodes, kRowGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t v = begin; v < end; ++v) {
      for (EdgeId k = rows.offsets[static_cast<std::size_t>(v)]; k < rows.offsets[static_cast<std::size_t>(v) + 1];
           ++k) {
        NodeId& source = rows.sources[static_cast<std::size_t>(k)];
        const bool pair = source != kDropped && source != v;
        if (pair && pair_hash(options.seed, source, static_cast<NodeId>(v)) <= threshold) source = kDropped;
      }
    }
  });
}

graph::Graph compact(const SampleOptions& options, Rows rows) {
  std::size_t at = 0;
  EdgeId begin = 0;
  for (std::size_t v = 0; v < static_cast<std::size_t>(options.nodes); ++v) {
    const EdgeId end = rows.offsets[v + 1];
    for (EdgeId k = begin; k < end; ++k) {
      const NodeId source = rows.sources[static_cast<std::size_t>(k)];
      if (source != kDropped) rows.sources[at++] = source;
    }
    rows.offsets[v + 1] = static_cast<EdgeId>(at);
    begin = end;
  }
  rows.sources.shrink(at);
  return {options.nodes, std::move(rows.offsets), std::move(rows.sources), {}, {}, options.threads};
}

}  // namespace

std::uint64_t derive_seed(std::uint64_t seed, std::uint32_t purpose) {
  const PhiloxBlock block = philox(seed, {purpose, 0, 0, 0xDE41});
  return std::uint64_t{block[0]} << 32 | block[1];
}

double expected_draws(double wanted, const FillPairs& fill, const std::function<double(NodePair)>& probability) {
  std::vector<NodePair> pairs(
      static_cast<std::size_t>(std::clamp(8 * wanted, 1024.0, static_cast<double>(kSampledDraws))));
  fill(0, pairs);
  std::vector<double> chances;
  for (const NodePair& pair : pairs) {
    if (pair.u != pair.v) chances.push_back(probability(pair));
  }
  double draws = wanted;
  for (int round = 0; round < 30; ++round) {
    double fresh = 0;
    for (const double p : chances) fresh += draws * p > 1e-9 ? -std::expm1(-draws * p) / (draws * p) : 1.0;
    draws = std::min(wanted * static_cast<double>(pairs.size()) / std::max(fresh, 1.0), 32 * wanted);
  }
  return draws * 1.003;
}

graph::Graph sample_graph(const SampleOptions& options, const FillPairs& fill) {
  if (options.edges == 0 || options.nodes == 0)
    return {options.nodes, Buffer<EdgeId>::zeros(static_cast<std::size_t>(options.nodes) + 1), {}};
  const bool loop = options.exact && !options.directed && options.edges % 2 == 1;
  const std::int64_t stored_per_pair = options.directed ? 1 : 2;
  const std::int64_t wanted = (options.edges - (loop ? 1 : 0)) / stored_per_pair;
  auto draws = static_cast<double>(wanted);
  if (options.exact) draws = std::max(options.draws, draws * 1.002) + 16;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    Rows rows = draw_rows(options, fill, static_cast<std::uint64_t>(draws), loop);
    if (!options.exact) return compact(options, std::move(rows));
    std::int64_t stored = loop ? -1 : 0;
    for_each_kept(rows, [&](NodeId, NodeId) { ++stored; });
    const std::int64_t distinct = stored / stored_per_pair;
    if (distinct >= wanted) {
      if (distinct > wanted) drop_surplus(options, rows, drop_threshold(options, rows, distinct - wanted));
      return compact(options, std::move(rows));
    }
    const double missing = static_cast<double>(wanted - distinct);
    draws += 32 + missing * 1.5 * draws / static_cast<double>(std::max<std::int64_t>(distinct, 1));
    if (draws > 48.0 * static_cast<double>(wanted) + 1e6) break;
  }
  throw Error(ErrorCode::kUsage,
              fmt::format("cannot place {} distinct edges among {} nodes", options.edges, options.nodes), "edges",
              "ask for fewer edges, more nodes, a higher `power` or a lower `homophily`");
}

}  // namespace gneiss::data
