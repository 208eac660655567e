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

/// A^T X on devices: each sums its edges up at their starts, ghosts among them, and owners add what the others made.
/// `by_gets`: owners fetch it; else it is sent.
template <class T>
std::vector<T> summed_at_starts(int devices, const Case& c, bool by_gets) {
  const graph::Graph whole = random_graph(c);
  const std::vector<std::int64_t> starts = random_starts(c.nodes, devices, c.seed);
  const std::vector<float> x = random_rows(c);
  std::vector<T> y(static_cast<std::size_t>(c.nodes * c.cols), T{NAN});
  comm::loopback(devices)->run([&](comm::Communicator& communicator) {
    const auto self = static_cast<std::size_t>(communicator.rank());
    const partition::LocalGraph local = partition::local_graph(whole, starts[self], starts[self + 1]);
    const comm::HaloPlan halo = comm::make_halo_plan(communicator, starts, local.ghosts);
    const std::unique_ptr<pgas::Space> space =
        by_gets ? communicator.make_space(pgas::Link{}) : std::unique_ptr<pgas::Space>();
    const graph::Transpose back = graph::transpose(local.graph.in_edges());
    std::vector<T> own(x.begin() + starts[self] * c.cols, x.begin() + starts[self + 1] * c.cols);
    const std::vector<T> weights(local.graph.weights().begin(), local.graph.weights().end());
    std::vector<T> parts(static_cast<std::size_t>((halo.owned + halo.ghosts) * c.cols), T{NAN});
    kernels::SpmmArgs<T> args;
    args.pattern = back.pattern();
    args.x = ConstMatrixView<T>(MatrixView<T>(own.data(), halo.owned, c.cols));
    args.w = {weights.data(), weights.size()};
    args.y = {parts.data(), halo.owned + halo.ghosts, c.cols};
    std::vector<std::byte> scratch(kernels::halo_workspace_bytes(halo.sends() + halo.ghosts, c.cols, sizeof(T)));
    const kernels::Context context{1, {scratch.data(), scratch.size()}};
    kernels::spmm(context, args);
    kernels::halo_add(context, kernels::HaloArgs<T>{&communicator, &halo, args.y,
                                                    MatrixView<T>(y.data() + starts[self] * c.cols, halo.owned, c.cols),
                                                    space.get()});
  });
  return y;
}

/// The largest error of A^T X in units of 4 deg 2^-24 (|A^T| |X|), in f64 2^-53.
template <class T>
double error_at_starts(const Case& c, const std::vector<T>& y) {
  const graph::Graph whole = random_graph(c);
  const std::vector<float> x = random_rows(c);
  std::vector<double> sum(y.size());
  std::vector<double> magnitude(y.size());
  std::vector<double> degree(static_cast<std::size_t>(c.nodes));
  for (std::int64_t v = 0; v < c.nodes; ++v) {
    for (EdgeId k = whole.offsets()[static_cast<std::size_t>(v)]; k < whole.offsets()[static_cast<std::size_t>(v) + 1];
         ++k) {
      const auto e = static_cast<std::size_t>(k);
      const NodeId u = whole.sources()[e];
      degree[static_cast<std::size_t>(u)] += 1;
      for (std::int64_t j = 0; j < c.cols; ++j) {
        const T weight = c.weighted ? static_cast<T>(whole.weights()[e]) : T{1};
        const auto term = static_cast<double>(weight * static_cast<T>(x[static_cast<std::size_t>(v * c.cols + j)]));
        sum[static_cast<std::size_t>(u * c.cols + j)] += term;
        magnitude[static_cast<std::size_t>(u * c.cols + j)] += std::abs(term);
      }
    }
  }
  double worst = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (!std::isfinite(y[i])) return HUGE_VAL;
    constexpr double kRounding = sizeof(T) == 4 ? 0x1p-24 : 0x1p-53;
    const double edges = std::max(1.0, degree[i / static_cast<std::size_t>(c.cols)]);
    const double unit = 4 * edges * kRounding * magnitude[i] + 1e-30;
    worst = std::max(worst, std::abs(static_cast<double>(y[i]) - sum[i]) / unit);
  }
  return worst;
}

TEST(SumAtStarts, OfDevicesIsTheSumInF64AndTheSameInEveryRun) {
  for (const Case& c : cases()) {
    for (int devices = 1; devices <= 8; ++devices) {
      SCOPED_TRACE(name(c, devices, {}));
      const std::vector<float> fetched = summed_at_starts<float>(devices, c, true);
      EXPECT_LE(error_at_starts(c, fetched), 1);
      EXPECT_EQ(summed_at_starts<float>(devices, c, true), fetched);
      EXPECT_EQ(summed_at_starts<float>(devices, c, false), fetched) << "what is sent is added in another order";
      EXPECT_LE(error_at_starts(c, summed_at_starts<double>(devices, c, true)), 1);
      std::vector<float> spoiled = fetched;
      spoiled[0] += 1e-4F;
      EXPECT_GT(error_at_starts(c, spoiled), 1);
    }
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
    return std::make_unique<testing::LateSpace>(communicator.make_space({}), faults);
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
  const Damage damage = [&](exchange::SumPieces* pieces) { change(&std::get<exchange::FinePieces>(pieces->cut)); };
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
