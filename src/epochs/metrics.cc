// Scores over the labelled nodes of a part. ROC-AUC is Mann-Whitney's statistic: the mean rank of the positives, tied
// scores sharing the mean of their ranks, task by task.
#include "epochs/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/names.h"
#include "base/parallel.h"

namespace gneiss::epochs {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

bool is_regression_metric(Metric metric) {
  return metric == Metric::kMse || metric == Metric::kRmse || metric == Metric::kMae;
}

bool has_label(const data::Labels& labels, NodeId v) {
  const auto node = static_cast<std::size_t>(v);
  if (labels.kind == data::LabelKind::kNone) return false;
  if (labels.kind == data::LabelKind::kSingle) return labels.classes[node] >= 0;
  const auto width = static_cast<std::size_t>(labels.num_classes);
  for (std::size_t task = 0; task < width; ++task) {
    if (!std::isnan(labels.targets[node * width + task])) return true;
  }
  return false;
}

std::vector<NodeId> labelled(const data::Labels& labels, const std::vector<NodeId>& nodes) {
  const auto has = [&](NodeId v) { return has_label(labels, v); };
  std::vector<NodeId> kept(static_cast<std::size_t>(std::count_if(nodes.begin(), nodes.end(), has)));
  std::copy_if(nodes.begin(), nodes.end(), kept.begin(), has);
  return kept;
}

}  // namespace

data::Split labelled_split(const data::Dataset& dataset) {
  return {labelled(dataset.labels, dataset.split.train), labelled(dataset.labels, dataset.split.val),
          labelled(dataset.labels, dataset.split.test)};
}

const std::vector<std::string>& metric_names() {
  static const std::vector<std::string> names = {"accuracy", "micro_f1", "macro_f1", "rocauc", "mse", "rmse", "mae"};
  return names;
}

std::string_view metric_name(Metric metric) { return metric_names()[static_cast<std::size_t>(metric)]; }

Metric parse_metric(std::string_view name) {
  const auto& names = metric_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw Error(ErrorCode::kUsage, fmt::format("unknown metric '{}'", name), "train.metric",
                unknown_name_hint(name, names));
  }
  return static_cast<Metric>(found - names.begin());
}

bool higher_is_better(Metric metric) { return !is_regression_metric(metric); }

Metric default_metric(const data::Dataset& dataset) {
  if (!dataset.suggested_metric.empty()) return parse_metric(dataset.suggested_metric);
  switch (dataset.labels.kind) {
    case data::LabelKind::kMulti:
      return Metric::kRocAuc;
    case data::LabelKind::kRegression:
      return Metric::kRmse;
    default:
      return Metric::kAccuracy;
  }
}

Evaluator::Evaluator(Metric metric, const data::Labels& labels, int threads) : metric_(metric), labels_(&labels) {
  const bool regression_labels = labels.kind == data::LabelKind::kRegression;
  if (is_regression_metric(metric) != regression_labels) {
    throw Error(ErrorCode::kUsage,
                fmt::format("metric '{}' is for {}, the labels are {}", metric_name(metric),
                            regression_labels ? "classes" : "regressions", regression_labels ? "numbers" : "classes"),
                "train.metric",
                regression_labels ? "use rmse, mse or mae" : "use accuracy, micro_f1, macro_f1 or rocauc");
  }
  if (metric == Metric::kRocAuc && labels.kind == data::LabelKind::kSingle && labels.num_classes != 2) {
    throw Error(ErrorCode::kUsage,
                fmt::format("rocauc needs two classes or many labels per node, the data set has {} exclusive classes",
                            labels.num_classes),
                "train.metric", "use accuracy or macro_f1");
  }
  counts_.resize(index(labels.num_classes));
  const std::size_t num_nodes = labels.kind == data::LabelKind::kSingle
                                    ? labels.classes.size()
                                    : labels.targets.size() / std::max<std::size_t>(1, index(labels.num_classes));
  if (metric == Metric::kRocAuc) {
    areas_.resize(labels.kind == data::LabelKind::kSingle ? 1 : index(labels.num_classes));
    scored_.resize(std::min(index(threads), areas_.size()));
    for (std::vector<Scored>& scored : scored_) scored.reserve(num_nodes);
  }
}

std::int32_t predicted_class(MatrixView<const float> logits, std::int64_t row) {
  const float* values = logits.row(row);
  return static_cast<std::int32_t>(std::max_element(values, values + logits.cols) - values);
}

