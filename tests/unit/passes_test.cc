// What each pass does to the programs of real models.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "ir/text.h"
#include "passes/pipeline.h"
#include "passes/to_blocks.h"
#include "runtime/structures.h"
#include "support/awkward_graph.h"
#include "support/plan_model.h"

namespace gneiss {
namespace {

using ir::Op;
using ir::OpKind;
using testing::count;
using testing::ModelArgs;
using testing::plan_of;
using testing::small;
using testing::small_for;

data::Dataset undirected_dataset() {
  data::Dataset dataset = testing::awkward_dataset({});
  graph::EdgeList edges{Buffer<NodeId>(static_cast<std::size_t>(dataset.graph.num_edges())),
                        Buffer<NodeId>(static_cast<std::size_t>(dataset.graph.num_edges())),
                        {}};
  std::size_t e = 0;
  for (std::size_t v = 0; v < static_cast<std::size_t>(dataset.num_nodes()); ++v) {
    for (EdgeId k = dataset.graph.offsets()[v]; k < dataset.graph.offsets()[v + 1]; ++k, ++e) {
      edges.src[e] = dataset.graph.sources()[static_cast<std::size_t>(k)];
      edges.dst[e] = static_cast<NodeId>(v);
    }
  }
  graph::BuildOptions options;
  options.to_undirected = true;
  dataset.graph = graph::build_graph(edges, dataset.num_nodes(), options);
  return dataset;
}

TEST(FuseMessages, LeavesNoWideEdgeValues) {
  const data::Dataset dataset = testing::awkward_dataset({});
  for (const char* model : {"gcn", "sage", "gin", "gat"}) {
    const ir::Plan plan = plan_of(model, dataset, small_for(model));
    for (const Op& op : plan.program.ops) {
      for (const ir::ValueId r : op.results) {
        if (r == ir::kNoValue || plan.program.type(r).domain != ir::Domain::kEdge) continue;
        EXPECT_LE(plan.program.type(r).cols, 2) << model << ": " << ir::print(plan.program);
      }
    }
    EXPECT_GT(count(plan, OpKind::spmm) + count(plan, OpKind::attention), 0) << model;
  }
}

TEST(FuseAttention, NoEdgeValueIsLeftOfTheAttentionLayer) {
  const data::Dataset dataset = testing::awkward_dataset({});
  const ir::Plan plan = plan_of("gat", dataset, small_for("gat", {{"dropout", 0.0}, {"input_dropout", 0.0}}));
  EXPECT_EQ(count(plan, OpKind::attention), 4) << "two layers, for training and for evaluation";
  EXPECT_EQ(count(plan, OpKind::attention_grad), 2);
  for (const Op& op : plan.program.ops) {
    for (const ir::ValueId r : op.results) {
      if (r == ir::kNoValue) continue;
      EXPECT_NE(plan.program.type(r).domain, ir::Domain::kEdge) << ir::print(plan.program);
    }
  }
}

TEST(FuseAttention, DropoutBecomesTheGateAndEvaluationHasNone) {
  const data::Dataset dataset = testing::awkward_dataset({});
  const ir::Plan plan = plan_of("gat", dataset, small_for("gat"));
  for (const Op& op : plan.program.ops) {
    if (op.kind != OpKind::attention) continue;
    const bool evaluates = op.phase == ir::Phase::kInference;
    EXPECT_EQ(op.inputs.size(), evaluates ? 3U : 4U);
    EXPECT_EQ(op.results[1] == ir::kNoValue, evaluates) << "evaluation saves nothing for backward";
  }
}

TEST(FuseAttention, ScoresThatNeedBothEndsStayApart) {
  const data::Dataset dataset = testing::awkward_dataset({});
  EXPECT_EQ(count(plan_of("gat", dataset, small_for("gat", {{"v2", true}})), OpKind::attention), 0);
}

TEST(FuseElementwise, LeavesNoSumOfAProduct) {
  const data::Dataset dataset = testing::awkward_dataset({});
  for (const char* model : {"sage", "gin", "gat"}) {
    const ir::Plan plan = plan_of(model, dataset, small_for(model));
    passes::Options apart;
    apart.disabled.insert("fuse_elementwise");
    const ir::Plan unfused = plan_of(model, dataset, small_for(model), apart);
    EXPECT_LT(plan.program.ops.size(), unfused.program.ops.size()) << model;
    EXPECT_LE(plan.arena_bytes, unfused.arena_bytes) << model;
    EXPECT_EQ(count(plan, OpKind::expand_groups), 0) << model << ": " << ir::print(plan.program);
  }
}

TEST(FuseElementwise, ASumTakesThePlaceOfItsAddendOnly) {
  const data::Dataset dataset = testing::awkward_dataset({});
  const ir::Plan plan = plan_of("sage", dataset, small_for("sage"));
  std::int64_t fused = 0;
  for (const Op& op : plan.program.ops) {
    if (op.kind != OpKind::gemm || op.inputs.size() != 3) continue;
    ++fused;
    const ir::Placement& result = plan.placements[static_cast<std::size_t>(op.results[0])];
    const ir::Placement& left = plan.placements[static_cast<std::size_t>(op.inputs[0])];
    const bool apart = result.storage != left.storage || result.offset_bytes + result.bytes <= left.offset_bytes ||
                       left.offset_bytes + left.bytes <= result.offset_bytes;
    EXPECT_TRUE(apart) << ir::print(plan.program);
  }
  EXPECT_GT(fused, 0);
}

TEST(FuseElementwise, WeightsOfBothEndsAreOneOp) {
  testing::AwkwardOptions unweighted;
  unweighted.weighted = false;
  passes::Options options;
  options.factor_degree = 100;  // the normalisation stays on the edges
  const ir::Plan plan = plan_of("gcn", testing::awkward_dataset(unweighted), small(), options);
  EXPECT_EQ(count(plan, OpKind::gather_src) + count(plan, OpKind::gather_dst), 0) << ir::print(plan.program);
  EXPECT_EQ(count(plan, OpKind::sddmm), 1);
}

TEST(FuseElementwise, SumsOverEdgesScaleTheirRows) {
  testing::AwkwardOptions unweighted;
  unweighted.weighted = false;
  passes::Options options;
  options.factor_degree = 0;
  const ir::Plan plan = plan_of("gcn", testing::awkward_dataset(unweighted), small(), options);
  const std::vector<std::int32_t> makers = ir::producers(plan.program);
  int scaled = 0;
  for (const Op& op : plan.program.ops) {
    if (op.kind == OpKind::spmm && op.attrs.has("scaled")) ++scaled;
    if (op.kind != OpKind::mul) continue;
    for (const ir::ValueId v : op.inputs)
      EXPECT_NE(plan.program.ops[static_cast<std::size_t>(makers[static_cast<std::size_t>(v)])].kind, OpKind::spmm);
  }
  EXPECT_GT(scaled, 3) << ir::print(plan.program);
}

/// Of a training so short that no copy of the edges pays.
passes::Options short_training() {
  passes::Options options;
  options.repeats = {1e-6, 0};
  options.factor_degree = 0;
  return options;
}

TEST(SelfLoops, ShortTrainingsSumOverTheGivenGraph) {
  testing::AwkwardOptions loopless;
  loopless.weighted = false;
  loopless.self_loops = false;
  const data::Dataset dataset = testing::awkward_dataset(loopless);
  const ir::Plan plan = plan_of("gcn", dataset, small(), short_training());
  ASSERT_EQ(plan.graph_uses.size(), 2U);
  EXPECT_TRUE(plan.graph_uses[0].used);
  EXPECT_FALSE(ir::is_made(plan, 1)) << ir::print(plan.program);
  EXPECT_TRUE(plan.graph_uses[0].transpose) << "backward follows";
  EXPECT_EQ(plan.graph_uses[1].bytes, 0);
  for (const Op& op : plan.program.ops) {
    EXPECT_TRUE(op.kind != OpKind::spmm || op.attrs.has("scaled"))
        << "scaled in registers: " << ir::print(plan.program);
  }
  EXPECT_GT(count(plan, OpKind::mul_add), 3) << ir::print(plan.program);
}

TEST(SelfLoops, ACopyIsMadeWhereItPaysOrIsNeeded) {
  testing::AwkwardOptions loopless;
  loopless.weighted = false;
  loopless.self_loops = false;
  testing::AwkwardOptions loops = loopless;
  loops.self_loops = true;
  testing::AwkwardOptions weighted = loopless;
  weighted.weighted = true;
  const auto copied = [](const std::string& model, const testing::AwkwardOptions& graph, const ModelArgs& args,
                         const passes::Options& options) {
    return ir::is_made(plan_of(model, testing::awkward_dataset(graph), args, options), 1);
  };
  EXPECT_FALSE(copied("gcn", loopless, small(), short_training()));
  passes::Options changed = short_training();
  changed.repeats = {200, 200};
  EXPECT_TRUE(copied("gcn", loopless, small(), changed)) << "many epochs";
  changed = short_training();
  changed.factor_degree = 100;
  EXPECT_TRUE(copied("gcn", loopless, small(), changed)) << "weights are left on the edges";
  changed = short_training();
  changed.order = passes::OrderChoice::kAggregateFirst;
  EXPECT_TRUE(copied("gcn", loopless, small({{"dropout", 0.0}}), changed)) << "features are summed up once";
  changed = short_training();
  changed.disabled = {"self_loops"};
  EXPECT_TRUE(copied("gcn", loopless, small(), changed)) << "switched off";
  EXPECT_TRUE(copied("gcn", loops, small(), short_training())) << "some nodes have loops";
  EXPECT_TRUE(copied("gcn", weighted, small(), short_training())) << "edges have weights";
  EXPECT_TRUE(copied("gat", loopless, small_for("gat"), short_training())) << "attention walks it";
}

TEST(FuseMessages, InnerProductOfTheEndsBecomesSddmm) {
  const data::Dataset dataset = testing::awkward_dataset({});
  ir::Program program = testing::compile_text(
      "layer inner(x: node[F], out: int) -> node[out] { param W: [F, out] = glorot; z = x * W;"
      " return sum(dot(z@dst, z@src) * z@src) over in_edges; }"
      " model net() { return inner(features, num_classes); }",
      dataset);
  // dot() of the language takes a parameter; the pass sees the same product and sum.
  runtime::derive_graphs(dataset.graph, &program);
  const ir::Plan plan = passes::build_plan(program, {});
  EXPECT_GT(count(plan, OpKind::sddmm), 0) << ir::print(plan.program);
}

TEST(HoistConstants, NormalisationRunsOnce) {
  const ir::Plan plan = plan_of("gcn", testing::awkward_dataset({}), small());
  for (const Op& op : plan.program.ops) {
    if (op.kind == OpKind::rsqrt || op.kind == OpKind::edge_weight) {
      EXPECT_EQ(op.phase, ir::Phase::kSetup);
    }
  }
  EXPECT_GT(plan.constant_bytes, 0);
}

TEST(HoistConstants, AggregationOfRawFeaturesRunsOnce) {
  passes::Options options;
  options.order = passes::OrderChoice::kAggregateFirst;
  const ir::Plan plan = plan_of("gcn", testing::awkward_dataset({}), small({{"dropout", 0.0}}), options);
  const auto hoisted = std::count_if(plan.program.ops.begin(), plan.program.ops.end(), [](const Op& op) {
    return op.kind == OpKind::spmm && op.phase == ir::Phase::kSetup;
  });
  EXPECT_EQ(hoisted, 1) << ir::print(plan.program);
}

TEST(FactorWeights, NormalisationLeavesNoEdgeValue) {
  passes::Options options;
  options.factor_degree = 0;
  testing::AwkwardOptions unweighted;
  unweighted.weighted = false;
  const ir::Plan plan = plan_of("gcn", testing::awkward_dataset(unweighted), small(), options);
  for (const Op& op : plan.program.ops) {
    EXPECT_TRUE(op.kind != OpKind::spmm || !ir::weighs_edges(op)) << ir::print(plan.program);
    for (const ir::ValueId r : op.results) {
      EXPECT_TRUE(r == ir::kNoValue || plan.program.type(r).domain != ir::Domain::kEdge) << ir::print(plan.program);
    }
  }
}

TEST(FactorWeights, LeavesSparseGraphsAndOtherWeights) {
  testing::AwkwardOptions unweighted;
  unweighted.weighted = false;
  const auto weighted_products = [](const ir::Plan& plan) {
    return std::count_if(plan.program.ops.begin(), plan.program.ops.end(),
                         [](const Op& op) { return op.kind == OpKind::spmm && op.inputs.size() == 2; });
  };
  passes::Options options;
  options.factor_degree = 100;  // more edges for a column than any node has
  EXPECT_GT(weighted_products(plan_of("gcn", testing::awkward_dataset(unweighted), small(), options)), 0);
  options.factor_degree = 0;
  EXPECT_GT(weighted_products(plan_of("gcn", testing::awkward_dataset({}), small(), options)), 0);
  EXPECT_GT(weighted_products(
                plan_of("gat", testing::awkward_dataset(unweighted), small_for("gat", {{"v2", true}}), options)),
            0);
}

TEST(UseSymmetry, UndirectedGraphsNeedNoTranspose) {
  const data::Dataset undirected = undirected_dataset();
  ASSERT_TRUE(undirected.graph.symmetric());
  const ir::Plan plan = plan_of("gcn", undirected, small());
  for (const ir::GraphUse& use : plan.graph_uses) EXPECT_FALSE(use.transpose) << ir::print(plan.program);
  const ir::Plan directed = plan_of("gcn", testing::awkward_dataset({}), small());
  EXPECT_TRUE(std::any_of(directed.graph_uses.begin(), directed.graph_uses.end(),
                          [](const ir::GraphUse& u) { return u.transpose; }));
}

TEST(Structures, ATransposeNamesSlotsOnlyForValuesOfEdges) {
  testing::AwkwardOptions unweighted;
  unweighted.weighted = false;
  const data::Dataset dataset = testing::awkward_dataset(unweighted);
  const data::Dataset weighted = testing::awkward_dataset({});
  const auto use = [](const ir::Plan& plan) { return plan.graph_uses.back(); };
  const ir::Plan sage = plan_of("sage", dataset, small());
  EXPECT_TRUE(use(sage).transpose);
  EXPECT_FALSE(use(sage).slots);
  EXPECT_FALSE(use(plan_of("gat", dataset, small_for("gat", {{"attention_dropout", 0.0}}))).slots);
  EXPECT_TRUE(use(plan_of("gat", dataset, small_for("gat", {{"attention_dropout", 0.5}}))).slots);
  const ir::Plan gcn = plan_of("gcn", weighted, small());
  EXPECT_TRUE(use(gcn).slots);
  EXPECT_EQ(graph::transpose(dataset.graph.in_edges(), false).slots.size(), 0U);
}

TEST(UseSymmetry, LearnedWeightsKeepTheTranspose) {
  const ir::Plan plan = plan_of("gat", undirected_dataset(), small({{"heads", std::int64_t{2}}}));
  EXPECT_TRUE(
      std::any_of(plan.graph_uses.begin(), plan.graph_uses.end(), [](const ir::GraphUse& u) { return u.transpose; }));
}

TEST(ChooseOrder, NarrowsBeforeItAggregates) {
  testing::AwkwardOptions wide;
  wide.features = 60;
  const data::Dataset dataset = testing::awkward_dataset(wide);
  // With dropout on the input nothing can be hoisted: aggregating 4 columns beats aggregating 60.
  const ir::Plan plan = plan_of("gcn", dataset, small({{"input_dropout", 0.5}}));
  for (const Op& op : plan.program.ops) {
    if (op.kind == OpKind::spmm) {
      EXPECT_LE(plan.program.type(op.results[0]).cols, 4);
    }
  }
  const auto report = std::find_if(plan.passes.begin(), plan.passes.end(),
                                   [](const ir::PassReport& r) { return r.name == "choose_order"; });
  ASSERT_NE(report, plan.passes.end());
  ASSERT_FALSE(report->decisions.empty());
  EXPECT_NE(report->decisions[0].find("A(XW) (60 -> 4 columns"), std::string::npos) << report->decisions[0];
}

TEST(ChooseOrder, WhatIsDoneOnceIsWeighedAgainstTheSteps) {
  testing::AwkwardOptions wide;
  wide.features = 60;
  const data::Dataset dataset = testing::awkward_dataset(wide);
  for (const char* model : {"gcn", "sage", "gin"}) {
    const auto widest = [&](double steps) {
      passes::Options options;
      options.repeats = {steps, steps};
      const ir::Plan plan = plan_of(model, dataset, small(), options);
      std::int64_t cols = 0;
      for (const Op& op : plan.program.ops) {
        if (op.kind == OpKind::spmm) cols = std::max(cols, plan.program.type(op.results[0]).cols);
      }
      return cols;
    };
    EXPECT_LE(widest(1), 4) << model << ": one step does not pay for the aggregation of 60 columns";
    EXPECT_EQ(widest(1e6), 60) << model;
  }
}

TEST(ChooseOrder, AttentionOfOneHeadReadsTheNarrowerSide) {
  const data::Dataset dataset = testing::awkward_dataset({});
  // The last layer has one head and makes `classes` columns of 4; the first has two heads, whose weights differ.
  const auto attention_columns = [&](passes::OrderChoice order) {
    passes::Options options;
    options.order = order;
    const ir::Plan plan = plan_of("gat", dataset, small_for("gat", {{"input_dropout", 0.5}}), options);
    std::vector<std::int64_t> columns;
    for (const Op& op : plan.program.ops) {
      if (op.kind == OpKind::attention && op.phase == ir::Phase::kForward)
        columns.push_back(plan.program.type(op.results[0]).cols);
    }
    return columns;
  };
  const std::int64_t classes = dataset.labels.num_classes;
  EXPECT_THAT(attention_columns(passes::OrderChoice::kTransformFirst), ::testing::ElementsAre(4, classes));
  EXPECT_THAT(attention_columns(passes::OrderChoice::kAggregateFirst), ::testing::ElementsAre(4, 4));
}

TEST(GroupRows, NoProductOfParametersCutsABand) {
  const data::Dataset dataset = testing::awkward_dataset({});
  passes::Options options;
  options.order = passes::OrderChoice::kAggregateFirst;
  const auto global_after_rows = [&](const passes::Options& with) {
    const ir::Plan plan = plan_of("gat", dataset, small_for("gat"), with);
    bool rows = false;
    bool cut = false;
    for (const ir::Step& step : plan.steps) {
      const Op& op = plan.program.ops[static_cast<std::size_t>(step.op)];
      if (op.phase != ir::Phase::kForward) continue;
      const bool global = plan.program.type(op.results[0]).domain == ir::Domain::kGlobal && op.kind == OpKind::gemm;
      cut = cut || (global && rows);
      rows = rows || !global;
    }
    return cut;
  };
  EXPECT_FALSE(global_after_rows(options));
  options.disabled = {"group_rows"};
  EXPECT_TRUE(global_after_rows(options)) << "the pass has something to do";
}

TEST(DistributeProducts, ATrainedScaleMakesTheWideSumWorkOfEveryStep) {
  testing::AwkwardOptions wide;
  wide.features = 60;
  const data::Dataset dataset = testing::awkward_dataset(wide);
  passes::Options options;
  options.repeats = {1e6, 1e6};
  const auto wide_ops = [&](bool trained, ir::Phase phase) {
    const ir::Plan plan = plan_of("gin", dataset, small({{"train_eps", trained}}), options);
    return std::count_if(plan.program.ops.begin(), plan.program.ops.end(), [&](const Op& op) {
      return op.phase == phase && op.kind != OpKind::input && !op.results.empty() &&
             plan.program.type(op.results[0]).cols == 60;
    });
  };
  EXPECT_EQ(wide_ops(false, ir::Phase::kForward), 0)
      << "eps stays what it is: (1 + eps) X + A X is made before training";
  EXPECT_GT(wide_ops(false, ir::Phase::kSetup), 0);
  EXPECT_EQ(wide_ops(true, ir::Phase::kForward) + wide_ops(true, ir::Phase::kSetup), 0)
      << "with a trained eps only narrow sums are made";
}

TEST(DistributeProducts, GinKeepsSparseFeaturesSparse) {
  testing::AwkwardOptions sparse;
  sparse.sparse_features = true;
  const data::Dataset dataset = testing::awkward_dataset(sparse);
  passes::Options off;
  off.sparse_path = passes::SparsePath::kSparse;
  const ir::Plan plan = plan_of("gin", dataset, small(), off);
  EXPECT_EQ(count(plan, OpKind::to_dense), 0) << ir::print(plan.program);
  off.disabled = {"distribute_products"};
  EXPECT_EQ(count(plan_of("gin", dataset, small(), off), OpKind::to_dense), 1);
}

TEST(ChooseOrder, ProductsOnBlocksAreOfTheRowsThatAreLeft) {
  // 64 columns to 64: on a full graph both orders take the same products; on a block fewer rows are left behind it.
  const ir::Program model = testing::compile_builtin(
      "sage", testing::awkward_dataset({}), {{"hidden_channels", std::int64_t{64}}, {"num_layers", std::int64_t{3}}});
  const passes::BlockCapacity capacity{{100, 2000, 20000, 100000}, {1500, 20000, 100000}};
  passes::Options options;
  options.loss.kind = passes::LossSpec::Kind::kCrossEntropy;
  const ir::Plan plan = passes::build_plan(passes::to_blocks(model, capacity).program, options);
  int products = 0;
  for (const Op& op : plan.program.ops) {
    if (op.kind != OpKind::gemm) continue;
    ++products;
    const std::int64_t rows = std::max(plan.program.rows(op.inputs[0]), plan.program.rows(op.results[0]));
    const bool second_layer = plan.program.type(op.inputs[0]).cols == 64 && plan.program.type(op.results[0]).cols == 64;
    EXPECT_LE(rows, second_layer ? 2000 : 20000) << ir::print(plan.program);
  }
  EXPECT_GE(products, 12);
}

TEST(DistributeProducts, LeavesWhatWouldBecomeWider) {
  // 5 features to 40 columns: summing 5 columns is cheaper than summing 40.
  const ir::Plan plan = plan_of("gin", testing::awkward_dataset({}),
                                {{"hidden_channels", std::int64_t{40}}, {"num_layers", std::int64_t{1}}});
  for (const Op& op : plan.program.ops) {
    if (op.kind == OpKind::spmm) {
      EXPECT_LE(plan.program.type(op.results[0]).cols, 5) << ir::print(plan.program);
    }
  }
}

TEST(SparseFeatures, MeetOnlyTheSparseProduct) {
  testing::AwkwardOptions sparse;
  sparse.sparse_features = true;
  sparse.features = 60;  // so many that narrowing comes first
  passes::Options options;
  options.sparse_path = passes::SparsePath::kSparse;
  const ir::Plan plan = plan_of("gcn", testing::awkward_dataset(sparse), small({{"input_dropout", 0.5}}), options);
  EXPECT_EQ(count(plan, OpKind::to_dense), 0);
  EXPECT_GE(count(plan, OpKind::spx_gemm), 3);  // forward, weight gradient, inference
  EXPECT_TRUE(plan.feature_transpose);
}

/// Default rates with the sparse products of one direction as slow as can be, or as fast.
cost::Rates sparse_rates(double forward, double gradient) {
  cost::Rates rates = cost::default_rates();
  std::fill(rates.spx_forward.rates.begin(), rates.spx_forward.rates.end(), forward);
  for (cost::RateGrid* grid : {&rates.spx_gradient, &rates.spx_slots})
    std::fill(grid->rates.begin(), grid->rates.end(), gradient);
  return rates;
}

/// GCN on sparse features under the given rates, transform first: the features meet products only.
ir::Plan sparse_plan(const cost::Rates& rates, passes::Options options = {}, double input_dropout = 0) {
  testing::AwkwardOptions sparse;
  sparse.sparse_features = true;
  sparse.features = 60;
  options.rates = rates;
  options.order = passes::OrderChoice::kTransformFirst;
  return plan_of("gcn", testing::awkward_dataset(sparse), small({{"input_dropout", input_dropout}}), options);
}

constexpr double kSlow = 1e3;
constexpr double kFast = 1e15;

TEST(ChooseSparsePath, ForwardAndWeightGradientApart) {
  const ir::Plan neither = sparse_plan(sparse_rates(kFast, kFast));
  EXPECT_EQ(count(neither, OpKind::spx_gemm), 3);
  EXPECT_EQ(count(neither, OpKind::to_dense), 0);
  const ir::Plan both = sparse_plan(sparse_rates(kSlow, kSlow));
  EXPECT_EQ(count(both, OpKind::spx_gemm), 0);
  EXPECT_EQ(count(both, OpKind::to_dense), 1);
  EXPECT_FALSE(both.feature_transpose) << "nothing reads it";
  const ir::Plan forward = sparse_plan(sparse_rates(kSlow, kFast));
  EXPECT_EQ(count(forward, OpKind::spx_gemm), 1);
  EXPECT_TRUE(forward.feature_transpose);
  const ir::Plan gradient = sparse_plan(sparse_rates(kFast, kSlow));
  EXPECT_EQ(count(gradient, OpKind::spx_gemm), 2);
  EXPECT_FALSE(gradient.feature_transpose);
  EXPECT_EQ(count(gradient, OpKind::to_dense), 1);
  for (const Op& op : gradient.program.ops) {
    if (op.kind == OpKind::to_dense) {
      EXPECT_EQ(op.phase, ir::Phase::kSetup);
    }
    if (op.kind == OpKind::spx_gemm) {
      EXPECT_NE(op.phase, ir::Phase::kBackward);
    }
  }
}

TEST(ChooseSparsePath, OnlyValuesThatDropoutChangesAreFoundBySlots) {
  const cost::Rates rates = sparse_rates(kFast, kFast);
  const ir::Plan constant = sparse_plan(rates);
  EXPECT_TRUE(constant.feature_transpose);
  EXPECT_FALSE(constant.feature_slots);
  const ir::Plan dropped = sparse_plan(rates, {}, 0.5);
  EXPECT_TRUE(dropped.feature_transpose);
  EXPECT_TRUE(dropped.feature_slots);
  const auto saved = static_cast<std::int64_t>(sizeof(EdgeId) - sizeof(float));
  EXPECT_EQ(dropped.feature_transpose_bytes - constant.feature_transpose_bytes, saved * constant.feature_nonzeros);
}

TEST(ChooseSparsePath, BytesAndWishesStandAboveTheRates) {
  passes::Options options;
  options.most_dense_bytes = 14 * 60 * 4 - 1;
  EXPECT_EQ(count(sparse_plan(sparse_rates(kSlow, kSlow), options), OpKind::to_dense), 0);
  ++options.most_dense_bytes;
  EXPECT_EQ(count(sparse_plan(sparse_rates(kSlow, kSlow), options), OpKind::to_dense), 1);
  options.sparse_path = passes::SparsePath::kSparse;
  EXPECT_EQ(count(sparse_plan(sparse_rates(kSlow, kSlow), options), OpKind::to_dense), 0);
  options.sparse_path = passes::SparsePath::kDense;
  options.most_dense_bytes = 0;
  EXPECT_EQ(count(sparse_plan(sparse_rates(kFast, kFast), options), OpKind::spx_gemm), 0);
}

TEST(ChooseSparsePath, ACopyInEveryStepCountsAndEvaluationDoesWithoutIt) {
  const auto copies_in_a_step = [](const ir::Plan& of) {
    return std::count_if(of.program.ops.begin(), of.program.ops.end(),
                         [](const Op& op) { return op.kind == OpKind::to_dense && op.phase == ir::Phase::kForward; });
  };
  EXPECT_EQ(copies_in_a_step(sparse_plan(sparse_rates(kSlow, kSlow), {}, 0.5)), 1);
  cost::Rates dear = sparse_rates(kFast, kFast);
  for (cost::RateGrid* grid : {&dear.spx_forward, &dear.spx_gradient, &dear.spx_slots})
    std::fill(grid->rates.begin(), grid->rates.end(), 50e9);
  std::fill(dear.stream.rates.begin(), dear.stream.rates.end(), kSlow);
  EXPECT_EQ(copies_in_a_step(sparse_plan(dear, {}, 0.5)), 0) << "writing the copy takes longer than it saves";
}

TEST(Cost, EveryStepHasATimeThatGrowsWithTheGraph) {
  testing::AwkwardOptions many;
  many.nodes = 200;
  for (const char* model : {"gcn", "sage", "gin", "gat"}) {
    const ir::Plan plan = plan_of(model, testing::awkward_dataset({}), small_for(model));
    const ir::Plan larger = plan_of(model, testing::awkward_dataset(many), small_for(model));
    for (const ir::Step& step : plan.steps) EXPECT_GT(step.seconds, 0) << model;
    EXPECT_GT(larger.seconds(ir::Phase::kForward), plan.seconds(ir::Phase::kForward)) << model;
  }
}

TEST(Cost, ExponentialsTakeTheirOwnTime) {
  using Loss = passes::LossSpec::Kind;
  const auto seconds = [](double exponentials, OpKind kind, Loss loss) {
    passes::Options options;
    options.rates.exponentials = exponentials;
    options.loss.kind = loss;
    const ir::Plan plan = plan_of("gat", testing::awkward_dataset({}), small_for("gat"), options);
    double sum = 0;
    for (const ir::Step& step : plan.steps) {
      if (plan.program.ops[static_cast<std::size_t>(step.op)].kind == kind) sum += step.seconds;
    }
    return sum;
  };
  for (const auto& [kind, loss] :
       {std::pair(OpKind::elu, Loss::kCrossEntropy), std::pair(OpKind::cross_entropy, Loss::kCrossEntropy),
        std::pair(OpKind::bce_with_logits, Loss::kBceWithLogits)}) {
    EXPECT_GT(seconds(1e6, kind, loss), 10 * seconds(1e12, kind, loss));
    EXPECT_GT(seconds(1e12, kind, loss), 0);
  }
  EXPECT_EQ(seconds(1e6, OpKind::gemm, Loss::kCrossEntropy), seconds(1e12, OpKind::gemm, Loss::kCrossEntropy));
}

TEST(AddInference, OutputsAreTheInferenceCopys) {
  const ir::Plan plan = plan_of("gcn", testing::awkward_dataset({}), small({{"dropout", 0.5}}));
  for (const char* output : {"logits", "embedding"}) {
    const std::int32_t maker = ir::producers(plan.program)[static_cast<std::size_t>(plan.program.output(output))];
    EXPECT_EQ(plan.program.ops[static_cast<std::size_t>(maker)].phase, ir::Phase::kInference) << output;
  }
  for (const Op& op : plan.program.ops) {
    EXPECT_FALSE(op.kind == OpKind::dropout && op.phase == ir::Phase::kInference);
  }
}

TEST(Differentiate, NoGradientForTheFeatures) {
  const ir::Plan plan = plan_of("gcn", testing::awkward_dataset({}), small());
  for (const Op& op : plan.program.ops) {
    if (op.phase != ir::Phase::kBackward) continue;
    for (const ir::ValueId r : op.results) {
      if (r != ir::kNoValue) {
        EXPECT_FALSE(plan.program.type(r) == ir::node_type(0, 5)) << ir::print(plan.program);
      }
    }
  }
  for (const ir::Param& param : plan.program.params) EXPECT_EQ(param.grad != ir::kNoValue, param.trainable);
}

TEST(Pipeline, RefusesToSwitchOffWhatItNeeds) {
  const data::Dataset dataset = testing::awkward_dataset({});
  passes::Options mandatory;
  mandatory.disabled = {"plan_memory"};
  EXPECT_THROW(plan_of("gcn", dataset, small(), mandatory), Error);
  passes::Options unknown;
  unknown.disabled = {"hoist_constant"};
  try {
    plan_of("gcn", dataset, small(), unknown);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_NE(error.hint().find("hoist_constants"), std::string::npos) << error.what();
  }
}

TEST(Pipeline, PrintsAfterThePassesAskedFor) {
  std::vector<std::string> printed;
  passes::Options options;
  options.print_after = {"cse", "differentiate"};
  options.print = [&](std::string_view pass, const std::string& text) {
    printed.emplace_back(pass);
    EXPECT_EQ(ir::print(ir::parse(text)), text);
  };
  plan_of("gat", testing::awkward_dataset({}), small_for("gat", {{"norm", std::string("layer")}}), options);
  EXPECT_EQ(printed, (std::vector<std::string>{"differentiate", "cse"}));
}

TEST(Pipeline, ReportsEveryPassWithItsTime) {
  const ir::Plan plan = plan_of("gin", testing::awkward_dataset({}), small());
  const auto of_hosts = [](const passes::PassInfo& pass) { return pass.name != "fuse_epilogues"; };
  const auto& all = passes::list_passes();
  EXPECT_EQ(std::ssize(plan.passes), std::count_if(all.begin(), all.end(), of_hosts));
  for (const ir::PassReport& report : plan.passes) EXPECT_GE(report.milliseconds, 0);
  EXPECT_EQ(plan.steps.empty(), false);
}

}  // namespace
}  // namespace gneiss
