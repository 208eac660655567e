// Stage times made from a machine's rates, and profiles of machines that keep rows.
#include "schedule/machine.h"

#include <gtest/gtest.h>

namespace gneiss::schedule {
namespace {

Machine round_machine() {
  Machine machine;
  machine.name = "round";
  machine.workers = 4;
  machine.cpu_edges = 1e6;
  machine.cpu_gather = 1e9;
  machine.cpu_memory = 1e12;
  machine.link = 1e10;
  machine.link_reads = 5e9;
  machine.device_memory = 1e11;
  machine.device_edges = 1e7;
  machine.device_flop = 1e12;
  machine.call_seconds = 1e-5;
  return machine;
}

BatchSize round_batch(double hot) {
  BatchSize batch;
  batch.edges = 1e5;
  batch.rows = 1e5;
  batch.hot_rows = hot;
  batch.row_bytes = 1000;
  batch.row_read_bytes = 1024;
  batch.structure_bytes = 2e6;
  batch.step_flop = 1e10;
  batch.step_bytes = 1e9;
  batch.step_calls = 50;
  return batch;
}

TEST(Machine, StageTimesAreWorkOverRates) {
  const Profile profile = profile_of(round_machine(), round_batch(0));
  EXPECT_EQ(profile.times.cpu_batch, from_ms((100.0 + 100.0) / 4));
  EXPECT_EQ(profile.times.dma, from_ms(0.2 + 10));
  EXPECT_EQ(profile.times.device_batch, from_ms(10));
  EXPECT_EQ(profile.times.uva, from_ms(20.48));
  EXPECT_EQ(profile.times.train, from_ms(10 + 10 + 0.5));
  EXPECT_EQ(profile.dma_bytes, 102'000'000);
  EXPECT_EQ(profile.uva_bytes, 102'400'000);
  EXPECT_EQ(profile.workers, 4);
}

TEST(Machine, HotRowsLeaveTheCpuAndTheLinkAndCostTheDeviceItsMemory) {
  const Profile profile = profile_of(round_machine(), round_batch(8e4));
  EXPECT_EQ(profile.times.cpu_batch, from_ms((100.0 + 20.0) / 4));
  EXPECT_EQ(profile.times.dma, from_ms(0.2 + 2));
  EXPECT_EQ(profile.times.uva, from_ms(4.096 + 0.8));
  EXPECT_EQ(profile.times.train, from_ms(10 + 10 + 0.5 + 0.8));
  const Profile all = profile_of(round_machine(), round_batch(1e5));
  EXPECT_EQ(all.uva_bytes, 0);
  EXPECT_EQ(all.dma_bytes, 2'000'000);
}

TEST(Machine, NoBatchIsGatheredFasterThanMainMemory) {
  Machine machine = round_machine();
  machine.cpu_memory = 1e9;
  EXPECT_EQ(profile_of(machine, round_batch(0)).times.cpu_batch, from_ms(200));
}

TEST(Machine, AMeasuredProfileWithHotRowsShipsTheOthers) {
  const Profile before = find_profile("uk-sage-b");
  const Profile after = with_hot_rows(before, 0.6, 0.5);
  EXPECT_NEAR(to_ms(after.times.cpu_batch), 0.7 * to_ms(before.times.cpu_batch), 1e-5);
  EXPECT_NEAR(to_ms(after.times.dma), 0.4 * to_ms(before.times.dma), 1e-5);
  EXPECT_EQ(after.times.uva, before.times.uva);
  EXPECT_EQ(after.times.train, before.times.train);
  EXPECT_LT(lower_bound(after, 759), lower_bound(before, 759));
  EXPECT_EQ(with_hot_rows(before, 0, 0.5).times.cpu_batch, before.times.cpu_batch);
}

TEST(Machine, IsFoundByItsName) {
  ASSERT_NE(find_machine("v100"), nullptr);
  EXPECT_EQ(find_machine("uk-sage-b"), nullptr);
}

}  // namespace
}  // namespace gneiss::schedule
