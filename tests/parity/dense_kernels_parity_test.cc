// Variants of the dense ops, the losses and the optimizers against the reference, at sizes of one and of several
// chunks.
#include <gtest/gtest.h>

#include <array>
#include <bit>

#include "base/buffer.h"
#include "kernels/adam_step.h"
#include "kernels/batch_norm.h"
#include "kernels/batch_norm_grad.h"
#include "kernels/batch_norm_inference.h"
#include "kernels/batch_norm_update.h"
#include "kernels/bce_with_logits.h"
#include "kernels/binary.h"
#include "kernels/clip_norm.h"
#include "kernels/column_groups.h"
#include "kernels/copy_columns.h"
#include "kernels/cross_entropy.h"
#include "kernels/cuda/device_kernels.h"
#include "kernels/dropout.h"
#include "kernels/extreme_grad.h"
#include "kernels/fill.h"
#include "kernels/gemm.h"
#include "kernels/labelled_entries.h"
#include "kernels/layer_norm.h"
#include "kernels/layer_norm_grad.h"
#include "kernels/mse.h"
#include "kernels/mul_add.h"
#include "kernels/sgd_step.h"
#include "kernels/sum_rows.h"
#include "kernels/unary.h"
#include "kernels/unary_grad.h"
#include "parity/kernels_of_programs.h"
#include "parity/parity.h"

