// Edges are drawn several times from the same random streams, to count and to fill, so that no list of them is kept.
// More are drawn than are wanted: double ones are dropped, and of the rest those whose hash lies below a threshold that
// leaves the exact number. Threads put edges into rows in any order; rows are sorted after that.
//
// Where memory holds only some of the rows, they are drawn a window of destinations at a time, everything anew for
// each, and lie in a scratch file from then on.
#include "data/sample_graph.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/pages.h"
#include "base/parallel.h"
#include "base/prefetch.h"
#include "base/random.h"

namespace gneiss::data {
namespace {

constexpr std::int64_t kDrawGrain = 1 << 14;
/// Draws whose places are known before the first of them is written, so that their cache misses overlap.
constexpr std::size_t kTogether = 512;
constexpr std::int64_t kRowGrain = 1 << 12;
constexpr std::int64_t kRowsAtOnce = 1 << 17;  ///< of which the pages of a file are held
constexpr int kMaxAttempts = 12;
constexpr std::size_t kSampledDraws = std::size_t{1} << 17;
constexpr NodeId kDropped = -1;

std::uint64_t pair_hash(std::uint64_t seed, NodeId a, NodeId b) {
  const auto [low, high] = std::minmax(a, b);
  const PhiloxBlock block =
      philox(seed, {static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(high), 0xED6E, 0});
  return std::uint64_t{block[0]} << 32 | block[1];
}

/// Stored edges of a few draws: at most two each.
struct Edges {
  std::array<NodePair, 2 * kTogether> pairs;  ///< u -> v
  std::size_t count = 0;
};

/// Calls body(edges) with all stored edges of `draws` draws, a few at a time, on many threads and in any order.
template <class Body>
void for_each_edge(const SampleOptions& options, const FillPairs& fill, std::uint64_t draws, const Body& body) {
  parallel_chunks(options.threads, static_cast<std::int64_t>(draws), kDrawGrain,
                  [&](std::int64_t first, std::int64_t last) {
                    std::array<NodePair, kTogether> drawn;
                    Edges edges;
                    while (first < last) {
                      const auto count = std::min(kTogether, static_cast<std::size_t>(last - first));
                      fill(static_cast<std::uint64_t>(first), {drawn.data(), count});
                      first += static_cast<std::int64_t>(count);
                      edges.count = 0;
                      for (std::size_t i = 0; i < count; ++i) {
                        auto [u, v] = drawn[i];
                        if (u == v) continue;
                        if (options.directed && ((pair_hash(options.seed, u, v) & 1U) != 0) == (u > v)) std::swap(u, v);
                        edges.pairs[edges.count++] = {u, v};
                        if (!options.directed) edges.pairs[edges.count++] = {v, u};
                      }
                      body(edges);
                    }
                  });
}

EdgeId add_one(EdgeId* number) { return std::atomic_ref<EdgeId>(*number).fetch_add(1, std::memory_order_relaxed); }

/// In-edges by destination, each once.
struct Rows {
  Buffer<EdgeId> offsets;
  Buffer<NodeId> sources;
  bool in_file = false;  ///< sources are the pages of a scratch file

  std::size_t begin(std::int64_t v) const { return static_cast<std::size_t>(offsets[static_cast<std::size_t>(v)]); }
  /// Pages of these rows need not stay in memory.
  void rest(std::int64_t first, std::int64_t last) {
    if (in_file) give_back_tail(sources.data(), begin(first) * sizeof(NodeId), begin(last) * sizeof(NodeId));
  }
};

/// Offsets of rows that hold all draws.
Buffer<EdgeId> count_draws(const SampleOptions& options, const FillPairs& fill, std::uint64_t draws, bool loop) {
  const auto n = static_cast<std::size_t>(options.nodes);
  Buffer<EdgeId> offsets = Buffer<EdgeId>::zeros(n + 1);
  if (loop) ++offsets[1];
  for_each_edge(options, fill, draws, [&](const Edges& edges) {
    for (std::size_t i = 0; i < edges.count; ++i)
      prefetch_to_write(&offsets[static_cast<std::size_t>(edges.pairs[i].v) + 1]);
    for (std::size_t i = 0; i < edges.count; ++i) add_one(&offsets[static_cast<std::size_t>(edges.pairs[i].v) + 1]);
  });
  for (std::size_t v = 0; v < n; ++v) offsets[v + 1] += offsets[v];
  return offsets;
}

/// Draws the rows of destinations [begin, end) into `to`, each sorted and without doubles; `raw` is where they begin
/// among all draws. offsets[v] of a window is the end of row v after that, and what is left of a row is kDropped.
void draw_window(const SampleOptions& options, const FillPairs& fill, std::uint64_t draws, bool loop,
                 std::int64_t begin, std::int64_t end, EdgeId raw, Buffer<EdgeId>* offsets, std::span<NodeId> to) {
  const bool all = begin == 0 && end == options.nodes;
  const auto place = [&](NodeId v) { return &(*offsets)[static_cast<std::size_t>(v)]; };
  if (loop && begin == 0) to[static_cast<std::size_t>(add_one(place(0)) - raw)] = 0;
  for_each_edge(options, fill, draws, [&](Edges& edges) {
    if (!all) {
      const auto outside = [&](const NodePair& pair) { return pair.v < begin || pair.v >= end; };
      edges.count = static_cast<std::size_t>(
          std::remove_if(edges.pairs.begin(), edges.pairs.begin() + edges.count, outside) - edges.pairs.begin());
    }
    std::array<NodeId*, 2 * kTogether> places;
    for (std::size_t i = 0; i < edges.count; ++i) prefetch_to_write(place(edges.pairs[i].v));
    for (std::size_t i = 0; i < edges.count; ++i) {
      places[i] = to.data() + (add_one(place(edges.pairs[i].v)) - raw);
      prefetch_to_write(places[i]);
    }
    for (std::size_t i = 0; i < edges.count; ++i) *places[i] = edges.pairs[i].u;
  });
  parallel_chunks(options.threads, end - begin, kRowGrain, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t v = begin + first; v < begin + last; ++v) {
      NodeId* const row = to.data() + ((v == begin ? raw : *place(static_cast<NodeId>(v - 1))) - raw);
      NodeId* const row_end = to.data() + (*place(static_cast<NodeId>(v)) - raw);
      std::sort(row, row_end);
      std::fill(std::unique(row, row_end), row_end, kDropped);
    }
  });
}

