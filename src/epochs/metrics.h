// Scores of predictions: accuracy, F1, ROC-AUC, and errors of regressions.
//
// Equal to OGB's evaluators (ogb nodeproppred/evaluate.py) and scikit-learn's f1_score: unlabelled entries (class -1,
// target NaN) do not count; many tasks are scored one by one and averaged; ROC-AUC averages over the tasks that have
// both classes and gives tied scores their mean rank. An Evaluator owns all scratch memory, so scoring in every epoch
// allocates nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/matrix_view.h"
#include "data/dataset.h"

namespace gneiss::epochs {

enum class Metric : std::uint8_t { kAccuracy, kMicroF1, kMacroF1, kRocAuc, kMse, kRmse, kMae };

/// Names of all metrics as options and reports write them: accuracy, micro_f1, macro_f1, rocauc, mse, rmse, mae.
const std::vector<std::string>& metric_names();
std::string_view metric_name(Metric metric);
/// Errors: kUsage for an unknown name, with the nearest.
Metric parse_metric(std::string_view name);
/// False for the errors of a regression.
bool higher_is_better(Metric metric);
/// The data set's suggestion; else accuracy for one class per node, rocauc for many, rmse for a regression.
Metric default_metric(const data::Dataset& dataset);

/// Labelled nodes of each part; unlabelled ones neither train nor score.
data::Split labelled_split(const data::Dataset& dataset);

class Evaluator {
 public:
  /// `labels` must outlive the evaluator. threads: for rocauc, whose tasks they share; a score does not depend on their
  /// number. Errors: kUsage if the metric does not go with the labels (e.g. rocauc of more than two exclusive classes).
  Evaluator(Metric metric, const data::Labels& labels, int threads = 1);

  Metric metric() const { return metric_; }

  /// Score of `logits` [n, outputs] over `rows`; NaN where it is undefined (no labelled row, a single class for
  /// ROC-AUC).
  double score(MatrixView<const float> logits, std::span<const NodeId> rows);

  /// Is the score one of counts of predictions and labels? Not those that rank logits or measure distances.
  bool counts() const {
    return metric_ == Metric::kAccuracy || metric_ == Metric::kMicroF1 || metric_ == Metric::kMacroF1;
  }
  /// Are they wanted for each class? Accuracy of exclusive classes needs but those of all together.
  bool counts_by_class() const { return metric_ != Metric::kAccuracy; }
  /// The same score by counts that were taken elsewhere, of rows that are not none: hits, predicted, actual and
  /// labelled of each class or task, behind each other (kernels/cuda/count_scores.h).
  double score_of(std::span<const double> counts);

 private:
  double single_label_accuracy(MatrixView<const float> logits, std::span<const NodeId> rows) const;
  double multi_label_accuracy(MatrixView<const float> logits, std::span<const NodeId> rows) const;
  double f1_of_counts(bool any_rows, bool micro) const;
  void count_f1(MatrixView<const float> logits, std::span<const NodeId> rows);
  double roc_auc(MatrixView<const float> logits, std::span<const NodeId> rows);
  struct Scored {
    float score;
    bool positive;
  };
  /// NaN where not both classes are there. scored: scratch.
  double task_roc_auc(MatrixView<const float> logits, std::span<const NodeId> rows, std::int64_t task,
                      std::vector<Scored>* scored) const;
  double regression(MatrixView<const float> logits, std::span<const NodeId> rows) const;

  struct Counts {
    std::int64_t hits = 0;  ///< predicted and true
    std::int64_t predicted = 0;
    std::int64_t actual = 0;
  };

  Metric metric_;
  const data::Labels* labels_;
  std::vector<Counts> counts_;               ///< per class or task
  std::vector<double> areas_;                ///< per task
  std::vector<std::vector<Scored>> scored_;  ///< for each thread, rows of one task
};

/// The class with the largest logit of a row; of equal ones the first (numpy.argmax).
std::int32_t predicted_class(MatrixView<const float> logits, std::int64_t row);

/// Mean and sample standard deviation (n - 1, as torch.std; 0 for a single value).
struct MeanStd {
  double mean = 0;
  double std = 0;
};
MeanStd mean_std(std::span<const double> values);

}  // namespace gneiss::epochs