double Evaluator::score(MatrixView<const float> logits, std::span<const NodeId> rows) {
  switch (metric_) {
    case Metric::kAccuracy:
      return labels_->kind == data::LabelKind::kSingle ? single_label_accuracy(logits, rows)
                                                       : multi_label_accuracy(logits, rows);
    case Metric::kMicroF1:
    case Metric::kMacroF1:
      count_f1(logits, rows);
      return f1_of_counts(!rows.empty(), metric_ == Metric::kMicroF1);
    case Metric::kRocAuc:
      return roc_auc(logits, rows);
    default:
      return regression(logits, rows);
  }
}

double Evaluator::single_label_accuracy(MatrixView<const float> logits, std::span<const NodeId> rows) const {
  std::int64_t labelled = 0;
  std::int64_t correct = 0;
  for (const NodeId v : rows) {
    const std::int32_t actual = labels_->classes[index(v)];
    if (actual < 0) continue;
    ++labelled;
    if (predicted_class(logits, v) == actual) ++correct;
  }
  return labelled == 0 ? kUndefined : static_cast<double>(correct) / static_cast<double>(labelled);
}

double Evaluator::multi_label_accuracy(MatrixView<const float> logits, std::span<const NodeId> rows) const {
  double sum = 0;
  std::int64_t tasks = 0;
  for (std::int64_t task = 0; task < labels_->num_classes; ++task) {
    std::int64_t labelled = 0;
    std::int64_t correct = 0;
    for (const NodeId v : rows) {
      const float target = labels_->targets[index(v * labels_->num_classes + task)];
      if (std::isnan(target)) continue;
      ++labelled;
      if ((logits.at(v, task) > 0) == (target > 0.5F)) ++correct;
    }
    if (labelled == 0) continue;
    sum += static_cast<double>(correct) / static_cast<double>(labelled);
    ++tasks;
  }
  return tasks == 0 ? kUndefined : sum / static_cast<double>(tasks);
}

void Evaluator::count_f1(MatrixView<const float> logits, std::span<const NodeId> rows) {
  std::fill(counts_.begin(), counts_.end(), Counts{});
  for (const NodeId v : rows) {
    if (labels_->kind == data::LabelKind::kSingle) {
      const std::int32_t actual = labels_->classes[index(v)];
      if (actual < 0) continue;
      const std::int32_t predicted = predicted_class(logits, v);
      ++counts_[index(actual)].actual;
      ++counts_[index(predicted)].predicted;
      if (actual == predicted) ++counts_[index(actual)].hits;
      continue;
    }
    for (std::int64_t task = 0; task < labels_->num_classes; ++task) {
      const float target = labels_->targets[index(v * labels_->num_classes + task)];
      if (std::isnan(target)) continue;
      const bool predicted = logits.at(v, task) > 0;
      const bool actual = target > 0.5F;
      Counts& counts = counts_[index(task)];
      counts.predicted += predicted ? 1 : 0;
      counts.actual += actual ? 1 : 0;
      counts.hits += predicted && actual ? 1 : 0;
    }
  }
}

// scikit-learn's rules: micro adds up the counts of all classes; macro averages the classes that occur in the labels or
// the predictions (exclusive classes) or all tasks (many labels), and a task without any positive scores 0.
double Evaluator::f1_of_counts(bool any_rows, bool micro) const {
  Counts total;
  double sum = 0;
  std::int64_t classes = 0;
  for (const Counts& c : counts_) {
    total.hits += c.hits;
    total.predicted += c.predicted;
    total.actual += c.actual;
    const std::int64_t occurrences = c.predicted + c.actual;
    if (occurrences > 0) sum += 2.0 * static_cast<double>(c.hits) / static_cast<double>(occurrences);
    if (occurrences > 0 || labels_->kind == data::LabelKind::kMulti) ++classes;
  }
  if (micro) {
    const std::int64_t occurrences = total.predicted + total.actual;
    if (occurrences == 0) return labels_->kind == data::LabelKind::kMulti && any_rows ? 0.0 : kUndefined;
    return 2.0 * static_cast<double>(total.hits) / static_cast<double>(occurrences);
  }
  return classes == 0 || !any_rows ? kUndefined : sum / static_cast<double>(classes);
}

