// Sums over rows that come on a link, by the clock: two virtual devices, threads of this process, whose link has a rate
// and a latency. Gets sleep, so that time on the link passes while a device sums.
//
// Every ratio is of the shortest of many runs that take turns: other programs on the machine only add time. The link's
// rate follows from the time of the sum on this machine, so that its part of the whole is the same everywhere.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "comm/loopback.h"
#include "exchange/exchanged_sum.h"
#include "kernels/halo.h"
#include "partition/local_graph.h"
#include "pgas/space.h"
#include "pgas/thread_space.h"

namespace gneiss {
namespace {

using exchange::Exchange;
using exchange::Tuning;

int failures = 0;

void expect(bool holds, std::string_view what) {
  if (holds) return;
  ++failures;
  fmt::print("  out of range: {}\n", what);
}

/// Edges into the rows of two devices, alike on both: of a row so many from own nodes and from the other's.
struct Shape {
  std::int64_t rows = 0;     ///< of a device
  std::int64_t hubs = 0;     ///< the first rows of these have the degrees
  std::int64_t local = 0;    ///< edges of a row from own nodes
  std::int64_t remote = 0;   ///< and from the other device's
  std::int64_t sources = 0;  ///< nodes of each that edges come from
  bool once = false;         ///< of the remote edges each comes from another node
};

/// A prime that divides no number of sources: steps of it meet each once.
constexpr std::int64_t kStride = 1000003;

graph::Graph graph_of(const Shape& shape) {
  RandomStream random(7, 0);
  Buffer<EdgeId> offsets(static_cast<std::size_t>(2 * shape.rows) + 1);
  std::vector<NodeId> sources;
  offsets[0] = 0;
  for (std::int64_t v = 0; v < 2 * shape.rows; ++v) {
    const std::int64_t first = v < shape.rows ? 0 : shape.rows;
    const bool has_edges = v - first < shape.hubs;
    const std::size_t begin = sources.size();
    for (std::int64_t e = 0; has_edges && e < shape.local + shape.remote; ++e) {
      const std::int64_t from = e < shape.local ? first : shape.rows - first;
      const std::int64_t drawn = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(shape.sources)));
      const std::int64_t next = ((v - first) * shape.remote + e - shape.local) * kStride % shape.sources;
      sources.push_back(static_cast<NodeId>(from + (shape.once && e >= shape.local ? next : drawn)));
    }
    std::sort(sources.begin() + static_cast<std::ptrdiff_t>(begin), sources.end());
    offsets[static_cast<std::size_t>(v) + 1] = std::ssize(sources);
  }
  return {2 * shape.rows, std::move(offsets), Buffer<NodeId>::copy_of(sources), {}, false};
}

/// The rows of a pattern without the entries that `drop` names by their columns.
class Part {
 public:
  Part(const SparsePattern& whole, const std::function<bool(NodeId column)>& drop) {
    offsets_.push_back(0);
    for (std::int64_t v = 0; v < whole.rows; ++v) {
      for (EdgeId k = whole.offsets[static_cast<std::size_t>(v)]; k < whole.offsets[static_cast<std::size_t>(v) + 1];
           ++k) {
        const NodeId column = whole.indices[static_cast<std::size_t>(k)];
        if (!drop(column)) indices_.push_back(column);
      }
      offsets_.push_back(std::ssize(indices_));
    }
    pattern_ = {whole.rows, whole.cols, offsets_, indices_, {}};
  }
  const SparsePattern& pattern() const { return pattern_; }

 private:
  std::vector<EdgeId> offsets_;
  std::vector<NodeId> indices_;
  SparsePattern pattern_;
};

constexpr std::int64_t kCols = 64;

enum class Edges { kAll, kLocal, kRemote };

