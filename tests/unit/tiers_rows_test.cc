// Rows read through tiers: the same bytes whatever the map, and counts that a recount confirms.
#include "tiers/tiered_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <set>
#include <vector>

#include "base/random.h"
#include "support/data_fixtures.h"
#include "tiers/scorer.h"

namespace gneiss::tiers {
namespace {

using ::gneiss::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kRows = 53;

std::vector<std::byte> matrix(std::int64_t row_bytes) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(kRows * row_bytes));
  RandomStream random(1, 2);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random.below(256));
  return bytes;
}

std::vector<NodeId> some_ids() {
  RandomStream random(5, 6);
  std::vector<NodeId> ids = {0, static_cast<NodeId>(kRows - 1)};
  for (int i = 0; i < 200; ++i) ids.push_back(static_cast<NodeId>(random.below(kRows)));
  return ids;
}

std::vector<TierMap> maps() {
  std::vector<TierMap> made;
  for (const Placement placement : {Placement::kInterleaved, Placement::kBlocked})
    for (std::int64_t devices = 1; devices <= 4; ++devices)
      for (const std::int64_t replicated : {0, 1, 7})
        for (const std::int64_t pooled : {std::int64_t{0}, std::int64_t{1}, std::int64_t{11}, kRows - replicated})
          made.push_back({kRows, replicated, pooled, kRows - replicated - pooled, devices, placement});
  return made;
}

/// The same counts by marking every byte's piece in a table for each tier.
TierTraffic recount(const TierMap& map, const std::vector<NodeId>& ids, std::int64_t row_bytes, bool hot, bool cold) {
  TierTraffic traffic;
  for (const NodeId id : ids) {
    const Place place = place_of(map, id);
    const bool is_hot = place.tier == Tier::kReplicated || place.tier == Tier::kPooled;
    if (is_hot ? !hot : !cold) continue;
    TierCount& counted = traffic.tier[static_cast<std::size_t>(place.tier)];
    ++counted.rows;
    counted.bytes += row_bytes;
    std::set<std::int64_t> sectors;
    std::set<std::int64_t> lines;
    for (std::int64_t b = place.row * row_bytes; b < (place.row + 1) * row_bytes; ++b) {
      sectors.insert(b / 32);
      lines.insert(b / 128);
    }
    counted.pieces_32 += std::ssize(sectors);
    counted.pieces_128 += std::ssize(lines);
    if (place.tier != Tier::kPooled) continue;
    const auto owner = static_cast<std::size_t>(place.device);
    if (traffic.pooled_bytes.size() <= owner) traffic.pooled_bytes.resize(owner + 1);
    traffic.pooled_bytes[owner] += row_bytes;
  }
  return traffic;
}

TEST(TieredRows, AGatherReadsTheSameBytesFromEveryMapAndCountsThem) {
  const std::vector<NodeId> ids = some_ids();
  for (const std::int64_t row_bytes : {4, 20, 32, 100, 128, 408}) {
    const std::vector<std::byte> rows = matrix(row_bytes);
    std::vector<std::byte> expected;
    for (const NodeId id : ids)
      expected.insert(expected.end(), rows.begin() + id * row_bytes, rows.begin() + (id + 1) * row_bytes);
    for (const TierMap& map : maps()) {
      const TieredRows tiered(rows, row_bytes, map);
      std::vector<std::byte> out(expected.size());
      TierTraffic traffic;
      tiered.gather(ids, out.data(), &traffic);
      ASSERT_EQ(out, expected);
      ASSERT_EQ(traffic, recount(map, ids, row_bytes, true, true));
      ASSERT_EQ(traffic.rows(), std::ssize(ids));
      std::int64_t device_bytes = 0;
      for (std::int64_t d = 0; d < map.devices; ++d) device_bytes += tiered.device_bytes(d);
      ASSERT_EQ(device_bytes, (map.replicated * map.devices + map.pooled) * row_bytes);
    }
  }
}

TEST(TieredRows, ColdRowsFromTheCpuAndHotOnesOfTheDeviceMakeTheSameRows) {
  const std::vector<NodeId> ids = some_ids();
  constexpr std::int64_t kRowBytes = 36;
  const std::vector<std::byte> rows = matrix(kRowBytes);
  for (const TierMap& map : maps()) {
    const TieredRows tiered(rows, kRowBytes, map);
    std::vector<std::byte> expected(ids.size() * kRowBytes);
    TierTraffic all;
    tiered.gather(ids, expected.data(), &all);
    const std::int64_t cold = tiered.count_cold(ids);
    std::vector<std::byte> shipped(static_cast<std::size_t>(cold * kRowBytes));
    TierTraffic by_cpu;
    ASSERT_EQ(tiered.gather_cold(ids, shipped.data(), &by_cpu), cold);
    ASSERT_EQ(by_cpu, recount(map, ids, kRowBytes, false, true));
    std::vector<std::byte> out(expected.size());
    TierTraffic by_device;
    tiered.merge(ids, shipped.data(), out.data(), &by_device);
    ASSERT_EQ(out, expected);
    ASSERT_EQ(by_device, recount(map, ids, kRowBytes, true, false));
    by_cpu.add(by_device);
    ASSERT_EQ(by_cpu.rows(), all.rows());
    ASSERT_DOUBLE_EQ(by_cpu.hit_rate(), all.hit_rate());
  }
}

