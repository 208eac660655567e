// What tests of schedules share: machines, a check of any schedule, work that counts.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "schedule/device.h"
#include "schedule/plan.h"
#include "schedule/profile.h"
#include "schedule/run.h"

namespace gneiss::schedule {

inline Profile machine(double cpu, double route1, double dma, double train, int workers = 1) {
  Profile profile;
  profile.name = "test";
  profile.workers = workers;
  profile.times = {from_ms(cpu), from_ms(route1), from_ms(dma), from_ms(route1), from_ms(train)};
  return profile;
}

template <class Call>
Error error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error(ErrorCode::kInternal, "none");
}

/// What Eq. 1 to 4 of the paper ask of a schedule, worked out from its spans alone.
inline void check_schedule(const Record& record, const Plan& plan, const std::string& what) {
  std::map<std::int64_t, std::map<Action, Span>> by_batch;
  for (const Span& span : record.spans) {
    EXPECT_TRUE(by_batch[span.batch].emplace(span.action, span).second) << what << ": a stage twice";
  }
  ASSERT_EQ(std::ssize(by_batch), plan.batches) << what;
  struct Change {
    Nanoseconds time;
    int kind;  ///< ends before begins
    int host;
    int device;
  };
  std::vector<Change> changes;
  for (const auto& [batch, stages] : by_batch) {
    ASSERT_TRUE(stages.contains(Action::kTrain)) << what << ": batch " << batch;
    const Span& train = stages.at(Action::kTrain);
    const bool route0 = stages.contains(Action::kCopy);
    ASSERT_EQ(route0, stages.contains(Action::kPrepareOnCpu)) << what;
    ASSERT_NE(route0, stages.contains(Action::kPrepareOnDevice)) << what;
    if (route0) {
      EXPECT_GE(stages.at(Action::kCopy).begin, stages.at(Action::kPrepareOnCpu).end) << what;
      EXPECT_GE(train.begin, stages.at(Action::kCopy).end) << what;
      changes.push_back({stages.at(Action::kPrepareOnCpu).begin, 1, 1, 0});
      changes.push_back({stages.at(Action::kCopy).end, 0, -1, 0});
    } else {
      EXPECT_GE(train.begin, stages.at(Action::kPrepareOnDevice).end) << what;
    }
    changes.push_back({stages.at(route0 ? Action::kCopy : Action::kPrepareOnDevice).begin, 1, 0, 1});
    changes.push_back({train.end, 0, 0, -1});
  }
  std::ranges::sort(changes, {}, [](const Change& c) { return std::tuple(c.time, c.kind); });
  std::int64_t host = 0;
  std::int64_t device = 0;
  for (const Change& change : changes) {
    host += change.host;
    device += change.device;
    EXPECT_LE(host, plan.host_slabs) << what;
    EXPECT_LE(device, plan.gbs + 1) << what << ": with the one in the step";
  }
  // One stage at a time on each resource.
  std::map<int, std::vector<Span>> tracks;
  for (const Span& span : record.spans) {
    if (span.action == Action::kPrepareOnCpu) tracks[span.worker].push_back(span);
    if (span.action == Action::kCopy || span.action == Action::kPrepareOnDevice) tracks[-1].push_back(span);
    if (span.action == Action::kTrain || span.action == Action::kPrepareOnDevice) tracks[-2].push_back(span);
  }
  for (auto& [track, spans] : tracks) {
    EXPECT_LT(track, plan.workers) << what;
    std::ranges::sort(spans, {}, [](const Span& s) { return std::tuple(s.begin, s.end); });
    for (std::size_t i = 1; i < spans.size(); ++i)
      EXPECT_GE(spans[i].begin, spans[i - 1].end) << what << " on " << track;
  }
}

/// Work that notes what is done, and fails where it is told to.
class Counted : public Work {
 public:
  void prepare_on_cpu(std::int64_t batch, int) override { see(0, batch); }
  std::int64_t copy(std::int64_t batch) override { return see(1, batch), 1000; }
  void prepare_on_device(std::int64_t batch) override { see(2, batch); }
  void train(std::int64_t batch) override {
    see(3, batch);
    order.push_back(batch);
  }
  void see(int stage, std::int64_t batch) {
    if (stage == failing_stage && batch == failing) throw std::runtime_error("a stage failed");
    const std::lock_guard lock(mutex);
    ++seen[{stage, batch}];
  }

  std::mutex mutex;
  std::map<std::pair<int, std::int64_t>, int> seen;
  std::vector<std::int64_t> order;
  std::int64_t failing = -1;
  int failing_stage = 3;
};

}  // namespace gneiss::schedule
