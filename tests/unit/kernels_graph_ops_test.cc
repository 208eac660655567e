// Ops over graphs on numbers that can be checked by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/arg_sources.h"
#include "kernels/cpu/parallel_rows.h"
#include "kernels/edge_softmax.h"
#include "kernels/edge_softmax_grad.h"
#include "kernels/gather.h"
#include "kernels/sddmm.h"
#include "kernels/segment_arg_grad.h"
#include "kernels/segment_reduce.h"
#include "kernels/spmm.h"
#include "kernels/spmm_arg_grad.h"
#include "kernels/spmm_arg_weight_grad.h"
#include "kernels/spx_gemm.h"
#include "kernels/to_dense.h"

namespace gneiss::kernels {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::Pointwise;

/// 1 -> 0, 2 -> 0, 2 -> 0 (parallel), 0 -> 2; node 1 gets nothing.
class GraphOps : public ::testing::Test {
 protected:
  const std::vector<EdgeId> offsets_ = {0, 3, 3, 4};
  const std::vector<NodeId> indices_ = {1, 2, 2, 0};
  const std::vector<EdgeId> t_offsets_ = {0, 1, 2, 4};
  const std::vector<NodeId> t_indices_ = {2, 0, 0, 0};
  const std::vector<EdgeId> t_slots_ = {3, 0, 1, 2};
  const SparsePattern in_ = {3, 3, offsets_, indices_, {}};
  const SparsePattern out_ = {3, 3, t_offsets_, t_indices_, t_slots_};
  std::vector<float> x_ = {1, 10, 2, 20, 3, 30};
  const std::vector<float> w_ = {1, 2, 4, 8};
  std::vector<float> y_ = std::vector<float>(6, -1);
  std::vector<std::int32_t> arg_ = std::vector<std::int32_t>(6, -9);

