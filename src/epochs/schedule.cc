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
      return plateau_lr_ * factor;
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
  const double bar = higher_is_better_ ? best_ * (1 + config_.threshold) : best_ * (1 - config_.threshold);
  if (!has_best_ || (higher_is_better_ ? value > bar : value < bar)) {
    best_ = value;
    has_best_ = true;
    bad_ = 0;
  } else {
    ++bad_;
  }
  if (bad_ <= config_.patience) return;
  const double reduced = std::max(plateau_lr_ * config_.factor, config_.min_lr);
  if (plateau_lr_ - reduced > kLeastChange) plateau_lr_ = reduced;
  bad_ = 0;
}

}  // namespace gneiss::epochs