namespace gneiss::testing {
namespace {

const auto* const kWhatRuns = expect_kernels_to_run(KernelsOfDense{});

struct Shape {
  std::int64_t rows, cols, pad;
};
// Nothing, one element, tails of every vector, and several chunks of rows.
constexpr Shape kShapes[] = {{0, 4, 0},  {3, 0, 0},   {1, 1, 0},     {7, 3, 2},
                             {5, 16, 0}, {64, 33, 3}, {2500, 33, 0}, {4100, 32, 0}};

template <class Args>
void check(const std::string& what, std::span<const kernels::Variant<Args>> variants, const Args& args,
           std::vector<Output> outputs, std::size_t workspace_bytes = 0, std::int64_t terms = 1) {
  EXPECT_GE(expect_parity<Args>({what, variants, args, workspace_bytes, std::move(outputs), {}, terms}), 1) << what;
}

void check_gemm(std::int64_t m, std::int64_t n, std::int64_t k, kernels::Orientation orientation, std::int64_t pad) {
  const bool tn = orientation == kernels::Orientation::kTN;
  const bool nt = orientation == kernels::Orientation::kNT;
  Matrix<float> a = random_matrix(tn ? k : m, tn ? m : k, pad, 1);
  Matrix<float> b = random_matrix(nt ? n : k, nt ? k : n, pad, 2);
  Matrix<float> c(m, n, pad);
  Matrix<float> a_abs = absolute(a);
  Matrix<float> b_abs = absolute(b);
  Matrix<float> magnitudes(m, n, pad);
  kernels::gemm_variants<float>().back().run({}, {a_abs.view(), b_abs.view(), magnitudes.view(), orientation});
  const std::size_t workspace = kernels::gemm_workspace_bytes(orientation, m, n, k, sizeof(float));
  const kernels::GemmArgs<float> args{a.view(), b.view(), c.view(), orientation};
  const auto check_one = [&](std::string_view what, const kernels::GemmArgs<float>& one) {
    check(std::string(what), kernels::gemm_variants<float>(), one,
          {{&c.values, sum_bound(magnitudes.values, static_cast<double>(k))}}, workspace, k);
  };
  check_one("gemm", args);
  for (const std::int64_t rows : {std::int64_t{1}, m}) {
    if (tn || m == 0) continue;
    Matrix<float> addend = random_matrix(rows, n, pad, 3);
    kernels::GemmArgs<float> added = args;
    added.addend = addend.view();
    for (float& bound : magnitudes.values) bound += 1;
    check_one("gemm with an addend", added);
    if (rows != m) continue;
    c = addend;
    added.addend = c.view();
    check_one("gemm in its addend's place", added);
  }
}

constexpr kernels::Orientation kOrientations[] = {kernels::Orientation::kNN, kernels::Orientation::kTN,
                                                  kernels::Orientation::kNT};

TEST(DenseKernels, FillAgrees) {
  const auto exact = [](std::size_t, double) { return 0.0; };
  // More rows than a task of the fast variant takes.
  for (const Shape& shape : {Shape{0, 1, 0}, Shape{1, 1, 0}, Shape{7, 3, 2}, Shape{40000, 2, 1}}) {
    const Matrix<float> weights = random_matrix(shape.rows, 1, 0, 1);
    std::vector<EdgeId> offsets = {0};
    for (std::int64_t r = 0; r < shape.rows; ++r) offsets.push_back(offsets.back() + r % 5);
    const std::vector<NodeId> indices(static_cast<std::size_t>(offsets.back()), 0);
    const SparsePattern pattern{shape.rows, 1, offsets, indices, {}};
    Matrix<float> y(shape.rows, shape.cols, shape.pad);
    kernels::FillArgs<float> args;
    args.y = y.view();
    args.value = 0.3;
    check("fill with a constant", kernels::fill_variants<float>(), args, {{&y.values, exact}});
    args.what = kernels::Fill::kEdgeWeights;
    check("fill with ones", kernels::fill_variants<float>(), args, {{&y.values, exact}});
    args.weights = weights.values;
    check("fill with weights", kernels::fill_variants<float>(), args, {{&y.values, exact}});
    args.weights = {};
    args.what = kernels::Fill::kDegrees;
    args.pattern = &pattern;
    check("fill with degrees", kernels::fill_variants<float>(), args, {{&y.values, exact}});
  }
}

TEST(DenseKernels, GemmAgrees) {
  // More than 4096 are several chunks of tn, and of 32 and more columns several blocks of nn and nt, with a rest.
  const std::int64_t sizes[][3] = {{0, 3, 4},      {3, 0, 4},      {3, 4, 0},      {1, 1, 1},      {5, 7, 3},
                                   {33, 16, 602},  {9000, 16, 33}, {16, 33, 9001}, {602, 32, 602}, {130, 32, 4100},
                                   {70, 47, 4100}, {25, 80, 300},  {13, 101, 130}, {32, 40, 4100}, {32, 7, 9000},
                                   {48, 1, 9000}};  // the last three as the transpose, for tn
  constexpr std::int64_t kLarge = 10'000'000;       // products: with padding alone
  for (const auto& [m, n, k] : sizes) {
    for (const kernels::Orientation orientation : kOrientations) {
      for (const std::int64_t pad : {0, 3}) {
        if (pad != 0 || m * n * k < kLarge) check_gemm(m, n, k, orientation, pad);
      }
    }
  }
}

/// What runs only where it is asked for, in the emulation, whose fragments are a card's. Against the reference, within
/// the bound of products in f32; small parts left out would show.
TEST(DenseKernels, GemmOnTensorCoresIsAsAccurate) {
  using DeviceArgs = kernels::OnDevice<kernels::GemmArgs>;
  const auto& kernel = kernels::find_kernel<DeviceArgs>(kernels::emulated_kernels());
  bool has_other_bits = false;
  struct Case {
    std::int64_t m, n, k;
    kernels::Orientation orientation;
    std::int64_t pad;
  };
  using enum kernels::Orientation;
  // Tiles and a rest of each, tiles of the inner dimension and a rest, and one that is cut into parts.
  for (const auto& [m, n, k, orientation, pad] : {Case{130, 66, 16, kNN, 0},
                                                  {33, 64, 40, kNN, 3},
                                                  {33, 65, 40, kNT, 0},
                                                  {40, 33, 33, kTN, 3},
                                                  {33, 33, 520, kTN, 0}}) {
    const bool tn = orientation == kTN;
    const bool nt = orientation == kNT;
    Matrix<float> a = random_matrix(tn ? k : m, tn ? m : k, pad, 1);
    Matrix<float> b = random_matrix(nt ? n : k, nt ? k : n, pad, 2);
    Matrix<float> a_abs = absolute(a);
    Matrix<float> b_abs = absolute(b);
    Matrix<float> addend = random_matrix(tn ? 0 : m, tn ? 0 : n, pad, 3);
    Matrix<float> addend_abs = absolute(addend);
    Matrix<float> want(m, n, pad);
    Matrix<float> magnitudes(m, n, pad);
    Matrix<float> plain(m, n, pad);
    Matrix<float> got(m, n, pad);
    const auto& reference = kernels::gemm_variants<float>().back();
    kernels::GemmArgs<float> args{a.view(), b.view(), want.view(), orientation};
    args.addend = addend.view();
    reference.run({}, args);
    kernels::GemmArgs<float> sizes{a_abs.view(), b_abs.view(), magnitudes.view(), orientation};
    sizes.addend = addend_abs.view();
    reference.run({}, sizes);
    const auto run = [&](bool tensor_cores, Matrix<float>* into) {
      args.c = into->view();
      const auto moved = std::bit_cast<DeviceArgs>(args);
      Buffer<std::byte> workspace(kernel.workspace_bytes(moved));
      kernels::DeviceContext context;
      context.workspace = {workspace.data(), workspace.size()};
      context.tensor_cores = tensor_cores;
      kernel.run(context, moved);
    };
    run(false, &plain);
    run(true, &got);
    const auto bound = sum_bound(magnitudes.values, static_cast<double>(k));
    for (std::size_t i = 0; i < got.values.size(); ++i) {
      ASSERT_NEAR(got.values[i], want.values[i], bound(i, want.values[i]))
          << m << " x " << n << " x " << k << ", orientation " << static_cast<int>(orientation) << ", element " << i;
    }
    has_other_bits = has_other_bits || got.values != plain.values;
  }
  EXPECT_TRUE(has_other_bits) << "tensor cores were not taken";
}

TEST(DenseKernels, GemmAgreesHoweverRowsFallIntoTiles) {
  for (std::int64_t m = 1; m <= 30; ++m) {
    for (const std::int64_t n : {8, 16, 40, 48}) {  // panels of one, two and three vectors, the last not full
      for (const kernels::Orientation orientation : kOrientations) check_gemm(m, n, 9, orientation, 3);
    }
  }
}

TEST(DenseKernels, UnaryAgrees) {
  for (int fn = 0; fn <= static_cast<int>(kernels::Unary::kRsqrt); ++fn) {
    for (const auto& [rows, cols, pad] : kShapes) {
      Matrix<float> x = random_matrix(rows, cols, pad, 1, -5, 5);
      if (!x.values.empty()) x.values[0] = 0;
      Matrix<float> y(rows, cols, pad);
      const kernels::UnaryArgs<float> args{static_cast<kernels::Unary>(fn), 0.3, -0.7, x.view(), y.view()};
      check("unary " + std::to_string(fn), kernels::unary_variants<float>(), args, {{&y.values, relative_bound(8)}});
      y = x;
      check("unary in place", kernels::unary_variants<float>(), {args.fn, 0.3, -0.7, y.view(), y.view()},
            {{&y.values, relative_bound(8)}});
    }
  }
}

TEST(DenseKernels, UnaryKeepsNotANumberAndInfinity) {
  using kernels::Unary;
  const float inf = std::numeric_limits<float>::infinity();
  for (const Unary fn :
       {Unary::kRelu, Unary::kLeakyRelu, Unary::kElu, Unary::kSigmoid, Unary::kTanh, Unary::kExp, Unary::kLog}) {
    Matrix<float> x(1, 5);
    x.values = {std::nanf(""), inf, -inf, 90, -90};
    if (fn == Unary::kLog) x.values = {std::nanf(""), inf, 0, 1, -1};
    Matrix<float> y(1, 5);
    check("unary " + std::to_string(static_cast<int>(fn)), kernels::unary_variants<float>(),
          {fn, 1.0, 0.0, x.view(), y.view()}, {{&y.values, relative_bound(8)}});
  }
}

TEST(DenseKernels, UnaryGradAgrees) {
  for (int fn = 0; fn <= static_cast<int>(kernels::Unary::kRsqrt); ++fn) {
    const auto unary = static_cast<kernels::Unary>(fn);
    if (unary == kernels::Unary::kAffine || unary == kernels::Unary::kLog) continue;
    for (const auto& [rows, cols, pad] : kShapes) {
      Matrix<float> y = random_matrix(rows, cols, pad, 1);
      if (!y.values.empty()) y.values[0] = 0;
      Matrix<float> dy = random_matrix(rows, cols, pad, 2);
      Matrix<float> dx(rows, cols, pad);
      check("unary_grad " + std::to_string(fn), kernels::unary_grad_variants<float>(),
            {unary, 0.3, y.view(), dy.view(), dx.view()}, {{&dx.values, relative_bound(8)}});
    }
  }
}

TEST(DenseKernels, BinaryAgreesForEveryBroadcast) {
  const Shape results[] = {{1, 1, 0},  {7, 12, 3}, {2500, 24, 0}, {3, 0, 0},    {1, 5, 0},
                           {40, 1, 0}, {37, 3, 0}, {9000, 5, 0},  {1000, 15, 0}};
  for (int fn = 0; fn <= static_cast<int>(kernels::Binary::kMinimum); ++fn) {
    for (const auto& [rows, cols, pad] : results) {
      for (const std::int64_t a_rows : {rows, std::int64_t{1}}) {
        for (const std::int64_t b_cols : {cols, std::int64_t{1}, std::int64_t{4}, std::int64_t{6}}) {
          if (cols != 0 && cols % b_cols != 0) continue;
          const bool same = fn >= static_cast<int>(kernels::Binary::kMaximum);
          if (same && (a_rows != rows || b_cols != cols)) continue;
          for (const std::int64_t a_cols : {cols, cols % 3 == 0 && !same ? cols / 3 : cols}) {
            Matrix<float> a = random_matrix(a_rows, a_cols, pad, 1);
            Matrix<float> b = random_matrix(rows, b_cols, pad, 2, 0.5, 2);
            if (!a.values.empty() && !b.values.empty()) a.values[0] = b.values[0] = 0;
            Matrix<float> c(rows, cols, pad);
            check("binary " + std::to_string(fn), kernels::binary_variants<float>(),
                  {static_cast<kernels::Binary>(fn), a.view(), b.view(), c.view()}, {{&c.values, relative_bound(4)}});
            for (Matrix<float>* over : {&a, &b}) {
              if (over->rows != rows || over->cols != cols) continue;
              check("binary in place " + std::to_string(fn), kernels::binary_variants<float>(),
                    {static_cast<kernels::Binary>(fn), a.view(), b.view(), over->view()},
                    {{&over->values, relative_bound(4)}});
            }
          }
        }
      }
    }
  }
}

TEST(DenseKernels, ExtremeGradAgrees) {
  for (const auto& [rows, cols, pad] : kShapes) {
    for (const int mode : {0, 1, 2, 3}) {
      Matrix<float> a = random_matrix(rows, cols, pad, 1);
      Matrix<float> b = random_matrix(rows, cols, pad, 2);
      if (!a.values.empty()) b.values[0] = a.values[0];
      Matrix<float> dy = random_matrix(rows, cols, pad, 3);
      Matrix<float> dx(rows, cols, pad);
      check("extreme_grad", kernels::extreme_grad_variants<float>(),
            {mode % 2 == 0, mode / 2 == 0, a.view(), b.view(), dy.view(), dx.view()},
            {{&dx.values, relative_bound(0)}});
    }
  }
}

TEST(DenseKernels, DropoutAgreesBitForBit) {
  for (const auto& [rows, cols, pad] : kShapes) {
    for (const double p : {0.0, 0.3, 0.5, 1.0}) {
      Matrix<float> x = random_matrix(rows, cols, pad, 1);
      Matrix<float> y(rows, cols, pad);
      const kernels::DropoutArgs<float> args{p, 0x1234567890abcdefULL, 3, 17, {}, nullptr, nullptr, x.view(), y.view()};
      check("dropout", kernels::dropout_variants<float>(), args, {{&y.values, relative_bound(0)}});
    }
  }
}

TEST(DenseKernels, SumRowsAgrees) {
  for (const auto& [rows, cols, pad] : kShapes) {
    Matrix<float> x = random_matrix(rows, cols, pad, 1);
    Matrix<float> y(1, cols);
    check("sum_rows", kernels::sum_rows_variants<float>(), {x.view(), y.view()}, {{&y.values, relative_bound(1)}},
          kernels::sum_rows_workspace_bytes(rows, cols, sizeof(float)));
    for (const std::int64_t groups : {std::int64_t{1}, cols}) {
      Matrix<float> weights = random_matrix(rows, groups, pad, 2);
      check("sum_rows with weights", kernels::sum_rows_variants<float>(), {x.view(), y.view(), weights.view()},
            {{&y.values, relative_bound(1)}}, kernels::sum_rows_workspace_bytes(rows, cols, sizeof(float)));
    }
  }
}

TEST(DenseKernels, MulAddAgrees) {
  for (const auto& [rows, cols, pad] : kShapes) {
    const std::int64_t factors[][2] = {
        {rows, cols}, {1, cols}, {rows, 1}, {1, 1}, {rows, cols % 3 == 0 ? cols / 3 : cols}};
    for (const auto& [a_rows, a_cols] : factors) {
      for (const auto& [b_rows, b_cols] : factors) {
        Matrix<float> x = random_matrix(rows, cols, pad, 1);
        Matrix<float> a = random_matrix(a_rows, a_cols, pad, 2);
        Matrix<float> b = random_matrix(b_rows, b_cols, 1, 3);
        Matrix<float> y(rows, cols, pad);
        kernels::MulAddArgs<float> args{x.view(), a.view(), b.view(), y.view()};
        check("mul_add", kernels::mul_add_variants<float>(), args, {{&y.values, relative_bound(4)}});
        y = x;
        args.x = y.view();
        check("mul_add in place", kernels::mul_add_variants<float>(), args, {{&y.values, relative_bound(4)}});
      }
    }
  }
}

TEST(DenseKernels, ColumnsAgree) {
  using kernels::ColumnGroups;
  for (const std::int64_t rows : {0, 1, 7, 3000}) {
    for (const auto& [heads, d] :
         {std::pair<std::int64_t, std::int64_t>{1, 5}, {3, 5}, {8, 5}, {1, 8}, {4, 8}, {8, 8}, {1, 16}, {1, 48}}) {
      for (const ColumnGroups fn :
           {ColumnGroups::kSumGroups, ColumnGroups::kExpandGroups, ColumnGroups::kSumHeads, ColumnGroups::kTileHeads}) {
        const std::int64_t narrow = fn == ColumnGroups::kSumGroups || fn == ColumnGroups::kExpandGroups ? heads : d;
        const bool grows = fn == ColumnGroups::kExpandGroups || fn == ColumnGroups::kTileHeads;
        Matrix<float> x = random_matrix(rows, grows ? narrow : heads * d, 1, 1);
        Matrix<float> y(rows, grows ? heads * d : narrow, 2);
        const auto bound = relative_bound(static_cast<double>(std::max<std::int64_t>(8, d)));  // for each addition
        check("column_groups", kernels::column_groups_variants<float>(), {fn, heads, x.view(), y.view()},
              {{&y.values, bound}});
        for (const std::int64_t weight_rows : {std::int64_t{1}, std::int64_t{rows}}) {
          if (fn != ColumnGroups::kSumGroups || rows == 0) continue;
          Matrix<float> weights = random_matrix(weight_rows, heads * d, 1, 2);
          check("inner products", kernels::column_groups_variants<float>(),
                {fn, heads, x.view(), y.view(), weights.view()}, {{&y.values, bound}});
        }
      }
    }
    Matrix<float> src = random_matrix(rows, 9, 0, 1);
    Matrix<float> dst = random_matrix(rows, 11, 1, 2);
    check("copy_columns", kernels::copy_columns_variants<float>(), {src.view(), 2, dst.view(), 4, 6},
          {{&dst.values, relative_bound(0)}});
  }
}

/// Rows of heads of eight columns, and of one head of whole vectors, are summed some at a time, the last ones of a call
/// by themselves: with the same bits.
TEST(DenseKernels, InnerProductsOfARowAloneHaveTheSameBits) {
  constexpr std::int64_t kRows = 37;
  for (const auto& [heads, width] : {std::pair<std::int64_t, std::int64_t>{4, 8}, {8, 8}, {1, 16}, {1, 32}, {1, 80}}) {
    for (const std::int64_t weight_rows : {std::int64_t{1}, kRows}) {
      Matrix<float> x = random_matrix(kRows, heads * width, 1, 1);
      Matrix<float> weights = random_matrix(weight_rows, heads * width, 1, 2);
      Matrix<float> y(kRows, heads), alone(kRows, heads);
      kernels::column_groups<float>({1, {}},
                                    {kernels::ColumnGroups::kSumGroups, heads, x.view(), y.view(), weights.view()});
      for (std::int64_t r = 0; r < kRows; ++r) {
        const std::int64_t w = weight_rows == 1 ? 0 : r;
        kernels::column_groups<float>({1, {}}, {kernels::ColumnGroups::kSumGroups, heads, x.view().band(r, r + 1),
                                                alone.view().band(r, r + 1), weights.view().band(w, w + 1)});
      }
      EXPECT_EQ(y.values, alone.values) << heads << " heads of " << width << " columns, " << weight_rows
                                        << " rows of weights";
    }
  }
}

TEST(DenseKernels, BatchNormAgrees) {
  for (const auto& [rows, cols, pad] : kShapes) {
    Matrix<float> x = random_matrix(rows, cols, pad, 1, -1, 3);
    Matrix<float> gamma = random_matrix(1, cols, 0, 2);
    Matrix<float> beta = random_matrix(1, cols, 0, 3);
    Matrix<float> y(rows, cols, pad), mean(1, cols), var(1, cols);
    const std::size_t bytes = kernels::norm_workspace_bytes(rows, cols, sizeof(float));
    check("batch_norm", kernels::batch_norm_variants<float>(),
          {x.view(), gamma.view(), beta.view(), 1e-5, y.view(), mean.view(), var.view()},
          {{&y.values, relative_bound(16)}, {&mean.values, relative_bound(1)}, {&var.values, relative_bound(4)}},
          bytes);
    mean = random_matrix(1, cols, 0, 4);
    var = random_matrix(1, cols, 0, 5, 0.5, 2);
    check("batch_norm_inference", kernels::batch_norm_inference_variants<float>(),
          {x.view(), gamma.view(), beta.view(), mean.view(), var.view(), 1e-5, y.view()},
          {{&y.values, relative_bound(16)}});
    Matrix<float> dy = random_matrix(rows, cols, pad, 6);
    Matrix<float> dx(rows, cols, pad), dgamma(1, cols), dbeta(1, cols);
    check("batch_norm_grad", kernels::batch_norm_grad_variants<float>(),
          {x.view(), gamma.view(), mean.view(), var.view(), dy.view(), 1e-5, dx.view(), dgamma.view(), dbeta.view()},
          {{&dx.values, relative_bound(32)}, {&dgamma.values, relative_bound(64)}, {&dbeta.values, relative_bound(1)}},
          bytes);
  }
}

/// Of one row the variance is taken as it is, and of no rows too. The reference has no other variant on the host.
TEST(DenseKernels, BatchNormUpdateAgrees) {
  for (const std::int64_t n : {0, 1, 2, 2500}) {
    for (const std::int64_t cols : {0, 1, 3, 33, 602}) {
      Matrix<float> mean = random_matrix(1, cols, 0, 1);
      Matrix<float> var = random_matrix(1, cols, 0, 2, 0, 3);
      Matrix<float> running_mean = random_matrix(1, cols, 3, 3);
      Matrix<float> running_var = random_matrix(1, cols, 3, 4, 0.5, 2);
      EXPECT_EQ(expect_parity<kernels::BatchNormUpdateArgs<float>>(
                    {"batch_norm_update",
                     kernels::batch_norm_update_variants<float>(),
                     {n, 0.1, mean.view(), var.view(), running_mean.view(), running_var.view()},
                     0,
                     {{&running_mean.values, relative_bound(1)}, {&running_var.values, relative_bound(1)}}}),
                0);
    }
  }
}

TEST(DenseKernels, LayerNormAgrees) {
  for (const bool graph_mode : {false, true}) {
    for (const auto& [rows, cols, pad] : kShapes) {
      if (rows * cols < 2) continue;  // one element alone has no deviation to compare
      Matrix<float> x = random_matrix(rows, cols, pad, 1, -1, 3);
      Matrix<float> gamma = random_matrix(1, cols, 0, 2);
      Matrix<float> beta = random_matrix(1, cols, 0, 3);
      const std::int64_t groups = graph_mode ? 1 : rows;
      Matrix<float> y(rows, cols, pad), mean(groups, 1), var(groups, 1);
      const std::size_t bytes = kernels::norm_workspace_bytes(rows, cols, sizeof(float));
      check("layer_norm", kernels::layer_norm_variants<float>(),
            {graph_mode, x.view(), gamma.view(), beta.view(), 1e-5, y.view(), mean.view(), var.view()},
            {{&y.values, relative_bound(32)}, {&mean.values, relative_bound(2)}, {&var.values, relative_bound(4)}},
            bytes);
      mean = random_matrix(groups, 1, 0, 4);
      var = random_matrix(groups, 1, 0, 5, 0.5, 2);
      Matrix<float> dy = random_matrix(rows, cols, pad, 6);
      Matrix<float> dx(rows, cols, pad), dgamma(1, cols), dbeta(1, cols);
      const double spread = kEps * 64 * std::sqrt(static_cast<double>(rows + 1));
      const auto bound = [spread](std::size_t, double want) { return spread * (1 + std::abs(want)); };
      check("layer_norm_grad", kernels::layer_norm_grad_variants<float>(),
            {graph_mode, x.view(), gamma.view(), mean.view(), var.view(), dy.view(), 1e-5, dx.view(), dgamma.view(),
             dbeta.view()},
            {{&dx.values, relative_bound(64)}, {&dgamma.values, bound}, {&dbeta.values, relative_bound(1)}}, bytes);
    }
  }
}

/// Every third row, which crosses the chunks.
std::vector<NodeId> counted_rows(std::int64_t n) {
  std::vector<NodeId> rows;
  for (std::int64_t r = 1; r < n; r += 3) rows.push_back(static_cast<NodeId>(r));
  return rows;
}

TEST(DenseKernels, CrossEntropyAgrees) {
  for (const std::int64_t n : {0, 1, 10, 5000}) {
    for (const std::int64_t classes : {1, 2, 7, 40, 600}) {
      if (classes > 512 && n > 10) continue;
      Matrix<float> logits = random_matrix(n, classes, 1, 1, -8, 8);
      std::vector<std::int32_t> labels(static_cast<std::size_t>(n));
      RandomStream random(9, 9);
      for (auto& label : labels)
        label = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(classes + 1))) - 1;
      const std::vector<NodeId> rows = counted_rows(n);
      Matrix<float> weights = random_matrix(1, classes, 0, 2, 0.5, 2);
      for (const double smoothing : {0.0, 0.1}) {
        for (const bool weighted : {false, true}) {
          Matrix<float> loss(1, 1), dlogits(n, classes, 1);
          kernels::CrossEntropyArgs<float> args{logits.view(), labels,      rows,          {},
                                                smoothing,     loss.view(), dlogits.view()};
          if (weighted) args.class_weights = weights.values;
          check("cross_entropy", kernels::cross_entropy_variants<float>(), args,
                {{&loss.values, relative_bound(32)}, {&dlogits.values, relative_bound(16)}},
                kernels::loss_workspace_bytes(n));
          args.dlogits = {};
          check("cross_entropy", kernels::cross_entropy_variants<float>(), args, {{&loss.values, relative_bound(32)}},
                kernels::loss_workspace_bytes(n));
          dlogits = logits;
          args.logits = dlogits.view();
          args.dlogits = dlogits.view();
          check("cross_entropy in place", kernels::cross_entropy_variants<float>(), args,
                {{&loss.values, relative_bound(32)}, {&dlogits.values, relative_bound(16)}},
                kernels::loss_workspace_bytes(n));
        }
      }
    }
  }
}

