// Scores by hand; the comparison with OGB and scikit-learn on random vectors is in tests/golden.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "epochs/metrics.h"

namespace gneiss::epochs {
namespace {

constexpr float kUnlabelled = std::numeric_limits<float>::quiet_NaN();

data::Labels single(std::vector<std::int32_t> classes, std::int64_t num_classes) {
  data::Labels labels;
  labels.kind = data::LabelKind::kSingle;
  labels.num_classes = num_classes;
  labels.classes = Buffer<std::int32_t>::copy_of(classes);
  return labels;
}

data::Labels many(data::LabelKind kind, std::vector<float> targets, std::int64_t tasks) {
  data::Labels labels;
  labels.kind = kind;
  labels.num_classes = tasks;
  labels.targets = Buffer<float>::copy_of(targets);
  return labels;
}

double score(Metric metric, const data::Labels& labels, const std::vector<float>& logits,
             std::vector<NodeId> rows = {}) {
  const auto n = static_cast<std::int64_t>(logits.size()) / labels.num_classes;
  if (rows.empty()) {
    rows.resize(static_cast<std::size_t>(n));
    std::iota(rows.begin(), rows.end(), 0);
  }
  Evaluator evaluator(metric, labels);
  return evaluator.score({logits.data(), n, labels.num_classes}, rows);
}

TEST(Accuracy, CountsLabelledRowsOnlyAndTakesTheFirstOfEqualLogits) {
  const data::Labels labels = single({0, 1, -1, 1}, 2);
  const std::vector<float> logits = {1, 1, 0, 1, 5, 0, 2, 0};
  EXPECT_DOUBLE_EQ(score(Metric::kAccuracy, labels, logits), 2.0 / 3);
  EXPECT_DOUBLE_EQ(score(Metric::kAccuracy, labels, logits, {3}), 0);
  EXPECT_TRUE(std::isnan(score(Metric::kAccuracy, labels, logits, {2})));
}

TEST(Accuracy, OfManyTasksIsTheirMeanAndSkipsNaN) {
  const data::Labels labels = many(data::LabelKind::kMulti, {1, 0, kUnlabelled, 1, 0, kUnlabelled}, 2);
  // Task 0: rows 0 (hit) and 2 (miss); task 1: rows 0 and 1 (both hit).
  EXPECT_DOUBLE_EQ(score(Metric::kAccuracy, labels, {1, -1, 9, 1, 1, 9}), 0.75);
}

TEST(F1, MacroAveragesTheClassesThatOccur) {
  const data::Labels labels = single({0, 0, 1}, 4);  // class 3 is neither predicted nor actual
  const std::vector<float> logits = {1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0};
  EXPECT_DOUBLE_EQ(score(Metric::kMicroF1, labels, logits), 2.0 / 3);
  EXPECT_DOUBLE_EQ(score(Metric::kMacroF1, labels, logits), (2.0 / 3 + 1 + 0) / 3);
}

TEST(RocAuc, GivesTiedScoresTheirMeanRank) {
  const data::Labels labels = many(data::LabelKind::kMulti, {0, 1, 0, 1}, 1);
  EXPECT_DOUBLE_EQ(score(Metric::kRocAuc, labels, {0.1F, 0.5F, 0.5F, 0.9F}), 0.875);
  EXPECT_DOUBLE_EQ(score(Metric::kRocAuc, labels, {1, 1, 1, 1}), 0.5);
}

TEST(RocAuc, LeavesOutTasksOfOneClass) {
  const data::Labels labels = many(data::LabelKind::kMulti, {0, 1, 1, 1, 1, kUnlabelled}, 2);
  EXPECT_DOUBLE_EQ(score(Metric::kRocAuc, labels, {0, 5, 1, 4, 2, 3}), 1);
  const data::Labels constant = many(data::LabelKind::kMulti, {1, 1}, 1);
  EXPECT_TRUE(std::isnan(score(Metric::kRocAuc, constant, {0, 1})));
}

TEST(RocAuc, IsTheSameForAnyNumberOfThreads) {
  constexpr int kNodes = 300;
  constexpr int kTasks = 13;
  std::vector<float> targets, logits;
  for (int i = 0; i < kNodes * kTasks; ++i) {
    targets.push_back(i % 11 == 0 ? kUnlabelled : static_cast<float>(i * 7 % 5 < 2));
    logits.push_back(static_cast<float>(i * 37 % 101));
  }
  const data::Labels labels = many(data::LabelKind::kMulti, targets, kTasks);
  std::vector<NodeId> rows(kNodes);
  std::iota(rows.begin(), rows.end(), 0);
  const auto with = [&](int threads) {
    return Evaluator(Metric::kRocAuc, labels, threads)
        .score(MatrixView<const float>(logits.data(), kNodes, kTasks), rows);
  };
  EXPECT_GT(with(1), 0.3);
  for (const int threads : {2, 3, 40}) EXPECT_EQ(with(threads), with(1)) << threads;
}

TEST(RocAuc, TakesTwoExclusiveClassesByTheirDifference) {
  const data::Labels labels = single({0, 1, 1, 0}, 2);
  EXPECT_DOUBLE_EQ(score(Metric::kRocAuc, labels, {10, 9, 5, 6, 0, 3, 2, 2}), 1);
}

TEST(RocAuc, RefusesThreeExclusiveClasses) {
  const data::Labels labels = single({0, 1, 2}, 3);
  try {
    Evaluator evaluator(Metric::kRocAuc, labels);
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kUsage);
    EXPECT_NE(e.message().find("3 exclusive classes"), std::string::npos) << e.what();
  }
}

TEST(Regression, SkipsNaN) {
  const data::Labels labels = many(data::LabelKind::kRegression, {1, kUnlabelled, 3}, 1);
  EXPECT_DOUBLE_EQ(score(Metric::kMse, labels, {3, 9, 3}), 2);
  EXPECT_DOUBLE_EQ(score(Metric::kRmse, labels, {3, 9, 3}), std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(score(Metric::kMae, labels, {3, 9, 3}), 1);
}

TEST(Metric, MustGoWithTheLabels) {
  EXPECT_THROW(Evaluator(Metric::kRmse, single({0, 1}, 2)), Error);
  EXPECT_THROW(Evaluator(Metric::kAccuracy, many(data::LabelKind::kRegression, {1}, 1)), Error);
}

TEST(Metric, UnknownNamesGetTheNearest) {
  try {
    parse_metric("acuracy");
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_NE(e.hint().find("accuracy"), std::string::npos) << e.what();
  }
}

TEST(MeanStd, IsTheSampleDeviation) {
  const std::vector<double> values = {1, 2, 4};
  EXPECT_DOUBLE_EQ(mean_std(values).mean, 7.0 / 3);
  EXPECT_NEAR(mean_std(values).std, 1.5275252316519468, 1e-15);
  EXPECT_EQ(mean_std(std::vector<double>{5}).std, 0);
}

}  // namespace
}  // namespace gneiss::epochs
