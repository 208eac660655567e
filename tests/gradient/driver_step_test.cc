// One epoch of the driver against central differences: a step of plain gradient descent moves every weight by the
// learning rate times the gradient at the weights before the step, whatever the order of what the driver, the session
// and the plan do. An update that comes before the last read of a weight shows here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "epochs/metrics.h"
#include "support/awkward_graph.h"
#include "train/full_graph.h"
#include "train/session.h"

namespace gneiss::train {
namespace {

constexpr double kRate = 0.5;
constexpr std::uint64_t kSeed = 3;

SessionOptions options_for(const std::string& model) {
  SessionOptions options;
  options.model = model;
  options.model_args = {{"act", std::string("tanh")}, {"num_layers", std::int64_t{3}}};
  options.model_args.emplace_back("hidden_channels", std::int64_t{8});
  if (model == "gat") {  // without the kink of its scores, where there is no derivative to compare with
    options.model_args.emplace_back("heads", std::int64_t{2});
    options.model_args.emplace_back("slope", 1.0);
  }
  options.optimizer.kind = runtime::OptimizerKind::kSgd;
  options.seed = kSeed;
  options.threads = 2;
  return options;
}

/// The gradient of the loss by central differences, for the parameter at hand.
std::vector<double> differences(Session<double>* session, const std::string& name) {
  std::vector<double> values = session->parameter(name);
  std::vector<double> gradient;
  for (double& value : values) {
    const double before = value;
    const auto loss_at = [&](double moved) {
      value = moved;
      session->set_parameter(name, values);
      return session->forward_backward(1);
    };
    const double step = 1e-5 * std::max(1.0, std::abs(before));
    gradient.push_back((loss_at(before + step) - loss_at(before - step)) / (2 * step));
    loss_at(before);
  }
  return gradient;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double apart = std::abs(a[i] - b[i]);
    largest = std::isnan(apart) ? INFINITY : std::max(largest, apart);
  }
  return largest;
}

class DriverStep : public ::testing::TestWithParam<const char*> {};

TEST_P(DriverStep, GoesAlongTheGradientAtTheWeightsBefore) {
  const data::Dataset dataset = testing::awkward_dataset({});
  Session<float> session(dataset, options_for(GetParam()));
  Session<double> reference(dataset, options_for(GetParam()));
  session.reset(kSeed);
  std::vector<std::vector<double>> before;
  for (const ir::Param& param : session.params()) {
    const std::vector<float> drawn = session.parameter(param.name);
    before.emplace_back(drawn.begin(), drawn.end());
    reference.set_parameter(param.name, before.back());
  }

  data::Split split;
  split.train = dataset.split.train;
  epochs::Evaluator evaluator(epochs::Metric::kAccuracy, dataset.labels);
  FullGraphOptions driver;
  driver.epochs = 1;
  driver.lr = kRate;
  std::vector<float> weights(session.snapshot_size());
  train_run(session, split, driver, evaluator, kSeed, {}, weights);

  double moved_gradient = 0;  // how much the gradient changes by the step, or the order would not show
  for (std::size_t p = 0; p < before.size(); ++p) {
    if (!session.params()[p].trainable) continue;
    const std::string& name = session.params()[p].name;
    const std::vector<double> expected = differences(&reference, name);
    const std::vector<float> after = session.parameter(name);
    std::vector<double> taken;
    for (std::size_t i = 0; i < after.size(); ++i) taken.push_back((before[p][i] - after[i]) / kRate);
    double scale = 1e-3;
    for (const double g : expected) scale = std::max(scale, std::abs(g));
    EXPECT_LT(largest_difference(taken, expected), 2e-4 * scale) << name;

    for (const ir::Param& param : session.params()) {
      const std::vector<float> stepped = session.parameter(param.name);
      reference.set_parameter(param.name, std::vector<double>(stepped.begin(), stepped.end()));
    }
    reference.forward_backward(1);
    moved_gradient = std::max(moved_gradient, largest_difference(reference.gradient(name), expected) / scale);
    for (std::size_t q = 0; q < before.size(); ++q) reference.set_parameter(session.params()[q].name, before[q]);
  }
  EXPECT_GT(moved_gradient, 0.05);
}

INSTANTIATE_TEST_SUITE_P(Models, DriverStep, ::testing::Values("gcn", "sage", "gin", "gat"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace gneiss::train