TEST(DenseKernels, MultilabelAndSquaredLossesAgree) {
  for (const std::int64_t n : {0, 1, 10, 5000}) {
    for (const std::int64_t classes : {1, 3, 16, 17, 40, 121}) {
      Matrix<float> logits = random_matrix(n, classes, 1, 1, -8, 8);
      for (std::size_t i = 0; i < logits.values.size(); i += 7) logits.values[i] *= 12;  // exponentials near 0
      Matrix<float> targets = random_matrix(n, classes, 2, 2, 0, 1);
      for (std::size_t i = 0; i < targets.values.size(); i += 5) targets.values[i] = std::nanf("");
      const std::vector<NodeId> rows = counted_rows(n);
      Matrix<float> loss(1, 1), dlogits(n, classes, 1);
      const std::vector<Output> outputs = {{&loss.values, relative_bound(16)}, {&dlogits.values, relative_bound(8)}};
      check("bce_with_logits", kernels::bce_with_logits_variants<float>(),
            {logits.view(), targets.view(), rows, loss.view(), dlogits.view()}, outputs,
            kernels::loss_workspace_bytes(n));
      check("mse", kernels::mse_variants<float>(), {logits.view(), targets.view(), rows, loss.view(), dlogits.view()},
            outputs, kernels::loss_workspace_bytes(n));
      const std::int64_t labelled = kernels::labelled_entries(2, targets.view(), rows);
      check("bce_with_logits, counted before", kernels::bce_with_logits_variants<float>(),
            {logits.view(), targets.view(), rows, loss.view(), dlogits.view(), labelled}, outputs,
            kernels::loss_workspace_bytes(n));
      check("mse, counted before", kernels::mse_variants<float>(),
            {logits.view(), targets.view(), rows, loss.view(), dlogits.view(), labelled}, outputs,
            kernels::loss_workspace_bytes(n));
      dlogits.values = logits.values;
      check("bce_with_logits in place", kernels::bce_with_logits_variants<float>(),
            {dlogits.view(), targets.view(), rows, loss.view(), dlogits.view()}, outputs,
            kernels::loss_workspace_bytes(n));
      const std::vector<Output> loss_only = {outputs[0]};
      check("bce_with_logits", kernels::bce_with_logits_variants<float>(),
            {logits.view(), targets.view(), rows, loss.view(), {}}, loss_only, kernels::loss_workspace_bytes(n));
      check("mse", kernels::mse_variants<float>(), {logits.view(), targets.view(), rows, loss.view(), {}}, loss_only,
            kernels::loss_workspace_bytes(n));
    }
  }
}

