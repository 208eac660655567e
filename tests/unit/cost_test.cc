// The cost model's arithmetic: interpolation between measured rates, γ, what counts as a table of rates, and where
// operands come from.
#include "cost/cost.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "passes/pipeline.h"
#include "planner/band_values.h"
#include "support/awkward_graph.h"
#include "support/plan_model.h"

namespace gneiss::cost {
namespace {

ir::Plan plan_of(const char* model, const passes::Options& options) {
  gneiss::testing::AwkwardOptions many;
  many.nodes = 2000;
  return gneiss::testing::plan_of(model, gneiss::testing::awkward_dataset(many), gneiss::testing::small_for(model),
                                  options);
}

const ir::Op& op_of(const ir::Plan& plan, std::size_t step) {
  return plan.program.ops[static_cast<std::size_t>(plan.steps[step].op)];
}

bool has_rows(const ir::Plan& plan, ir::ValueId v) {
  const ir::Type& type = plan.program.type(v);
  return type.domain != ir::Domain::kGlobal && type.layout == ir::Layout::kDense && type.scalar == ir::Scalar::kReal;
}

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

TEST(Reuse, WithoutBandsTheTrafficSinceTheLastTouchCounts) {
  passes::Options options;
  options.disabled.insert("fuse_rows");
  for (const char* model : {"gcn", "gat"}) {
    const ir::Plan plan = plan_of(model, options);
    double most = 0;
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      double away = 0;
      for (const ir::ValueId v : op_of(plan, i).inputs) {
        if (!has_rows(plan, v)) continue;
        double since = 0;
        for (std::size_t j = i; j-- > 0;) {
          const ir::Op& op = op_of(plan, j);
          if (std::count(op.inputs.begin(), op.inputs.end(), v) + std::count(op.results.begin(), op.results.end(), v) >
              0)
            break;
          since += plan.steps[j].bytes;
        }
        away = std::max(away, since);
      }
      EXPECT_EQ(plan.steps[i].cached_bytes, 0);
      EXPECT_NEAR(plan.steps[i].away_bytes, away, 1e-6 * away) << model << ", step " << i;
      most = std::max(most, away);
    }
    EXPECT_GT(most, 5 * 2000 * sizeof(float)) << model;
  }
}

TEST(Reuse, RowsThatAProductOfTheBandReadsAnywayAreNotFetchedForOthers) {
  passes::Options options;
  options.disabled.insert("fuse_rows");
  const ir::Plan plan = plan_of("gat", options);
  int pairs = 0;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const ir::Op& first = op_of(plan, i);
    if (first.kind == ir::OpKind::gemm || first.inputs.size() != 1 || ir::reads_whole(first, 0) ||
        !has_rows(plan, first.inputs[0]))
      continue;
    for (std::size_t j = i + 1; j < plan.steps.size(); ++j) {
      const ir::Op& product = op_of(plan, j);
      if (product.kind != ir::OpKind::gemm ||
          std::count(product.inputs.begin(), product.inputs.end(), first.inputs[0]) == 0)
        continue;
      ++pairs;
      ir::Plan banded = plan;
      banded.bands = {ir::RowBand{static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), 2000, 1, 100, false}};
      for (std::size_t k = i; k <= j; ++k) banded.steps[k].band = 0;
      planner::count_reuse(&banded);
      EXPECT_EQ(banded.steps[i].away_bytes, 0) << "step " << i << " before the product of step " << j;
      EXPECT_GE(banded.steps[i].cached_bytes,
                static_cast<double>(plan.program.elements(first.inputs[0])) * sizeof(float));
    }
  }
  EXPECT_GT(pairs, 0);
}

/// Expects every sum of rows along the edges to take less where the nodes at their ends lie near each other, and
/// products as much.
void expect_near_rows_faster(ir::Plan plan) {
  Rates rates = default_rates();
  rates.gather = {{32}, {1 << 20, 64 << 20}, {200e9, 20e9}};
  for (ir::NodeSet& set : plan.program.node_sets) set.size = 2'000'000;
  for (ir::GraphDef& graph : plan.program.graphs) graph.num_edges = 40'000'000;
  const ir::Plan far = plan;
  plan.near = {0.5, 1};
  int gathers = 0;
  for (const ir::Step& step : plan.steps) {
    const ir::OpKind kind = plan.program.ops[static_cast<std::size_t>(step.op)].kind;
    const bool gathers_rows =
        kind == ir::OpKind::spmm || kind == ir::OpKind::attention || kind == ir::OpKind::attention_grad;
    const double seconds = step_seconds(rates, plan, step);
    if (gathers_rows) {
      EXPECT_LT(seconds, step_seconds(rates, far, step));
      ++gathers;
    } else if (kind == ir::OpKind::gemm) {
      EXPECT_EQ(seconds, step_seconds(rates, far, step));
    }
  }
  EXPECT_GT(gathers, 3);
}