/// Cold rows in a file: what is asked of it is counted, and no more.
TEST(TieredRows, RowsOfAFileAreReadWhereNoDeviceKeepsThem) {
  const std::vector<NodeId> ids = some_ids();
  constexpr std::int64_t kRowBytes = 36;
  const std::vector<std::byte> rows = matrix(kRowBytes);
  for (TierMap map : maps()) {
    const TieredRows in_memory(rows, kRowBytes, map);
    map.host = 0;
    std::int64_t asked = 0;
    const auto read = [&](std::span<const NodeId> wanted, std::span<const std::uint32_t> places, std::byte* out) {
      for (std::size_t i = 0; i < wanted.size(); ++i)
        std::memcpy(out + (places.empty() ? i : places[i]) * kRowBytes, rows.data() + wanted[i] * kRowBytes, kRowBytes);
      asked += std::ssize(wanted);
    };
    const TieredRows tiered(read, kRowBytes, map);
    ASSERT_EQ(asked, map.replicated + map.pooled);
    std::vector<std::byte> expected(ids.size() * kRowBytes);
    std::vector<std::byte> out(expected.size());
    TierTraffic traffic;
    in_memory.gather(ids, expected.data(), &traffic);
    traffic = {};
    asked = 0;
    tiered.gather(ids, out.data(), &traffic);
    ASSERT_EQ(out, expected);
    ASSERT_EQ(traffic, recount(map, ids, kRowBytes, true, true));
    ASSERT_EQ(asked, traffic.of(Tier::kDisk).rows);
    ASSERT_EQ(traffic.of(Tier::kHost).rows, 0);
    const std::int64_t cold = tiered.count_cold(ids);
    std::vector<std::byte> shipped(static_cast<std::size_t>(cold * kRowBytes));
    TierTraffic by_cpu;
    ASSERT_EQ(tiered.gather_cold(ids, shipped.data(), &by_cpu), cold);
    ASSERT_EQ(by_cpu, recount(map, ids, kRowBytes, false, true));
    std::vector<std::byte> merged(expected.size());
    TierTraffic by_device;
    tiered.merge(ids, shipped.data(), merged.data(), &by_device);
    ASSERT_EQ(merged, expected);
  }
}

/// Rows that follow each other are about as hot: by turns every device serves as much, in blocks the first one serves
/// most.
TEST(TieredRows, InterleavedDevicesServeAlikeAndBlockedOnesDoNot) {
  const std::int64_t rows = 4000;
  const std::vector<std::byte> matrix_bytes(static_cast<std::size_t>(rows * 8));
  std::vector<NodeId> ids;  // row i is read about 4000 / (i + 1) times
  for (std::int64_t i = 1; i < rows; ++i)
    for (std::int64_t k = 0; k < rows / (i + 20); ++k) ids.push_back(static_cast<NodeId>(i));
  const auto imbalance = [&](std::int64_t devices, Placement placement) {
    const TieredRows tiered(matrix_bytes, 8, plain_map(rows, rows / devices, devices, true, placement));
    std::vector<std::byte> out(ids.size() * 8);
    TierTraffic traffic;
    tiered.gather(ids, out.data(), &traffic);
    std::int64_t most = 0;
    std::int64_t sum = 0;
    for (const std::int64_t bytes : traffic.pooled_bytes) {
      most = std::max(most, bytes);
      sum += bytes;
    }
    return static_cast<double>(most * devices) / static_cast<double>(sum);
  };
  for (const std::int64_t devices : {2, 4, 8}) {
    EXPECT_LE(imbalance(devices, Placement::kInterleaved), 1.05) << devices;
    EXPECT_GE(imbalance(devices, Placement::kBlocked), 1.5) << devices;
  }
}

TEST(TieredRows, RefusesRowsThatHaveNoPlace) {
  const std::vector<std::byte> rows = matrix(4);
  EXPECT_EQ(error_of([&] { TieredRows(rows, 8, plain_map(kRows, 3, 1, true)); }).code(), ErrorCode::kShape);
  const TierMap with_disk{kRows, 3, 0, 10, 1};
  EXPECT_THAT(error_of([&] { TieredRows(rows, 4, with_disk); }).what(),
              HasSubstr("40 of 53 rows have no place in memory"));
  const RowReader none = [](std::span<const NodeId>, std::span<const std::uint32_t>, std::byte*) {};
  EXPECT_THAT(error_of([&] { TieredRows(none, 4, with_disk); }).what(), HasSubstr("10 rows in main memory"));
}

TEST(TierOrder, HotRowsComeFirstAndAnOrderHoldsWithin) {
  HotRows hot;
  hot.by_heat = {4, 1, 3, 0, 2};
  hot.count = 2;
  EXPECT_THAT(tier_order(hot, {}), ElementsAre(4, 1, 3, 0, 2));
  EXPECT_THAT(tier_order(hot, graph::Order{0, 1, 2, 3, 4}), ElementsAre(1, 4, 0, 2, 3));
  EXPECT_THAT(tier_order(hot, graph::Order{3, 4, 2, 1, 0}), ElementsAre(4, 1, 3, 2, 0));
  EXPECT_EQ(error_of([&] { tier_order(hot, graph::Order{0, 1}); }).code(), ErrorCode::kShape);
}

}  // namespace
}  // namespace gneiss::tiers