TEST(DenseKernels, OptimizersAgree) {
  for (const std::int64_t n : {0, 1, 33, 70001}) {
    Matrix<float> w = random_matrix(1, n, 0, 1), g = random_matrix(1, n, 0, 2), m = random_matrix(1, n, 0, 3),
                  v = random_matrix(1, n, 0, 4, 0.1, 1);
    for (const std::int64_t step : {1, 7}) {
      for (const bool flag : {false, true}) {
        check("adam_step", kernels::adam_step_variants<float>(),
              {step, 0.01, 0.9, 0.999, 1e-8, 0.1, flag, w.values, g.values, m.values, v.values},
              {{&w.values, relative_bound(8)}, {&m.values, relative_bound(4)}, {&v.values, relative_bound(4)}});
        check("sgd_step", kernels::sgd_step_variants<float>(),
              {step, 0.01, 0.9, 0.1, flag, w.values, g.values, m.values},
              {{&w.values, relative_bound(4)}, {&m.values, relative_bound(4)}});
      }
      check("sgd_step", kernels::sgd_step_variants<float>(), {step, 0.01, 0.0, 0.1, false, w.values, g.values, {}},
            {{&w.values, relative_bound(4)}});
    }
    std::vector<double> norm(1);
    for (const double most : {0.5, 1e9}) {
      check("clip_norm", kernels::clip_norm_variants<float>(), {most, g.values, norm.data()},
            {{&g.values, relative_bound(4)}}, kernels::clip_norm_workspace_bytes(n));
    }
  }
}

}  // namespace
}  // namespace gneiss::testing