TEST(StepSeconds, RowsOfNearNodesComeFaster) {
  for (const char* model : {"gcn", "gat"}) {
    SCOPED_TRACE(model);
    expect_near_rows_faster(plan_of(model, {}));
  }
}

TEST(StepSeconds, RowsOfNearNodesComeFasterInTilesOfSources) {
  passes::Options options;
  options.source_tiles = planner::SourceTiling::kOn;
  for (const char* model : {"gcn", "gat"}) {
    SCOPED_TRACE(model);
    ir::Plan plan = plan_of(model, options);
    for (ir::GraphUse& use : plan.graph_uses) use.in_tile = use.out_tile = 500'000;
    expect_near_rows_faster(std::move(plan));
  }
}

TEST(StepSeconds, RowsOfNearNodesComeFasterInPanels) {
  ir::Plan plan = plan_of("gcn", {});
  for (ir::Op& op : plan.program.ops) {
    if (op.kind == ir::OpKind::spmm) op.attrs.set("panel", std::int64_t{1});
  }
  expect_near_rows_faster(std::move(plan));
}

/// Rows of ghosts are received and sent where they lie; only rows that lie apart are copied behind the wait.
TEST(StepSeconds, RowsOfGhostsThatLieTogetherAreNotCopied) {
  for (const ir::OpKind kind : {ir::OpKind::halo_wait, ir::OpKind::halo_add_start}) {
    ir::Plan plan;
    plan.program.node_sets = {{"nodes", 1000}, {"with_ghosts", 100000}, {"packed", 99000}};
    ir::Type rows;
    rows.domain = ir::Domain::kNode;
    rows.cols = 47;
    rows.set = 1;
    plan.program.values.push_back({"rows", rows});
    rows.set = 2;
    plan.program.values.push_back({"packed", rows});
    ir::Op op;
    op.kind = kind;
    op.inputs = {0, 1};
    plan.program.ops.push_back(op);
    ir::Step step;
    step.op = 0;
    step.bytes = 2 * 99000 * 47 * sizeof(float);
    EXPECT_EQ(step_seconds(default_rates(), plan, step), default_rates().call_seconds);
    plan.strides = {48, 0};
    EXPECT_GT(step_seconds(default_rates(), plan, step), 1000 * default_rates().call_seconds);
  }
}

TEST(StepSeconds, SumsThatBeginWithOwnEdgesPassOverTheirResultMoreOften) {
  ir::Plan plan = plan_of("gcn", {});
  int sums = 0;
  for (const ir::Step& step : plan.steps) {
    ir::Op& op = plan.program.ops[static_cast<std::size_t>(step.op)];
    if (op.kind != ir::OpKind::spmm || step.walks_tiles) continue;
    const double at_once = step_seconds(default_rates(), plan, step);
    op.attrs.set("exchange", std::string("stream"));
    EXPECT_GT(step_seconds(default_rates(), plan, step), at_once);
    ++sums;
  }
  EXPECT_GT(sums, 0);
}

TEST(Reuse, WhatHasLeftTheCacheTakesLonger) {
  passes::Options options;
  options.disabled.insert("fuse_rows");
  const ir::Plan plan = plan_of("gcn", options);
  const auto relu = std::find_if(plan.steps.begin(), plan.steps.end(), [&](const ir::Step& step) {
    return plan.program.ops[static_cast<std::size_t>(step.op)].kind == ir::OpKind::relu;
  });
  ASSERT_NE(relu, plan.steps.end());
  ir::Step near = *relu;
  near.away_bytes = 0;
  ir::Step far = near;
  far.away_bytes = 1e9;
  const Rates& rates = default_rates();
  EXPECT_GT(step_seconds(rates, plan, far) - rates.call_seconds,
            5 * (step_seconds(rates, plan, near) - rates.call_seconds));
}

}  // namespace
}  // namespace gneiss::cost
