// Plans of two routes, the scheduler and the simulated device: hand-checked schedules, properties of random ones, and
// what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/random.h"
#include "schedule/plan.h"
#include "schedule/profile.h"
#include "schedule/run.h"
#include "schedule/sim_device.h"
#include "schedule/trace.h"
#include "support/schedules.h"

namespace gneiss::schedule {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// ---- profiles

TEST(Profile, ThirtyComeWithTheProgramAndAreFoundByName) {
  ASSERT_EQ(named_profiles().size(), 30U);
  const Profile profile = find_profile("uk-sage-b");
  EXPECT_EQ(profile.batches, 759);
  EXPECT_EQ(profile.workers, 7);
  EXPECT_NEAR(to_ms(profile.times.cpu_batch), 44.0, 0.05);
  EXPECT_NEAR(to_ms(profile.times.uva), 29.5, 0.05);
  EXPECT_NEAR(to_ms(profile.times.dma), 15.1, 0.05);
  EXPECT_NEAR(to_ms(profile.times.train), 10.7, 0.05);
  std::set<std::string> names;
  for (const Profile& named : named_profiles()) names.insert(named.name);
  EXPECT_EQ(names.size(), 30U);
}

TEST(Profile, AFileSaysTheSameAsWhatWasWritten) {
  for (const Profile& profile : named_profiles()) {
    const Profile read = parse_profile(to_json(profile), "p.json");
    EXPECT_EQ(to_json(read), to_json(profile));
    EXPECT_EQ(read.times.cpu_batch, profile.times.cpu_batch) << profile.name;
    EXPECT_EQ(read.times.train, profile.times.train) << profile.name;
  }
}

TEST(Profile, AnUnknownNameIsRefusedWithTheNearest) {
  const Error error = error_of([] { find_profile("uk-sage-bb"); });
  EXPECT_EQ(error.code(), ErrorCode::kUsage);
  EXPECT_THAT(error.hint(), HasSubstr("did you mean 'uk-sage-b'?"));
}

TEST(Profile, FaultyFilesAreRefusedByField) {
  const std::string good = to_json(find_profile("pa-gcn-a"));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  const std::map<std::string, std::string> faults = {
      {with("\"dma_ms\"", "\"dma\""), "has no field 'dma'"},
      {with("\"dma_ms\"", "\"dma_bytes \""), "has no field 'dma_bytes '"},
      {with("\"workers\": 11", "\"workers\": 0"), "field 'workers': expected a whole number from 1 to 4096, got 0"},
      {with("\"workers\": 11", "\"workers\": 1.5"), "got 1.5"},
      {with("\"workers\": 11", "\"workers\": \"many\""), "field 'workers': expected a whole number"},
      {with("\"uva_link_share\": 1.0", "\"uva_link_share\": 1.5"),
       "field 'uva_link_share': expected a number from 0 to 1"},
      {R"({"name": "x", "workers": 1, "cpu_batch_ms": -1})", "field 'cpu_batch_ms'"},
      {R"({"name": "x", "workers": 1, "cpu_batch_ms": 1})", "the profile has no field 'device_batch_ms'"},
      {R"({"name": 7})", "field 'name': expected a text, got 7"},
      {"[]", "expected an object"},
  };
  for (const auto& [text, message] : faults) {
    const Error error = error_of([&] { parse_profile(text, "p.json"); });
    EXPECT_EQ(error.code(), ErrorCode::kBadData) << text;
    EXPECT_EQ(error.where(), "p.json");
    EXPECT_THAT(error.message(), HasSubstr(message));
  }
  EXPECT_EQ(error_of([] { parse_profile("{", "p.json"); }).code(), ErrorCode::kBadData);
}

TEST(Profile, TheLowerBoundIsTheBusiestResourceOfTheBestSplit) {
  std::int64_t split = -1;
  // Two by the CPU take it 6 ms, two on the device 4 + 4 * 0.5 ms.
  EXPECT_EQ(lower_bound(machine(3, 2, 1, 0.5), 4, &split), from_ms(6));
  EXPECT_EQ(split, 2);
  EXPECT_EQ(lower_bound(machine(3, 2, 1, 0.5), 0), 0);
}

// ---- planning

TEST(Choice, TextsAreUnderstoodOrRefused) {
  EXPECT_EQ(parse_choice("paper", "").mode, Mode::kPaper);
  EXPECT_EQ(parse_choice("best", "").mode, Mode::kBest);
  EXPECT_EQ(parse_choice("cpu", "").mode, Mode::kCpu);
  EXPECT_EQ(parse_choice("device", "").mode, Mode::kDevice);
  EXPECT_EQ(parse_choice("coinflip:0.25", "").ratio, 0.25);
  for (const char* text :
       {"", "Paper", "coinflip", "coinflip:", "coinflip:2", "coinflip:-1", "coinflip:x", "coinflip:nan"}) {
    const Error error = error_of([&] { parse_choice(text, "--schedule"); });
    EXPECT_EQ(error.code(), ErrorCode::kUsage) << text;
    EXPECT_EQ(error.where(), "--schedule");
    EXPECT_THAT(error.hint(), HasSubstr("coinflip:R"));
  }
}

double eq6(const StageTimes& t, double x) {
  const auto route1 = static_cast<double>(t.route1());
  return x * route1 / (1 + x) + std::max({static_cast<double>(t.dma) / (1 + x), static_cast<double>(t.train),
                                          (static_cast<double>(t.cpu_batch) - x * route1) / (1 + x)});
}

TEST(Planner, TheFirstRatioIsTheLeastOfEquationSix) {
  RandomStream random(1, 0);
  for (int round = 0; round < 500; ++round) {
    const auto time = [&] { return 0.5 + 100 * random.uniform(); };
    const Profile profile = machine(time(), time(), time(), time());
    const double found = first_ratio(profile.times);
    const double at = std::isinf(found) ? static_cast<double>(profile.times.route1() + profile.times.train)
                                        : eq6(profile.times, found);
    for (double x = 0; x < 50; x = x * 1.1 + 0.001) EXPECT_LE(at, eq6(profile.times, x) * (1 + 1e-9)) << x;
  }
}

TEST(Planner, ExtremeCasesArePureRoutes) {
  EXPECT_EQ(make_plan(machine(5, 5, 5, 50), {{Mode::kPaper}, 100}).plan.mode, Mode::kCpu);
  EXPECT_EQ(make_plan(machine(1, 50, 1, 1), {{Mode::kPaper}, 100}).plan.device_batches(), 0);
  EXPECT_EQ(make_plan(machine(1000, 1, 1, 1), {{Mode::kPaper}, 100}).plan.cpu_batches, 0);
  EXPECT_EQ(make_plan(machine(1e6, 1, 1, 1), {{Mode::kBest}, 100}).plan.cpu_batches, 0);
}

TEST(Planner, NoRoomOnTheDeviceIsRefused) {
  EXPECT_EQ(error_of([] { make_plan(machine(1, 1, 1, 1), {{Mode::kBest}, 10, 0}); }).code(), ErrorCode::kUsage);
}

TEST(Planner, BestIsNeverSlowerThanAPureRouteOrThePaper) {
  for (const Profile& profile : named_profiles()) {
    const auto epoch = [&](Mode mode) { return make_plan(profile, {{mode}, 100}).epoch; };
    const Nanoseconds best = epoch(Mode::kBest);
    EXPECT_LE(best, epoch(Mode::kCpu)) << profile.name;
    EXPECT_LE(best, epoch(Mode::kDevice)) << profile.name;
    EXPECT_LE(static_cast<double>(best), 1.005 * static_cast<double>(epoch(Mode::kPaper))) << profile.name;
  }
}

TEST(Planner, PlansSayWhatTheyAre) {
  const std::string text = describe(make_plan(find_profile("uk-sage-b"), {{Mode::kPaper}, 759}));
  EXPECT_THAT(text, AllOf(HasSubstr("paper: 414 batches by the CPU, 345 by the device (x 0.83, cbs 12, gbs 10)"),
                          HasSubstr("s at least by the stage times"), HasSubstr("why")));
}

// ---- schedules by hand

std::vector<std::string> lines(const Record& record) {
  std::vector<Span> spans = record.spans;
  std::ranges::sort(spans, {}, [](const Span& s) { return std::tuple(s.begin, s.end, s.action); });
  std::vector<std::string> text;
  for (const Span& span : spans)
    text.push_back(
        fmt::format("{} {} {}-{}", action_name(span.action), span.batch, to_ms(span.begin), to_ms(span.end)));
  return text;
}

TEST(Schedule, DualBuffersByHand) {
  // One CPU batch and two of the device an overlap. Batch 0 goes to the worker, 1 and 2 to the device; at 4 both
  // buffers are full: step 1 beside the copy of 0, steps 2 and 0. Batch 3 is the worker's from 4 on.
  Plan plan = dual_buffer_plan(machine(4, 2, 1, 1), 3, 1, 2);
  const Record record = simulate(plan, machine(4, 2, 1, 1));
  EXPECT_THAT(lines(record), ElementsAre("prepare_on_device 1 0-2", "prepare_on_cpu 0 0-4", "prepare_on_device 2 2-4",
                                         "copy 0 4-5", "train 1 4-5", "train 2 5-6", "train 0 6-7"));
  EXPECT_EQ(record.epoch, from_ms(7));
  EXPECT_THAT(record.order, ElementsAre(1, 2, 0));
}

TEST(Schedule, AStepWaitsForItsCopy) {
  const Record record = simulate(dual_buffer_plan(machine(1, 1, 5, 1), 2, 1, 1), machine(1, 1, 5, 1));
  EXPECT_THAT(lines(record), ElementsAre("prepare_on_cpu 0 0-1", "prepare_on_device 1 0-1", "train 1 1-2", "copy 0 1-6",
                                         "train 0 6-7"));
  EXPECT_EQ(record.device_waits_for_link, from_ms(4));
}

TEST(Schedule, TheCpuIsLateAndTheDeviceTrainsMeanwhile) {
  Plan plan = dual_buffer_plan(machine(10, 1, 1, 1), 6, 1, 1);
  ASSERT_TRUE(plan.train_while_waiting);
  const Nanoseconds with = simulate(plan, machine(10, 1, 1, 1)).device_waits_for_cpu;
  plan.train_while_waiting = false;
  const Record without = simulate(plan, machine(10, 1, 1, 1));
  EXPECT_GT(without.blocked_by_cpu, 0);
  EXPECT_EQ(without.blocked_by_device, 0);
  EXPECT_LT(with, without.device_waits_for_cpu);
}

TEST(Schedule, ACoinFlipPreparesOnDemand) {
  Plan plan = make_plan(machine(1, 2, 1, 1), {{Mode::kCoinFlip, 0.5}, 3}).plan;
  plan.cpu_routes = {true, false, true};
  plan.cpu_batches = 2;
  EXPECT_THAT(lines(simulate(plan, machine(1, 2, 1, 1))),
              ElementsAre("prepare_on_cpu 0 0-1", "prepare_on_cpu 1 1-2", "copy 0 1-2", "train 0 2-3",
                          "prepare_on_device 2 3-5", "train 2 5-6", "copy 1 6-7", "train 1 7-8"));
}

TEST(Schedule, SharesOfTheLinkSlowCopiesDown) {
  Profile profile = machine(1, 4, 2, 1);
  profile.uva_link_share = 0.5;
  profile.uva_device_share = 0.5;
  Plan plan = dual_buffer_plan(profile, 2, 1, 1);
  plan.mode = Mode::kBest;
  plan.gbs = 2;
  plan.uva_alone = false;
  // Batch 1 is prepared from 0 to 4; the copy of 0 goes at half speed meanwhile, and has 0.5 ms left then.
  EXPECT_THAT(lines(simulate(plan, profile)), ElementsAre("prepare_on_cpu 0 0-1", "prepare_on_device 1 0-4",
                                                          "copy 0 1-4.5", "train 1 4-5", "train 0 5-6"));
}

TEST(Schedule, BusyAndBlockedTimesAreThoseOfTheSchedule) {
  const Record record = simulate(dual_buffer_plan(machine(4, 2, 1, 1), 3, 1, 2), machine(4, 2, 1, 1));
  EXPECT_EQ(record.cpu_busy, from_ms(4));
  EXPECT_EQ(record.link_busy, from_ms(5));
  EXPECT_EQ(record.device_busy, from_ms(7));
  EXPECT_EQ(record.device_waits_for_cpu, 0);
  EXPECT_EQ(record.batches[0], 1);
  EXPECT_EQ(record.batches[1], 2);
  EXPECT_THAT(describe(record, machine(4, 2, 1, 1), dual_buffer_plan(machine(4, 2, 1, 1), 3, 1, 2)),
              AllOf(HasSubstr("CPU 57.1 %, link 71.4 %, device 100.0 %"), HasSubstr("1 batches by the CPU")));
}

// ---- properties of any schedule

TEST(Schedule, RandomMachinesKeepEveryConstraint) {
  RandomStream random(3, 0);
  const auto below = [&](int n) { return static_cast<int>(random.uniform() * n); };
  for (int round = 0; round < 3000; ++round) {
    const auto time = [&] { return below(8) == 0 ? 0.0 : std::exp(6 * random.uniform() - 3); };
    Profile profile = machine(time(), time(), time(), time(), 1 + below(5));
    profile.variation = below(2) == 0 ? 0 : 0.4;
    const std::int64_t batches = below(4) == 0 ? below(3) : below(60);
    const std::int64_t gbs = 1 + below(4) * below(4);
    Plan plan;
    std::string what;
    if (below(3) == 0) {
      plan = dual_buffer_plan(profile, batches, 1 + below(70), gbs);  // often more than there are batches
      plan.train_while_waiting = below(2) == 0;
      what = "dual buffers";
    } else {
      constexpr Mode kModes[] = {Mode::kPaper, Mode::kBest, Mode::kCpu, Mode::kDevice, Mode::kCoinFlip};
      const Mode mode = kModes[below(5)];
      plan = make_plan(profile, {{mode, random.uniform()}, batches, gbs, 1}).plan;
      what = mode_name(mode);
    }
    what += fmt::format(", round {}, {} batches, cbs {}, gbs {}", round, batches, plan.cbs, plan.gbs);
    check_schedule(simulate(plan, profile, true, static_cast<std::uint64_t>(round)), plan, what);
    if (HasFailure()) return;
  }
}

TEST(Schedule, AnySharesOfLinkAndDeviceEndAboveTheBound) {
  RandomStream random(5, 0);
  for (int round = 0; round < 300; ++round) {
    const auto time = [&] { return std::exp(4 * random.uniform() - 2); };
    Profile profile = machine(time(), time(), time(), time(), 3);
    profile.uva_link_share = random.uniform();
    profile.uva_device_share = random.uniform();
    const Planned planned = make_plan(profile, {{Mode::kBest}, 30, 3});
    const Record record = simulate(planned.plan, profile);
    EXPECT_EQ(std::set(record.order.begin(), record.order.end()).size(), 30U);
    EXPECT_GE(record.epoch, planned.bound);
    EXPECT_LE(record.device_busy, record.epoch + 1000);
  }
}

TEST(Schedule, NoSimulatedEpochIsShorterThanTheBound) {
  for (const Profile& profile : named_profiles()) {
    for (const Mode mode : {Mode::kPaper, Mode::kBest, Mode::kCpu, Mode::kDevice, Mode::kCoinFlip}) {
      const Planned planned = make_plan(profile, {{mode, 0.5}, 60});
      EXPECT_GE(planned.epoch, planned.bound) << profile.name << " " << mode_name(mode);
    }
  }
}

// ---- the simulated device

TEST(SimDevice, ARunWithWorkIsTheSimulationToTheNanosecond) {
  for (const char* name : {"uk-sage-b", "tw-gcn-a", "pa-gat-c"}) {
    const Profile profile = find_profile(name);
    for (const Mode mode : {Mode::kPaper, Mode::kBest, Mode::kCpu, Mode::kDevice, Mode::kCoinFlip}) {
      const Plan plan = make_plan(profile, {{mode, 0.4}, 50}).plan;
      Counted work;
      SimDevice device(profile, plan, &work);
      const Record record = run(plan, profile, device);
      const Record simulated = simulate(plan, profile);
      EXPECT_EQ(record.epoch, simulated.epoch);
      EXPECT_EQ(record.spans, simulated.spans);
      EXPECT_EQ(work.order, simulated.order);
      EXPECT_EQ(std::ssize(work.seen), 3 * plan.cpu_batches + 2 * plan.device_batches());
      for (const auto& [stage, count] : work.seen) EXPECT_EQ(count, 1);
    }
  }
}

TEST(SimDevice, AFailingStageEndsTheRunWithItsError) {
  const Profile profile = find_profile("uk-sage-b");
  constexpr int kOnDevice = 2;  // the stage of Route 1; copies and steps are stages 1 and 3
  for (int stage = 0; stage < 4; ++stage) {
    const Plan plan = make_plan(profile, {{stage == kOnDevice ? Mode::kDevice : Mode::kCpu}, 50}).plan;
    Counted work;
    work.failing = 7;
    work.failing_stage = stage;
    SimDevice device(profile, plan, &work);
    EXPECT_THROW(run(plan, profile, device), std::runtime_error) << stage;
    EXPECT_EQ(std::count(work.order.begin(), work.order.end(), 7), 0) << stage;
  }
}

TEST(SimDevice, RefusesWhatIsNotThere) {
  const Profile profile = machine(1, 1, 1, 1, 1);
  const Plan plan = dual_buffer_plan(profile, 9, 1, 1);
  const auto refuse = [&](const std::vector<Command>& stages, const std::string& message) {
    SimDevice device(profile, plan);
    const Error error = error_of([&] {
      std::vector<Command> ended;
      for (const Command& stage : stages) {
        if (stage.action == Action::kWait) {
          device.wait(&ended);
        } else {
          device.start(stage);
        }
      }
    });
    EXPECT_EQ(error.code(), ErrorCode::kInternal);
    EXPECT_THAT(error.message(), HasSubstr(message));
  };
  refuse({{Action::kTrain, 0}}, "a stage waits for batch 0, which nothing brings there");
  refuse({{Action::kCopy, 0}}, "a stage waits for batch 0");
  refuse({{Action::kPrepareOnCpu, 0}, {Action::kCopy, 0}}, "a stage waits for batch 0");
  refuse({{Action::kPrepareOnCpu, 0}, {Action::kWait}, {Action::kTrain, 0}}, "a stage waits for batch 0");
  refuse({{Action::kPrepareOnDevice, 0}, {Action::kTrain, 0}}, "which is being prepared");
  refuse({{Action::kPrepareOnCpu, 0}, {Action::kPrepareOnCpu, 1}}, "finds all 1 workers at work");
  refuse({{Action::kPrepareOnDevice, 0}, {Action::kPrepareOnDevice, 1}}, "which batch 0 has");
  refuse({{Action::kPrepareOnDevice, 0}, {Action::kWait}, {Action::kPrepareOnDevice, 1}}, "the 1 slabs of the device");
  refuse({{Action::kPrepareOnCpu, 0},
          {Action::kWait},
          {Action::kPrepareOnCpu, 1},
          {Action::kWait},
          {Action::kPrepareOnCpu, 2}},
         "the 2 slabs of main memory");
  refuse({{Action::kWait}}, "nothing has begun");
  refuse({{Action::kPrepareOnCpu, 9}}, "batch 9 of 9");
}

// ---- the trace

TEST(Trace, HasATrackForEachResourceAndASliceForEachStage) {
  const Profile profile = find_profile("uk-sage-b");
  const Record record = simulate(make_plan(profile, {{Mode::kBest}, 40}).plan, profile);
  const Json trace = Json::parse(trace_text({{"plan", &record}, {"run", &record}}), "trace");
  std::map<std::string, int> names;
  int slices = 0;
  double last = 0;
  for (const Json& event : trace.at("traceEvents").elements()) {
    if (event.at("ph").text() == "M") {
      ++names[event.at("args").at("name").text()];
      continue;
    }
    ++slices;
    last = std::max(last, event.at("ts").real() + event.at("dur").real());
  }
  EXPECT_EQ(slices, 2 * (std::ssize(record.spans) + record.batches[1]));  // Route 1 is on two tracks
  EXPECT_NEAR(last * 1e3, static_cast<double>(record.epoch), 1);
  for (const char* name : {"plan", "run"}) EXPECT_EQ(names[name], 1);
  for (const char* name : {"link", "device", "CPU 0", "CPU 6"}) EXPECT_EQ(names[name], 2) << name;
}

}  // namespace
}  // namespace gneiss::schedule