/// Where the rows of a window end that begins at row `begin` and has room for `most` entries, at least one row.
std::int64_t window_end(std::span<const EdgeId> offsets, std::int64_t begin, EdgeId most) {
  const EdgeId limit = offsets[static_cast<std::size_t>(begin)] + most;
  const auto beyond = std::upper_bound(offsets.begin() + begin + 1, offsets.end(), limit);
  return std::max<std::int64_t>(begin + 1, beyond - offsets.begin() - 1);
}

/// All draws by destination, each edge once.
Rows draw_rows(const SampleOptions& options, const FillPairs& fill, std::uint64_t draws, bool loop) {
  Rows rows{count_draws(options, fill, draws, loop), {}};
  const EdgeId drawn = rows.offsets[static_cast<std::size_t>(options.nodes)];
  const EdgeId most = options.room_bytes > 0 ? options.room_bytes / static_cast<EdgeId>(sizeof(NodeId)) : drawn;
  if (drawn > most) {
    const auto file = std::make_shared<FileMemory>();
    *file = FileMemory(static_cast<std::uint64_t>(drawn) * sizeof(NodeId));
    rows.sources =
        Buffer<NodeId>::within(file, reinterpret_cast<NodeId*>(file->bytes().data()), static_cast<std::size_t>(drawn));
    rows.in_file = true;
  } else {
    rows.sources = Buffer<NodeId>(static_cast<std::size_t>(drawn));
  }
  EdgeId raw = 0;
  EdgeId at = 0;
  Buffer<NodeId> window;
  for (std::int64_t begin = 0; begin < options.nodes;) {
    const std::int64_t end = rows.in_file ? window_end(rows.offsets, begin, most) : options.nodes;
    const EdgeId raw_end = rows.offsets[static_cast<std::size_t>(end)];
    if (rows.in_file && window.size() < static_cast<std::size_t>(raw_end - raw)) {
      window = {};
      window = Buffer<NodeId>(static_cast<std::size_t>(raw_end - raw));
    }
    const std::span<NodeId> drawn_here = rows.in_file ? window.span() : rows.sources.span();
    draw_window(options, fill, draws, loop, begin, end, raw, &rows.offsets, drawn_here);
    const EdgeId first = raw;
    EdgeId rested = at;
    for (std::int64_t v = begin; v < end; ++v) {
      EdgeId& offset = rows.offsets[static_cast<std::size_t>(v)];
      const EdgeId row_end = std::exchange(offset, at);
      for (; raw < row_end; ++raw) {
        const NodeId source = drawn_here[static_cast<std::size_t>(raw - first)];
        if (source != kDropped) rows.sources[static_cast<std::size_t>(at++)] = source;
      }
      if (rows.in_file && at - rested >= kRowsAtOnce) {
        give_back_tail(rows.sources.data(), static_cast<std::size_t>(rested) * sizeof(NodeId),
                       static_cast<std::size_t>(at) * sizeof(NodeId));
        rested = at;
      }
    }
    begin = end;
    rows.offsets[static_cast<std::size_t>(begin)] = begin < options.nodes ? raw_end : at;
  }
  return rows;
}

