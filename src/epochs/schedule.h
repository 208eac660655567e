// Learning-rate schedules with torch.optim.lr_scheduler's meaning.
//
//   constant  lr
//   cosine    CosineAnnealingLR: min + (lr - min) (1 + cos(pi t / T)) / 2 over the epochs after the warm-up
//   plateau   ReduceLROnPlateau (relative threshold): times `factor` after more than `patience` evaluations without
//   progress
// A warm-up of w epochs is LinearLR in front: the factor grows from `warmup_start` by equal steps and reaches 1 at
// epoch w.
#pragma once

#include <cstdint>

namespace gneiss::epochs {

enum class ScheduleKind : std::uint8_t { kConstant, kCosine, kPlateau };

struct ScheduleConfig {
  ScheduleKind kind = ScheduleKind::kConstant;
  std::int64_t warmup_epochs = 0;
  double warmup_start = 1.0 / 3;
  double min_lr = 0;
  double factor = 0.1;         ///< plateau
  std::int64_t patience = 10;  ///< plateau, in evaluations
  double threshold = 1e-4;     ///< plateau: progress is a relative change larger than this
};

class Schedule {
 public:
  /// What is left of the evaluations so far; only a plateau schedule has any.
  struct State {
    double plateau_lr = 0;
    double best = 0;
    bool has_best = false;
    std::int64_t bad = 0;  ///< evaluations without progress
  };

  Schedule(const ScheduleConfig& config, double base_lr, std::int64_t epochs, bool higher_is_better)
      : config_(config),
        base_lr_(base_lr),
        epochs_(epochs),
        higher_is_better_(higher_is_better),
        state_{.plateau_lr = base_lr} {}

  /// Learning rate of epoch `epoch`, counted from 0.
  double lr(std::int64_t epoch) const;
  /// Tells a plateau schedule the monitored value after an evaluation; the others ignore it.
  void observe(double value);

  const State& state() const { return state_; }
  void restore(const State& state) { state_ = state; }

 private:
  double warmup_factor(std::int64_t epoch) const;

  ScheduleConfig config_;
  double base_lr_;
  std::int64_t epochs_;
  bool higher_is_better_;
  State state_;
};

}  // namespace gneiss::epochs
