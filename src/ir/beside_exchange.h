// When the steps of a rank's plan run, beside exchanges between ranks and sums over them: what the executor, programs
// that are written out and the model of an epoch have to agree on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "ir/plan.h"

namespace gneiss::ir {

/// The first and the last step of a band with the waits in front of it, or the start behind it, that it runs on its way
/// (row_order): what these need is there from the first of them to the last.
std::pair<std::int32_t, std::int32_t> steps_with(const Plan& plan, const RowBand& band);

/// Where the sum over the ranks of a parameter's gradient starts; all end with the backward phase.
struct GradientSum {
  static constexpr std::int32_t kBeforeBackward = -1;  ///< bands of the forward phase made it

  std::size_t parameter = 0;
  std::int32_t behind = kBeforeBackward;  ///< the step of the plan, the last of those that run together
};
/// In the order in which sums start. Ranks may run other ops together, but all start their calls in one order: by the
/// op that is the last to have to do with a gradient, behind the next exchange that starts after it.
std::vector<GradientSum> gradient_sums(const Plan& plan);

}  // namespace gneiss::ir