/// Calls body(v, source, thread) for each edge, on many threads.
template <class Body>
void for_each_kept(const SampleOptions& options, Rows& rows, const Body& body) {
  parallel_tasks(options.threads, num_chunks(options.nodes, kRowGrain), [&](std::int64_t task, int thread) {
    const std::int64_t first = task * kRowGrain;
    const std::int64_t last = std::min(options.nodes, first + kRowGrain);
    for (std::int64_t v = first; v < last; ++v) {
      for (std::size_t k = rows.begin(v); k < rows.begin(v + 1); ++k)
        body(static_cast<NodeId>(v), rows.sources[k], static_cast<std::size_t>(thread));
    }
    rows.rest(first, last);
  });
}

/// The hash below or at which exactly `surplus` pairs lie: a histogram of the top 16 bits, then one bin in full.
std::uint64_t drop_threshold(const SampleOptions& options, Rows& rows, std::int64_t surplus) {
  const auto threads = static_cast<std::size_t>(std::max(1, options.threads));
  const auto counted = [&](NodeId v, NodeId u) { return options.directed || u < v; };
  std::vector<std::vector<std::int64_t>> histograms(threads, std::vector<std::int64_t>(1 << 16, 0));
  for_each_kept(options, rows, [&](NodeId v, NodeId u, std::size_t thread) {
    if (counted(v, u)) ++histograms[thread][pair_hash(options.seed, u, v) >> 48];
  });
  std::size_t bin = 0;
  for (;; ++bin) {
    std::int64_t count = 0;
    for (const auto& histogram : histograms) count += histogram[bin];
    if (surplus <= count) break;
    surplus -= count;
  }
  std::vector<std::vector<std::uint64_t>> found(threads);
  for_each_kept(options, rows, [&](NodeId v, NodeId u, std::size_t thread) {
    if (!counted(v, u)) return;
    const std::uint64_t hash = pair_hash(options.seed, u, v);
    if (hash >> 48 == bin) found[thread].push_back(hash);
  });
  std::vector<std::uint64_t> hashes;
  for (const auto& part : found) hashes.insert(hashes.end(), part.begin(), part.end());
  std::nth_element(hashes.begin(), hashes.begin() + (surplus - 1), hashes.end());
  return hashes[static_cast<std::size_t>(surplus - 1)];
}

/// Drops pairs whose hash is at most `threshold`; rows move up.
void drop_surplus(const SampleOptions& options, Rows& rows, std::uint64_t threshold) {
  const auto mark = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t v = first; v < last; ++v) {
      for (std::size_t k = rows.begin(v); k < rows.begin(v + 1); ++k) {
        NodeId& source = rows.sources[k];
        if (source != v && pair_hash(options.seed, source, static_cast<NodeId>(v)) <= threshold) source = kDropped;
      }
    }
  };
  std::size_t at = 0;
  std::size_t begin = 0;
  for (std::int64_t first = 0; first < options.nodes; first += kRowsAtOnce) {
    const std::int64_t last = std::min(options.nodes, first + kRowsAtOnce);
    const std::size_t read_from = begin;
    const std::size_t written_from = at;
    const EdgeId first_offset =
        std::exchange(rows.offsets[static_cast<std::size_t>(first)], static_cast<EdgeId>(begin));
    parallel_chunks(options.threads, last - first, kRowGrain,
                    [&](std::int64_t from, std::int64_t to) { mark(first + from, first + to); });
    rows.offsets[static_cast<std::size_t>(first)] = first_offset;
    for (std::int64_t v = first; v < last; ++v) {
      const std::size_t end = rows.begin(v + 1);
      for (; begin < end; ++begin) {
        const NodeId source = rows.sources[begin];
        if (source != kDropped) rows.sources[at++] = source;
      }
      rows.offsets[static_cast<std::size_t>(v) + 1] = static_cast<EdgeId>(at);
    }
    if (!rows.in_file) continue;
    give_back_tail(rows.sources.data(), read_from * sizeof(NodeId), begin * sizeof(NodeId));
    give_back_tail(rows.sources.data(), written_from * sizeof(NodeId), at * sizeof(NodeId));
  }
}

/// The graph of rows that nothing is dropped from any more. Both ends of a pair have it, or only one.
graph::Graph as_graph(const SampleOptions& options, Rows rows) {
  const auto stored = static_cast<std::size_t>(rows.offsets[static_cast<std::size_t>(options.nodes)]);
  rows.sources.shrink(stored);
  return graph::Graph::of_fitting(options.nodes, std::move(rows.offsets), std::move(rows.sources), {},
                                  !options.directed || stored == 0, options.threads);
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
    if (!options.exact) return as_graph(options, std::move(rows));
    const std::int64_t stored = rows.offsets[static_cast<std::size_t>(options.nodes)] - (loop ? 1 : 0);
    const std::int64_t distinct = stored / stored_per_pair;
    if (distinct >= wanted) {
      if (distinct > wanted) drop_surplus(options, rows, drop_threshold(options, rows, distinct - wanted));
      return as_graph(options, std::move(rows));
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
