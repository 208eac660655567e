// The split of a device's memory against trying every split there is.
#include "tiers/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "support/data_fixtures.h"

namespace gneiss::tiers {
namespace {

using ::gneiss::testing::error_of;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Rows of features and of a graph with heat that falls, now steeply and now hardly.
struct Case {
  std::vector<double> heat;
  std::vector<GraphRow> graph_rows;

  Case(std::uint64_t seed, std::int64_t rows, std::int64_t graph) {
    RandomStream random(seed, 1);
    const std::uint64_t steep = 1 + random.below(50);
    for (std::int64_t i = 0; i < rows; ++i) heat.push_back(static_cast<double>(random.below(4 + steep * 7)));
    std::sort(heat.rbegin(), heat.rend());
    std::vector<EdgeId> offsets = {0};
    std::vector<double> reads;
    for (std::int64_t i = 0; i < graph; ++i) {
      offsets.push_back(offsets.back() + static_cast<EdgeId>(random.below(9)));
      reads.push_back(static_cast<double>(random.below(6)));
    }
    graph_rows = order_graph_rows(offsets, reads);
  }

  SplitRequest request(std::int64_t bytes, std::int64_t devices, bool linked, double peer) const {
    return {.device_bytes = bytes,
            .devices = devices,
            .linked = linked,
            .row_bytes = 24,
            .heat = heat,
            .row = {1, peer, 20},
            .graph_rows = graph_rows,
            .graph_read = {0.5, 0.5 * peer, 9}};
  }
};

/// The least seconds of all R, M and A that fit.
double exhaustive(const SplitRequest& request) {
  double least = price(request, {}).seconds;
  const auto rows = std::ssize(request.heat);
  const bool pools = request.linked && request.devices > 1;
  for (std::int64_t a = 0; a <= std::ssize(request.graph_rows); ++a) {
    for (std::int64_t r = 0; r <= rows; ++r) {
      for (std::int64_t m = 0; m <= (pools ? rows - r : 0); ++m) {
        Split split;
        split.replicated = r;
        split.pooled = m;
        split.graph_rows = a;
        split = price(request, split);
        if (split.device_bytes <= request.device_bytes) least = std::min(least, split.seconds);
      }
    }
  }
  return least;
}

TEST(Split, IsTheBestOfAllSplits) {
  std::int64_t pooled_and_replicated = 0;
  std::int64_t with_graph = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const Case sizes(seed, 3 + static_cast<std::int64_t>(seed) % 9, static_cast<std::int64_t>(seed * 5) % 8);
    for (const std::int64_t devices : {1, 2, 3, 4}) {
      for (const bool linked : {false, true}) {
        for (const double peer : {1.0, 1.4, 3.0, 12.0, 40.0}) {
          double before = 1e300;
          for (std::int64_t bytes = 0; bytes <= 420; bytes += 12) {
            const SplitRequest request = sizes.request(bytes, devices, linked, peer);
            const Split split = best_split(request);
            const double least = exhaustive(request);
            ASSERT_NEAR(split.seconds, least, 1e-9 * least) << seed << " " << devices << " " << peer << " " << bytes;
            ASSERT_LE(split.device_bytes, bytes);
            ASSERT_LE(split.seconds, before * (1 + 1e-12)) << "more memory took more time";
            before = split.seconds;
            pooled_and_replicated += split.replicated > 0 && split.pooled > 0 ? 1 : 0;
            with_graph += split.graph_rows > 0 ? 1 : 0;
          }
        }
      }
    }
  }
  EXPECT_GT(pooled_and_replicated, 100);  // the cases are not all of one kind
  EXPECT_GT(with_graph, 100);
}

TEST(Split, NothingOneRowAllRowsAndOneByteMore) {
  const Case sizes(3, 10, 0);
  const auto split = [&](std::int64_t bytes, std::int64_t devices) {
    return best_split(sizes.request(bytes, devices, true, 2));
  };
  for (const std::int64_t bytes : {-500, 0, 23}) {
    EXPECT_EQ(split(bytes, 1).device_bytes, 0);
    EXPECT_EQ(split(bytes, 4).device_bytes, 0);
  }
  EXPECT_EQ(split(24, 1).replicated, 1);
  const Split shared = split(24, 4);
  EXPECT_EQ(shared.replicated + shared.pooled, 4);
  for (const std::int64_t bytes : {240, 241, 264, 100000}) {
    EXPECT_EQ(split(bytes, 1).replicated, 10);
    EXPECT_EQ(split(bytes, 4).replicated, 10);  // a copy of each everywhere
    EXPECT_EQ(split(bytes, 4).pooled, 0);
    EXPECT_THAT(split(bytes, 4).host_rows, DoubleEq(0));
  }
  EXPECT_EQ(split(239, 1).replicated, 9);
}

TEST(Split, DevicesWithoutLinksEachHoldTheSame) {
  const Case sizes(5, 12, 0);
  const Split alone = best_split(sizes.request(100, 1, false, 2));
  const Split four = best_split(sizes.request(100, 4, false, 2));
  EXPECT_EQ(four.replicated, alone.replicated);
  EXPECT_EQ(four.pooled, 0);
  EXPECT_EQ(four.seconds, alone.seconds);
  const TierMap map = four.map(12, 4);
  EXPECT_EQ(map.replicated + map.host, 12);
}

/// A link that is slower than that to main memory is no reason to pool.
TEST(Split, SlowLinksPoolNothing) {
  const Case sizes(7, 12, 6);
  const Split split = best_split(sizes.request(150, 4, true, 80));
  EXPECT_EQ(split.pooled, 0);
  EXPECT_GT(split.replicated, 0);
}

/// The grid over A finds what trying all would, where there are more rows than it tries at once.
TEST(Split, ManyRowsOfAGraph) {
  const Case sizes(11, 3000, 30000);
  SplitRequest request = sizes.request(60000, 2, true, 2);
  const Split split = best_split(request);
  double least = split.seconds;
  std::int64_t a = 0;
  for (; a <= std::ssize(request.graph_rows); a += 97) {
    SplitRequest fewer = request;
    fewer.graph_rows = request.graph_rows.first(static_cast<std::size_t>(a));
    fewer.graph_read.host = 1e6;  // these are taken whatever they displace
    const Split fixed = best_split(fewer);
    if (fixed.graph_rows == a) least = std::min(least, price(request, fixed).seconds);
  }
  EXPECT_LE(split.seconds, least * 1.0005);
  EXPECT_GT(split.graph_rows, 1000);
  EXPECT_LT(split.graph_rows, std::ssize(request.graph_rows));
}

TEST(Split, HeatThatWasCountedIsMadeToFall) {
  EXPECT_THAT(falling(std::vector<double>{5, 1, 3, 2, 2, 9}),
              ElementsAre(DoubleEq(5), DoubleEq(3.4), DoubleEq(3.4), DoubleEq(3.4), DoubleEq(3.4), DoubleEq(3.4)));
  EXPECT_THAT(falling(std::vector<double>{4, 4, 1}), ElementsAre(4, 4, 1));
  EXPECT_TRUE(falling({}).empty());
  const std::vector<double> rising = {1, 2};
  EXPECT_THAT(error_of([&] { best_split({.device_bytes = 10, .row_bytes = 1, .heat = rising}); }).what(),
              HasSubstr("row 1 is hotter than the one before it"));
}

TEST(Split, RowsOfTheGraphGoByReadsAByte) {
  const std::vector<EdgeId> offsets = {0, 0, 10, 12, 12};
  const std::vector<double> reads = {1, 6, 3, 0};
  const std::vector<GraphRow> rows = order_graph_rows(offsets, reads);
  ASSERT_EQ(rows.size(), 3U);  // node 3 is never read
  EXPECT_EQ(rows[0].node, 2);
  EXPECT_EQ(rows[0].bytes, 16);
  EXPECT_EQ(rows[1].node, 0);
  EXPECT_EQ(rows[2].node, 1);
}

}  // namespace
}  // namespace gneiss::tiers
