// What runs a schedule: plans made anew, recorded orders, devices of threads, operators from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "schedule/host_device.h"
#include "schedule/plan.h"
#include "schedule/profile.h"
#include "schedule/profiler.h"
#include "schedule/registry.h"
#include "schedule/replanner.h"
#include "schedule/replay.h"
#include "schedule/run.h"
#include "schedule/sim_device.h"
#include "schedule/watched.h"
#include "support/schedules.h"

namespace gneiss::schedule {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// ---- planning anew

/// An epoch of a plan on a machine whose stages take other times than those that it was made with.
Record run_on(const Profile& truth, const Replanner& replanner) {
  const Plan& plan = replanner.planned().plan;
  Replay replay(plan, simulate(plan, replanner.profile()).commands);
  SimDevice device(truth, plan);
  return run(replay, plan, truth, device);
}

TEST(Replanner, AMachineThatIsAsItsProfileSaysKeepsItsPlan) {
  const Profile profile = find_profile("uk-sage-b");
  Replanner replanner(profile, {{Mode::kBest}, 100});
  const Planned first = replanner.planned();
  for (int epoch = 0; epoch < 4; ++epoch) EXPECT_FALSE(replanner.observe(run_on(profile, replanner)));
  EXPECT_EQ(replanner.changes(), 0);
  EXPECT_NEAR(to_seconds(replanner.planned().epoch), to_seconds(first.epoch), 1e-3 * to_seconds(first.epoch));
}

TEST(Replanner, LearnsTheTimesOfAnotherMachineAndPlansByThem) {
  RandomStream random(11, 0);
  const auto time = [&] { return 1 + 9 * random.uniform(); };
  int changed = 0;
  for (int round = 0; round < 50; ++round) {
    const Profile truth = machine(time(), time(), time(), time(), 2);
    Replanner replanner(machine(time(), time(), time(), time(), 2), {{Mode::kBest}, 60});
    const Nanoseconds first = run_on(truth, replanner).epoch;
    const Plan began = replanner.planned().plan;
    for (int epoch = 0; epoch < 6; ++epoch) replanner.observe(run_on(truth, replanner));
    const Nanoseconds last = run_on(truth, replanner).epoch;
    EXPECT_LE(to_ms(last), 1.03 * to_ms(first)) << "the same plan goes in another order, round " << round;
    EXPECT_NEAR(to_ms(replanner.planned().epoch), to_ms(last), 0.02 * to_ms(last)) << "predicted, round " << round;
    const bool both_ran = began.cpu_batches > 0 && began.device_batches() > 0;  // or else one was not measured
    const Nanoseconds best = make_plan(truth, {{Mode::kBest}, 60}).epoch;
    if (both_ran && replanner.changes() < 2) {
      EXPECT_LE(to_ms(last), 1.06 * to_ms(best)) << round;
    }
    changed += replanner.changes() > 0 ? 1 : 0;
  }
  EXPECT_GE(changed, 10);
}

TEST(Replanner, GoesBackFromAPlanWhoseEpochIsLongerThanTheLast) {
  const Profile truth = machine(2, 9, 1, 1);
  Replanner replanner(machine(9, 2, 1, 1), {{Mode::kBest}, 60});
  const std::int64_t began = replanner.planned().plan.cpu_batches;
  ASSERT_TRUE(replanner.observe(run_on(truth, replanner)));
  EXPECT_GT(replanner.planned().plan.cpu_batches, began);
  Record disturbed = run_on(truth, replanner);
  disturbed.epoch *= 100;
  EXPECT_TRUE(replanner.observe(disturbed));
  EXPECT_EQ(replanner.planned().plan.cpu_batches, began);
  for (int epoch = 0; epoch < 3; ++epoch) EXPECT_FALSE(replanner.observe(run_on(truth, replanner)));
  EXPECT_EQ(replanner.changes(), 2);
}

TEST(Replanner, AnEpochThatWasStoppedSaysNothing) {
  const Profile truth = machine(2, 9, 1, 1);
  Replanner replanner(machine(9, 2, 1, 1), {{Mode::kBest}, 60});
  Record stopped = run_on(truth, replanner);
  stopped.order.pop_back();
  EXPECT_FALSE(replanner.observe(stopped));
  EXPECT_EQ(replanner.profile().times.cpu_batch, from_ms(9));
}

// ---- other times, and devices of threads

TEST(Replay, KeepsTheOrderAndEveryConstraintWhereTimesDiffer) {
  RandomStream random(9, 0);
  const auto below = [&](int n) { return static_cast<int>(random.uniform() * n); };
  for (int round = 0; round < 500; ++round) {
    const auto time = [&] { return std::exp(4 * random.uniform() - 2); };
    Profile profile = machine(time(), time(), time(), time(), 1 + below(4));
    constexpr Mode kModes[] = {Mode::kPaper, Mode::kBest, Mode::kCpu, Mode::kDevice, Mode::kCoinFlip};
    const Mode mode = kModes[below(5)];
    const Plan plan = make_plan(profile, {{mode, 0.5}, below(50), 1 + below(6), 1}).plan;
    const Record planned = simulate(plan, profile);
    profile = machine(time(), time(), time(), time(), profile.workers);
    profile.variation = 0.4;
    SimDevice device(profile, plan, nullptr, static_cast<std::uint64_t>(round));
    Replay replay(plan, planned.commands);
    const Record record = run(replay, plan, profile, device);
    EXPECT_EQ(record.order, planned.order);
    check_schedule(record, plan, fmt::format("{}, round {}", mode_name(mode), round));
    if (HasFailure()) return;
  }
}

TEST(HostDevice, DoesEveryStageOnceInThePlannedOrder) {
  const Profile profile = find_profile("tw-sage-b");
  for (const Mode mode : {Mode::kPaper, Mode::kBest, Mode::kCpu, Mode::kDevice, Mode::kCoinFlip}) {
    const Plan plan = make_plan(profile, {{mode, 0.5}, 60}).plan;
    const Record planned = simulate(plan, profile);
    Counted work;
    HostDevice device(&work, plan.workers);
    Replay replay(plan, planned.commands);
    const Record record = run(replay, plan, profile, device);
    EXPECT_EQ(work.order, planned.order) << mode_name(mode);
    EXPECT_EQ(std::ssize(work.seen), 3 * plan.cpu_batches + 2 * plan.device_batches());
    for (const auto& [stage, count] : work.seen) EXPECT_EQ(count, 1);
    check_schedule(record, plan, std::string(mode_name(mode)));
  }
}

TEST(HostDevice, TheSchedulerDecidesAsBatchesCome) {
  const Profile profile = find_profile("uk-sage-b");
  const Plan plan = make_plan(profile, {{Mode::kPaper}, 80}).plan;
  Counted work;
  HostDevice device(&work, plan.workers);
  const Record record = run(plan, profile, device);
  EXPECT_EQ(std::set(work.order.begin(), work.order.end()).size(), 80U);
  check_schedule(record, plan, "live");
}

TEST(HostDevice, AFailingStageEndsTheRunWithItsErrorAndNobodyHangs) {
  const Profile profile = find_profile("uk-sage-b");
  const Plan plan = make_plan(profile, {{Mode::kPaper}, 50}).plan;
  std::set<int> failed;
  for (int stage = 0; stage < 4; ++stage) {
    for (const std::int64_t failing : {0, 7, 25, 49}) {
      Counted work;
      work.failing = failing;
      work.failing_stage = stage;
      HostDevice device(&work, plan.workers);
      try {
        run(plan, profile, device);
        EXPECT_EQ(work.seen.count({stage, failing}), 0U) << "stage " << stage << " of batch " << failing;
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "a stage failed");
        failed.insert(stage);
      }
    }
  }
  EXPECT_EQ(failed.size(), 4U);
}

