// A sum that begins with edges from own nodes, beside spmm; what it adds before its rows are there and what behind.
#include "exchange/own_first.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "support/data_fixtures.h"

namespace gneiss {
namespace {

using kernels::Reduce;

constexpr std::int64_t kOwned = 300;
constexpr std::int64_t kGhosts = 90;
constexpr std::int64_t kCols = 5;

/// Rows of a rank with own entries first and then those of ghosts, by owner: the middle one of three ranks.
struct Rank {
  std::vector<EdgeId> offsets = {0};
  std::vector<NodeId> sources;
  std::vector<float> weights;
  std::vector<float> scales;
  std::vector<float> rows;  ///< of own nodes and ghosts
  comm::HaloPlan halo;

  Rank() {
    RandomStream random(1, 7);
    for (std::int64_t v = 0; v < kOwned; ++v) {
      const std::size_t first = sources.size();
      const std::uint64_t degree = v == 7 ? 900 : v % 5 == 0 ? 0 : random.below(9);
      const std::uint64_t among = v % 3 == 0 ? kOwned : kOwned + kGhosts;  // a third of the rows needs no ghost
      for (std::uint64_t k = 0; k < degree; ++k) sources.push_back(static_cast<NodeId>(random.below(among)));
      if (v == 11) sources.assign(sources.begin(), sources.begin() + static_cast<std::ptrdiff_t>(first));
      if (v == 11) sources.insert(sources.end(), 4, static_cast<NodeId>(kOwned + 3));  // ghosts alone
      std::sort(sources.begin() + static_cast<std::ptrdiff_t>(first), sources.end());
      offsets.push_back(std::ssize(sources));
      scales.push_back(0.5F + static_cast<float>(v % 4));
    }
    for (std::size_t e = 0; e < sources.size(); ++e)
      weights.push_back(static_cast<float>(random.below(2000)) / 1000 - 1);
    for (std::int64_t i = 0; i < (kOwned + kGhosts) * kCols; ++i)
      rows.push_back(static_cast<float>(random.below(2000)) / 1000 - 1);
    halo.owned = kOwned;
    halo.ghosts = kGhosts;
    halo.receive_at = {0, 40, 40, kGhosts};
  }