/// One device's sums.
class Device {
 public:
  Device(comm::Communicator* communicator, const graph::Graph& whole, const Shape& shape)
      : communicator_(*communicator) {
    const std::vector<std::int64_t> starts = {0, shape.rows, 2 * shape.rows};
    const auto self = static_cast<std::size_t>(communicator->rank());
    local_ = partition::local_graph(whole, starts[self], starts[self + 1]);
    halo_ = comm::make_halo_plan(*communicator, starts, local_.ghosts);
    own_.assign(static_cast<std::size_t>(shape.rows * kCols), 1);
    table_.assign(static_cast<std::size_t>((halo_.owned + halo_.ghosts) * kCols), 0);
    y_.assign(own_.size(), 0);
    const auto is_ghost = [owned = halo_.owned](NodeId column) { return column >= owned; };
    parts_.push_back(std::make_unique<Part>(pattern(), [](NodeId) { return false; }));
    parts_.push_back(std::make_unique<Part>(pattern(), is_ghost));
    parts_.push_back(std::make_unique<Part>(pattern(), [&](NodeId column) { return !is_ghost(column); }));
  }

  /// Seconds of a sum, from when both devices begin to when both are through. Of `runs` the least.
  double seconds(Exchange how, const Tuning& tuning, Edges edges, const pgas::Link& link, int runs) {
    const std::unique_ptr<pgas::Space> space = communicator_.make_space(link);
    kernels::SpmmArgs<float> args;
    args.pattern = parts_[static_cast<std::size_t>(edges)]->pattern();
    args.x = ConstMatrixView<float>(table());
    args.y = {y_.data(), halo_.owned, kCols};
    exchange::SumRoom<float> room;
    std::unique_ptr<exchange::ExchangedSum<float>> sum;
    exchange::SumPieces pieces;
    if (how != Exchange::kHalo) {
      pieces = exchange::sum_pieces(how, tuning, args.pattern, halo_, {});
      sum = std::make_unique<exchange::ExchangedSum<float>>(&pieces, args, halo_, &room);
    }
    double least = 1e9;
    for (int i = 0; i < runs; ++i) {
      meet();
      const auto start = std::chrono::steady_clock::now();
      kernels::ExchangeUnderWay shown;
      const kernels::HaloArgs<float> between{&communicator_,
                                             &halo_,
                                             MatrixView<float>(own_.data(), halo_.owned, kCols),
                                             table(),
                                             space.get(),
                                             {},
                                             &shown,
                                             how == Exchange::kFine || edges == Edges::kLocal};
      kernels::halo_start(context_, between);
      if (sum != nullptr) {
        sum->run(context_, args, *space, shown, true);
      } else {
        space->wait(shown.last_get);
        kernels::spmm(context_, args);
      }
      kernels::halo_wait(context_, between);
      least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    fetched_ = space->traffic().bytes / runs;
    return slower(least);
  }

  /// Of the last sum.
  std::int64_t fetched_bytes() const { return fetched_; }
  int rank() const { return communicator_.rank(); }

 private:
  SparsePattern pattern() const { return local_.graph.in_edges(); }
  MatrixView<float> table() { return {table_.data(), halo_.owned + halo_.ghosts, kCols}; }
  void meet() {
    double none[] = {0};
    communicator_.sum(none);
  }
  double slower(double seconds) {
    double both[] = {0, 0};
    both[rank()] = seconds;
    communicator_.sum(both);
    return std::max(both[0], both[1]);
  }

  comm::Communicator& communicator_;
  partition::LocalGraph local_;
  comm::HaloPlan halo_;
  std::vector<float> own_;
  std::vector<float> table_;
  std::vector<float> y_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::int64_t fetched_ = 0;
  const kernels::Context context_{1, {}};
};

/// One way of one experiment; its seconds are the least of all rounds.
struct Way {
  const char* name;
  Exchange how;
  Tuning tuning;
  Edges edges = Edges::kAll;
  double seconds = 1e9;
};

/// Runs all ways in turn over a link that takes `share` of the time of the first way's sum without a link.
void run(const char* title, const Shape& shape, double share, std::vector<Way>* ways) {
  constexpr int kRounds = 12;
  const graph::Graph whole = graph_of(shape);
  comm::loopback(2)->run([&](comm::Communicator& communicator) {
    Device device(&communicator, whole, shape);
    const Way& first = ways->front();
    const double free = device.seconds(first.how, first.tuning, Edges::kAll, {}, 20);
    const pgas::Link link = {.seconds = 2e-6,
                             .bytes_per_second = static_cast<double>(device.fetched_bytes()) / (share * free)};
    for (int round = 0; round < kRounds; ++round) {
      for (Way& way : *ways) {
        const double seconds = device.seconds(way.how, way.tuning, way.edges, link, 3);
        if (device.rank() == 0) way.seconds = std::min(way.seconds, seconds);
      }
    }
    if (device.rank() == 0)
      fmt::print("\n{}: {:.2f} ms without a link, {:.2f} ms on it at {:.0f} MB/s\n", title, 1e3 * free,
                 1e3 * share * free, 1e-6 * link.bytes_per_second);
  });
  for (const Way& way : *ways) fmt::print("  {:34} {:8.2f} ms\n", way.name, 1e3 * way.seconds);
}

// Some twenty blocks a sum: on threads a get costs a wake-up, tens of microseconds.
constexpr Tuning kPieces = {16, 16, 64, 3};
constexpr Tuning kHubPieces = {32, 16, 16, 4};
constexpr Tuning kWholeRows = {1 << 30, 1, 1, 1};

void pipelined() {
  std::vector<Way> ways = {{"both, pipelined (fine)", Exchange::kFine, kPieces},
                           {"edges from own nodes alone", Exchange::kFine, kPieces, Edges::kLocal},
                           {"edges from the other's nodes alone", Exchange::kFine, kPieces, Edges::kRemote}};
  run("Local and remote edges", {.rows = 20000, .hubs = 20000, .local = 8, .remote = 2, .sources = 20000}, 1, &ways);
  const double both = ways[0].seconds;
  const double local = ways[1].seconds;
  const double remote = ways[2].seconds;
  const double ratio = both / std::max(local, remote);
  const double efficiency = (local + remote - both) / std::min(local, remote);
  fmt::print("  {:.3f} of the longer one; efficiency {:.2f}\n", ratio, efficiency);
  expect(ratio <= 1.15 && efficiency >= 0.7, "what is pipelined");
}

void hub() {
  std::vector<Way> ways = {{"pieces of 32 edges", Exchange::kFine, kHubPieces},
                           {"whole rows", Exchange::kFine, kWholeRows}};
  run("A hub with all edges", {.rows = 60000, .hubs = 1, .local = 0, .remote = 60000, .sources = 60000, .once = true},
      1, &ways);
  fmt::print("  {:.2f} times as fast by pieces\n", ways[1].seconds / ways[0].seconds);
  expect(ways[1].seconds >= ways[0].seconds, "a hub by pieces");
}

void reuse() {
  std::vector<Way> ways = {
      {"halo", Exchange::kHalo, kPieces}, {"stream", Exchange::kStream, kPieces}, {"fine", Exchange::kFine, kPieces}};
  run("Each row read by 50 edges", {.rows = 4000, .hubs = 4000, .local = 25, .remote = 25, .sources = 2000}, 0.5,
      &ways);
  fmt::print("  stream takes {:.3f} of halo\n", ways[1].seconds / ways[0].seconds);
  expect(ways[1].seconds <= 1.05 * ways[0].seconds, "stream where rows are reused");
}

void no_reuse() {
  std::vector<Way> ways = {
      {"fine", Exchange::kFine, kPieces}, {"halo", Exchange::kHalo, kPieces}, {"stream", Exchange::kStream, kPieces}};
  run("Each row read once, by the other device alone",
      {.rows = 60000, .hubs = 3000, .local = 0, .remote = 20, .sources = 60000, .once = true}, 1, &ways);
  const double others = std::min(ways[1].seconds, ways[2].seconds);
  fmt::print("  the others take {:.2f} of fine\n", others / ways[0].seconds);
  expect(ways[0].seconds < others, "fine where rows are not reused");
}

}  // namespace
}  // namespace gneiss

int main(int argc, char** argv) {
  using namespace gneiss;
  if (argc > 2 || (argc == 2 && std::string_view(argv[1]) != "--check")) {
    fmt::print(stderr, "usage: check_links [--check]\n");
    return 2;
  }
  pipelined();
  hub();
  reuse();
  no_reuse();
  fmt::print("\n{}\n",
             failures == 0 ? "check-links: all in range" : fmt::format("check-links: {} out of range", failures));
  return argc == 2 && failures > 0 ? 1 : 0;
}