TEST(HostDevice, EpochsOfFewBatchesAndBuffersOfOneEnd) {
  const Profile profile = find_profile("uk-sage-b");
  for (const std::int64_t batches : {0, 1, 2, 5}) {
    for (const std::int64_t cbs : {1, 4, 70}) {
      for (const std::int64_t gbs : {1, 10}) {
        const std::string what = fmt::format("{} batches, cbs {}, gbs {}", batches, cbs, gbs);
        const Plan plan = dual_buffer_plan(profile, batches, cbs, gbs);
        Counted work;
        HostDevice device(&work, plan.workers);
        check_schedule(run(plan, profile, device), plan, what);
        EXPECT_EQ(std::ssize(work.order), batches) << what;
      }
    }
    for (const Mode mode : {Mode::kPaper, Mode::kBest, Mode::kCpu, Mode::kDevice, Mode::kCoinFlip}) {
      const Plan plan = make_plan(profile, {{mode, 0.5}, batches, 1, 1}).plan;
      Counted work;
      HostDevice device(&work, plan.workers);
      Replay replay(plan, simulate(plan, profile).commands);
      check_schedule(run(replay, plan, profile, device), plan, std::string(mode_name(mode)));
      EXPECT_EQ(std::ssize(work.order), batches) << mode_name(mode);
    }
  }
}

TEST(HostDevice, ALimitedLinkHoldsCopiesBack) {
  Counted work;  // 1000 bytes a copy
  HostDevice device(&work, 1, 1e5);
  std::vector<Command> ended;
  device.start({Action::kPrepareOnCpu, 0});
  device.wait(&ended);
  const Nanoseconds before = device.now();
  device.start({Action::kCopy, 0});
  device.wait(&ended);
  EXPECT_GE(device.now() - before, from_ms(10));
}