  SparsePattern pattern() const { return {kOwned, kOwned + kGhosts, offsets, sources, {}}; }
};

struct Sum {
  Reduce reduce = Reduce::kSum;
  bool weighted = false;
  bool scaled = false;
  int threads = 1;
  bool overlap = true;
  bool waits = true;  ///< else the wait brings nothing: a test of the test
};

struct Made {
  std::vector<float> y = std::vector<float>(static_cast<std::size_t>(kOwned * kCols), NAN);
  std::vector<std::int32_t> arg = std::vector<std::int32_t>(static_cast<std::size_t>(kOwned * kCols), -7);
  std::vector<float> at_the_wait;
  int progress = 0;
};

kernels::SpmmArgs<float> args_of(const Rank& rank, const Sum& sum, std::vector<float>* table, Made* made) {
  kernels::SpmmArgs<float> args;
  args.pattern = rank.pattern();
  args.x = ConstMatrixView<float>(MatrixView<float>(table->data(), kOwned + kGhosts, kCols));
  if (sum.weighted) args.w = {rank.weights.data(), rank.weights.size()};
  args.reduce = sum.reduce;
  args.y = {made->y.data(), kOwned, kCols};
  if (sum.reduce == Reduce::kMax || sum.reduce == Reduce::kMin) args.arg = {made->arg.data(), kOwned, kCols};
  if (sum.scaled)
    args.scales = ConstMatrixView<float>(MatrixView<float>(const_cast<float*>(rank.scales.data()), kOwned, 1));
  return args;
}

Made at_once(const Rank& rank, const Sum& sum) {
  Made made;
  std::vector<float> table = rank.rows;
  kernels::spmm<float>({1, {}}, args_of(rank, sum, &table, &made));
  return made;
}

/// Rows of ghosts are NaN until they are waited for.
Made own_first(const Rank& rank, const Sum& sum) {
  Made made;
  std::vector<float> table = rank.rows;
  std::fill(table.begin() + kOwned * kCols, table.end(), NAN);
  const bool extreme = sum.reduce == Reduce::kMax || sum.reduce == Reduce::kMin;
  const exchange::StreamPieces pieces =
      exchange::stream_pieces(rank.pattern(), rank.halo, {.weights = sum.weighted, .extreme = extreme});
  const exchange::Arrivals arrivals = {[&] { ++made.progress; },
                                       [&] {
                                         made.at_the_wait = made.y;
                                         if (sum.waits) table = rank.rows;
                                       }};
  exchange::sum_own_first<float>({sum.threads, {}}, pieces, args_of(rank, sum, &table, &made), arrivals, sum.overlap);
  return made;
}

std::vector<Sum> all_sums() {
  std::vector<Sum> sums;
  for (const Reduce reduce : {Reduce::kSum, Reduce::kMean, Reduce::kMax, Reduce::kMin}) {
    const bool extreme = reduce == Reduce::kMax || reduce == Reduce::kMin;
    for (const bool weighted : {false, true}) {
      for (const bool scaled : {false, true}) {
        if (!scaled || !extreme) sums.push_back({reduce, weighted, scaled});
      }
    }
  }
  return sums;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(double{a[i]} - double{b[i]});
    if (!(difference <= worst)) worst = std::isnan(difference) ? 1e9 : difference;
  }
  return worst;
}

TEST(OwnFirst, SumsAreThoseOfAllRowsAtOnce) {
  const Rank rank;
  for (const Sum& sum : all_sums()) {
    SCOPED_TRACE(
        fmt::format("reduce {} weighted {} scaled {}", static_cast<int>(sum.reduce), sum.weighted, sum.scaled));
    const Made expected = at_once(rank, sum);
    const Made got = own_first(rank, sum);
    EXPECT_LT(largest_difference(got.y, expected.y), 1e-4);
    EXPECT_EQ(got.arg, expected.arg);
  }
}

TEST(OwnFirst, ThreadsAndWaitingAtOnceLeaveTheBits) {
  const Rank rank;
  for (Sum sum : all_sums()) {
    const Made first = own_first(rank, sum);
    sum.threads = 3;
    EXPECT_EQ(own_first(rank, sum).y, first.y);
    sum.overlap = false;
    const Made waiting = own_first(rank, sum);
    EXPECT_EQ(waiting.y, first.y);
    EXPECT_EQ(waiting.arg, first.arg);
    EXPECT_EQ(waiting.progress, 0);
    EXPECT_TRUE(std::isnan(waiting.at_the_wait[0])) << "nothing was summed before the wait";
  }
}

TEST(OwnFirst, EveryRowHasItsOwnEdgesBeforeTheWait) {
  const Rank rank;
  const Made made = own_first(rank, {});
  EXPECT_GT(made.progress, 1);
  for (std::int64_t v = 0; v < kOwned; ++v) {
    float own = 0;
    for (EdgeId k = rank.offsets[static_cast<std::size_t>(v)]; k < rank.offsets[static_cast<std::size_t>(v) + 1]; ++k) {
      const NodeId source = rank.sources[static_cast<std::size_t>(k)];
      if (source < kOwned) own += rank.rows[static_cast<std::size_t>(source * kCols)];
    }
    EXPECT_NEAR(made.at_the_wait[static_cast<std::size_t>(v * kCols)], own, 1e-4) << "row " << v;
  }
}

TEST(OwnFirst, ASumThatDidNotWaitShows) {
  const Rank rank;
  for (Sum sum : all_sums()) {
    const Made expected = at_once(rank, sum);
    sum.waits = false;
    const Made got = own_first(rank, sum);
    EXPECT_TRUE(largest_difference(got.y, expected.y) > 0.1 || got.arg != expected.arg);
  }
}

TEST(OwnFirst, BytesOfPiecesAreKnownBeforeTheyAreMade) {
  const Rank rank;
  for (const exchange::SumNeeds needs : {exchange::SumNeeds{}, exchange::SumNeeds{.weights = true},
                                         exchange::SumNeeds{.weights = true, .extreme = true}}) {
    const exchange::StreamPieces pieces = exchange::stream_pieces(rank.pattern(), rank.halo, needs);
    EXPECT_EQ(exchange::stream_piece_bytes(rank.pattern(), rank.halo, needs),
              pieces.local.bytes() + pieces.remote.bytes());
  }
}

TEST(OwnFirst, AnExtremeNeedsRoomForItsWinners) {
  const Rank rank;
  const exchange::StreamPieces pieces = exchange::stream_pieces(rank.pattern(), rank.halo, {.extreme = true});
  Made made;
  std::vector<float> table = rank.rows;
  kernels::SpmmArgs<float> args = args_of(rank, {.reduce = Reduce::kMax}, &table, &made);
  args.arg = {};
  const Error error = testing::error_of([&] {
    exchange::sum_own_first<float>({1, {}}, pieces, args, {[] {}, [] {}}, true);
  });
  EXPECT_EQ(error.code(), ErrorCode::kInternal);
}

}  // namespace
}  // namespace gneiss
