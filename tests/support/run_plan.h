// A plan run by itself, without a session, for tests that change plans.
#pragma once

#include <vector>

#include "data/dataset.h"
#include "ir/plan.h"

namespace gneiss::testing {

/// Runs an f32 plan from drawn parameters, without updates: the setup, two training steps and an evaluation. Returns
/// the losses, all gradients and the logits. `plan` is for the dataset's graph and those derived from it.
std::vector<float> run_plan(const ir::Plan& plan, const data::Dataset& dataset, int threads);

}  // namespace gneiss::testing
