// The intermediate representation: shape rules, text form, verifier.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/error.h"
#include "ir/program.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace gneiss::ir {
namespace {

/// sum over in-edges of leaky_relu(x W) with a weight, plus everything the text form has to carry.
Program sample() {
  Program program;
  program.name = "sample.gneiss";
  program.node_sets.push_back({"nodes", 7});
  program.graphs.push_back({"g", GraphOrigin::kGiven, -1, 0, 0, 20, true, false});
  program.graphs.push_back({"g+loops", GraphOrigin::kAddRemainingSelfLoops, 0, 0, 0, 27, true, true});
  Builder b(&program);
  Type features = node_type(0, 5);
  features.layout = Layout::kSparse;
  b.set_location({3, 9});
  const ValueId x = b.leaf(OpKind::input, features, {{"name", std::string("features")}}, "x");
  Param weight;
  weight.name = "convs.0.lin.weight";
  weight.rows = 5;
  weight.cols = 4;
  weight.stored_shape = {4, 5};
  weight.stored_transposed = true;
  weight.init = {Init::Kind::kGlorot, 0, 5, 4};
  const ValueId w = b.param(weight);
  const ValueId z = b.add(OpKind::gemm, {x, w});
  const ValueId e = b.add(OpKind::gather_src, {z}, {{"graph", std::int64_t{1}}});
  const ValueId r = b.add(OpKind::leaky_relu, {e}, {{"alpha", 0.2}});
  const auto m = b.add_all(OpKind::segment_reduce, {r}, {{"graph", std::int64_t{1}}, {"fn", std::string("max")}});
  b.set_phase(Phase::kInference);
  b.set_location({5, 2, 1});
  const ValueId y = b.add(OpKind::affine, {m[0]}, {{"scale", 2.0}, {"shift", 1e-30}});
  program.outputs.push_back({"logits", y});
  program.params[0].grad = w;
  return program;
}

TEST(IrText, PrintsWhatItParses) {
  const std::string text = print(sample());
  EXPECT_EQ(print(parse(text)), text);
  EXPECT_NE(text.find("%gemm.2: node<0>[4] = gemm(%x.0, %convs.0.lin.weight.1) @forward !3:9"), std::string::npos)
      << text;
}

TEST(IrText, ParsedProgramIsEqualInSubstance) {
  const Program program = parse(print(sample()));
  EXPECT_TRUE(find_defects(program).empty());
  EXPECT_EQ(program.graphs[1].origin, GraphOrigin::kAddRemainingSelfLoops);
  EXPECT_TRUE(program.graphs[1].weighted);
  EXPECT_FALSE(program.graphs[0].symmetric);
  EXPECT_EQ(program.params[0].init.fan_out, 4);
  EXPECT_EQ(program.params[0].stored_shape, (std::vector<std::int64_t>{4, 5}));
  EXPECT_DOUBLE_EQ(program.ops.back().attrs.real("shift", 0), 1e-30);
  EXPECT_EQ(program.type(program.ops[0].results[0]).layout, Layout::kSparse);
}

TEST(IrText, NamesTheLineOfAMistake) {
  std::string text = print(sample());
  const std::size_t at = text.find("= gemm");
  text.replace(at, 6, "= gamm");
  try {
    parse(text);
    FAIL() << "accepted an unknown op";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadData);
    EXPECT_NE(error.message().find("'gamm'"), std::string::npos) << error.what();
    EXPECT_EQ(error.where(), "line 7");
  }
}

TEST(IrText, RefusesValuesBeforeTheyAreMade) {
  EXPECT_THROW(parse("%y.0: [1, 1] = relu(%x.0) @forward"), Error);
  EXPECT_THROW(parse("%y.0: [1, 1] = constant() @forward\n%y.0: [1, 1] = constant() @forward"), Error);
}

struct Shapes {
  OpKind kind;
  std::vector<Type> in;
  Attrs attrs;
  std::string problem;  ///< part of the refusal, or "" with `out`
  Type out;
};

