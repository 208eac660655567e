// A schedule tile reaches the pass that it speaks to, layer by layer, and a choice made for the run stands above it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "jobs/job.h"
#include "support/awkward_graph.h"
#include "train/session.h"

namespace gneiss {
namespace {

constexpr const char* kNet =
    "model net() {\n"
    "  h = relu(gcn(dropout(features, 0.5), 8));\n"
    "  return gcn(h, num_classes);\n"
    "}\n";

/// "(AX)W A(XW)": the orders that the pass chose, in the order of the program.
std::string orders(const std::string& schedule, passes::OrderChoice choice = passes::OrderChoice::kAuto) {
  const std::string path = ::testing::TempDir() + "scheduled.gneiss";
  std::ofstream(path) << kNet << schedule;
  train::SessionOptions options;
  options.model = path;
  options.passes.order = choice;
  const ir::Plan plan = train::make_blueprint(testing::awkward_dataset({}), options).plan;
  std::remove(path.c_str());
  const auto report = std::find_if(plan.passes.begin(), plan.passes.end(),
                                   [](const ir::PassReport& pass) { return pass.name == "choose_order"; });
  std::string text;
  for (const std::string& decision : report->decisions) {
    text += decision.find("(AX)W") != std::string::npos ? "(AX)W " : "A(XW) ";
  }
  return text;
}

TEST(Schedule, SetsTheOrderOfEachLayer) {
  EXPECT_EQ(orders("schedule { layer 1: order = aggregate_first; layer 2: order = transform_first; }"), "(AX)W A(XW) ");
  EXPECT_EQ(orders("schedule { layer 1: order = transform_first; layer 2: order = aggregate_first; }"), "A(XW) (AX)W ");
}

TEST(Schedule, AnEntryWithoutALayerHoldsForAllOthers) {
  EXPECT_EQ(orders("schedule { order = aggregate_first; layer 2: order = transform_first; }"), "(AX)W A(XW) ");
  EXPECT_EQ(orders("schedule { order = transform_first; }"), "A(XW) A(XW) ");
}

TEST(Schedule, AChoiceForTheRunStandsAboveIt) {
  EXPECT_EQ(orders("schedule { order = transform_first; }", passes::OrderChoice::kAggregateFirst), "(AX)W (AX)W ");
}

/// The plan of the two layers under a schedule, on dense or sparse features.
ir::Plan plan_under(const std::string& schedule, bool sparse_features = false, const passes::Options& passes = {}) {
  const std::string path = ::testing::TempDir() + "scheduled_plan.gneiss";
  std::ofstream(path) << kNet << schedule;
  train::SessionOptions options;
  options.model = path;
  options.passes = passes;
  testing::AwkwardOptions awkward;
  awkward.sparse_features = sparse_features;
  ir::Plan plan = train::make_blueprint(testing::awkward_dataset(awkward), options).plan;
  std::remove(path.c_str());
  return plan;
}

std::int64_t count(const ir::Plan& plan, ir::OpKind kind) {
  return std::count_if(plan.program.ops.begin(), plan.program.ops.end(),
                       [&](const ir::Op& op) { return op.kind == kind; });
}

TEST(Schedule, SetsTheSparsePath) {
  EXPECT_GT(count(plan_under("schedule { order = transform_first; sparse = sparse; }", true), ir::OpKind::spx_gemm), 0);
  EXPECT_EQ(count(plan_under("schedule { order = transform_first; sparse = dense; }", true), ir::OpKind::spx_gemm), 0);
  passes::Options run;
  run.sparse_path = passes::SparsePath::kDense;
  EXPECT_EQ(
      count(plan_under("schedule { order = transform_first; sparse = sparse; }", true, run), ir::OpKind::spx_gemm), 0);
}

TEST(Schedule, SetsTilesOfSources) {
  EXPECT_GT(plan_under("schedule { tiles = on; }").graph_uses[1].in_tile, 0);
  EXPECT_EQ(plan_under("schedule { tiles = off; }").graph_uses[1].in_tile, 0);
  EXPECT_GT(plan_under("schedule { blocks = on; }").graph_uses[1].in_tile, 0) << "the key's older name";
  passes::Options run;
  run.source_tiles = planner::SourceTiling::kOff;
  EXPECT_EQ(plan_under("schedule { tiles = on; }", false, run).graph_uses[1].in_tile, 0);
}

TEST(Schedule, SwitchesHoistingAndFusionOff) {
  const auto in_setup = [](const ir::Plan& plan, ir::OpKind kind) {
    return std::any_of(plan.program.ops.begin(), plan.program.ops.end(),
                       [&](const ir::Op& op) { return op.kind == kind && op.phase == ir::Phase::kSetup; });
  };
  EXPECT_TRUE(in_setup(plan_under(""), ir::OpKind::rsqrt));
  EXPECT_FALSE(in_setup(plan_under("schedule { hoist = off; }"), ir::OpKind::rsqrt));
  EXPECT_FALSE(plan_under("").bands.empty());
  const ir::Plan unfused = plan_under("schedule { fuse = off; }");
  EXPECT_TRUE(unfused.bands.empty());
  EXPECT_EQ(count(unfused, ir::OpKind::spmm), 0);
  EXPECT_GT(count(unfused, ir::OpKind::gather_src), 0);
}

TEST(Schedule, SetsTheOrderOfTheNodes) {
  const std::string path = ::testing::TempDir() + "scheduled_order.gneiss";
  std::ofstream(path) << kNet << "schedule { reorder = degree; }";
  settings::Config config;
  config.set("data.name", "karate", settings::Origin::kFlag, "DATA");
  config.set("model.name", path, settings::Origin::kFlag, "--model");
  EXPECT_EQ(jobs::plan(config, {}).reorder.method, "degree");
  config.set("train.reorder", "none", settings::Origin::kFlag, "--reorder");
  EXPECT_EQ(jobs::plan(config, {}).reorder.method, "none");
  std::remove(path.c_str());
}

}  // namespace
}  // namespace gneiss
