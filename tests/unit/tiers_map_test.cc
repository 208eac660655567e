// The address function against tables that are filled row by row, and against the printed one, which is wrong.
#include "tiers/tier_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "tiers/budget.h"

namespace gneiss::tiers {
namespace {

/// Who holds which row: deals the rows out one after the other.
std::vector<Place> dealt(const TierMap& map) {
  std::vector<Place> places;
  std::vector<std::int64_t> next(static_cast<std::size_t>(map.devices), 0);
  std::int64_t turn = 0;
  const std::int64_t block = (map.pooled + map.devices - 1) / map.devices;
  for (std::int64_t id = 0; id < map.rows; ++id) {
    const std::int64_t behind = id - map.replicated - map.pooled;
    if (id < map.replicated) {
      places.push_back({Tier::kReplicated, -1, id});
    } else if (behind < 0) {
      if (map.placement == Placement::kBlocked && next[static_cast<std::size_t>(turn)] == block) ++turn;
      places.push_back({Tier::kPooled, turn, next[static_cast<std::size_t>(turn)]++});
      if (map.placement == Placement::kInterleaved) turn = (turn + 1) % map.devices;
    } else if (behind < map.host) {
      places.push_back({Tier::kHost, -1, behind});
    } else {
      places.push_back({Tier::kDisk, -1, behind - map.host});
    }
  }
  return places;
}

/// Listing 1 of the paper, its product taken in 64 bits: the start of a pooled row.
std::int64_t printed_start(const TierMap& map, std::int64_t id, std::int64_t width) {
  const std::int64_t offset = id - map.replicated;
  return width * offset / map.devices;
}

TEST(TierMap, EveryRowHasTheOnePlaceThatDealingGivesIt) {
  std::int64_t maps = 0;
  for (const Placement placement : {Placement::kInterleaved, Placement::kBlocked}) {
    for (std::int64_t devices = 1; devices <= 5; ++devices) {
      for (std::int64_t replicated = 0; replicated <= 7; ++replicated) {
        for (std::int64_t pooled = 0; pooled <= 13; ++pooled) {
          for (const std::int64_t host : {0, 1, 6}) {
            for (const std::int64_t disk : {0, 3}) {
              const TierMap map{replicated + pooled + host + disk, replicated, pooled, host, devices, placement};
              const std::vector<Place> expected = dealt(map);
              std::vector<std::int64_t> held(static_cast<std::size_t>(devices), 0);
              for (std::int64_t id = 0; id < map.rows; ++id) {
                const Place place = place_of(map, id);
                ASSERT_EQ(place, expected[static_cast<std::size_t>(id)]) << "row " << id << " of " << pooled;
                ASSERT_EQ(row_at(map, place), id);
                if (place.tier == Tier::kPooled) ++held[static_cast<std::size_t>(place.device)];
              }
              for (std::int64_t d = 0; d < devices; ++d) {
                ASSERT_EQ(pooled_rows(map, d), held[static_cast<std::size_t>(d)]);
                ASSERT_EQ(device_rows(map, d), replicated + held[static_cast<std::size_t>(d)]);
              }
              ++maps;
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(maps, 2 * 5 * 8 * 14 * 3 * 2);
}

TEST(TierMap, RowsAndElementsBeyond31Bits) {
  const std::int64_t rows = std::int64_t{7} << 31;
  const TierMap map{rows, 1000, rows - 5000, 3000, 3, Placement::kInterleaved};
  for (const std::int64_t id : {rows - 1, rows - 4001, rows - 4000, std::int64_t{1} << 31, std::int64_t{3} << 32}) {
    const Place place = place_of(map, id);
    EXPECT_EQ(row_at(map, place), id);
    EXPECT_EQ(first_element(place, 1024), place.row * 1024);
  }
  const Place far = place_of(map, std::int64_t{3} << 32);
  EXPECT_EQ(far.tier, Tier::kPooled);
  EXPECT_GT(first_element(far, 768), std::int64_t{std::numeric_limits<std::int32_t>::max()});
  EXPECT_EQ(first_element(far, 768) % 768, 0);
}

/// What would happen with the printed order of operations: all but the rows whose offset G divides are read from the
/// middle of a neighbour. A test that takes it for right could not fail here.
TEST(TierMap, ThePrintedListingReadsOtherRows) {
  const TierMap map{1000, 10, 900, 90, 4, Placement::kInterleaved};
  constexpr std::int64_t kWidth = 6;
  std::int64_t wrong = 0;
  for (std::int64_t id = map.replicated; id < map.replicated + map.pooled; ++id) {
    const std::int64_t right = first_element(place_of(map, id), kWidth);
    const bool divides = (id - map.replicated) % map.devices == 0;
    EXPECT_EQ(printed_start(map, id, kWidth) == right, divides) << "row " << id;
    wrong += divides ? 0 : 1;
  }
  EXPECT_EQ(wrong, 675);
}

TEST(TierMap, PlainMapsPoolOverLinksAndReplicateWithoutThem) {
  const TierMap one = plain_map(100, 10, 1, true);
  EXPECT_EQ(one.replicated, 10);
  EXPECT_EQ(one.pooled, 0);
  EXPECT_EQ(one.host, 90);
  const TierMap alone = plain_map(100, 10, 4, false);
  EXPECT_EQ(alone.replicated, 10);
  EXPECT_EQ(alone.pooled, 0);
  const TierMap linked = plain_map(100, 10, 4, true);
  EXPECT_EQ(linked.replicated, 0);
  EXPECT_EQ(linked.pooled, 40);
  EXPECT_EQ(linked.host, 60);
  for (const std::int64_t devices : {1, 3}) {
    for (const std::int64_t hot : {0, 1, 33, 34, 100, 101}) {
      const TierMap map = plain_map(100, hot, devices, true);
      EXPECT_EQ(map.replicated + map.pooled + map.host, 100);
      EXPECT_EQ(map.replicated + map.pooled, std::min<std::int64_t>(100, hot * devices));
    }
  }
}

TEST(Budget, RowsTakeWhatTheTrainingLeaves) {
  DeviceBudget budget{
      .memory_bytes = 1000, .plan_bytes = 300, .slabs = 2, .slab_bytes = 100, .rows = 50, .row_bytes = 16};
  EXPECT_EQ(rows_that_fit(budget), 31);
  budget.rows = 20;
  EXPECT_EQ(rows_that_fit(budget), 20);
  budget.memory_bytes = 500;
  EXPECT_EQ(rows_that_fit(budget), 0);
  budget.memory_bytes = 515;
  EXPECT_EQ(rows_that_fit(budget), 0);
  budget.memory_bytes = 516;
  EXPECT_EQ(rows_that_fit(budget), 1);
  budget.memory_bytes = 0;
  EXPECT_EQ(rows_that_fit(budget), 0);
  std::int64_t before = 0;
  for (budget.memory_bytes = 0; budget.memory_bytes < 1000; ++budget.memory_bytes) {
    EXPECT_GE(rows_that_fit(budget), before);
    before = rows_that_fit(budget);
  }
}

}  // namespace
}  // namespace gneiss::tiers