TEST(IrShapeRules, GiveTypesOrReasons) {
  const Program program = sample();
  const Attrs g{{"graph", std::int64_t{0}}};
  const std::vector<Shapes> cases = {
      {OpKind::gemm, {node_type(0, 5), global_type(5, 3)}, {}, "", node_type(0, 3)},
      {OpKind::gemm, {node_type(0, 5), global_type(4, 3)}, {}, "left has 5 columns, right has 4 rows", {}},
      {OpKind::gemm, {node_type(0, 5), node_type(0, 3)}, {{"ta", std::int64_t{1}}}, "", global_type(5, 3)},
      {OpKind::gemm, {node_type(0, 5), edge_type(0, 3)}, {{"ta", std::int64_t{1}}}, "different rows", {}},
      {OpKind::add, {node_type(0, 6), global_type(1, 2)}, {}, "", node_type(0, 6)},
      {OpKind::add, {node_type(0, 6), global_type(1, 4)}, {}, "do not fit", {}},
      {OpKind::mul, {edge_type(0, 2), node_type(0, 6)}, {}, "different rows", {}},
      {OpKind::mul, {edge_type(0, 2), edge_type(1, 6)}, {}, "different rows", {}},
      {OpKind::gather_src, {edge_type(0, 2)}, g, "not a node value", {}},
      {OpKind::gather_src, {node_type(0, 2)}, {{"graph", std::int64_t{9}}}, "graph 9 does not exist", {}},
      {OpKind::spmm,
       {node_type(0, 6), edge_type(0, 2)},
       {{"graph", std::int64_t{0}}, {"heads", std::int64_t{2}}},
       "",
       node_type(0, 6)},
      {OpKind::spmm,
       {node_type(0, 6), edge_type(0, 3)},
       {{"graph", std::int64_t{0}}, {"heads", std::int64_t{2}}},
       "weights are",
       {}},
      {OpKind::spmm,
       {node_type(0, 6), node_type(0, 1)},
       {{"graph", std::int64_t{0}}, {"scaled", std::int64_t{1}}},
       "",
       node_type(0, 6)},
      {OpKind::spmm,
       {node_type(0, 6), node_type(0, 2)},
       {{"graph", std::int64_t{0}}, {"scaled", std::int64_t{1}}},
       "no factor for rows",
       {}},
      {OpKind::spmm,
       {node_type(0, 6), edge_type(0, 1), edge_type(0, 1)},
       {{"graph", std::int64_t{0}}},
       "more than values and weights",
       {}},
      {OpKind::segment_reduce, {node_type(0, 2)}, g, "not an edge value", {}},
      {OpKind::sum_groups, {node_type(0, 6)}, {{"groups", std::int64_t{4}}}, "not a multiple", {}},
      {OpKind::slice,
       {node_type(0, 6)},
       {{"begin", std::int64_t{4}}, {"cols", std::int64_t{3}}},
       "columns 4..7 of 6",
       {}},
      {OpKind::batch_norm,
       {node_type(0, 6), global_type(1, 6), global_type(1, 6), global_type(1, 5), global_type(1, 6)},
       {},
       "operand 3",
       {}},
      {OpKind::cross_entropy, {global_type(3, 3)}, {}, "not a node value", {}},
      {OpKind::relu, {node_type(0, 1), node_type(0, 1)}, {}, "takes 1 to 1 operands, got 2", {}},
  };
  for (const Shapes& c : cases) {
    std::vector<Type> out;
    const std::string problem = infer_types(program, c.kind, c.in, c.attrs, &out);
    if (c.problem.empty()) {
      ASSERT_EQ(problem, "") << traits(c.kind).name;
      EXPECT_EQ(out[0], c.out) << traits(c.kind).name;
    } else {
      EXPECT_NE(problem.find(c.problem), std::string::npos) << traits(c.kind).name << ": " << problem;
    }
  }
}

TEST(IrVerifier, FindsWhatIsWrong) {
  const auto defects_after = [](auto damage) {
    Program program = sample();
    damage(program);
    return find_defects(program);
  };
  EXPECT_TRUE(find_defects(sample()).empty());
  EXPECT_FALSE(defects_after([](Program& p) { p.ops[2].inputs[0] = 5; }).empty()) << "use before making";
  EXPECT_FALSE(defects_after([](Program& p) { std::swap(p.ops[2], p.ops[3]); }).empty()) << "order";
  EXPECT_FALSE(defects_after([](Program& p) { p.values[2].type.cols = 9; }).empty()) << "type";
  EXPECT_FALSE(defects_after([](Program& p) { p.graphs[1].base = 1; }).empty()) << "graph of itself";
  EXPECT_FALSE(defects_after([](Program& p) { p.outputs[0].value = 99; }).empty()) << "output";
  EXPECT_FALSE(defects_after([](Program& p) { p.values[3].name = p.values[2].name; }).empty()) << "names";
  EXPECT_FALSE(defects_after([](Program& p) { p.params.push_back(p.params[0]); }).empty()) << "keys";
  EXPECT_THROW(verify(
                   [] {
                     Program p = sample();
                     p.ops.pop_back();
                     return p;
                   }(),
                   "a pass"),
               Error);
}

TEST(IrOps, NamesAreFoundAgain) {
  for (const OpKind kind : all_op_kinds()) {
    OpKind found{};
    ASSERT_TRUE(find_op_kind(traits(kind).name, &found));
    EXPECT_EQ(found, kind);
  }
  OpKind none{};
  EXPECT_FALSE(find_op_kind("no_such_op", &none));
}

}  // namespace
}  // namespace gneiss::ir
