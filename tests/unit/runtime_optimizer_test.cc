#include "runtime/optimizer.h"

#include <gtest/gtest.h>

#include <vector>

namespace gneiss::runtime {
namespace {

double penalty(const OptimizerConfig& config) {
  const std::vector<ParameterRange> ranges = {{0, 2, 0.5}, {2, 1, 0}};
  return runtime::penalty<float>(config, ranges, std::vector<float>{3, -4, 100});
}

TEST(Optimizer, ThePenaltyIsHalfTheDecayTimesTheSquaresOfWhatDecays) {
  EXPECT_EQ(penalty({.kind = OptimizerKind::kAdam}), 0.25 * (9 + 16));
}

TEST(Optimizer, DecoupledDecayIsNoTermOfTheObjective) { EXPECT_EQ(penalty({.kind = OptimizerKind::kAdamW}), 0); }

}  // namespace
}  // namespace gneiss::runtime
