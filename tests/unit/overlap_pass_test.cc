// Exchanges between ranks in two halves: where the pass puts them, which rows of a band go first, and behind which step
// the sum of a gradient starts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/beside_exchange.h"
#include "ir/verify.h"
#include "passes/overlap.h"

namespace gneiss {
namespace {

using ir::Builder;
using ir::OpKind;
using ir::Phase;
using ir::ValueId;
using ::testing::ElementsAre;

constexpr std::int64_t kOwn = 0;
constexpr std::int64_t kWithGhosts = 1;

ir::Attrs to(std::int64_t set) { return {{"to", set}, {"packed", std::int64_t{5}}}; }

/// A rank's part of: z = x W; h = A z + relu(x); and backward, d_z = A' d, d_W = x' d_z, d_b = column sums of d.
struct Part {
  ir::Program program;
  ValueId x, w, z, ghosts, h, d, back, d_z, d_w, d_b;

  static ir::Param param(const char* name, std::int64_t rows) {
    ir::Param made;
    made.name = name;
    made.rows = rows;
    made.cols = 4;
    return made;
  }

  Part() {
    program.node_sets = {{"nodes", 7}, {"with_ghosts", 10}};
    program.graphs.push_back({"g", ir::GraphOrigin::kGiven, -1, 1, 0, 20, false, false});
    Builder b(&program);
    x = b.leaf(OpKind::input, ir::node_type(0, 4), {{"name", std::string("features")}}, "x");
    w = b.param(param("weight", 4));
    b.param(param("bias", 1));
    z = b.add(OpKind::gemm, {x, w});
    const ValueId beside = b.add(OpKind::relu, {x});
    ghosts = b.add(OpKind::halo, {z}, to(kWithGhosts));
    const ValueId sum = b.add(OpKind::spmm, {ghosts}, {{"graph", std::int64_t{0}}});
    h = b.add(OpKind::add, {sum, beside});
    b.set_phase(Phase::kBackward);
    d = b.add(OpKind::relu, {h});
    back = b.add(OpKind::spmm, {d}, {{"graph", std::int64_t{0}}, {"transpose", std::int64_t{1}}});
    d_z = b.add(OpKind::halo_add, {back}, to(kOwn));
    d_w = b.add(OpKind::gemm, {x, d_z}, {{"ta", std::int64_t{1}}});
    d_b = b.add(OpKind::sum_rows, {d});
    program.params[0].grad = d_w;
    program.params[1].grad = d_b;
  }
};

std::vector<std::string> names(const ir::Program& program, Phase phase) {
  std::vector<std::string> list;
  for (const ir::Op& op : program.ops) {
    const bool leaf = op.kind == OpKind::input || op.kind == OpKind::param;
    if (op.phase == phase && !leaf) list.emplace_back(ir::traits(op.kind).name);
  }
  return list;
}

TEST(OverlapPass, StartsWhereRowsAreMadeAndWaitsWhereTheyAreRead) {
  const ir::Program made = passes::overlap_exchanges(Part().program, 5);
  EXPECT_THAT(names(made, Phase::kForward), ElementsAre("gemm", "halo_start", "relu", "halo_wait", "spmm", "add"));
  // What does not need the sums of others' rows goes in front of the wait.
  EXPECT_THAT(names(made, Phase::kBackward),
              ElementsAre("relu", "spmm", "halo_add_start", "sum_rows", "halo_add_wait", "gemm"));
  EXPECT_EQ(made.node_sets.back().size, 5);
  EXPECT_TRUE(ir::find_defects(made).empty());
}

TEST(OverlapPass, LeavesTheSetupAlone) {
  Part part;
  for (ir::Op& op : part.program.ops) {
    if (op.phase == Phase::kForward) op.phase = Phase::kSetup;
  }
  const ir::Program made = passes::overlap_exchanges(part.program, 5);
  EXPECT_THAT(names(made, Phase::kSetup), ElementsAre("gemm", "relu", "halo", "spmm", "add"));
}

/// A step for every op of the program; `bands` name first and last kinds of steps that run together.
ir::Plan plan_of(ir::Program program, const std::vector<std::vector<std::string>>& bands) {
  ir::Plan plan;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const bool leaf = program.ops[i].kind == OpKind::input || program.ops[i].kind == OpKind::param;
    if (leaf) continue;
    ir::Step step;
    step.op = static_cast<std::int32_t>(i);
    plan.steps.push_back(step);
  }
  plan.program = std::move(program);
  for (const std::vector<std::string>& wanted : bands) {
    std::size_t matched = 0;
    for (std::size_t i = 0; i < plan.steps.size() && matched < wanted.size(); ++i) {
      const auto& op = plan.program.ops[static_cast<std::size_t>(plan.steps[i].op)];
      matched = ir::traits(op.kind).name == wanted[matched] ? matched + 1 : 0;
      if (matched < wanted.size()) continue;
      ir::RowBand band;
      band.last_step = static_cast<std::int32_t>(i);
      band.first_step = band.last_step - static_cast<std::int32_t>(wanted.size()) + 1;
      for (std::int32_t s = band.first_step; s <= band.last_step; ++s)
        plan.steps[static_cast<std::size_t>(s)].band = static_cast<std::int32_t>(plan.bands.size());
      plan.bands.push_back(band);
    }
    EXPECT_EQ(matched, wanted.size());
  }
  return plan;
}

TEST(RowOrder, ABandRunsTheExchangeBesideItOnItsWay) {
  const ir::Program program = passes::overlap_exchanges(Part().program, 5);
  const ir::Plan plan = plan_of(program, {{"spmm", "add"}, {"relu", "spmm"}, {"sum_rows"}});
  ASSERT_EQ(plan.bands.size(), 3U);
  const std::int32_t wait = plan.bands[0].first_step - 1;
  EXPECT_EQ(ir::row_order(plan, plan.bands[0]), ir::RowOrder::kInteriorFirst);
  EXPECT_EQ(ir::steps_with(plan, plan.bands[0]), std::pair(wait, wait + 2));
  // The steps of the second band have rows of two node sets; its last ones are sent.
  EXPECT_EQ(ir::row_order(plan, plan.bands[1]), ir::RowOrder::kGhostsFirst);
  EXPECT_EQ(ir::steps_with(plan, plan.bands[1]).second, plan.bands[1].last_step + 1);
  EXPECT_EQ(ir::row_order(plan, plan.bands[2]), ir::RowOrder::kAny);
}

/// An op that reads ghosts elsewhere than at the sources of its rows' in-edges waits for all of them: interior rows
/// need others' rows too.
TEST(RowOrder, IsAnyWhereGhostsAreReadElsewhereThanAtSources) {
  const auto order_where = [](const auto& change) {
    Part part;
    for (ir::Op& op : part.program.ops) {
      if (op.phase == Phase::kForward) change(part, &op);
    }
    const ir::Plan plan = plan_of(passes::overlap_exchanges(part.program, 5), {{"spmm", "add"}});
    return ir::row_order(plan, plan.bands[0]);
  };
  EXPECT_EQ(order_where([](const Part&, ir::Op*) {}), ir::RowOrder::kInteriorFirst);
  EXPECT_EQ(order_where([](const Part&, ir::Op* op) {
              if (op->kind == OpKind::spmm) op->attrs.set("transpose", std::int64_t{1});
            }),
            ir::RowOrder::kAny);
  EXPECT_EQ(order_where([](const Part& part, ir::Op* op) {
              if (op->kind == OpKind::add) op->inputs[1] = part.ghosts;
            }),
            ir::RowOrder::kAny);
  EXPECT_EQ(order_where([](const Part& part, ir::Op* op) {
              if (op->kind == OpKind::spmm) op->inputs.push_back(part.ghosts);
            }),
            ir::RowOrder::kAny);
}

TEST(RowOrder, IsAnyWhereTheBandReadsNoGhosts) {
  Part part;
  for (ir::Op& op : part.program.ops) {
    if (op.kind == OpKind::spmm && op.phase == Phase::kForward) op.inputs[0] = part.x;
  }
  const ir::Plan plan = plan_of(passes::overlap_exchanges(part.program, 5), {{"spmm", "add"}});
  EXPECT_EQ(ir::row_order(plan, plan.bands[0]), ir::RowOrder::kAny);
}

TEST(GradientSums, StartBehindTheNextExchange) {
  const ir::Plan plan = plan_of(passes::overlap_exchanges(Part().program, 5), {});
  const auto kind_behind = [&](const ir::GradientSum& sum) {
    return ir::traits(
               plan.program.ops[static_cast<std::size_t>(plan.steps[static_cast<std::size_t>(sum.behind)].op)].kind)
        .name;
  };
  const std::vector<ir::GradientSum> sums = ir::gradient_sums(plan);
  ASSERT_EQ(sums.size(), 2U);
  EXPECT_EQ(sums[0].parameter, 1U);  // of the bias, made while the exchange is under way
  EXPECT_EQ(kind_behind(sums[0]), "sum_rows");
  EXPECT_EQ(sums[1].parameter, 0U);
  EXPECT_EQ(kind_behind(sums[1]), "gemm");

  // A gradient that is there before an exchange starts waits for that: rows of nodes go first.
  Part early;
  for (ir::Op& op : early.program.ops) {
    if (op.kind == OpKind::sum_rows) op.inputs[0] = early.h;
  }
  std::rotate(early.program.ops.end() - 5, early.program.ops.end() - 1, early.program.ops.end());
  const ir::Plan other = plan_of(passes::overlap_exchanges(early.program, 5), {});
  const ir::GradientSum first = ir::gradient_sums(other)[0];
  EXPECT_EQ(first.parameter, 1U);
  EXPECT_EQ(other.program.ops[static_cast<std::size_t>(other.steps[static_cast<std::size_t>(first.behind)].op)].kind,
            OpKind::halo_add_start);
}

/// Bands of the forward phase make gradients of the loss's end; their sums start with the backward phase.
TEST(GradientSums, OfTheForwardPhaseStartFirst) {
  Part part;
  part.program.ops.resize(part.program.ops.size() - 5);
  Builder b(&part.program);
  b.set_phase(Phase::kForward);
  part.program.params[0].grad = ir::kNoValue;
  part.program.params[1].grad = b.add(OpKind::sum_rows, {part.h});
  const ir::Plan plan = plan_of(part.program, {});
  const std::vector<ir::GradientSum> sums = ir::gradient_sums(plan);
  ASSERT_EQ(sums.size(), 1U);
  EXPECT_EQ(sums[0].behind, ir::GradientSum::kBeforeBackward);
}

}  // namespace
}  // namespace gneiss
