#include "support/run_plan.h"

#include <utility>

#include "runtime/executor.h"
#include "runtime/initialize.h"
#include "runtime/structures.h"
#include "train/dataset_inputs.h"

namespace gneiss::testing {

std::vector<float> run_plan(const ir::Plan& plan, const data::Dataset& dataset, int threads) {
  runtime::DerivedGraphs graphs;
  runtime::derive_the_rest(dataset.graph, dataset.split.train, plan, &graphs);
  runtime::Parameters<float> parameters(plan);
  runtime::Executor<float> executor(plan, parameters, {threads, {}}, {std::move(graphs), {}, {}});
  const train::DatasetInputs inputs(dataset, plan);
  executor.bind(inputs.inputs());
  for (std::size_t i = 0; i < plan.program.params.size(); ++i) {
    const ir::Param& param = plan.program.params[i];
    const MatrixView<float> values = parameters.value(i);
    runtime::initialize<float>(param.name, param.init, 3, {values.data, static_cast<std::size_t>(values.size())});
  }
  executor.run(ir::Phase::kSetup, {5, 0});
  executor.end_setup();
  executor.make_loss_tiles();
  std::vector<float> results;
  for (const std::uint64_t epoch : {1, 2}) {
    executor.run(ir::Phase::kForward, {5, epoch});
    executor.run(ir::Phase::kBackward, {5, epoch});
    results.push_back(executor.read(plan.program.output("loss")).at(0, 0));
    results.insert(results.end(), parameters.gradients().begin(), parameters.gradients().end());
  }
  executor.run(ir::Phase::kInference, {5, 0});
  const MatrixView<const float> logits = executor.read(plan.program.output("logits"));
  for (std::int64_t v = 0; v < logits.rows; ++v)
    results.insert(results.end(), logits.row(v), logits.row(v) + logits.cols);
  return results;
}

}  // namespace gneiss::testing
