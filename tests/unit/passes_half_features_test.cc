// Features in 16 bits: where the passes put them, what they widen, what they keep small.
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/text.h"
#include "ir/verify.h"
#include "passes/half_features.h"
#include "passes/pipeline.h"
#include "runtime/structures.h"
#include "support/awkward_graph.h"
#include "support/compile_model.h"

namespace gneiss {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Phase;
using testing::ModelArgs;

ir::Plan plan_of(const std::string& model, ModelArgs args, HalfType type, const passes::Options& given = {}) {
  const data::Dataset dataset = testing::awkward_dataset({});
  args.emplace_back("hidden_channels", std::int64_t{8});
  ir::Program program = testing::compile_builtin(model, dataset, args);
  runtime::derive_graphs(dataset.graph, &program);
  passes::Options options = given;
  options.feature_dtype = type;
  return passes::build_plan(program, options);
}

std::int64_t count(const ir::Plan& plan, OpKind kind) {
  return std::count_if(plan.program.ops.begin(), plan.program.ops.end(), [&](const Op& op) { return op.kind == kind; });
}

const Op& find(const ir::Plan& plan, OpKind kind) {
  return *std::find_if(plan.program.ops.begin(), plan.program.ops.end(), [&](const Op& op) { return op.kind == kind; });
}

constexpr std::int64_t kNodes = 14;
constexpr std::int64_t kFeatures = 5;

TEST(HalfFeatures, AggregatedFeaturesAreKeptInHalfTheBytes) {
  passes::Options aggregate_first;
  aggregate_first.order = passes::OrderChoice::kAggregateFirst;
  const ir::Plan reals = plan_of("gcn", {}, HalfType::kNone, aggregate_first);
  for (const HalfType type : {HalfType::kBf16, HalfType::kF16}) {
    const ir::Plan plan = plan_of("gcn", {}, type, aggregate_first);
    EXPECT_EQ(count(plan, OpKind::to_float), 0) << ir::print(plan.program);
    const Op& setup = find(plan, OpKind::spmm);
    EXPECT_EQ(setup.phase, Phase::kSetup);
    EXPECT_EQ(ir::half_of(plan.program.type(setup.results[0]).scalar), type);
    const ir::Placement& place = plan.placements[static_cast<std::size_t>(setup.results[0])];
    EXPECT_EQ(place.storage, ir::Storage::kConstant);
    EXPECT_EQ(place.bytes, kNodes * kFeatures * 2);
    EXPECT_LT(plan.constant_bytes, reals.constant_bytes);
    EXPECT_EQ(plan.bytes_saved_by_halves(), 2 * kNodes * kFeatures * 2);  // the features and AX
    EXPECT_EQ(plan.arena_bytes, reals.arena_bytes);
  }
  EXPECT_EQ(reals.bytes_saved_by_halves(), 0);
}

TEST(HalfFeatures, ConstantsStayRealWithoutTheirPass) {
  passes::Options off;
  off.order = passes::OrderChoice::kAggregateFirst;
  off.disabled = {"half_constants"};
  const ir::Plan plan = plan_of("gcn", {}, HalfType::kBf16, off);
  EXPECT_EQ(plan.program.type(find(plan, OpKind::spmm).results[0]).scalar, ir::Scalar::kReal);
  EXPECT_EQ(plan.bytes_saved_by_halves(), kNodes * kFeatures * 2);
}

TEST(HalfFeatures, DropoutTakesThePlaceOfTheWidenedCopy) {
  const ir::Plan reals = plan_of("mlp", {{"input_dropout", 0.5}}, HalfType::kNone);
  const ir::Plan plan = plan_of("mlp", {{"input_dropout", 0.5}}, HalfType::kF16);
  ASSERT_EQ(count(plan, OpKind::to_float), 1) << ir::print(plan.program);
  const Op& widened = find(plan, OpKind::to_float);
  const Op& dropout = find(plan, OpKind::dropout);
  EXPECT_EQ(widened.phase, Phase::kForward);  // no f32 copy among the constants
  ASSERT_EQ(dropout.inputs[0], widened.results[0]);
  const ir::Placement& before = plan.placements[static_cast<std::size_t>(widened.results[0])];
  const ir::Placement& after = plan.placements[static_cast<std::size_t>(dropout.results[0])];
  EXPECT_EQ(before.storage, ir::Storage::kBand);  // of which rows of a band exist
  EXPECT_EQ(after.storage, ir::Storage::kBand);
  EXPECT_EQ(before.offset_bytes, after.offset_bytes);
  EXPECT_EQ(plan.arena_bytes, reals.arena_bytes);
  EXPECT_EQ(plan.constant_bytes, reals.constant_bytes);
}

TEST(HalfFeatures, MaximaOfFeaturesAreTakenOfAWidenedCopyInTheSetup) {
  const ir::Plan plan = plan_of("sage", {{"aggr", std::string("max")}}, HalfType::kBf16);
  ASSERT_EQ(count(plan, OpKind::to_float), 1) << ir::print(plan.program);
  EXPECT_EQ(find(plan, OpKind::to_float).phase, Phase::kSetup);
  // Their results are constants that products read; none is kept as reals.
  EXPECT_GE(count(plan, OpKind::to_half), 1);
  for (const Op& op : plan.program.ops) {
    const bool aggregates_features = op.kind == OpKind::spmm && op.phase == Phase::kSetup;
    if (aggregates_features) {
      EXPECT_EQ(plan.placements[static_cast<std::size_t>(op.results[0])].storage, ir::Storage::kArena);
    }
    if (op.kind == OpKind::to_half) {
      EXPECT_EQ(plan.placements[static_cast<std::size_t>(op.results[0])].storage, ir::Storage::kConstant);
    }
  }
}

TEST(HalfFeatures, NothingChangesForSparseFeaturesAndReals) {
  EXPECT_EQ(ir::print(plan_of("sage", {}, HalfType::kNone).program).find("bf16"), std::string::npos);
  testing::AwkwardOptions sparse;
  sparse.sparse_features = true;
  const data::Dataset dataset = testing::awkward_dataset(sparse);
  const ir::Program program = testing::compile_builtin("gcn", dataset, {});
  std::vector<std::string> decisions;
  EXPECT_EQ(ir::print(passes::store_features(program, HalfType::kBf16, &decisions)), ir::print(program));
  EXPECT_TRUE(decisions.empty());
}

TEST(HalfFeatures, PrintAndParse) {
  for (const HalfType type : {HalfType::kBf16, HalfType::kF16}) {
    for (const char* model : {"gcn", "sage", "gin", "gat", "mlp"}) {
      const std::string text = ir::print(plan_of(model, {{"input_dropout", 0.5}}, type).program);
      EXPECT_NE(text.find(half_name(type)), std::string::npos);
      EXPECT_EQ(ir::print(ir::parse(text)), text);
      EXPECT_TRUE(ir::find_defects(ir::parse(text)).empty());
    }
  }
}

TEST(HalfFeatures, OpsThatDoNotReadThemAreDefects) {
  ir::Program program;
  program.node_sets.push_back({"nodes", 7});
  ir::Builder builder(&program);
  ir::Type type = ir::node_type(0, 3);
  type.scalar = ir::Scalar::kBf16;
  const ir::ValueId x = builder.leaf(OpKind::input, type, {{"name", std::string("features")}}, "x");
  std::vector<ir::Type> results;
  const std::string problem = ir::infer_types(program, OpKind::relu, {program.type(x)}, {}, &results);
  EXPECT_EQ(problem, "relu: operand 0 is stored in 16 bits, which this op does not read");
  EXPECT_EQ(ir::infer_types(program, OpKind::to_float, {program.type(x)}, {}, &results), "");
  EXPECT_EQ(results[0], ir::node_type(0, 3));
  EXPECT_NE(ir::infer_types(program, OpKind::to_float, {results[0]}, {}, &results), "");
  EXPECT_NE(ir::infer_types(program, OpKind::to_half, {ir::node_type(0, 3)}, {{"dtype", std::string("f8")}}, &results),
            "");
}

}  // namespace
}  // namespace gneiss
