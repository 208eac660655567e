// Bands of rows and places in memory: what the planner promises of real models.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "ir/text.h"
#include "planner/row_padding.h"
#include "support/awkward_graph.h"
#include "support/plan_model.h"

namespace gneiss {
namespace {

using ir::Op;
using ir::OpKind;
using testing::plan_of;
using testing::small;
using testing::small_for;

/// Time between making and last reading, by op index.
struct Life {
  std::int64_t begin;
  std::int64_t end;
};

std::vector<Life> lives(const ir::Program& program) {
  std::vector<Life> all(program.values.size(), {-1, -1});
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    for (const ir::ValueId r : program.ops[i].results) {
      if (r != ir::kNoValue)
        all[static_cast<std::size_t>(r)] = {static_cast<std::int64_t>(i), static_cast<std::int64_t>(i)};
    }
    for (const ir::ValueId v : program.ops[i].inputs)
      all[static_cast<std::size_t>(v)].end = static_cast<std::int64_t>(i);
  }
  return all;
}

TEST(PlanMemory, ValuesAliveTogetherNeverOverlap) {
  const data::Dataset dataset = testing::awkward_dataset({});
  for (const char* model : {"gcn", "sage", "gin", "gat"}) {
    const ir::Plan plan = plan_of(model, dataset, small_for(model, {{"norm", std::string("batch")}, {"dropout", 0.3}}));
    const std::vector<Life> all = lives(plan.program);
    std::int64_t peak = 0;
    for (std::size_t a = 0; a < all.size(); ++a) {
      const ir::Placement& pa = plan.placements[a];
      if (pa.storage != ir::Storage::kArena) continue;
      peak = std::max(peak, pa.offset_bytes + pa.bytes);
      EXPECT_EQ(pa.offset_bytes % 64, 0);
      for (std::size_t b = a + 1; b < all.size(); ++b) {
        const ir::Placement& pb = plan.placements[b];
        if (pb.storage != ir::Storage::kArena) continue;
        // A result may take the place of an operand that dies in the op that makes it, so touching ends are no overlap
        // where the later value's op works in place; strictly overlapping lives are.
        const bool together = all[a].begin < all[b].end && all[b].begin < all[a].end && all[a].end != all[b].begin &&
                              all[b].end != all[a].begin;
        const bool apart =
            pa.offset_bytes + pa.bytes <= pb.offset_bytes || pb.offset_bytes + pb.bytes <= pa.offset_bytes;
        EXPECT_TRUE(!together || apart) << model << ": %" << plan.program.values[a].name << " and %"
                                        << plan.program.values[b].name;
      }
    }
    EXPECT_LE(peak, plan.arena_bytes) << model;
  }
}

/// Ops of a band, in running order.
std::vector<Op> ops_of(const ir::Plan& plan, const ir::RowBand& band) {
  std::vector<Op> ops;
  for (std::int32_t i = band.first_step; i <= band.last_step; ++i) {
    ops.push_back(plan.program.ops[static_cast<std::size_t>(plan.steps[static_cast<std::size_t>(i)].op)]);
  }
  return ops;
}

TEST(PlanMemory, ValuesOfABandShareAPlaceRowByRowOnly) {
  const data::Dataset dataset = testing::awkward_dataset({});
  for (const char* model : {"gcn", "sage", "gin", "gat"}) {
    const ir::Plan plan = plan_of(model, dataset, small_for(model, {{"dropout", 0.3}}));
    ASSERT_FALSE(plan.bands.empty()) << model;
    for (const ir::RowBand& band : plan.bands) {
      std::set<ir::ValueId> touched;
      std::set<ir::ValueId> whole;
      for (const Op& op : ops_of(plan, band)) {
        touched.insert(op.inputs.begin(), op.inputs.end());
        touched.insert(op.results.begin(), op.results.end());
        for (std::size_t k = 0; k < op.inputs.size(); ++k) {
          if (ir::reads_whole(op, k)) whole.insert(op.inputs[k]);
        }
      }
      touched.erase(ir::kNoValue);
      for (const ir::ValueId a : touched) {
        for (const ir::ValueId b : touched) {
          const ir::Placement& pa = plan.placements[static_cast<std::size_t>(a)];
          const ir::Placement& pb = plan.placements[static_cast<std::size_t>(b)];
          if (a == b || pa.storage != ir::Storage::kArena || pb.storage != ir::Storage::kArena) continue;
          const bool apart =
              pa.offset_bytes + pa.bytes <= pb.offset_bytes || pb.offset_bytes + pb.bytes <= pa.offset_bytes;
          const bool same_rows = pa.offset_bytes == pb.offset_bytes && plan.program.type(a) == plan.program.type(b);
          EXPECT_TRUE(apart || (same_rows && whole.count(a) + whole.count(b) == 0))
              << model << ": %" << plan.program.value_name(a) << " and %" << plan.program.value_name(b);
        }
      }
    }
  }
}

TEST(FuseRows, GroupsALayerWithWhatFollowsIt) {
  const ir::Plan plan = plan_of("gcn", testing::awkward_dataset({}), small());
  std::vector<std::string> groups;
  for (const ir::RowBand& band : plan.bands) {
    std::string names;
    for (const Op& op : ops_of(plan, band)) names += std::string(ir::traits(op.kind).name) + " ";
    groups.push_back(names);
  }
  // Forward: a product, what follows it, the next product; an aggregation and its bias. Backward: gradients and their
  // sums.
  EXPECT_THAT(groups, ::testing::Contains("gemm relu dropout gemm "));
  EXPECT_THAT(groups, ::testing::Contains("spmm add cross_entropy sum_rows "));
  EXPECT_THAT(groups, ::testing::Contains(::testing::HasSubstr("gemm dropout unary_grad sum_rows gemm ")));
}

TEST(FuseRows, WeightGradientsOfWideFeaturesRunByThemselves) {
  for (const std::int64_t width : {256, 257}) {
    testing::AwkwardOptions wide;
    wide.features = width;
    const ir::Plan plan = plan_of("mlp", testing::awkward_dataset(wide), small());
    const auto gradient = std::find_if(plan.steps.begin(), plan.steps.end(), [&](const ir::Step& step) {
      const Op& op = plan.program.ops[static_cast<std::size_t>(step.op)];
      return op.kind == OpKind::gemm && op.attrs.integer("ta", 0) != 0 && plan.program.type(op.inputs[0]).cols == width;
    });
    ASSERT_NE(gradient, plan.steps.end());
    EXPECT_EQ(gradient->band<0, width> 256) << width;
  }
}

TEST(FuseRows, TheBandOfTheLossGoesOnIntoBackward) {
  const data::Dataset dataset = testing::awkward_dataset({});
  for (const char* model : {"gin", "gat"}) {
    passes::Options options;
    options.order = passes::OrderChoice::kAggregateFirst;
    const ir::Plan plan = plan_of(model, dataset, small_for(model), options);
    const auto loss = std::find_if(plan.steps.begin(), plan.steps.end(), [&](const ir::Step& step) {
      return ir::is_training_loss(plan.program.ops[static_cast<std::size_t>(step.op)]);
    });
    ASSERT_GE(loss->band, 0) << model;
    const std::vector<Op> ops = ops_of(plan, plan.bands[static_cast<std::size_t>(loss->band)]);
    EXPECT_EQ(ops.front().phase, ir::Phase::kForward) << model;
    EXPECT_EQ(ops.back().phase, ir::Phase::kBackward) << model;
    const ir::ValueId gradient = plan.program.ops[static_cast<std::size_t>(loss->op)].results[1];
    EXPECT_EQ(plan.placements[static_cast<std::size_t>(gradient)].storage, ir::Storage::kBand)
        << model << ": no other band reads it";
  }
}

TEST(FuseRows, WhatIsMadeAgainIsMadeInTheBandThatReadsIt) {
  testing::AwkwardOptions many;
  many.nodes = 2000;
  passes::Options options;
  options.recompute_limits = {0, 0.01, 0.2};
  const testing::ModelArgs args = {{"hidden_channels", std::int64_t{16}},
                                   {"num_layers", std::int64_t{3}},
                                   {"heads", std::int64_t{2}},
                                   {"dropout", 0.0},
                                   {"input_dropout", 0.0},
                                   {"attention_dropout", 0.0}};
  const ir::Plan plan = plan_of("gat", testing::awkward_dataset(many), args, options);
  std::int64_t made_beside = 0;
  for (const Op& op : plan.program.ops) {
    if (op.kind != OpKind::attention_grad) continue;
    const ir::Placement& z = plan.placements[static_cast<std::size_t>(op.inputs[0])];
    made_beside += z.storage == ir::Storage::kBand ? 1 : 0;
    for (std::size_t k = 2; k < op.inputs.size(); ++k) {
      EXPECT_NE(plan.placements[static_cast<std::size_t>(op.inputs[k])].storage, ir::Storage::kBand)
          << "read on other rows";
    }
  }
  EXPECT_GT(made_beside, 0) << ir::print(plan.program);
}

TEST(FuseRows, NoOpOfABandNeedsWhatAnotherHasOnlyInTheEnd) {
  for (const char* model : {"gcn", "sage", "gin", "gat"}) {
    const ir::Plan plan = plan_of(model, testing::awkward_dataset({}), small_for(model, {{"jk", std::string("cat")}}));
    for (const ir::RowBand& band : plan.bands) {
      EXPECT_GT(band.last_step, band.first_step);
      EXPECT_GE(band.rows, band.tasks);
      std::set<ir::ValueId> made;
      const std::vector<Op> ops = ops_of(plan, band);
      for (const Op& op : ops) {
        EXPECT_TRUE(op.phase == ops[0].phase ||
                    (op.phase == ir::Phase::kBackward && ops[0].phase == ir::Phase::kForward))
            << model;
        EXPECT_EQ(plan.program.rows(ir::row_value(op)), band.rows);
        for (std::size_t k = 0; k < op.inputs.size(); ++k) {
          if (made.count(op.inputs[k]) == 0) continue;
          EXPECT_FALSE(ir::reads_whole(op, k)) << model;
          EXPECT_NE(plan.program.type(op.inputs[k]).domain, ir::Domain::kGlobal) << model;
        }
        made.insert(op.results.begin(), op.results.end());
      }
    }
  }
}

TEST(PlanMemory, WhatAConstantIsMadeOfInPlaceLiesThere) {
  testing::AwkwardOptions unweighted;
  unweighted.weighted = false;
  passes::Options options;
  options.factor_degree = 0;                    // the aggregated features are scaled by rows at last,
  options.disabled.insert("fuse_elementwise");  // by an op of its own
  options.order = passes::OrderChoice::kAggregateFirst;
  const ir::Plan plan = plan_of("gcn", testing::awkward_dataset(unweighted), small(), options);
  const auto& ops = plan.program.ops;
  const auto scaling = std::find_if(ops.begin(), ops.end(), [&](const Op& op) {
    return op.kind == OpKind::mul && op.phase == ir::Phase::kSetup &&
           plan.placements[static_cast<std::size_t>(op.results[0])].storage == ir::Storage::kConstant;
  });
  ASSERT_NE(scaling, ops.end()) << ir::print(plan.program);
  const ir::Placement& constant = plan.placements[static_cast<std::size_t>(scaling->results[0])];
  const ir::Placement& sum = plan.placements[static_cast<std::size_t>(scaling->inputs[0])];
  EXPECT_EQ(sum.storage, ir::Storage::kConstant);
  EXPECT_EQ(sum.offset_bytes, constant.offset_bytes);
}

/// Where a value lies that lives in a band no longer than until an op makes of it, in place, a value that is kept.
TEST(PlanMemory, AProductWritesWhereWhatIsMadeOfItStays) {
  std::int64_t products = 0;
  for (const char* model : {"gcn", "sage", "gin", "mlp"}) {
    passes::Options options;
    options.order = passes::OrderChoice::kAggregateFirst;
    const ir::Plan plan = plan_of(model, testing::awkward_dataset({}), small_for(model, {{"dropout", 0.0}}), options);
    const auto& ops = plan.program.ops;
    const std::vector<std::int32_t> makers = ir::producers(plan.program);
    for (const Op& op : ops) {
      if (op.kind != OpKind::relu || op.phase != ir::Phase::kForward) continue;
      const Op& maker = ops[static_cast<std::size_t>(makers[static_cast<std::size_t>(op.inputs[0])])];
      const ir::Placement& made = plan.placements[static_cast<std::size_t>(op.inputs[0])];
      const ir::Placement& kept = plan.placements[static_cast<std::size_t>(op.results[0])];
      if (maker.kind != OpKind::gemm || kept.storage != ir::Storage::kArena) continue;
      ++products;
      EXPECT_EQ(made.storage, ir::Storage::kArena) << model;
      EXPECT_EQ(made.offset_bytes, kept.offset_bytes) << model;
    }
  }
  EXPECT_GT(products, 0);
}

TEST(PlanMemory, TheGradientOfALossLiesWhereTheLogitsDid) {
  passes::Options options;
  options.disabled = {"fuse_rows"};  // in a band, the logits would not be in the arena at all
  const ir::Plan plan = plan_of("gcn", testing::awkward_dataset({}), small(), options);
  const auto& ops = plan.program.ops;
  const auto loss = std::find_if(ops.begin(), ops.end(), [](const Op& op) { return op.kind == OpKind::cross_entropy; });
  ASSERT_NE(loss, ops.end());
  const ir::Placement& logits = plan.placements[static_cast<std::size_t>(loss->inputs[0])];
  const ir::Placement& gradient = plan.placements[static_cast<std::size_t>(loss->results[1])];
  EXPECT_EQ(logits.storage, ir::Storage::kArena);
  EXPECT_EQ(gradient.offset_bytes, logits.offset_bytes);
}

TEST(PlanMemory, TheSetupIsCountedByItself) {
  testing::AwkwardOptions unweighted;
  unweighted.weighted = false;
  passes::Options options;
  options.factor_degree = 100;  // weights on the edges
  options.order = passes::OrderChoice::kAggregateFirst;
  const ir::Plan plan = plan_of("gcn", testing::awkward_dataset(unweighted), small(), options);
  EXPECT_EQ(plan.arena_bytes, std::max(plan.setup_arena_bytes, plan.lasting_arena_bytes));
  for (const Op& op : plan.program.ops) {
    for (const ir::ValueId r : op.results) {
      const ir::Placement place = r == ir::kNoValue ? ir::Placement() : plan.placements[static_cast<std::size_t>(r)];
      if (place.storage != ir::Storage::kArena) continue;
      EXPECT_LE(place.offset_bytes + place.bytes,
                op.phase == ir::Phase::kSetup ? plan.setup_arena_bytes : plan.lasting_arena_bytes);
    }
  }
  // GCN on aggregated features: neither they nor the graph as it was given are read again.
  EXPECT_FALSE(plan.features_kept);
  EXPECT_FALSE(plan.graph_uses[0].used);
  EXPECT_EQ(plan.release_of(ir::Released::kInEdges, 1), nullptr);
  options.order = passes::OrderChoice::kTransformFirst;
  EXPECT_TRUE(plan_of("gcn", testing::awkward_dataset(unweighted), small(), options).features_kept);
  options.source_tiles = planner::SourceTiling::kOn;
  options.factor_degree = 0;
  EXPECT_NE(
      plan_of("gcn", testing::awkward_dataset(unweighted), small(), options).release_of(ir::Released::kInEdges, 1),
      nullptr)
      << "read cut by sources";
  options.order = passes::OrderChoice::kAggregateFirst;
  const ir::Plan cut = plan_of("gcn", testing::awkward_dataset(unweighted), small(), options);
  EXPECT_TRUE(cut.graph_uses[1].used);
  ASSERT_NE(cut.release_of(ir::Released::kInEdges, 1), nullptr);
  EXPECT_EQ(cut.release_of(ir::Released::kInEdges, 1)->after, ir::Release::kBeforeSetup)
      << "by the setup too; degrees need no ids";
}

TEST(SplitBands, CutsWhereItSavesMemoryAndTimeAllows) {
  const data::Dataset dataset = testing::awkward_dataset({});
  const auto arena = [&](std::int64_t least, double time, std::size_t* bands) {
    passes::Options options;
    options.split_limits = {least, 0.01, time};
    const ir::Plan plan = plan_of("gin", dataset, small_for("gin", {{"dropout", 0.0}}), options);
    *bands = plan.bands.size();
    return plan.arena_bytes;
  };
  std::size_t whole = 0;
  std::size_t cut = 0;
  std::size_t now = 0;
  const std::int64_t whole_bytes = arena(std::int64_t{1} << 40, 1e9, &whole);
  EXPECT_LT(arena(0, 1e9, &cut), whole_bytes);
  EXPECT_NE(cut, whole);
  EXPECT_EQ(arena(0, 0, &now), whole_bytes) << "no time to spare";
  EXPECT_EQ(now, whole);
}

TEST(PlanMemory, SharesMemory) {
  testing::AwkwardOptions many;  // so that values outweigh the scratch of kernels
  many.nodes = 2000;
  const ir::Plan plan = plan_of("gcn", testing::awkward_dataset(many), small({}, 6));
  std::int64_t sum = 0;
  for (const ir::Placement& place : plan.placements) {
    if (place.storage == ir::Storage::kArena) sum += place.bytes;
  }
  EXPECT_LT(plan.arena_bytes, sum / 2);
}

TEST(PlanMemory, OnlyRowsOfABandExistOfWhatNoOtherOpReads) {
  for (const char* model : {"gcn", "sage", "gin", "gat"}) {
    const ir::Plan plan = plan_of(model, testing::awkward_dataset({}), small_for(model));
    std::int64_t found = 0;
    for (std::size_t v = 0; v < plan.placements.size(); ++v) {
      if (plan.placements[v].storage != ir::Storage::kBand) continue;
      ++found;
      std::int32_t band = -1;
      for (const ir::Step& step : plan.steps) {
        const Op& op = plan.program.ops[static_cast<std::size_t>(step.op)];
        const auto is = [&](ir::ValueId value) { return value == static_cast<ir::ValueId>(v); };
        const bool made = std::any_of(op.results.begin(), op.results.end(), is);
        const bool read = std::any_of(op.inputs.begin(), op.inputs.end(), is);
        if (made) band = step.band;
        if (!made && !read) continue;
        EXPECT_GE(step.band, 0) << model;
        EXPECT_EQ(step.band, band) << model;
        const std::int64_t rows = plan.bands[static_cast<std::size_t>(step.band)].band_rows;
        EXPECT_LE(plan.placements[v].offset_bytes + rows * plan.program.values[v].type.cols * 4, plan.band_bytes)
            << model;
        for (std::size_t k = 0; k < op.inputs.size(); ++k)
          EXPECT_FALSE(is(op.inputs[k]) && ir::reads_whole(op, k)) << model;
      }
      for (const ir::Output& output : plan.program.outputs)
        EXPECT_NE(output.value, static_cast<ir::ValueId>(v)) << output.name;
    }
    EXPECT_GT(found, 3) << model;
  }
}

TEST(RowPadding, TakesWhereItSavesLines) {
  EXPECT_EQ(planner::lines_of_row(64), 1);
  EXPECT_EQ(planner::lines_of_row(160), 3);      // starts at 0 or 32 of a line
  EXPECT_EQ(planner::lines_of_row(188), 3.875);  // 2 of 16 starts touch 3 lines, the others 4
  EXPECT_EQ(planner::padded_row_bytes(188), 192);
  EXPECT_EQ(planner::padded_row_bytes(164), 192);
  EXPECT_EQ(planner::padded_row_bytes(28), 32);
  EXPECT_EQ(planner::padded_row_bytes(160), 160) << "as many lines either way";
  EXPECT_EQ(planner::padded_row_bytes(100), 100) << "28 % more memory";
  EXPECT_EQ(planner::padded_row_bytes(484), 484) << "8 lines instead of 8.5";
  for (const std::int64_t whole : {4, 8, 16, 32, 64, 128, 400 - 16}) EXPECT_EQ(planner::padded_row_bytes(whole), whole);
}

TEST(RowPadding, RowsThatAreReadAtRandomLieApart) {
  testing::AwkwardOptions seven;
  seven.classes = 7;
  for (const char* model : {"gcn", "sage"}) {
    const ir::Plan plan = plan_of(model, testing::awkward_dataset(seven),
                                  {{"hidden_channels", std::int64_t{64}}, {"num_layers", std::int64_t{2}}});
    std::int64_t found = 0;
    for (std::size_t v = 0; v < plan.placements.size(); ++v) {
      const ir::Placement& place = plan.placements[v];
      const ir::Type& type = plan.program.values[v].type;
      if (plan.stride(static_cast<ir::ValueId>(v)) == type.cols) continue;
      ++found;
      EXPECT_EQ(type.cols, 7) << model;
      EXPECT_EQ(plan.stride(static_cast<ir::ValueId>(v)), 8) << model;
      EXPECT_EQ(place.bytes, plan.program.rows(type) * 32) << model;
    }
    EXPECT_GT(found, 0) << model << ": the last layer aggregates its 7 columns\n" << ir::print(plan.program);
  }
}

TEST(GroupRows, OpsOnOtherRowsMoveOutOfTheWay) {
  // GIN's gradient of its own rows is made between the two aggregations of the last layer's.
  passes::Options options;
  options.loss_rows = {3, {5, 8}, 4, 1e9};
  const auto bands_of_aggregations = [&] {
    const ir::Plan plan = plan_of("gin", testing::awkward_dataset({}), small(), options);
    std::vector<std::int32_t> bands;
    for (const ir::Step& step : plan.steps) {
      const Op& op = plan.program.ops[static_cast<std::size_t>(step.op)];
      if (op.phase == ir::Phase::kBackward && op.kind == OpKind::spmm) bands.push_back(step.band);
    }
    return bands;
  };
  const std::vector<std::int32_t> together = bands_of_aggregations();
  ASSERT_GE(together.size(), 2U);
  EXPECT_GE(together[0], 0);
  EXPECT_EQ(together[0], together[1]);
  options.disabled = {"group_rows"};
  const std::vector<std::int32_t> apart = bands_of_aggregations();
  EXPECT_NE(apart[0], apart[1]) << "the pass has something to do";
}

}  // namespace
}  // namespace gneiss
