// Passes that leave work out or do it twice: rows that the loss does not count, values and features that memory has no
// room for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "ir/text.h"
#include "support/awkward_graph.h"
#include "support/plan_model.h"

namespace gneiss {
namespace {

using ir::Op;
using ir::OpKind;
using ::testing::Contains;
using ::testing::HasSubstr;
using testing::ModelArgs;
using testing::plan_of;
using testing::small;
using testing::small_for;

TEST(LossRows, TheLastAggregationIsOfTheRowsOfTheLossAlone) {
  const data::Dataset dataset = testing::awkward_dataset({});
  passes::Options options;
  options.loss_rows = {3, {5, 8}, 4, 1e9};
  for (const char* model : {"gcn", "sage", "gin", "gat"}) {
    const ModelArgs args = small_for(model, {{"dropout", 0.5}, {"input_dropout", 0.5}});
    const ModelArgs no_gate = std::string(model) == "gat" ? small_for(model, {{"attention_dropout", 0.0}}) : args;
    const ir::Plan plan = plan_of(model, dataset, no_gate, options);
    std::vector<std::int64_t> rows;
    for (const Op& op : plan.program.ops) {
      const bool aggregation = op.kind == OpKind::attention ||
                               (op.kind == OpKind::spmm &&
                                plan.program.graphs[static_cast<std::size_t>(op.attrs.integer("graph", 0))].origin !=
                                    ir::GraphOrigin::kLossRows);
      if (aggregation && op.phase == ir::Phase::kForward) rows.push_back(plan.program.rows(op.results[0]));
      if (op.kind == OpKind::cross_entropy) {
        EXPECT_EQ(plan.program.rows(op.inputs[0]), 3) << model;
      }
      if (op.phase == ir::Phase::kInference && !op.results.empty() &&
          plan.program.type(op.results[0]).domain == ir::Domain::kNode) {
        EXPECT_EQ(plan.program.rows(op.results[0]), dataset.num_nodes()) << model << ": evaluation keeps all rows";
      }
    }
    ASSERT_FALSE(rows.empty()) << model;
    EXPECT_EQ(rows.back(), 3) << model << ": " << ir::print(plan.program);
  }
  for (const char* model : {"gcn", "sage", "gin"}) {
    EXPECT_EQ(plan_of(model, dataset, small({}, 1), options).program.node_sets.size(), 1U)
        << model << ": of one layer only constants are aggregated, which evaluation keeps whole";
  }
  options.loss_rows.most_share = 0;
  options.loss_rows.free_bytes = 0;
  EXPECT_EQ(plan_of("gcn", dataset, small(), options).program.node_sets.size(), 1U);
}

TEST(LossRows, SumsAreMarkedWhereTheirEdgesWouldTakeTooMuch) {
  testing::AwkwardOptions unweighted;
  unweighted.weighted = false;
  const data::Dataset dataset = testing::awkward_dataset(unweighted);
  passes::Options options;
  options.loss_rows = {3, {5, 8}, 4, 0, 0};
  options.factor_degree = 0;
  options.source_tiles = planner::SourceTiling::kOn;
  for (const char* model : {"gcn", "sage", "gin"}) {
    const ir::Plan plan =
        plan_of(model, dataset, small_for(model, {{"dropout", 0.5}, {"input_dropout", 0.5}}), options);
    std::vector<std::string> ends;
    for (const Op& op : plan.program.ops) {
      if (!op.attrs.has("loss")) continue;
      EXPECT_NE(op.phase, ir::Phase::kInference) << model << ": evaluation keeps all rows";
      EXPECT_EQ(op.attrs.integer("loss_edges", 0),
                options.loss_rows.edges[static_cast<std::size_t>(op.attrs.integer("graph", 0))])
          << model;
      EXPECT_GE(plan.loss_tiles_of(op), 0) << model;
      ends.push_back(op.attrs.text("loss", ""));
    }
    EXPECT_THAT(ends, ::testing::ElementsAre("rows", "sources")) << model;
    EXPECT_EQ(plan.loss_tiles.size(), 2U) << model;
  }
  const ir::Plan plan = plan_of("sage", dataset, small(), options);
  EXPECT_GT(plan.loss_tile_bytes(), 0);
  options.loss_rows.edges = {dataset.graph.num_edges() - 1, dataset.graph.num_edges() - 1};
  EXPECT_TRUE(plan_of("sage", dataset, small(), options).loss_tiles.empty()) << "nearly all edges, for as much memory";
  options.loss_rows.edges = {5, 8};
  options.repeats.steps = 2;
  EXPECT_TRUE(plan_of("sage", dataset, small(), options).loss_tiles.empty()) << "two steps do not pay for making them";
}

TEST(LossRows, TheNarrowerEndIsSelected) {
  passes::Options options;
  options.loss_rows = {3, {5, 8}, 4, 1e9};
  const ir::Plan plan =
      plan_of("gat", testing::awkward_dataset({}), small_for("gat", {{"attention_dropout", 0.0}}), options);
  std::int64_t selections = 0;
  for (const Op& op : plan.program.ops) {
    if (op.kind != OpKind::spmm || plan.program.graphs[static_cast<std::size_t>(op.attrs.integer("graph", 0))].origin !=
                                       ir::GraphOrigin::kLossRows)
      continue;
    ++selections;
    EXPECT_EQ(plan.program.type(op.results[0]).cols, 1) << "scores of one head, not the rows that they are made of";
  }
  EXPECT_GT(selections, 0) << ir::print(plan.program);
}

/// Options under which a plan's arena may take so many bytes.
passes::Options arena_limit(std::int64_t bytes) {
  passes::Options options;
  options.excess_bytes = [bytes](const ir::Plan& plan) { return plan.arena_bytes - bytes; };
  return options;
}

TEST(Recompute, FitsTheLimitOrSaysByHowMuchItDoesNot) {
  testing::AwkwardOptions many;
  many.nodes = 2000;
  const data::Dataset dataset = testing::awkward_dataset(many);
  for (const char* model : {"gcn", "sage", "gin", "gat"}) {
    const ModelArgs args = small_for(model, {{"norm", std::string("batch")}, {"dropout", 0.5}});
    const ir::Plan free = plan_of(model, dataset, args);
    const ir::Plan roomy = plan_of(model, dataset, args, arena_limit(free.arena_bytes));
    EXPECT_EQ(ir::print(roomy.program), ir::print(free.program)) << model << ": what fits stays as it is";
    const std::int64_t limit = free.arena_bytes * 9 / 10;
    const ir::Plan tight = plan_of(model, dataset, args, arena_limit(limit));
    EXPECT_LE(tight.arena_bytes, limit) << model;
    EXPECT_GT(tight.program.ops.size(), free.program.ops.size()) << model;
    try {
      plan_of(model, dataset, args, arena_limit(1));
      FAIL() << model << " in one byte";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory);
    }
  }
}

TEST(Recompute, TakesWhatIsCheapWithoutALimit) {
  testing::AwkwardOptions many;
  many.nodes = 2000;
  const data::Dataset dataset = testing::awkward_dataset(many);
  for (const char* model : {"gcn", "gin"}) {
    const ModelArgs args = small({{"dropout", 0.5}}, 3);
    const ir::Plan kept = plan_of(model, dataset, args);
    passes::Options options;
    options.recompute_limits = {0, 0.01, 0.2, 0.2, 1e-3};
    const ir::Plan cheap = plan_of(model, dataset, args, options);
    EXPECT_LT(cheap.lasting_arena_bytes, kept.lasting_arena_bytes) << model;
    options.recompute_limits.exchange = 1e3;
    EXPECT_EQ(ir::print(plan_of(model, dataset, args, options).program), ir::print(kept.program))
        << model << ": little for its time";
    options.recompute_limits = {0, 0.01, -1, -1};
    EXPECT_EQ(ir::print(plan_of(model, dataset, args, options).program), ir::print(kept.program))
        << model << ": no time for it";
    options.recompute_limits = {0, 0.01, -1, 0.2, 1e-3, 0, 0};
    EXPECT_EQ(ir::print(plan_of(model, dataset, args, options).program), ir::print(cheap.program))
        << model << ": worth more time";
    options.recompute_limits.least_more_bytes = std::int64_t{1} << 40;
    EXPECT_EQ(ir::print(plan_of(model, dataset, args, options).program), ir::print(kept.program))
        << model << ": a few bytes more";
    options.recompute_limits.least_more_bytes = 0;
    options.recompute_limits.exchange = 1e3;
    EXPECT_EQ(ir::print(plan_of(model, dataset, args, options).program), ir::print(kept.program))
        << model << ": not worth more time";
    options.recompute_limits = {0, 0.01, -1, 0.2, 1e-3, std::int64_t{1} << 50, 0};
    EXPECT_EQ(ir::print(plan_of(model, dataset, args, options).program), ir::print(kept.program))
        << model << ": little of all memory";
    options.recompute_limits = {std::int64_t{1} << 40, 0.01, 1e9, 1e9};
    EXPECT_EQ(ir::print(plan_of(model, dataset, args, options).program), ir::print(kept.program))
        << model << ": a small arena";
  }
}

TEST(Recompute, MakesActivationsOnceOrForEachBandThatReadsThem) {
  const ModelArgs args = {{"hidden_channels", std::int64_t{32}},
                          {"num_layers", std::int64_t{3}},
                          {"heads", std::int64_t{4}},
                          {"dropout", 0.0},
                          {"input_dropout", 0.0},
                          {"attention_dropout", 0.0}};
  const ir::Program program = plan_of("gat", testing::awkward_dataset({}), args).program;
  const auto elu = std::find_if(program.ops.begin(), program.ops.end(),
                                [&](const Op& op) { return program.value_name(op.results[0]).starts_with("elu"); });
  const auto gemm = std::find_if(elu, program.ops.end(), [&](const Op& op) { return op.inputs[0] == elu->results[0]; });
  ASSERT_NE(gemm, program.ops.end());
  const ir::ValueId activation = elu->results[0];
  const auto made_in_backward = [&](const std::set<ir::ValueId>& for_each_band) {
    const ir::Program again = passes::recompute(program, {activation, gemm->results[0]}, for_each_band);
    return std::count_if(again.ops.begin(), again.ops.end(), [&](const Op& op) {
      return op.phase == ir::Phase::kBackward &&
             again.value_name(op.results[0]).starts_with(program.value_name(activation) + ".again");
    });
  };
  // For the product of the next layer, whose rows the backward of its attention gathers, and for the product's
  // gradients after that.
  EXPECT_EQ(made_in_backward({}), 1);
  EXPECT_EQ(made_in_backward({activation}), 2);
}

TEST(StreamFeatures, LeavesFeaturesInTheirFileWhereEveryOpReadsThemRowByRow) {
  const data::Dataset dataset = testing::awkward_dataset({});
  passes::Options options;
  options.file_room.features = true;
  options.stream_limits = {0, 1e9};
  for (const char* model : {"gcn", "sage", "gat"}) {
    options.order =
        std::string(model) == "sage" ? passes::OrderChoice::kAggregateFirst : passes::OrderChoice::kTransformFirst;
    const ir::Plan plan = plan_of(model, dataset, small_for(model), options);
    EXPECT_TRUE(plan.features_streamed) << model;
    std::int64_t reads = 0;
    for (const ir::Step& step : plan.steps) {
      const Op& op = plan.program.ops[static_cast<std::size_t>(step.op)];
      if (!planner::works_in_file(plan, op)) continue;
      ++reads;
      ASSERT_GE(step.band, 0) << model;
      EXPECT_TRUE(plan.bands[static_cast<std::size_t>(step.band)].streams) << model;
    }
    EXPECT_GE(reads, 2) << model << ": forward, backward";
  }
  passes::Options in_memory = options;
  in_memory.file_room.features = false;
  EXPECT_FALSE(plan_of("gat", dataset, small_for("gat"), in_memory).features_streamed);
  passes::Options no_time = options;
  no_time.stream_limits.most_time = 0;
  EXPECT_FALSE(plan_of("gat", dataset, small_for("gat"), no_time).features_streamed);
  options.order = passes::OrderChoice::kAggregateFirst;
  EXPECT_FALSE(plan_of("gcn", dataset, small(), options).features_streamed) << "nothing reads them after the setup";
}

TEST(StreamFeatures, LeavesWhatIsMadeOfThemOnceInAFile) {
  const data::Dataset dataset = testing::awkward_dataset({});
  passes::Options options;
  options.order = passes::OrderChoice::kAggregateFirst;
  options.file_room.scratch_bytes = std::int64_t{1} << 30;
  options.stream_limits = {0, 1e9};
  for (const char* model : {"gcn", "sage", "gin"}) {
    const ir::Plan plan = plan_of(model, dataset, small_for(model), options);
    ASSERT_FALSE(plan.file_constants.empty()) << model;
    EXPECT_FALSE(plan.features_streamed) << model << ": they are in memory";
    std::int64_t bytes = 0;
    for (const ir::ValueId v : plan.file_constants) {
      const ir::Placement& place = plan.placements[static_cast<std::size_t>(v)];
      EXPECT_EQ(place.storage, ir::Storage::kFile) << model;
      EXPECT_LE(place.offset_bytes + place.bytes, plan.file_bytes) << model;
      bytes += place.bytes;
    }
    EXPECT_GE(plan.file_bytes, bytes) << model;
    bool made = false;
    for (const ir::Step& step : plan.steps) {
      const Op& op = plan.program.ops[static_cast<std::size_t>(step.op)];
      if (!planner::works_in_file(plan, op)) continue;
      ASSERT_GE(step.band, 0) << model;
      EXPECT_TRUE(plan.bands[static_cast<std::size_t>(step.band)].streams) << model;
      made = made || op.phase == ir::Phase::kSetup;
    }
    EXPECT_TRUE(made) << model;
    for (const ir::Step& step : plan.steps) {
      const Op& op = plan.program.ops[static_cast<std::size_t>(step.op)];
      if (op.kind != OpKind::spmm || op.phase != ir::Phase::kSetup || plan.program.type(op.results[0]).cols == 1)
        continue;
      const ir::Storage storage = plan.placements[static_cast<std::size_t>(op.results[0])].storage;
      EXPECT_TRUE(storage == ir::Storage::kFile || storage == ir::Storage::kBand)
          << model << ": no sum is whole in memory";
    }
    passes::Options no_room = options;
    no_room.file_room.scratch_bytes = 16;
    const ir::Plan in_memory = plan_of(model, dataset, small_for(model), no_room);
    EXPECT_EQ(in_memory.file_bytes, 0) << model;
    EXPECT_GE(in_memory.constant_bytes, plan.constant_bytes + bytes) << model;
  }
  options.source_tiles = planner::SourceTiling::kOn;
  const ir::Plan tiled = plan_of("sage", dataset, small(), options);
  for (const ir::ValueId v : tiled.file_constants)
    EXPECT_EQ(tiled.program.type(v).cols, 1) << "tile by tile, all of a sum is in memory once";
}

TEST(Structures, IdsOfEdgesAreNeededUpToTheLastStepOfTheSetupThatReadsThem) {
  passes::Options options;
  options.order = passes::OrderChoice::kAggregateFirst;
  options.source_tiles = planner::SourceTiling::kOn;
  options.disabled = {"factor_weights"};
  const ir::Plan plan = plan_of("gcn", testing::awkward_dataset({}), small(), options);
  const auto step_of = [&](OpKind kind) {
    const auto at = std::find_if(plan.steps.begin(), plan.steps.end(), [&](const ir::Step& step) {
      return plan.program.ops[static_cast<std::size_t>(step.op)].kind == kind;
    });
    return static_cast<std::int32_t>(at - plan.steps.begin());
  };
  const auto looped = static_cast<std::int32_t>(plan.graph_uses.size()) - 1;
  ASSERT_NE(plan.release_of(ir::Released::kInEdges, looped), nullptr);
  EXPECT_GE(plan.release_of(ir::Released::kInEdges, looped)->after, 0) << "weights look them up";
  EXPECT_LT(plan.release_of(ir::Released::kInEdges, looped)->after, step_of(OpKind::spmm))
      << "which reads them by tiles";
  ASSERT_NE(plan.release_of(ir::Released::kGivenEdges), nullptr);
  EXPECT_EQ(plan.release_of(ir::Released::kGivenEdges)->after, ir::Release::kAtOnce);
}

}  // namespace
}  // namespace gneiss
