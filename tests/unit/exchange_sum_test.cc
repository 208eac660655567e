// Sums over rows that come while they are summed: equal to the definition in f64 whatever the graph, the cut and the
// numbers of the tuner; the same bits for all of these; every row fetched as often as the tables say. Mutants of the
// tables and of the space must show.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.h"
#include "support/late_space.h"
#include "support/sum_cases.h"

namespace gneiss {
namespace {

using namespace gneiss::testing;  // NOLINT(google-build-using-namespace): graphs, sums and errors of sum_cases.h

std::string name(const Case& c, int devices, const Way& run) {
  return fmt::format("seed {} on {} devices, {}, pieces of {}, dist {}, {} units, {} stages", c.seed, devices,
                     exchange::name_of(run.exchange), run.tuning.piece, run.tuning.dist, run.tuning.warps,
                     run.tuning.stages);
}

TEST(ExchangedSum, IsTheSumInF64ForAnyCutAndAnyNumbers) {
  for (const Case& c : cases()) {
    for (const int devices : {1, 2, 3, 4, 8}) {
      const Made<float> streamed = sum_on<float>(devices, c, {.exchange = Exchange::kStream});
      SCOPED_TRACE(name(c, devices, {.exchange = Exchange::kStream}));
      ASSERT_LE(error_of(c, streamed), 1);
      EXPECT_EQ(streamed.bytes, streamed.planned);
      for (const Tuning& tuning : {Tuning{1, 1, 1, 1}, Tuning{3, 2, 1, 3}, Tuning{16, 1, 8, 2}, Tuning{32, 4, 2, 4}}) {
        const Way run = {.tuning = tuning};
        SCOPED_TRACE(name(c, devices, run));
        const Made<float> fine = sum_on<float>(devices, c, run);
        ASSERT_LE(error_of(c, fine), 1);
        EXPECT_EQ(fine.bytes, fine.planned);
        // No number of the tuner, no thread and no exchange changes a bit.
        ASSERT_EQ(fine.y, streamed.y);
        EXPECT_EQ(fine.arg, streamed.arg);
        EXPECT_EQ(sum_on<float>(devices, c, {.tuning = tuning, .threads = 3}).y, streamed.y);
      }
    }
  }
}

TEST(ExchangedSum, IsTheSumInF64OnRandomGraphs) {
  for (std::uint64_t seed = 100; seed < 160; ++seed) {
    const auto [c, devices, tuning] = random_case(seed);
    const Way run = {.exchange = seed % 2 == 0 ? Exchange::kFine : Exchange::kStream, .tuning = tuning};
    SCOPED_TRACE(name(c, devices, run));
    const Made<double> made = sum_on<double>(devices, c, run);
    ASSERT_LT(error_of(c, made), 1);
    EXPECT_EQ(made.bytes, made.planned);
  }
}

/// A row is fetched once for a unit, and at most once for each of its edges.
TEST(ExchangedSum, FetchesARowOnceForAUnit) {
  const Case c = {.nodes = 200, .cols = 4};
  const auto total = [](const Made<float>& made) {
    std::int64_t bytes = 0;
    for (const auto& from : made.bytes) bytes += std::accumulate(from.begin(), from.end(), std::int64_t{0});
    return bytes;
  };
  const std::int64_t halo = total(sum_on<float>(4, c, {.exchange = Exchange::kStream}));
  const std::int64_t edges = total(sum_on<float>(4, c, {.tuning = {1, 1, 1, 1}}));
  const std::int64_t units = total(sum_on<float>(4, c, {.tuning = {32, 16, 1, 1}}));
  EXPECT_LT(halo, units);
  EXPECT_LT(units, edges);
}

// Mutants: what must not go unseen.

const Case kMutated = {.nodes = 80, .cols = 6};
const Way kRun = {.tuning = {4, 1, 2, 3}};

Wrap late(const testing::SpaceFaults& faults) {
  return [=](comm::Communicator& communicator) -> std::unique_ptr<pgas::Space> {
    return std::make_unique<testing::LateSpace>(train::space_of(communicator, {}), faults);
  };
}

TEST(ExchangedSumMutants, NoneIsTheRightSum) {
  for (const bool at_once : {false, true}) {
    for (const Exchange exchange : {Exchange::kStream, Exchange::kFine})
      EXPECT_LE(error_of(kMutated, sum_on<float>(3, kMutated, {exchange, kRun.tuning}, {}, late({.at_once = at_once}))),
                1);
  }
}

TEST(ExchangedSumMutants, AWaitThatIsSkippedShows) {
  for (const Exchange exchange : {Exchange::kStream, Exchange::kFine})
    EXPECT_GT(error_of(kMutated, sum_on<float>(3, kMutated, {exchange, kRun.tuning}, {}, late({.skips_waits = true}))),
              1);
}

TEST(ExchangedSumMutants, AnOwnerInPlaceOfARowShows) {
  for (const Exchange exchange : {Exchange::kStream, Exchange::kFine})
    EXPECT_GT(
        error_of(kMutated, sum_on<float>(3, kMutated, {exchange, kRun.tuning}, {}, late({.swaps_address = true}))), 1);
}

void expect_caught(const std::function<void(exchange::FinePieces*)>& change, const Wrap& wrap = {}) {
  const Damage<float> damage = [&](exchange::ExchangedSum<float>* sum) {
    change(&std::get<exchange::FinePieces>(sum->pieces()));
  };
  try {
    EXPECT_GT(error_of(kMutated, sum_on<float>(3, kMutated, kRun, damage, wrap)), 1);
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), ::testing::HasSubstr("has no row"));
  }
}

TEST(ExchangedSumMutants, AnotherRowOfAnOwnerShows) {
  expect_caught([](exchange::FinePieces* pieces) { std::swap(pieces->wanted[0], pieces->wanted[1]); });
}

TEST(ExchangedSumMutants, ABufferThatIsUsedTooEarlyShows) {
  // The next block's rows land where those of the block at hand still lie.
  expect_caught(
      [](exchange::FinePieces* pieces) {
        const std::int64_t rows = pieces->most_landing;
        pieces->most_landing = rows > 1 ? rows / 2 : rows;
      },
      late({.at_once = true}));
}

TEST(ExchangedSumMutants, ALastPieceThatStaysOpenShows) {
  expect_caught([](exchange::FinePieces* pieces) { --pieces->remote_at.back(); });
  expect_caught([](exchange::FinePieces* pieces) { --pieces->local_at.back(); });
}

}  // namespace
}  // namespace gneiss
