// CPU batches are timed by rounds in which all workers are at work: T_CBT is the time between two batches of all
// workers together, which is what the scheduler needs and what contention for memory changes. The other stages run
// alone.
#include "schedule/profiler.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <thread>
#include <vector>

#include "base/error.h"

namespace gneiss::schedule {
namespace {

using Clock = std::chrono::steady_clock;

double ms_of(const auto& call) {
  const Clock::time_point began = Clock::now();
  call();
  return std::chrono::duration<double, std::milli>(Clock::now() - began).count();
}

/// Mean and spread as samples come (Welford).
class Sampled {
 public:
  void add(double value) {
    ++count_;
    const double from = value - mean_;
    mean_ += from / static_cast<double>(count_);
    squares_ += from * (value - mean_);
  }
  MeasuredStage stage() const {
    constexpr double kNormal95 = 1.96;
    MeasuredStage stage{mean_, 0, 0, count_};
    if (count_ > 1) stage.deviation_ms = std::sqrt(squares_ / static_cast<double>(count_ - 1));
    if (mean_ > 0) stage.interval = kNormal95 * stage.deviation_ms / std::sqrt(static_cast<double>(count_)) / mean_;
    return stage;
  }

 private:
  std::int64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

/// A batch of each worker, all at the same time. Errors: the first worker's that failed.
void prepare_together(Work& work, int workers, const auto& batch_of) {
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(workers));
  std::vector<std::thread> threads;
  for (int worker = 0; worker < workers; ++worker) {
    threads.emplace_back([&, worker] {
      try {
        work.prepare_on_cpu(batch_of(worker), worker);
      } catch (...) {
        errors[static_cast<std::size_t>(worker)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error != nullptr) std::rethrow_exception(error);
}

}  // namespace

Measured measure(Work& work, std::int64_t batches, const ProfilerOptions& options) {
  GNEISS_CHECK(batches > options.workers, ErrorCode::kUsage,
               "expected more batches than the {} workers, so that both routes can be measured, got {}; use smaller "
               "batches or fewer threads",
               options.workers, batches);
  std::array<Sampled, 4> sampled;
  const auto at = [&](Action action) -> Sampled& { return sampled[static_cast<std::size_t>(action)]; };
  Measured measured;
  std::int64_t copied_bytes = 0;
  std::int64_t next = 0;
  for (std::int64_t round = 0; round <= options.most_rounds && !measured.converged; ++round) {
    const std::int64_t first = next;
    const auto batch_of = [&](std::int64_t i) { return (first + i) % batches; };
    next = (next + options.workers + 1) % batches;
    std::vector<double> copies;
    std::vector<double> steps;
    const double cpu = ms_of([&] { prepare_together(work, options.workers, batch_of); });
    for (int i = 0; i < options.workers; ++i) {
      copies.push_back(ms_of([&] { copied_bytes = work.copy(batch_of(i)); }));
      steps.push_back(ms_of([&] { work.train(batch_of(i)); }));
    }
    const double route1 = ms_of([&] { work.prepare_on_device(batch_of(options.workers)); });
    steps.push_back(ms_of([&] { work.train(batch_of(options.workers)); }));
    if (round == 0) continue;
    at(Action::kPrepareOnCpu).add(cpu / options.workers);
    at(Action::kPrepareOnDevice).add(route1);
    for (const double copy : copies) at(Action::kCopy).add(copy);
    for (const double step : steps) at(Action::kTrain).add(step);
    for (std::size_t i = 0; i < sampled.size(); ++i) measured.stages[i] = sampled[i].stage();
    measured.converged = round >= options.least_rounds && std::ranges::all_of(measured.stages, [&](const auto& stage) {
                           return stage.interval <= options.interval;
                         });
  }
  Profile& profile = measured.profile;
  const auto mean = [&](Action action) { return from_ms(measured.stages[static_cast<std::size_t>(action)].mean_ms); };
  profile.name = "measured";
  profile.batches = batches;
  profile.workers = options.workers;
  profile.times = {mean(Action::kPrepareOnCpu), mean(Action::kPrepareOnDevice), mean(Action::kCopy),
                   mean(Action::kPrepareOnDevice), mean(Action::kTrain)};
  profile.dma_bytes = copied_bytes;
  profile.uva_bytes = copied_bytes;
  return measured;
}

MeasuredStages contended_stages(const Record& record, const Plan& plan) {
  std::array<Sampled, 4> sampled;
  for (const Span& span : record.spans) {
    const double shares = span.action == Action::kPrepareOnCpu ? plan.workers : 1;
    sampled[static_cast<std::size_t>(span.action)].add(to_ms(span.end - span.begin) / shares);
  }
  MeasuredStages stages;
  for (std::size_t i = 0; i < stages.size(); ++i) stages[i] = sampled[i].stage();
  return stages;
}

void take_contended(const MeasuredStages& contended, Measured* measured) {
  constexpr std::int64_t kLeast = 5;
  measured->contended = contended;
  StageTimes& times = measured->profile.times;
  const auto take = [&](Action action, Nanoseconds* time) {
    const MeasuredStage& stage = contended[static_cast<std::size_t>(action)];
    if (stage.count >= kLeast) *time = from_ms(stage.mean_ms);
  };
  take(Action::kPrepareOnCpu, &times.cpu_batch);
  take(Action::kCopy, &times.dma);
  take(Action::kPrepareOnDevice, &times.device_batch);
  take(Action::kPrepareOnDevice, &times.uva);
  take(Action::kTrain, &times.train);
}

std::string describe(const Measured& measured) {
  constexpr const char* kNames[] = {"CPU batch", "copy", "device batch", "step"};
  std::string text;
  for (std::size_t i = 0; i < measured.stages.size(); ++i) {
    const MeasuredStage& stage = measured.stages[i];
    text += fmt::format("  {:13}{:9.3f} ms +- {:.1f} %  ({} measured)", kNames[i], stage.mean_ms, 100 * stage.interval,
                        stage.count);
    const MeasuredStage& beside = measured.contended[i];
    if (beside.count > 0) text += fmt::format("; {:.3f} ms beside the other stages ({})", beside.mean_ms, beside.count);
    text += "\n";
  }
  if (!measured.converged) text += "  the means vary too much to be known better with as many batches\n";
  return text;
}

}  // namespace gneiss::schedule
