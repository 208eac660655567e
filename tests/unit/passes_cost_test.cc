// The cost model's arithmetic: interpolation between measured rates, γ, and what counts as a table of rates.
#include "passes/cost.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace gneiss::passes {
namespace {

TEST(RateGrid, InterpolatesOverLogarithmsAndStaysAtItsEnds) {
  const RateGrid grid{{16, 64}, {1, 100}, {10, 1000, 40, 4000}};
  EXPECT_DOUBLE_EQ(grid.at(16, 1), 10);
  EXPECT_DOUBLE_EQ(grid.at(64, 100), 4000);
  EXPECT_NEAR(grid.at(16, 10), 100, 1e-9);  // half way from 1 to 100, half way from 10 to 1000
  EXPECT_NEAR(grid.at(32, 1), 20, 1e-9);    // half way from 16 to 64
  EXPECT_NEAR(grid.at(32, 10), 200, 1e-9);
  EXPECT_DOUBLE_EQ(grid.at(1, 0.001), 10);
  EXPECT_NEAR(grid.at(1e6, 1e9), 4000, 1e-9);
  const RateGrid point{{32}, {1}, {7}};
  EXPECT_DOUBLE_EQ(point.at(1000, 1e-9), 7);
}

TEST(InvalidRate, NamesTheTableThatIsNone) {
  EXPECT_EQ(invalid_rate(default_rates()), "");
  Rates rates = default_rates();
  rates.gather.sizes[1] = rates.gather.sizes[0];
  EXPECT_EQ(invalid_rate(rates), "gather");
  rates = default_rates();
  rates.gemm_tn.rates.pop_back();
  EXPECT_EQ(invalid_rate(rates), "gemm_tn");
  rates = default_rates();
  rates.stream.rates[0] = 0;
  EXPECT_EQ(invalid_rate(rates), "stream");
  rates = default_rates();
  rates.dropout = std::numeric_limits<double>::infinity();
  EXPECT_EQ(invalid_rate(rates), "dropout");
  EXPECT_EQ(invalid_rate(Rates()), "gather");
}

TEST(Cost, GathersFromALargeTableTakeLonger) {
  const Rates& rates = default_rates();
  EXPECT_GT(gather_seconds(rates, 1e6, 1e4, 1e7, 32), 2 * gather_seconds(rates, 1e6, 1e4, 1e4, 32));
  EXPECT_GT(gather_seconds(rates, 2e6, 1e4, 1e4, 32), 1.5 * gather_seconds(rates, 1e6, 1e4, 1e4, 32));
}

TEST(Cost, TheThresholdIsWhereBothProductsTakeTheSameTime) {
  Rates rates = default_rates();
  const double rows = 2e4;
  const double cols = 8710;
  for (const bool gradient : {false, true}) {
    const double threshold = sparse_threshold(rates, {rows, cols}, 32, gradient);
    EXPECT_GT(threshold, 0.03);
    EXPECT_LT(threshold, 0.6);
    const double dense = dense_features_seconds(rates, {rows, cols, 0}, 32, gradient);
    EXPECT_NEAR(spx_gemm_seconds(rates, {rows, cols, threshold * rows * cols}, 32, gradient) / dense, 1, 0.01);
  }
  // A dense product ten times as fast moves it to a tenth, but for the change of the sparse rate.
  const double before = sparse_threshold(rates, {rows, cols}, 32, false);
  for (double& rate : rates.gemm_nn.rates) rate *= 10;
  EXPECT_NEAR(sparse_threshold(rates, {rows, cols}, 32, false) / before, 0.1, 0.05);
  // Values that dropout changes are looked up, in the gradient alone.
  const FeatureShape dropped{rows, cols, 0, true};
  EXPECT_EQ(sparse_threshold(rates, dropped, 32, false), sparse_threshold(rates, {rows, cols}, 32, false));
  EXPECT_LT(sparse_threshold(rates, dropped, 32, true), 0.7 * sparse_threshold(rates, {rows, cols}, 32, true));
}

}  // namespace
}  // namespace gneiss::passes
