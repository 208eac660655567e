// The rate of an epoch is the base rate times the warm-up's factor, or that of the cosine or of the plateaus so far.
#include "epochs/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace gneiss::epochs {
namespace {

/// Changes smaller than this are not applied (torch's `eps`).
constexpr double kLeastChange = 1e-8;

}  // namespace

double Schedule::warmup_factor(std::int64_t epoch) const {
  if (epoch >= config_.warmup_epochs) return 1;
  return config_.warmup_start +
         (1 - config_.warmup_start) * static_cast<double>(epoch) / static_cast<double>(config_.warmup_epochs);
}

double Schedule::lr(std::int64_t epoch) const {
  const double factor = warmup_factor(epoch);
  switch (config_.kind) {
    case ScheduleKind::kConstant:
      break;
    case ScheduleKind::kPlateau:
      return state_.plateau_lr * factor;
    case ScheduleKind::kCosine: {
      if (epoch < config_.warmup_epochs) break;
      const auto span = static_cast<double>(std::max<std::int64_t>(1, epochs_ - config_.warmup_epochs));
      const double t = static_cast<double>(epoch - config_.warmup_epochs) / span;
      return config_.min_lr + (base_lr_ - config_.min_lr) * (1 + std::cos(std::numbers::pi * t)) / 2;
    }
  }
  return base_lr_ * factor;
}

void Schedule::observe(double value) {
  if (config_.kind != ScheduleKind::kPlateau) return;
  const double bar = higher_is_better_ ? state_.best * (1 + config_.threshold) : state_.best * (1 - config_.threshold);
  if (!state_.has_best || (higher_is_better_ ? value > bar : value < bar)) {
    state_.best = value;
    state_.has_best = true;
    state_.bad = 0;
  } else {
    ++state_.bad;
  }
  if (state_.bad <= config_.patience) return;
  const double reduced = std::max(state_.plateau_lr * config_.factor, config_.min_lr);
  if (state_.plateau_lr - reduced > kLeastChange) state_.plateau_lr = reduced;
  state_.bad = 0;
}

}  // namespace gneiss::epochs
