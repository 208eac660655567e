// Scores that a device counts: those of the evaluator, exactly, and no logits come back for them.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "data/load.h"
#include "epochs/metrics.h"
#include "kernels/cuda/device.h"
#include "runtime/device_program.h"
#include "train/full_graph.h"
#include "train/session.h"

namespace gneiss {
namespace {

constexpr std::int64_t kNodes = 700;
constexpr std::int64_t kColumns = 37;  // more than a panel

/// Numbers of few values, so that there are ties; NaN at some.
std::vector<float> logits() {
  std::vector<float> values(kNodes * kColumns);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7919 % 23) - 11;
  values[5 * kColumns] = std::numeric_limits<float>::quiet_NaN();
  values[6 * kColumns + 3] = std::numeric_limits<float>::quiet_NaN();
  return values;
}

data::Labels one_class() {
  data::Labels labels;
  labels.kind = data::LabelKind::kSingle;
  labels.num_classes = kColumns;
  labels.classes = Buffer<std::int32_t>(kNodes);
  for (std::int64_t v = 0; v < kNodes; ++v)  // the last class never occurs
    labels.classes[static_cast<std::size_t>(v)] = static_cast<std::int32_t>(v * 31 % kColumns) - 1;
  return labels;
}

data::Labels many_tasks() {
  data::Labels labels;
  labels.kind = data::LabelKind::kMulti;
  labels.num_classes = kColumns;
  labels.targets = Buffer<float>(kNodes * kColumns);
  for (std::size_t i = 0; i < labels.targets.size(); ++i) {
    const std::size_t task = i % kColumns;
    labels.targets[i] = i % 11 == 0 ? std::numeric_limits<float>::quiet_NaN() : i * 13 % 3 == 0 ? 1.0F : 0.0F;
    if (task == 4) labels.targets[i] = std::numeric_limits<float>::quiet_NaN();
  }
  return labels;
}

void expect_same_scores(const data::Labels& labels, const std::vector<NodeId>& rows) {
  const std::vector<float> values = logits();
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    kernels::emulated::set_order(seed);
    runtime::DeviceProgram program("emulated");
    kernels::OnDevice<kernels::CountScoresArgs> args;
    args.logits = {program.copy<float>(values).data, kNodes, kColumns};
    args.labels = program.send<std::int32_t>(labels.classes.span());
    if (!labels.targets.empty()) args.targets = {program.copy<float>(labels.targets.span()).data, kNodes, kColumns};
    args.rows = program.send<NodeId>(rows);
    for (const auto metric : {epochs::Metric::kAccuracy, epochs::Metric::kMicroF1, epochs::Metric::kMacroF1}) {
      epochs::Evaluator evaluator(metric, labels);
      args.by_class = evaluator.counts_by_class();
      std::vector<double> counts(static_cast<std::size_t>(4 * kernels::counted_columns(args)));
      args.counts = program.take<double>(std::ssize(counts));
      program.scratch = program.take<std::byte>(program.scratch_bytes(args));
      program.launch(args);
      program.fetch(std::span<double>(counts), args.counts);
      EXPECT_EQ(evaluator.score_of(counts), evaluator.score({values.data(), kNodes, kColumns}, rows))
          << epochs::metric_name(metric);
    }
  }
}

std::vector<NodeId> every(NodeId step, NodeId first) {
  std::vector<NodeId> rows;
  for (NodeId v = first; v < kNodes; v += step) rows.push_back(v);
  return rows;
}

TEST(DeviceScores, OfOneClassANodeAreTheHosts) {
  expect_same_scores(one_class(), every(1, 0));
  expect_same_scores(one_class(), every(3, 5));
  expect_same_scores(one_class(), {6});
}

TEST(DeviceScores, OfManyTasksAreTheHosts) {
  expect_same_scores(many_tasks(), every(1, 0));
  expect_same_scores(many_tasks(), every(7, 2));
}

TEST(DeviceScores, OfASessionAreCountedForThePartsOfItsSplit) {
  const data::Dataset dataset = data::load("karate", {});
  train::SessionOptions options;
  options.passes.target = planner::Target::kDevice;
  options.loss.kind = passes::LossSpec::Kind::kCrossEntropy;
  options.device = runtime::make_emulated_device();
  train::Session<float> session(dataset, options);
  session.step(1, 0.01);
  session.evaluate();
  const data::Split split = epochs::labelled_split(dataset);
  for (const auto metric : {epochs::Metric::kAccuracy, epochs::Metric::kMacroF1}) {
    epochs::Evaluator evaluator(metric, dataset.labels);
    for (const std::vector<NodeId>* part : {&split.train, &split.val, &split.test}) {
      const std::span<const double> counts = session.count_scores(*part, evaluator.counts_by_class());
      ASSERT_FALSE(counts.empty());
      EXPECT_EQ(evaluator.score_of(counts), evaluator.score(session.logits(), *part));
    }
  }
  const std::vector<NodeId> others = {0, 33};
  EXPECT_TRUE(session.count_scores(others, false).empty());
  epochs::Evaluator evaluator(epochs::Metric::kAccuracy, dataset.labels);
  EXPECT_EQ(train::score(session, &evaluator, others), evaluator.score(session.logits(), others));
}

}  // namespace
}  // namespace gneiss
