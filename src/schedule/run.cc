// The loop asks for commands until it is told to wait, waits, and tells what has ended. What each resource did in
// between follows from the scheduler's state, which does not change while time passes.
#include "schedule/run.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "schedule/sim_device.h"

namespace gneiss::schedule {
namespace {

class Recorder {
 public:
  Recorder(const Plan& plan, const Profile& profile, bool spans) : plan_(plan), profile_(profile), spans_(spans) {
    record_.order.reserve(static_cast<std::size_t>(plan.batches));
    if (!spans) return;
    begin_.resize(static_cast<std::size_t>(plan.batches) * kStages);
    worker_.resize(static_cast<std::size_t>(plan.batches));
    at_work_.resize(static_cast<std::size_t>(plan.workers));
  }

  void began(const Command& stage, Nanoseconds now) {
    if (stage.action == Action::kTrain) record_.order.push_back(stage.batch);
    if (stage.action == Action::kPrepareOnCpu) ++record_.batches[0];
    if (stage.action == Action::kPrepareOnDevice) ++record_.batches[1];
    if (!spans_) return;
    record_.commands.push_back(stage);
    begin(stage) = now;
    if (stage.action != Action::kPrepareOnCpu) return;
    const auto free = std::ranges::find(at_work_, false);
    *free = true;
    worker_[static_cast<std::size_t>(stage.batch)] = static_cast<int>(free - at_work_.begin());
  }

  void ended(const Command& stage, Nanoseconds now) {
    if (!spans_) return;
    // A step that was called for before its copy had ended began with that.
    if (stage.action == Action::kCopy && record_.order.size() > 0 && record_.order.back() == stage.batch)
      begin({Action::kTrain, stage.batch}) = now;
    Span span{stage.action, stage.batch, 0, begin(stage), now};
    if (stage.action == Action::kPrepareOnCpu) {
      span.worker = worker_[static_cast<std::size_t>(stage.batch)];
      at_work_[static_cast<std::size_t>(span.worker)] = false;
    }
    record_.spans.push_back(span);
  }

  /// Nothing began or ended for so long.
  void passed(Nanoseconds time, const State& state) {
    const bool steps = state.training >= 0 && state.training != state.copying;
    const bool copies = state.copying >= 0;
    const bool prepares = state.preparing >= 0;
    const auto share = [time](double part) { return static_cast<Nanoseconds>(static_cast<double>(time) * part); };
    record_.cpu_busy += time * state.in_work;
    record_.link_busy += copies ? time : prepares ? share(profile_.uva_link_share) : 0;
    record_.device_busy += steps ? time : prepares ? share(profile_.uva_device_share) : 0;
    if (!steps && !prepares) {
      (copies ? record_.device_waits_for_link : record_.device_waits_for_cpu) += time;
    }
    const std::int64_t idle = std::min(plan_.workers - state.in_work, plan_.cpu_batches - state.taken_cpu);
    record_.cpu_waits_for_room += time * std::max<std::int64_t>(0, idle);
    if (plan_.mode != Mode::kPaper || state.flushing || state.taken_device == plan_.device_batches()) return;
    const bool device_full = state.device.size() == plan_.gbs;
    const bool cpu_full = state.host.size() >= plan_.cbs;
    const bool cpu_ended = state.taken_cpu == plan_.cpu_batches && state.in_work == 0;
    if (device_full && !cpu_full) record_.blocked_by_cpu += time;
    if (cpu_full && !device_full && !cpu_ended) record_.blocked_by_device += time;
  }

  Record finish(Nanoseconds now, const State& state) {
    record_.epoch = now;
    record_.overlaps = state.overlaps;
    return std::move(record_);
  }

 private:
  static constexpr std::size_t kStages = 4;
  Nanoseconds& begin(const Command& stage) {
    return begin_[static_cast<std::size_t>(stage.batch) * kStages + static_cast<std::size_t>(stage.action)];
  }

  const Plan& plan_;
  const Profile& profile_;
  bool spans_;
  Record record_;
  std::vector<Nanoseconds> begin_;
  std::vector<int> worker_;
  std::vector<char> at_work_;
};

std::string percent(Nanoseconds part, Nanoseconds whole) {
  return whole == 0 ? "0 %" : fmt::format("{:.1f} %", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

}  // namespace

Record run(const Plan& plan, const Profile& profile, Device& device, bool spans) {
  Scheduler scheduler(plan);
  return run(scheduler, plan, profile, device, spans);
}

Record run(Commander& commander, const Plan& plan, const Profile& profile, Device& device, bool spans) {
  Recorder recorder(plan, profile, spans);
  const Nanoseconds start = device.now();
  std::vector<Command> ended;
  for (;;) {
    const Command command = commander.next();
    if (command.action == Action::kFinished) break;
    if (command.action != Action::kWait) {
      recorder.began(command, device.now() - start);
      device.start(command);
      continue;
    }
    const Nanoseconds before = device.now();
    device.wait(&ended);
    recorder.passed(device.now() - before, commander.state());
    for (const Command& stage : ended) {
      recorder.ended(stage, device.now() - start);
      commander.finished(stage);
    }
  }
  return recorder.finish(device.now() - start, commander.state());
}

Record simulate(const Plan& plan, const Profile& profile, bool spans, std::uint64_t seed) {
  SimDevice device(profile, plan, nullptr, seed);
  return run(plan, profile, device, spans);
}

std::string describe(const Record& record, const Profile& profile, const Plan& plan) {
  const Nanoseconds epoch = record.epoch;
  const auto megabytes = [](std::int64_t batches, std::int64_t bytes) {
    return static_cast<double>(batches) * static_cast<double>(bytes) * 1e-6;
  };
  return fmt::format(
      "  busy     CPU {}, link {}, device {}\n"
      "  routes   {} batches by the CPU ({:.0f} MB copied), {} by the device ({:.0f} MB read through the link)\n"
      "  blocked  device {} for want of CPU batches, {} for copies; CPU workers {} for want of room\n",
      percent(record.cpu_busy, epoch * plan.workers), percent(record.link_busy, epoch),
      percent(record.device_busy, epoch), record.batches[0], megabytes(record.batches[0], profile.dma_bytes),
      record.batches[1], megabytes(record.batches[1], profile.uva_bytes), percent(record.device_waits_for_cpu, epoch),
      percent(record.device_waits_for_link, epoch), percent(record.cpu_waits_for_room, epoch * plan.workers));
}

}  // namespace gneiss::schedule