double Evaluator::score_of(std::span<const double> counts) {
  GNEISS_ASSERT(this->counts(), "{} is no score of counts", metric_name(metric_));
  const std::size_t columns = counts.size() / 4;
  const auto of = [&](std::size_t which, std::size_t column) {
    return static_cast<std::int64_t>(counts[which * columns + column]);
  };
  if (metric_ != Metric::kAccuracy) {
    GNEISS_ASSERT(columns == counts_.size(), "{} counts for {} classes", columns, counts_.size());
    for (std::size_t c = 0; c < columns; ++c) counts_[c] = {of(0, c), of(1, c), of(2, c)};
    return f1_of_counts(true, metric_ == Metric::kMicroF1);
  }
  double sum = 0;
  std::int64_t tasks = 0;
  for (std::size_t c = 0; c < columns; ++c) {
    const std::int64_t labelled = of(3, c);
    if (labelled == 0) continue;
    // Of a task, also what is neither predicted nor true is right.
    const bool task = labels_->kind != data::LabelKind::kSingle;
    const std::int64_t right = task ? labelled - of(1, c) - of(2, c) + 2 * of(0, c) : of(0, c);
    sum += static_cast<double>(right) / static_cast<double>(labelled);
    ++tasks;
  }
  return tasks == 0 ? kUndefined : sum / static_cast<double>(tasks);
}

double Evaluator::roc_auc(MatrixView<const float> logits, std::span<const NodeId> rows) {
  parallel_tasks(static_cast<int>(scored_.size()), std::ssize(areas_), [&](std::int64_t task, int thread) {
    areas_[index(task)] = task_roc_auc(logits, rows, task, &scored_[index(thread)]);
  });
  double sum = 0;
  std::int64_t tasks = 0;
  for (const double area : areas_) {
    if (std::isnan(area)) continue;
    sum += area;
    ++tasks;
  }
  return tasks == 0 ? kUndefined : sum / static_cast<double>(tasks);
}

// Mann-Whitney: the mean rank of the positives among all, tied scores sharing the mean of their ranks.
double Evaluator::task_roc_auc(MatrixView<const float> logits, std::span<const NodeId> rows, std::int64_t task,
                               std::vector<Scored>* scored) const {
  scored->clear();
  for (const NodeId v : rows) {
    if (labels_->kind == data::LabelKind::kSingle) {
      const std::int32_t actual = labels_->classes[index(v)];
      if (actual >= 0) scored->push_back({logits.at(v, 1) - logits.at(v, 0), actual == 1});
    } else {
      const float target = labels_->targets[index(v * labels_->num_classes + task)];
      if (!std::isnan(target)) scored->push_back({logits.at(v, task), target > 0.5F});
    }
  }
  std::sort(scored->begin(), scored->end(), [](const Scored& a, const Scored& b) { return a.score < b.score; });
  double positive_ranks = 0;
  double positives = 0;
  for (std::size_t begin = 0; begin < scored->size();) {
    std::size_t end = begin;
    double tied_positives = 0;
    while (end < scored->size() && (*scored)[end].score == (*scored)[begin].score) {
      tied_positives += (*scored)[end].positive ? 1 : 0;
      ++end;
    }
    if (end == begin) return kUndefined;  // a NaN score is equal to nothing
    positive_ranks += tied_positives * (static_cast<double>(begin + end + 1) / 2);
    positives += tied_positives;
    begin = end;
  }
  const double negatives = static_cast<double>(scored->size()) - positives;
  if (positives == 0 || negatives == 0) return kUndefined;
  return (positive_ranks - positives * (positives + 1) / 2) / (positives * negatives);
}

double Evaluator::regression(MatrixView<const float> logits, std::span<const NodeId> rows) const {
  double sum = 0;
  std::int64_t count = 0;
  for (const NodeId v : rows) {
    for (std::int64_t task = 0; task < labels_->num_classes; ++task) {
      const double target = labels_->targets[index(v * labels_->num_classes + task)];
      if (std::isnan(target)) continue;
      const double difference = logits.at(v, task) - target;
      sum += metric_ == Metric::kMae ? std::abs(difference) : difference * difference;
      ++count;
    }
  }
  if (count == 0) return kUndefined;
  const double mean = sum / static_cast<double>(count);
  return metric_ == Metric::kRmse ? std::sqrt(mean) : mean;
}

MeanStd mean_std(std::span<const double> values) {
  if (values.empty()) return {kUndefined, kUndefined};
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  if (values.size() == 1) return {mean, 0};
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, std::sqrt(squares / (n - 1))};
}

}  // namespace gneiss::epochs