TEST(Watched, AStopEndsBehindAnyStepAndTheDeviceGoesOnWithAnotherRun) {
  const Profile profile = find_profile("tw-sage-b");
  for (const Mode mode : {Mode::kPaper, Mode::kBest, Mode::kCpu, Mode::kDevice, Mode::kCoinFlip}) {
    const Plan plan = make_plan(profile, {{mode, 0.5}, 40}).plan;
    const Record planned = simulate(plan, profile);
    Counted work;
    HostDevice threads(&work, plan.workers);
    for (const std::size_t stop : {1U, 13U, 40U}) {
      const auto expect_first_steps = [&](Commander* commander, Device& device) {
        work.order.clear();
        Watched watched(commander, [&] { return work.order.size() == stop; });
        const Record record = run(watched, plan, profile, device);
        EXPECT_EQ(record.order, std::vector(planned.order.begin(), planned.order.begin() + std::ssize(work.order)));
        EXPECT_EQ(work.order, record.order);
        EXPECT_EQ(work.order.size(), stop) << mode_name(mode);
        EXPECT_EQ(std::ssize(record.spans), std::ssize(record.commands)) << "what has begun has ended";
      };
      Replay replay(plan, planned.commands);
      expect_first_steps(&replay, threads);
      Scheduler scheduler(plan);
      SimDevice simulated(profile, plan, &work);
      expect_first_steps(&scheduler, simulated);
    }
  }
}

TEST(HostDevice, AWaitForNothingIsRefused) {
  Counted work;
  HostDevice device(&work, 1);
  std::vector<Command> ended;
  EXPECT_THAT(error_of([&] { device.wait(&ended); }).message(), HasSubstr("nothing has begun"));
}

/// A third kind of device, as another library would bring it: each operator sleeps.
Registry npu(std::vector<std::int64_t>* trained) {
  const auto sleeping = [](double ms, std::int64_t bytes) {
    return [=](std::int64_t, int) {
      std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms));
      return bytes;
    };
  };
  Registry registry;
  registry.add(Phase::kBatching, "CPU", "sleep", sleeping(4, 0));
  registry.add(Phase::kTransferring, "PCIe", "sleep", sleeping(0.5, 4096));
  registry.add(Phase::kBatching, "NPU+PCIe", "sleep", sleeping(2, 0));
  registry.add(Phase::kTraining, "NPU", "sleep", [=](std::int64_t batch, int) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    trained->push_back(batch);
    return std::int64_t{0};
  });
  return registry;
}

TEST(Registry, ADeviceFromOutsideIsMeasuredPlannedAndRun) {
  std::vector<std::int64_t> trained;
  const std::unique_ptr<Work> work = npu(&trained).work("NPU");
  const Measured measured = measure(*work, 40, {.workers = 2, .least_rounds = 2, .most_rounds = 3});
  EXPECT_GE(to_ms(measured.profile.times.cpu_batch), 2.0);  // two sleep at the same time
  EXPECT_GE(to_ms(measured.profile.times.uva), 2.0);
  EXPECT_GE(to_ms(measured.profile.times.dma), 0.5);
  EXPECT_GE(to_ms(measured.profile.times.train), 1.0);
  EXPECT_EQ(measured.profile.dma_bytes, 4096);
  EXPECT_EQ(measured.profile.workers, 2);
  EXPECT_THAT(describe(measured), HasSubstr("CPU batch"));
  trained.clear();
  const Planned planned = make_plan(measured.profile, {{Mode::kBest}, 40});
  HostDevice device(work.get(), 2);
  Replay replay(planned.plan, simulate(planned.plan, measured.profile).commands);
  const Record record = run(replay, planned.plan, measured.profile, device);
  EXPECT_EQ(trained, record.order);
  EXPECT_EQ(trained.size(), 40U);
}

TEST(Registry, APhaseWithoutOperatorIsNamed) {
  std::vector<std::int64_t> trained;
  const Registry registry = npu(&trained);
  EXPECT_EQ(registry.entries()[2].full_name(), "Batching_NPU+PCIe_sleep");
  const Error error = error_of([&] { registry.work("GPU"); });
  EXPECT_EQ(error.code(), ErrorCode::kUsage);
  EXPECT_THAT(error.message(), HasSubstr("no operator does the phase Batching on GPU+PCIe"));
  EXPECT_THAT(error.hint(), AllOf(HasSubstr("add Batching_GPU+PCIe_NAME"), HasSubstr("Training_NPU_sleep")));
  EXPECT_THAT(error_of([] { Registry().work("NPU"); }).hint(), HasSubstr("there are: none"));
}

TEST(Registry, NamesAreUniqueAndHaveThreeParts) {
  Registry registry;
  const Operator nothing = [](std::int64_t, int) { return std::int64_t{0}; };
  registry.add(Phase::kTraining, "NPU", "step", nothing);
  EXPECT_THAT(error_of([&] { registry.add(Phase::kTraining, "NPU", "other", nothing); }).message(),
              HasSubstr("Training_NPU_step is there already"));
  for (const auto& [hardware, name] : {std::pair("", "x"), std::pair("NPU", ""), std::pair("N_PU", "x")})
    EXPECT_EQ(error_of([&] { registry.add(Phase::kBatching, hardware, name, nothing); }).code(), ErrorCode::kUsage);
}

TEST(Profiler, TooFewBatchesAreRefused) {
  Counted work;
  EXPECT_THAT(error_of([&] { measure(work, 2, {.workers = 2}); }).message(),
              HasSubstr("more batches than the 2 workers"));
}

}  // namespace
}  // namespace gneiss::schedule
