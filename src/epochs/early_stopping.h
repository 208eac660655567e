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
  /// `patience` counts evaluations without progress; 0 = never stop.
  EarlyStopping(Monitor monitor, bool higher_is_better, std::int64_t patience)
      : monitor_(monitor), sign_(higher_is_better ? 1.0 : -1.0), patience_(patience) {}

  /// Takes the values of one evaluation (kObjective: `loss` has the penalty in it); true if it is the best so far.
  bool observe(double metric, double loss) {
    const double signed_metric = sign_ * metric;
    const bool first = !seen_;
    seen_ = true;
    bool progress = first;
    bool best = first;
    switch (monitor_) {
      case Monitor::kMetric:
        best = progress = first || signed_metric > best_metric_;
        break;
      case Monitor::kLoss:
      case Monitor::kObjective:
        best = progress = first || loss < best_loss_;
        break;
      case Monitor::kBoth:
        progress = first || signed_metric >= best_metric_ || loss <= best_loss_;
        best = first || (signed_metric >= best_metric_ && loss <= best_loss_);
        break;
    }
    if (signed_metric > best_metric_) best_metric_ = signed_metric;
    if (loss < best_loss_) best_loss_ = loss;
    without_progress_ = progress ? 0 : without_progress_ + 1;
    return best;
  }

  bool should_stop() const { return patience_ > 0 && without_progress_ >= patience_; }

 private:
  Monitor monitor_;
  double sign_;
  std::int64_t patience_;
  bool seen_ = false;
  double best_metric_ = -std::numeric_limits<double>::infinity();
  double best_loss_ = std::numeric_limits<double>::infinity();
  std::int64_t without_progress_ = 0;
};

}  // namespace gneiss::epochs