  MatrixView<float> matrix(std::vector<float>& values, std::int64_t rows) {
    return {values.data(), rows, static_cast<std::int64_t>(values.size()) / std::max<std::int64_t>(1, rows)};
  }
  MatrixView<std::int32_t> arg() { return {arg_.data(), 3, 2}; }
};

TEST_F(GraphOps, SpmmSumsEveryParallelEdge) {
  spmm<float>({}, {in_, matrix(x_, 3), {}, 1, Reduce::kSum, matrix(y_, 3), {}});
  EXPECT_THAT(y_, ElementsAre(8, 80, 0, 0, 1, 10));
}

TEST_F(GraphOps, SpmmMeanDividesByTheRowLengthNotTheWeights) {
  spmm<float>({}, {in_, matrix(x_, 3), w_, 1, Reduce::kMean, matrix(y_, 3), {}});
  EXPECT_THAT(y_, Pointwise(FloatEq(), std::vector<float>{20.0F / 3, 200.0F / 3, 0, 0, 8, 80}));
}

TEST_F(GraphOps, SpmmScalesItsRows) {
  std::vector<float> scales = {0.5F, 7, -2};
  SpmmArgs<float> args{in_, matrix(x_, 3), w_, 1, Reduce::kSum, matrix(y_, 3), {}};
  args.scales = matrix(scales, 3);
  spmm<float>({}, args);
  EXPECT_THAT(y_, ElementsAre(10, 100, 0, 0, -16, -160));
  args.reduce = Reduce::kMean;
  spmm<float>({}, args);
  EXPECT_THAT(y_, Pointwise(FloatEq(), std::vector<float>{10.0F / 3, 100.0F / 3, 0, 0, -16, -160}));
}

TEST_F(GraphOps, SpmmReadsWeightsThroughSlots) {
  spmm<float>({}, {out_, matrix(x_, 3), w_, 1, Reduce::kSum, matrix(y_, 3), {}});
  EXPECT_THAT(y_, ElementsAre(8 * 3, 8 * 30, 1, 10, 6, 60));
}

TEST_F(GraphOps, SpmmGivesEveryHeadItsWeight) {
  const std::vector<float> w = {1, 10, 2, 20, 4, 40, 8, 80};
  spmm<float>({}, {in_, matrix(x_, 3), w, 2, Reduce::kSum, matrix(y_, 3), {}});
  EXPECT_THAT(y_, ElementsAre(2 + 6 + 12, 200 + 600 + 1200, 0, 0, 8, 800));
}

TEST_F(GraphOps, SpmmMaximumNamesTheFirstWinner) {
  spmm<float>({}, {in_, matrix(x_, 3), {}, 1, Reduce::kMax, matrix(y_, 3), arg()});
  EXPECT_THAT(y_, ElementsAre(3, 30, 0, 0, 1, 10));
  EXPECT_THAT(arg_, ElementsAre(1, 1, -1, -1, 0, 0));
}

TEST_F(GraphOps, SpmmMinimumKeepsNegativeWeightsAndNegativeRows) {
  const std::vector<float> w = {1, -2, -3, -1};
  spmm<float>({}, {in_, matrix(x_, 3), w, 1, Reduce::kMin, matrix(y_, 3), arg()});
  EXPECT_THAT(y_, ElementsAre(-9, -90, 0, 0, -1, -10));
  EXPECT_THAT(arg_, ElementsAre(2, 2, -1, -1, 0, 0));
}

TEST_F(GraphOps, ArgGradientsGoToTheWinners) {
  spmm<float>({}, {in_, matrix(x_, 3), w_, 1, Reduce::kMax, matrix(y_, 3), arg()});
  std::vector<float> dy = {1, 2, 3, 4, 5, 6};
  std::vector<float> dx(6, -1);
  std::vector<float> dw(4, -1);
  spmm_arg_grad<float>({}, {out_, offsets_, arg(), matrix(dy, 3), w_, matrix(dx, 3)});
  spmm_arg_weight_grad<float>({}, {in_, arg(), matrix(dy, 3), matrix(x_, 3), dw});
  EXPECT_THAT(dx, ElementsAre(40, 48, 0, 0, 4, 8));
  EXPECT_THAT(dw, ElementsAre(0, 0, 3 + 60, 5 + 60));
}

TEST_F(GraphOps, WinnersAreNamedByTheIdsOfTheirNodes) {
  const std::vector<std::int64_t> ids = {70, 50, 60};
  arg_ = {0, 2, -1, -1, 0, 0};
  std::vector<std::int32_t> sources(6, -9);
  const MatrixView<std::int32_t> source = {sources.data(), 3, 2};
  arg_sources<float>({}, {in_, ids, arg(), {}, {}, source, {}});
  EXPECT_THAT(sources, ElementsAre(50, 60, -1, -1, 70, 70));
  std::vector<float> dy = {1, 2, 3, 4, 5, 6};
  std::vector<float> weighed(6, -1);
  sources.assign(6, -9);
  arg_sources<float>({}, {in_, ids, arg(), matrix(dy, 3), w_, source, matrix(weighed, 3)});
  EXPECT_THAT(sources, ElementsAre(50, 60, -1, -1, 70, 70));
  EXPECT_THAT(weighed, ElementsAre(1, 8, 0, 0, 40, 48));
}

/// Node 2 has two edges into node 0, of which one won; node 1 sends to node 0 and won nothing there but column 0.
TEST_F(GraphOps, GradientsOfWinnersByIdCountOneOfParallelEdges) {
  const std::vector<std::int64_t> ids = {70, 50, 60};
  std::vector<std::int32_t> sources = {50, 60, -1, -1, 70, 70};
  std::vector<float> rows = {1, 8, 0, 0, 40, 48};
  std::vector<float> dx(6, -1);
  SparsePattern ends = out_;
  ends.slots = {};
  SpmmArgGradArgs<float> args{ends,          {}, MatrixView<std::int32_t>(sources.data(), 3, 2), matrix(rows, 3), {},
                              matrix(dx, 3), ids};
  spmm_arg_grad<float>({}, args);
  EXPECT_THAT(dx, ElementsAre(40, 48, 1, 0, 0, 8));
}

TEST_F(GraphOps, SddmmTakesInnerProductsByHead) {
  std::vector<float> y = {1, 2, 0, 0, 3, 4};
  std::vector<float> one(4), two(8);
  sddmm<float>({}, {in_, matrix(y, 3), matrix(x_, 3), 1, matrix(one, 4)});
  sddmm<float>({}, {in_, matrix(y, 3), matrix(x_, 3), 2, matrix(two, 4)});
  EXPECT_THAT(one, ElementsAre(42, 63, 63, 43));
  EXPECT_THAT(two, ElementsAre(2, 40, 3, 60, 3, 60, 3, 40));
}

TEST_F(GraphOps, EdgeSoftmaxSumsToOneOverInEdgesHoweverLargeTheScores) {
  std::vector<float> e = {1000, 1000, 1000, -5000};
  edge_softmax<float>({}, {offsets_, matrix(e, 4), matrix(e, 4)});
  EXPECT_THAT(e, Pointwise(FloatEq(), std::vector<float>{1.0F / 3, 1.0F / 3, 1.0F / 3, 1}));
}

TEST_F(GraphOps, EdgeSoftmaxGradVanishesForEqualGradients) {
  std::vector<float> a = {0.25, 0.25, 0.5, 1};
  std::vector<float> da = {1, 1, 3, 7};
  std::vector<float> de(4);
  edge_softmax_grad<float>({}, {offsets_, matrix(a, 4), matrix(da, 4), matrix(de, 4)});
  EXPECT_THAT(de, ElementsAre(-0.25, -0.25, 0.5, 0));
}

TEST_F(GraphOps, GatherCopiesEitherEnd) {
  std::vector<float> e(8);
  gather<float>({}, {in_, true, matrix(x_, 3), matrix(e, 4)});
  EXPECT_THAT(e, ElementsAre(2, 20, 3, 30, 3, 30, 1, 10));
  gather<float>({}, {in_, false, matrix(x_, 3), matrix(e, 4)});
  EXPECT_THAT(e, ElementsAre(1, 10, 1, 10, 1, 10, 3, 30));
}

TEST_F(GraphOps, SegmentReduceWorksByDestinationAndBySource) {
  std::vector<float> e = {1, -1, 5, -5, 3, -7, 4, -4};
  segment_reduce<float>({}, {in_, matrix(e, 4), Reduce::kMean, matrix(y_, 3), {}});
  EXPECT_THAT(y_, Pointwise(FloatEq(), std::vector<float>{3, -13.0F / 3, 0, 0, 4, -4}));
  segment_reduce<float>({}, {out_, matrix(e, 4), Reduce::kSum, matrix(y_, 3), {}});
  EXPECT_THAT(y_, ElementsAre(4, -4, 1, -1, 8, -12));
  segment_reduce<float>({}, {in_, matrix(e, 4), Reduce::kMax, matrix(y_, 3), arg()});
  EXPECT_THAT(y_, ElementsAre(5, -1, 0, 0, 4, -4));
  EXPECT_THAT(arg_, ElementsAre(1, 0, -1, -1, 0, 0));
  std::vector<float> dy = {1, 2, 3, 4, 5, 6};
  segment_arg_grad<float>({}, {offsets_, arg(), matrix(dy, 3), matrix(e, 4)});
  EXPECT_THAT(e, ElementsAre(0, 2, 1, 0, 0, 0, 5, 6));
}

TEST(EdgeRows, OfAPartOfAGraphAreCutFromItsOwnStart) {
  // Rows 1000.. of a larger graph, three edges each: a cut counts from the first of them.
  std::vector<EdgeId> offsets;
  for (EdgeId row = 0; row <= 100; ++row) offsets.push_back(5000000 + 3 * row);
  EXPECT_EQ(cpu::row_at_cost(offsets, 0), 0);
  EXPECT_EQ(cpu::row_at_cost(offsets, 50 * (3 + cpu::kRowCost)), 50);
  EXPECT_EQ(cpu::row_at_cost(offsets, 100 * (3 + cpu::kRowCost)), 100);
  std::vector<int> hits(100, 0);
  cpu::parallel_edge_rows(1, offsets, 1 << 14, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) ++hits[static_cast<std::size_t>(row)];
  });
  EXPECT_EQ(hits, std::vector<int>(100, 1));
}

TEST_F(GraphOps, SparseProductEqualsTheDenseOne) {
  std::vector<float> dense(9, -1);
  to_dense<float>({}, {in_, w_, matrix(dense, 3)});
  EXPECT_THAT(dense, ElementsAre(0, 1, 6, 0, 0, 0, 8, 0, 0));
  spx_gemm<float>({}, {in_, w_, matrix(x_, 3), matrix(y_, 3)});
  EXPECT_THAT(y_, ElementsAre(20, 200, 0, 0, 8, 80));
  spx_gemm<float>({}, {out_, w_, matrix(x_, 3), matrix(y_, 3)});
  EXPECT_THAT(y_, ElementsAre(24, 240, 1, 10, 6, 60));
}

}  // namespace
}  // namespace gneiss::kernels
