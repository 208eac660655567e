#include "support/gradient_check.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "planner/bind.h"
#include "planner/memory.h"
#include "runtime/executor.h"
#include "runtime/initialize.h"
#include "train/dataset_inputs.h"

namespace gneiss::testing {

namespace {

ir::Plan plan_again(const ir::Plan& plan, const std::function<void(ir::Program*)>& mutate) {
  ir::Plan again;
  again.program = plan.program;
  again.value_bytes = plan.value_bytes;
  again.feature_nonzeros = plan.feature_nonzeros;
  mutate(&again.program);
  planner::plan_memory(&again);
  std::vector<std::string> decisions;
  planner::bind_kernels(&again, planner::SourceTiling::kOff, cost::default_rates(), &decisions);
  return again;
}

}  // namespace

GradientReport check_gradients(const ir::Program& program, const data::Dataset& dataset, const passes::Options& options,
                               const std::function<void(ir::Program*)>& mutate) {
  ir::Program model = program;
  auto graphs = runtime::derive_graphs(dataset.graph, &model);
  passes::Options f64 = options;
  f64.value_bytes = sizeof(double);
  f64.feature_nonzeros = dataset.features.sparse ? dataset.features.nonzeros() : 0;
  const ir::Plan built = passes::build_plan(model, f64);
  const ir::Plan plan = mutate ? plan_again(built, mutate) : built;
  runtime::derive_the_rest(dataset.graph, dataset.split.train, plan, &graphs);
  runtime::Parameters<double> parameters(plan);
  runtime::Executor<double> executor(plan, parameters, {1, {}}, {std::move(graphs), {}, {}});
  const train::DatasetInputs inputs(dataset, plan);
  executor.bind(inputs.inputs());
  for (std::size_t i = 0; i < plan.program.params.size(); ++i) {
    ir::Param param = plan.program.params[i];
    // Zero biases would put isolated nodes onto the kink of a ReLU, where there is no derivative to compare with.
    if (param.trainable && param.init.kind == ir::Init::Kind::kZeros)
      param.init = {ir::Init::Kind::kUniform, 0.5, 0, 0};
    const MatrixView<double> values = parameters.value(i);
    runtime::initialize<double>(param.name, param.init, 3, {values.data, static_cast<std::size_t>(values.size())});
  }
  const kernels::StepKey key{7, 2};
  executor.run(ir::Phase::kSetup, key);
  const auto loss = [&] {
    executor.run(ir::Phase::kForward, key);
    return executor.read(plan.program.output("loss")).at(0, 0);
  };
  loss();
  executor.run(ir::Phase::kBackward, key);
  GradientReport report;
  std::vector<double> computed(parameters.gradients().begin(), parameters.gradients().end());
  for (std::size_t p = 0; p < plan.program.params.size(); ++p) {
    const ir::Param& param = plan.program.params[p];
    if (!param.trainable) continue;
    const MatrixView<double> values = parameters.value(p);
    const auto offset =
        static_cast<std::size_t>(plan.placements[static_cast<std::size_t>(param.value)].offset_bytes) / sizeof(double);
    double scale = 1e-3;
    for (std::int64_t i = 0; i < values.size(); ++i)
      scale = std::max(scale, std::abs(computed[offset + static_cast<std::size_t>(i)]));
    report.largest_gradient = std::max(report.largest_gradient, scale);
    for (std::int64_t i = 0; i < values.size(); ++i) {
      const double value = values.data[i];
      const double step = 1e-5 * std::max(1.0, std::abs(value));
      values.data[i] = value + step;
      const double above = loss();
      values.data[i] = value - step;
      const double below = loss();
      values.data[i] = value;
      const double error =
          std::abs((above - below) / (2 * step) - computed[offset + static_cast<std::size_t>(i)]) / scale;
      if (error > report.relative_error || std::isnan(error)) {
        report.relative_error = std::isnan(error) ? INFINITY : error;
        report.worst = fmt::format("{}[{}]", param.name, i);
      }
    }
  }
  return report;
}

}  // namespace gneiss::testing
