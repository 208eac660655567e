// Central differences against the gradients that a plan computes, in f64.
#pragma once

#include <functional>
#include <string>

#include "data/dataset.h"
#include "ir/program.h"
#include "passes/pipeline.h"

namespace gneiss::testing {

/// Largest difference between computed and numeric gradient over all trained parameters, relative to the larger of the
/// parameter's largest gradient and 1e-3. `program` ends in output "logits"; its parameters get values by their Init.
struct GradientReport {
  double relative_error = 0;
  std::string worst;  ///< name and index of the worst entry
  double largest_gradient = 0;
};
/// `mutate`, if given, damages the finished program before memory and kernels are planned: a test of the test.
GradientReport check_gradients(const ir::Program& program, const data::Dataset& dataset, const passes::Options& options,
                               const std::function<void(ir::Program*)>& mutate = {});

}  // namespace gneiss::testing
