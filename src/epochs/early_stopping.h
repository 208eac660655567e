// Which epoch was best, and when to give up.
//
// Best is judged on the validation metric, the validation loss, or both; of equal epochs the first wins. Judging by
// both is the GAT authors' rule: patience starts anew when either reaches its best so far, and an epoch is best when
// both do. The objective is the validation loss with the L2 penalty of the weights, which gnn-benchmark (Shchur et al.,
// 2018) goes by.
#pragma once

#include <cstdint>
#include <limits>

namespace gneiss::epochs {

enum class Monitor : std::uint8_t { kMetric, kLoss, kBoth, kObjective };

class EarlyStopping {
 public:
  /// What is left of the evaluations so far.
  struct State {
    bool seen = false;                                              ///< there was one
    double best_metric = -std::numeric_limits<double>::infinity();  ///< higher is better
    double best_loss = std::numeric_limits<double>::infinity();
    std::int64_t without_progress = 0;
  };

  /// `patience` counts evaluations without progress; 0 = never stop.
  EarlyStopping(Monitor monitor, bool higher_is_better, std::int64_t patience)
      : monitor_(monitor), sign_(higher_is_better ? 1.0 : -1.0), patience_(patience) {}

  /// Takes the values of one evaluation (kObjective: `loss` has the penalty in it); true if it is the best so far.
  bool observe(double metric, double loss) {
    const double signed_metric = sign_ * metric;
    const bool first = !state_.seen;
    state_.seen = true;
    bool progress = first;
    bool best = first;
    switch (monitor_) {
      case Monitor::kMetric:
        best = progress = first || signed_metric > state_.best_metric;
        break;
      case Monitor::kLoss:
      case Monitor::kObjective:
        best = progress = first || loss < state_.best_loss;
        break;
      case Monitor::kBoth:
        progress = first || signed_metric >= state_.best_metric || loss <= state_.best_loss;
        best = first || (signed_metric >= state_.best_metric && loss <= state_.best_loss);
        break;
    }
    if (signed_metric > state_.best_metric) state_.best_metric = signed_metric;
    if (loss < state_.best_loss) state_.best_loss = loss;
    state_.without_progress = progress ? 0 : state_.without_progress + 1;
    return best;
  }

  bool should_stop() const { return patience_ > 0 && state_.without_progress >= patience_; }

  const State& state() const { return state_; }
  void restore(const State& state) { state_ = state; }

 private:
  Monitor monitor_;
  double sign_;
  std::int64_t patience_;
  State state_;
};

}  // namespace gneiss::epochs
