// The public four steps of batches on two routes: operators measured, split, scheduled, run.
#include "gneiss/two_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

#include "gneiss/error.h"
#include "gneiss/version.h"
#include "schedule/plan.h"

namespace gneiss {
namespace {

using ::testing::HasSubstr;

MachineProfile machine(const std::string& name) {
  for (const MachineProfile& profile : machine_profiles())
    if (profile.name == name) return profile;
  throw Error(ErrorCode::kInternal, "no such profile");
}

std::string refused(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    return error.message();
  }
  return "nothing was refused";
}

TEST(Partitioner, EndsAtThePlanOfThePapersMode) {
  int moved = 0;
  for (const MachineProfile& profile : machine_profiles()) {
    Partitioner partitioner(profile, profile.batches);
    Partition partition;
    int rounds = 0;
    while (partitioner.next(&partition)) {
      EXPECT_EQ(partition.batches, profile.batches);
      partitioner.feedback(schedule_partition(profile, partition));
      ++rounds;
    }
    moved += rounds > 1 ? 1 : 0;
    const schedule::Planned planned =
        schedule::make_plan(schedule::find_profile(profile.name), {{schedule::Mode::kPaper, 0}, profile.batches, 10});
    EXPECT_EQ(rounds, planned.rounds) << profile.name;
    EXPECT_EQ(partitioner.best().cpu_batches, planned.plan.cpu_batches) << profile.name;
    const EpochSchedule schedule = schedule_partition(profile, partitioner.best());
    EXPECT_NEAR(schedule.epoch_seconds, schedule::to_seconds(planned.epoch), 1e-9) << profile.name;
    EXPECT_GE(schedule.epoch_seconds, schedule.bound_seconds);
    EXPECT_THAT(schedule.text, HasSubstr("busy"));
  }
  EXPECT_GT(moved, 5) << "feedback was hardly tried";
}

TEST(Partitioner, FeedbackIsForThePartitionThatWasGiven) {
  const MachineProfile profile = machine("uk-sage-b");
  Partitioner partitioner(profile, 100);
  Partition partition;
  ASSERT_TRUE(partitioner.next(&partition));
  EpochSchedule schedule = schedule_partition(profile, partition);
  ++schedule.partition.cpu_buffer;
  EXPECT_THAT(refused([&] { partitioner.feedback(schedule); }), HasSubstr("feedback is for the partition"));
  EXPECT_THAT(refused([&] { Partitioner(profile, 0); }), HasSubstr("one batch at least"));
  EXPECT_THAT(refused([&] { Partitioner(profile, 10, 0); }), HasSubstr("room for one on the device"));
  EXPECT_THAT(refused([&] { schedule_partition(profile, {.batches = 10, .cpu_batches = 3, .device_buffer = 2}); }),
              HasSubstr("expected a partition of an epoch"));
}

TEST(TwoRoutes, OperatorsOfAnotherDeviceAreMeasuredSplitScheduledAndRun) {
  std::mutex mutex;
  std::vector<std::int64_t> trained;
  const auto sleeping = [](double ms, std::int64_t bytes) {
    return [=](std::int64_t, int) {
      std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms));
      return bytes;
    };
  };
  BatchOperators operators;
  operators.add(BatchPhase::kBatching, "CPU", "sleep", sleeping(4, 0));
  operators.add(BatchPhase::kTransferring, "PCIe", "sleep", sleeping(0.5, 4096));
  EXPECT_THAT(refused([&] { profile_operators(operators, "NPU", {.batches = 40}); }),
              HasSubstr("no operator does the phase Batching on NPU+PCIe"));
  operators.add(BatchPhase::kBatching, "NPU+PCIe", "sleep", sleeping(2, 0));
  operators.add(BatchPhase::kTraining, "NPU", "sleep", [&](std::int64_t batch, int) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::lock_guard lock(mutex);
    trained.push_back(batch);
    return std::int64_t{0};
  });
  EXPECT_EQ(operators.names().back(), "Training_NPU_sleep");
  const MachineProfile profile = profile_operators(operators, "NPU", {.batches = 40, .workers = 2, .most_rounds = 3});
  EXPECT_GE(profile.cpu_batch_ms, 2.0);
  EXPECT_EQ(profile.dma_bytes, 4096);
  Partitioner partitioner(profile, 40, 4);
  Partition partition;
  while (partitioner.next(&partition)) partitioner.feedback(schedule_partition(profile, partition));
  const EpochSchedule schedule = schedule_partition(profile, partitioner.best());
  trained.clear();
  const ExecutedEpoch epoch = execute_epoch(operators, "NPU", profile, schedule);
  EXPECT_EQ(trained, epoch.order);
  EXPECT_EQ(trained.size(), 40U);
  EXPECT_EQ(epoch.cpu_batches, schedule.partition.cpu_batches);
  EXPECT_EQ(epoch.cpu_batches + epoch.device_batches, 40);
}

TEST(TwoRoutes, TheDoctorNamesTheOperatorsOfThisProgram) {
  std::string all;
  for (const Fact& fact : machine_facts()) all += fact.name + ": " + fact.value + "\n";
  for (const char* name :
       {"Batching_CPU_sample", "Transferring_Link_copy", "Batching_Device+Link_sample", "Training_Device_step"})
    EXPECT_THAT(all, HasSubstr(name));
}

}  // namespace
}  // namespace gneiss
