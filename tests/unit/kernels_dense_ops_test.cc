// Dense ops, losses and optimizers on numbers that can be checked by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "kernels/adam_step.h"
#include "kernels/batch_norm.h"
#include "kernels/batch_norm_inference.h"
#include "kernels/batch_norm_update.h"
#include "kernels/bce_with_logits.h"
#include "kernels/binary.h"
#include "kernels/clip_norm.h"
#include "kernels/column_groups.h"
#include "kernels/copy_columns.h"
#include "kernels/cross_entropy.h"
#include "kernels/dropout.h"
#include "kernels/extreme_grad.h"
#include "kernels/gemm.h"
#include "kernels/labelled_entries.h"
#include "kernels/layer_norm.h"
#include "kernels/mse.h"
#include "kernels/sgd_step.h"
#include "kernels/sum_rows.h"
#include "kernels/unary.h"

namespace gneiss::kernels {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;
using Values = std::vector<float>;

MatrixView<float> matrix(Values& values, std::int64_t rows) {
  return {values.data(), rows, static_cast<std::int64_t>(values.size()) / rows};
}

class DenseOps : public ::testing::Test {
 protected:
  std::vector<double> scratch_ = std::vector<double>(1024);
  Context context_{1, std::as_writable_bytes(std::span(scratch_))};
};

TEST_F(DenseOps, GemmMultipliesInThreeOrientations) {
  Values a = {1, 2, 3, 4, 5, 6};    // 2x3
  Values b = {1, 0, 0, 1, 1, 1};    // 3x2
  Values a_t = {1, 4, 2, 5, 3, 6};  // 3x2
  Values b_t = {1, 0, 1, 0, 1, 1};  // 2x3
  for (const auto& [x, y, orientation] : {std::tuple{&a, &b, Orientation::kNN}, std::tuple{&a_t, &b, Orientation::kTN},
                                          std::tuple{&a, &b_t, Orientation::kNT}}) {
    Values c(4, -1);
    gemm<float>(context_, {matrix(*x, x == &a_t ? 3 : 2), matrix(*y, y == &b ? 3 : 2), matrix(c, 2), orientation});
    EXPECT_THAT(c, ElementsAre(4, 5, 10, 11));
  }
}

TEST_F(DenseOps, UnaryFunctionsHaveTheirDefinitions) {
  const auto apply = [&](Unary fn, Values x, double alpha = 0, double shift = 0) {
    unary<float>(context_, {fn, alpha, shift, matrix(x, 1), matrix(x, 1)});
    return x;
  };
  EXPECT_THAT(apply(Unary::kAffine, {1, -2}, 3, 0.5), ElementsAre(3.5, -5.5));
  EXPECT_THAT(apply(Unary::kRelu, {2, -3, 0}), ElementsAre(2, 0, 0));
  EXPECT_THAT(apply(Unary::kLeakyRelu, {2, -3, 0}, 0.5), ElementsAre(2, -1.5, 0));
  EXPECT_THAT(apply(Unary::kRsqrt, {4, 0, -1}), ElementsAre(0.5, 0, 0));
  EXPECT_THAT(apply(Unary::kSqrt, {4, 0}), ElementsAre(2, 0));
  EXPECT_FLOAT_EQ(apply(Unary::kElu, {-1}, 2)[0], 2 * (std::exp(-1.0F) - 1));
  EXPECT_FLOAT_EQ(apply(Unary::kSigmoid, {0.5F})[0], 1 / (1 + std::exp(-0.5F)));
  EXPECT_TRUE(std::isnan(apply(Unary::kRelu, {std::nanf("")})[0])) << "a numeric failure must stay visible";
}

TEST_F(DenseOps, BinaryBroadcastsRowsScalarsAndHeads) {
  Values x = {1, 2, 3, 4, 5, 6, 7, 8};  // 2x4
  Values row = {1, 2, 3, 4};
  Values column = {10, 20};
  Values heads = {1, 2, 3, 4};  // 2x2
  Values c(8);
  binary<float>(context_, {Binary::kAdd, matrix(x, 2), matrix(row, 1), matrix(c, 2)});
  EXPECT_THAT(c, ElementsAre(2, 4, 6, 8, 6, 8, 10, 12));
  binary<float>(context_, {Binary::kSub, matrix(column, 2), matrix(x, 2), matrix(c, 2)});
  EXPECT_THAT(c, ElementsAre(9, 8, 7, 6, 15, 14, 13, 12));
  binary<float>(context_, {Binary::kMul, matrix(x, 2), matrix(heads, 2), matrix(c, 2)});
  EXPECT_THAT(c, ElementsAre(1, 2, 6, 8, 15, 18, 28, 32));
}

TEST_F(DenseOps, DivisionOfZeroByZeroIsZero) {
  Values a = {0, 1};
  Values b = {0, 0};
  binary<float>(context_, {Binary::kDiv, matrix(a, 1), matrix(b, 1), matrix(a, 1)});
  EXPECT_THAT(a, ElementsAre(0, std::numeric_limits<float>::infinity()));
}

TEST_F(DenseOps, EqualOperandsSendTheirGradientToTheFirst) {
  Values a = {1, 2, 3};
  Values b = {1, 3, 2};
  Values dy = {10, 20, 30};
  Values first(3), second(3);
  extreme_grad<float>(context_, {true, true, matrix(a, 1), matrix(b, 1), matrix(dy, 1), matrix(first, 1)});
  extreme_grad<float>(context_, {true, false, matrix(a, 1), matrix(b, 1), matrix(dy, 1), matrix(second, 1)});
  EXPECT_THAT(first, ElementsAre(10, 0, 30));
  EXPECT_THAT(second, ElementsAre(0, 20, 0));
}

TEST_F(DenseOps, DropoutFollowsTheRandomNumbersOfTheBase) {
  const std::int64_t n = 50, d = 6;
  const std::uint64_t seed = 99, epoch = 3;
  const std::uint32_t stream = 4;
  std::vector<std::int64_t> ids(n);
  for (std::int64_t r = 0; r < n; ++r) ids[static_cast<std::size_t>(r)] = (r << 33) + 5 * r;
  Values x(n * d, 3), y(n * d);
  dropout<float>(context_, {0.25, seed, epoch, stream, ids, nullptr, nullptr, matrix(x, n), matrix(y, n)});
  const std::uint64_t key = seed ^ (epoch * 0x9E3779B97F4A7C15ULL);
  int kept = 0;
  for (std::int64_t r = 0; r < n; ++r) {
    for (std::int64_t c = 0; c < d; ++c) {
      const auto id = static_cast<std::uint64_t>(ids[static_cast<std::size_t>(r)]);
      const PhiloxBlock block = philox(key, {static_cast<std::uint32_t>(id), static_cast<std::uint32_t>(id >> 32),
                                             static_cast<std::uint32_t>(c / 4), stream});
      const bool keep = uniform_float(block[static_cast<std::size_t>(c % 4)]) >= 0.25;
      kept += keep;
      ASSERT_EQ(y[static_cast<std::size_t>(r * d + c)], keep ? 3.0F * static_cast<float>(1 / 0.75) : 0.0F);
    }
  }
  EXPECT_NEAR(kept, 0.75 * n * d, 4 * std::sqrt(n * d * 0.75 * 0.25));
}

TEST_F(DenseOps, DropoutOfAnEdgeDoesNotDependOnItsPlace) {
  // The same two edges 1 -> 0 and 0 -> 1, once with the nodes renamed.
  const std::vector<EdgeId> offsets = {0, 1, 2};
  const std::vector<NodeId> indices = {1, 0};
  const SparsePattern pattern{2, 2, offsets, indices, {}};
  const std::vector<std::int64_t> ids = {7, 8}, renamed = {8, 7};
  Values x(2 * 40, 1), a(2 * 40), b(2 * 40);
  dropout<float>(context_, {0.5, 1, 0, 0, ids, &pattern, nullptr, matrix(x, 2), matrix(a, 2)});
  dropout<float>(context_, {0.5, 1, 0, 0, renamed, &pattern, nullptr, matrix(x, 2), matrix(b, 2)});
  EXPECT_TRUE(std::equal(a.begin(), a.begin() + 40, b.begin() + 40));
  EXPECT_FALSE(std::equal(a.begin(), a.begin() + 40, b.begin()));
}

TEST_F(DenseOps, DropoutOfEverythingLeavesNothing) {
  Values x = {1, 2, 3};
  dropout<float>(context_, {1.0, 1, 0, 0, {}, nullptr, nullptr, matrix(x, 1), matrix(x, 1)});
  EXPECT_THAT(x, ElementsAre(0, 0, 0));
}

TEST_F(DenseOps, ColumnsAreSummedAndCopiedByGroup) {
  Values x = {1, 2, 3, 4, 5, 6};  // one row of 2 heads of 3
  Values heads(2), inner(3), wide(6);
  column_groups<float>(context_, {ColumnGroups::kSumGroups, 2, matrix(x, 1), matrix(heads, 1)});
  EXPECT_THAT(heads, ElementsAre(6, 15));
  column_groups<float>(context_, {ColumnGroups::kSumHeads, 2, matrix(x, 1), matrix(inner, 1)});
  EXPECT_THAT(inner, ElementsAre(5, 7, 9));
  column_groups<float>(context_, {ColumnGroups::kExpandGroups, 2, matrix(heads, 1), matrix(wide, 1)});
  EXPECT_THAT(wide, ElementsAre(6, 6, 6, 15, 15, 15));
  column_groups<float>(context_, {ColumnGroups::kTileHeads, 2, matrix(inner, 1), matrix(wide, 1)});
  EXPECT_THAT(wide, ElementsAre(5, 7, 9, 5, 7, 9));
  copy_columns<float>(context_, {matrix(x, 1), 1, matrix(wide, 1), 3, 2});
  EXPECT_THAT(wide, ElementsAre(5, 7, 9, 2, 3, 9));
  Values rows = {1, 2, 3, 4}, sums(2);
  sum_rows<float>(context_, {matrix(rows, 2), matrix(sums, 1)});
  EXPECT_THAT(sums, ElementsAre(4, 6));
}

TEST_F(DenseOps, BatchNormUsesBiasedVarianceAndKeepsUnbiasedOnes) {
  Values x = {1, 3, 5, 7}, gamma = {2}, beta = {1}, y(4), mean(1), var(1);
  batch_norm<float>(
      context_, {matrix(x, 4), matrix(gamma, 1), matrix(beta, 1), 0, matrix(y, 4), matrix(mean, 1), matrix(var, 1)});
  EXPECT_THAT(mean, ElementsAre(4));
  EXPECT_THAT(var, ElementsAre(5));
  EXPECT_FLOAT_EQ(y[0], 1 - 6 / std::sqrt(5.0F));
  Values running_mean = {0}, running_var = {1};
  batch_norm_update<float>(context_,
                           {4, 0.1, matrix(mean, 1), matrix(var, 1), matrix(running_mean, 1), matrix(running_var, 1)});
  EXPECT_FLOAT_EQ(running_mean[0], 0.4F);
  EXPECT_FLOAT_EQ(running_var[0], 0.9F + 0.1F * 5 * 4 / 3);
  batch_norm_inference<float>(
      context_, {matrix(x, 4), matrix(gamma, 1), matrix(beta, 1), matrix(mean, 1), matrix(var, 1), 0, matrix(y, 4)});
  EXPECT_FLOAT_EQ(y[3], 1 + 6 / std::sqrt(5.0F));
}

TEST_F(DenseOps, LayerNormNormalisesRowsOrTheWholeGraph) {
  Values x = {1, 3, 5, 7}, gamma = {1, 1}, beta = {0, 0}, y(4), mean(2), var(2), mean1(1), var1(1);
  layer_norm<float>(context_, {false, matrix(x, 2), matrix(gamma, 1), matrix(beta, 1), 0, matrix(y, 2), matrix(mean, 2),
                               matrix(var, 2)});
  EXPECT_THAT(y, ElementsAre(-1, 1, -1, 1));
  // eps outside the root, as PyG has it in this mode.
  layer_norm<float>(context_, {true, matrix(x, 2), matrix(gamma, 1), matrix(beta, 1), 1, matrix(y, 2), matrix(mean1, 1),
                               matrix(var1, 1)});
  EXPECT_FLOAT_EQ(y[0], -3 / (std::sqrt(5.0F) + 1));
}

TEST_F(DenseOps, CrossEntropyOfEqualLogitsIsLogOfTheClasses) {
  Values loss(1);
  const std::vector<std::int32_t> labels = {1, 0, -1, 3};
  const std::vector<NodeId> rows = {0, 2, 3};
  Values logits(16, 0), gradient(16, -1);
  cross_entropy<float>(context_, {matrix(logits, 4), labels, rows, {}, 0, matrix(loss, 1), matrix(gradient, 4)});
  EXPECT_FLOAT_EQ(loss[0], std::log(4.0F));
  EXPECT_THAT(gradient, ElementsAre(0.125, -0.375, 0.125, 0.125, 0, 0, 0, 0, 0, 0, 0, 0, 0.125, 0.125, 0.125, -0.375));
}

TEST_F(DenseOps, CrossEntropyWeighsClassesAndSmoothsLabelsAsTorchDoes) {
  // cross_entropy(z, [0, 1], weight=[1, 3], label_smoothing=0.2), its terms written out.
  Values z = {1, 0, 0, 0}, loss(1), dz(4);
  const std::vector<std::int32_t> labels = {0, 1};
  const std::vector<NodeId> rows = {0, 1};
  const std::vector<float> weights = {1, 3};
  cross_entropy<float>(context_, {matrix(z, 2), labels, rows, weights, 0.2, matrix(loss, 1), matrix(dz, 2)});
  const double log0 = std::log(1 + std::exp(-1.0)), log1 = 1 + log0, half = std::log(2.0);
  const double want = ((0.9 * log0 + 0.1 * 3 * log1) + (0.1 * half + 0.9 * 3 * half)) / 4;
  EXPECT_NEAR(loss[0], want, 1e-6);
}

TEST_F(DenseOps, LossesWithoutACountedRowAreZero) {
  Values z = {1, 2}, loss = {9}, dz = {9, 9};
  const std::vector<std::int32_t> labels = {-1};
  const std::vector<NodeId> rows = {0};
  cross_entropy<float>(context_, {matrix(z, 1), labels, rows, {}, 0, matrix(loss, 1), matrix(dz, 1)});
  EXPECT_THAT(loss, ElementsAre(0));
  EXPECT_THAT(dz, ElementsAre(0, 0));
}

TEST_F(DenseOps, UnlabelledTargetsDoNotCount) {
  const float nan = std::nanf("");
  Values z = {0, 0, 3, 50}, t = {1, nan, 2, nan}, loss(1), dz(4, -1);
  const std::vector<NodeId> both = {0, 1}, first = {0};
  bce_with_logits<float>(context_, {matrix(z, 2), matrix(t, 2), first, matrix(loss, 1), matrix(dz, 2)});
  EXPECT_FLOAT_EQ(loss[0], std::log(2.0F));
  EXPECT_THAT(dz, ElementsAre(-0.5, 0, 0, 0));
  mse<float>(context_, {matrix(z, 2), matrix(t, 2), both, matrix(loss, 1), matrix(dz, 2)});
  EXPECT_THAT(loss, ElementsAre(1));
  EXPECT_THAT(dz, ElementsAre(-1, 0, 1, 0));
  EXPECT_EQ(labelled_entries(2, matrix(t, 2), both), 2);
  EXPECT_EQ(labelled_entries(2, matrix(t, 2), first), 1);
  mse<float>(context_, {matrix(z, 2), matrix(t, 2), both, matrix(loss, 1), matrix(dz, 2), 2});
  EXPECT_THAT(loss, ElementsAre(1));
}

// Confident logits, as of a first epoch without a norm, made every product of a backward pass several times slower.
TEST_F(DenseOps, GradientsOfLossesAreNeverSubnormal) {
  constexpr std::int64_t kColumns = 37;
  Values z, t;
  for (std::int64_t c = 0; c < kColumns; ++c) {
    z.push_back(c == 0 ? 0.0F : -70.0F - static_cast<float>(c));
    t.push_back(0);
  }
  const std::vector<std::int32_t> labels = {0};
  const std::vector<NodeId> rows = {0};
  const auto check = [](std::string_view what, const Values& gradients) {
    std::int64_t zeros = 0;
    for (const float g : gradients) {
      EXPECT_NE(std::fpclassify(g), FP_SUBNORMAL) << what;
      zeros += g == 0 ? 1 : 0;
    }
    EXPECT_GT(zeros, 15) << what;
    EXPECT_LT(zeros, 30) << what << ": what is not subnormal stays";
  };
  for (const auto& variant : cross_entropy_variants<float>()) {
    if (variant.name == "reference") continue;
    Values loss(1), dz(kColumns, -1);
    variant.run(context_, {matrix(z, 1), labels, rows, {}, 0, matrix(loss, 1), matrix(dz, 1)});
    check("cross-entropy", dz);
  }
  for (const auto& variant : bce_with_logits_variants<float>()) {
    if (variant.name == "reference") continue;
    Values loss(1), dz(kColumns, -1);
    variant.run(context_, {matrix(z, 1), matrix(t, 1), rows, matrix(loss, 1), matrix(dz, 1)});
    check("binary cross-entropy", dz);
  }
}

TEST_F(DenseOps, SgdKeepsMomentumAndNesterovLooksAhead) {
  Values w = {1}, g = {0.5}, velocity = {123};
  sgd_step<float>(context_, {1, 0.1, 0.9, 0, false, w, g, velocity});
  EXPECT_FLOAT_EQ(w[0], 0.95F) << "the first step ignores what the velocity held";
  sgd_step<float>(context_, {2, 0.1, 0.9, 0, false, w, g, velocity});
  EXPECT_FLOAT_EQ(w[0], 0.95F - 0.1F * 0.95F);
  Values v = {1}, ahead = {0};
  sgd_step<float>(context_, {1, 0.1, 0.9, 0.5, true, v, ahead, velocity});
  EXPECT_FLOAT_EQ(v[0], 1 - 0.1F * (0.5F + 0.9F * 0.5F));
}

TEST_F(DenseOps, AdamMovesByTheRateAtFirst) {
  Values w = {1, 1}, g = {0.5, -200}, m(2), v(2);
  adam_step<float>(context_, {1, 0.01, 0.9, 0.999, 1e-8, 0, false, w, g, m, v});
  EXPECT_THAT(w, Pointwise(FloatNear(1e-6F), Values{0.99F, 1.01F}));
  Values decayed = {1}, none = {0}, m1(1), v1(1);
  adam_step<float>(context_, {1, 0.01, 0.9, 0.999, 1e-8, 0.5, true, decayed, none, m1, v1});
  EXPECT_FLOAT_EQ(decayed[0], 1 - 0.01F * 0.5F);
}

TEST_F(DenseOps, ClippingScalesOnlyLargeGradients) {
  Values g = {3, 4};
  double norm = 0;
  clip_norm<float>(context_, {10, g, &norm});
  EXPECT_EQ(norm, 5);
  EXPECT_THAT(g, ElementsAre(3, 4));
  clip_norm<float>(context_, {1, g, &norm});
  EXPECT_THAT(g, Pointwise(FloatNear(1e-6F), Values{0.6F, 0.8F}));
}

}  // namespace
}  // namespace gneiss::kernels
