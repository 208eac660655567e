// Put right of the print: Eq. 4 has its signs reversed; cbs is floor(gbs / x), not floor(x gbs); plans are compared by
// whole epochs, since overlaps of different sizes have different lengths.
#include "schedule/dispatcher.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace gneiss::schedule {
namespace {

/// Is the CPU late (1), the device (-1), or is the rest of an overlap's wait not worth a move?
int late_side(const Record& record, const StageTimes& times) {
  const Nanoseconds gap = record.blocked_by_cpu - record.blocked_by_device;
  const Nanoseconds overlaps = std::max<std::int64_t>(1, record.overlaps);
  if (std::abs(gap) / overlaps < times.route1()) return 0;
  return gap > 0 ? 1 : -1;
}

}  // namespace

Dispatcher::Dispatcher(const Profile& profile, std::int64_t batches, std::int64_t gbs)
    : profile_(profile), batches_(batches), gbs_(gbs), least_(std::numeric_limits<Nanoseconds>::max()) {
  const StageTimes& times = profile.times;
  planned_.first_x = first_ratio(times);
  const bool model_rules = times.train > times.cpu_batch && times.train > times.dma;
  if (model_rules || planned_.first_x == 0) {
    ended_ = true;
    planned_.plan = plain_plan(profile, Mode::kCpu, batches, batches, gbs);
    planned_.why = model_rules ? "steps take longer than CPU batches and copies: a plain pipeline hides both"
                               : "the first ratio leaves nothing to the device";
    return;
  }
  planned_.plan = plain_plan(profile, Mode::kDevice, batches, 0, gbs);
  planned_.why = "one CPU batch an overlap is already too many";
  ended_ = std::isinf(planned_.first_x);
  if (ended_) return;
  planned_.first_cbs = static_cast<std::int64_t>(std::floor(static_cast<double>(gbs) / planned_.first_x));
  cbs_ = std::clamp<std::int64_t>(planned_.first_cbs, 1, std::max<std::int64_t>(1, batches));
}

std::optional<Plan> Dispatcher::next() const {
  const bool in_range = cbs_ >= 1 && cbs_ <= std::max<std::int64_t>(1, batches_);
  if (ended_ || !in_range || tried_.contains(cbs_)) return {};
  Plan plan = dual_buffer_plan(profile_, batches_, cbs_, gbs_);
  plan.train_while_waiting = false;
  return plan;
}

void Dispatcher::observe(const Record& record) {
  ++planned_.rounds;
  tried_[cbs_] = record.epoch;
  if (record.epoch < least_) {
    least_ = record.epoch;
    planned_.plan = dual_buffer_plan(profile_, batches_, cbs_, gbs_);
    planned_.why = fmt::format("the CPU keeps the device waiting {:.1f} s of the epoch, the device the CPU {:.1f} s",
                               to_seconds(record.blocked_by_cpu), to_seconds(record.blocked_by_device));
  }
  const int late = late_side(record, profile_.times);
  ended_ = late == 0;
  cbs_ -= late;
  if (cbs_ > 0) return;
  const Plan device_alone = plain_plan(profile_, Mode::kDevice, batches_, 0, gbs_);
  if (simulate(device_alone, profile_, false).epoch < least_) planned_.plan = device_alone;
}

}  // namespace gneiss::schedule
