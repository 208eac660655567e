// Each forward kernel with its backward, against central differences in f64, on a directed, asymmetric, weighted graph
// with a hub, isolated nodes, self loops and parallel edges.
//
// The scalar is sum(r * y) for random r: it sees every output, and its gradient with respect to y is r.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "kernels/arg_sources.h"
#include "kernels/batch_norm.h"
#include "kernels/batch_norm_grad.h"
#include "kernels/bce_with_logits.h"
#include "kernels/binary.h"
#include "kernels/cross_entropy.h"
#include "kernels/edge_softmax.h"
#include "kernels/edge_softmax_grad.h"
#include "kernels/extreme_grad.h"
#include "kernels/gather.h"
#include "kernels/gemm.h"
#include "kernels/layer_norm.h"
#include "kernels/layer_norm_grad.h"
#include "kernels/mse.h"
#include "kernels/sddmm.h"
#include "kernels/segment_arg_grad.h"
#include "kernels/segment_reduce.h"
#include "kernels/spmm.h"
#include "kernels/spmm_arg_grad.h"
#include "kernels/spmm_arg_weight_grad.h"
#include "kernels/spx_gemm.h"
#include "kernels/unary.h"
#include "kernels/unary_grad.h"
#include "parity/kernel_graphs.h"

namespace gneiss::kernels {
namespace {

using Values = std::vector<double>;
using testing::KernelGraph;
using testing::mixed_graph;

constexpr double kTolerance = 1e-6;

Values random_values(std::int64_t size, std::uint64_t seed, double low = -1, double high = 1) {
  RandomStream random(seed, 31);
  Values values(static_cast<std::size_t>(size));
  for (double& x : values) x = random.uniform(low, high);
  return values;
}

MatrixView<double> matrix(Values& values, std::int64_t rows, std::int64_t cols) { return {values.data(), rows, cols}; }

double inner(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// Compares `gradient` with the differences of `scalar` as each entry of *x moves; relative to the largest entry.
void expect_gradient(const char* what, Values* x, const Values& gradient, const std::function<double()>& scalar) {
  constexpr double kStep = 1e-6;
  double largest = 1e-3;
  for (const double g : gradient) largest = std::max(largest, std::abs(g));
  ASSERT_EQ(x->size(), gradient.size());
  ASSERT_GT(largest, 1e-3) << what << ": the gradient is nothing, so the check would pass whatever it does";
  for (std::size_t i = 0; i < x->size(); ++i) {
    const double before = (*x)[i];
    (*x)[i] = before + kStep;
    const double above = scalar();
    (*x)[i] = before - kStep;
    const double below = scalar();
    (*x)[i] = before;
    const double numeric = (above - below) / (2 * kStep);
    EXPECT_LT(std::abs(numeric - gradient[i]) / largest, kTolerance)
        << what << " " << i << ": " << gradient[i] << ", numeric " << numeric;
  }
}

class KernelGradients : public ::testing::Test {
 protected:
  static constexpr std::int64_t kWidth = 6;
  const KernelGraph g_ = mixed_graph();
  const std::int64_t n_ = g_.rows;
  const std::int64_t m_ = g_.edges();
  std::vector<double> scratch_ = std::vector<double>(1 << 12);
  Context context_{1, std::as_writable_bytes(std::span(scratch_))};

  std::vector<EdgeId> in_lengths() const {
    std::vector<EdgeId> lengths;
    for (std::int64_t v = 0; v < n_; ++v)
      lengths.push_back(g_.offsets[static_cast<std::size_t>(v) + 1] - g_.offsets[static_cast<std::size_t>(v)]);
    return lengths;
  }
};

TEST_F(KernelGradients, SpmmSumAndMean) {
  for (const Reduce reduce : {Reduce::kSum, Reduce::kMean}) {
    for (const std::int64_t heads : {1, 3}) {
      Values x = random_values(n_ * kWidth, 1), w = random_values(m_ * heads, 2), r = random_values(n_ * kWidth, 3);
      Values y(x.size());
      const auto scalar = [&] {
        spmm<double>(context_, {g_.in_edges(), matrix(x, n_, kWidth), w, heads, reduce, matrix(y, n_, kWidth), {}});
        return inner(r, y);
      };
      Values dy = r;
      // The mean's backward divides by the length of the destination's row before it goes back along the edges.
      if (reduce == Reduce::kMean) {
        for (std::int64_t i = 0; i < n_ * kWidth; ++i) {
          const EdgeId length = in_lengths()[static_cast<std::size_t>(i / kWidth)];
          dy[static_cast<std::size_t>(i)] =
              length == 0 ? 0 : dy[static_cast<std::size_t>(i)] / static_cast<double>(length);
        }
      }
      Values dx(x.size()), dw(w.size());
      spmm<double>(context_,
                   {g_.out_edges(), matrix(dy, n_, kWidth), w, heads, Reduce::kSum, matrix(dx, n_, kWidth), {}});
      sddmm<double>(context_,
                    {g_.in_edges(), matrix(dy, n_, kWidth), matrix(x, n_, kWidth), heads, matrix(dw, m_, heads)});
      expect_gradient("x", &x, dx, scalar);
      expect_gradient("w", &w, dw, scalar);
    }
  }
}

TEST_F(KernelGradients, SpmmMaximumAndMinimum) {
  for (const Reduce reduce : {Reduce::kMax, Reduce::kMin}) {
    Values x = random_values(n_ * kWidth, 1), w = random_values(m_, 2, 0.5, 1.5), r = random_values(n_ * kWidth, 3);
    Values y(x.size());
    std::vector<std::int32_t> arg(x.size());
    const MatrixView<std::int32_t> arg_view{arg.data(), n_, kWidth};
    const auto scalar = [&] {
      spmm<double>(context_, {g_.in_edges(), matrix(x, n_, kWidth), w, 1, reduce, matrix(y, n_, kWidth), arg_view});
      return inner(r, y);
    };
    scalar();
    Values dx(x.size()), dw(w.size());
    spmm_arg_grad<double>(context_,
                          {g_.out_edges(), g_.offsets, arg_view, matrix(r, n_, kWidth), w, matrix(dx, n_, kWidth)});
    spmm_arg_weight_grad<double>(context_, {g_.in_edges(), arg_view, matrix(r, n_, kWidth), matrix(x, n_, kWidth), dw});
    expect_gradient("x", &x, dx, scalar);
    expect_gradient("w", &w, dw, scalar);
  }
}

TEST_F(KernelGradients, SpmmMaximumAndMinimumByIds) {
  std::vector<std::int64_t> ids;
  for (std::int64_t v = 0; v < n_; ++v) ids.push_back(1000 - 7 * v);
  SparsePattern ends = g_.out_edges();
  ends.slots = {};
  for (const Reduce reduce : {Reduce::kMax, Reduce::kMin}) {
    for (const bool weighted : {false, true}) {
      Values x = random_values(n_ * kWidth, 1), w, r = random_values(n_ * kWidth, 3), y(x.size());
      if (weighted) w = random_values(m_, 2, 0.5, 1.5);
      std::vector<std::int32_t> arg(x.size()), sources(x.size());
      const MatrixView<std::int32_t> arg_view{arg.data(), n_, kWidth};
      const MatrixView<std::int32_t> source{sources.data(), n_, kWidth};
      const auto scalar = [&] {
        spmm<double>(context_, {g_.in_edges(), matrix(x, n_, kWidth), w, 1, reduce, matrix(y, n_, kWidth), arg_view});
        return inner(r, y);
      };
      scalar();
      Values dx(x.size()), weighed(x.size());
      ArgSourcesArgs<double> named{g_.in_edges(), ids, arg_view, {}, {}, source, {}};
      if (weighted) {
        named.dy = matrix(r, n_, kWidth);
        named.w = w;
        named.weighed = matrix(weighed, n_, kWidth);
      }
      arg_sources<double>(context_, named);
      Values& rows = weighted ? weighed : r;
      spmm_arg_grad<double>(context_, {ends, {}, source, matrix(rows, n_, kWidth), {}, matrix(dx, n_, kWidth), ids});
      expect_gradient("x", &x, dx, scalar);
    }
  }
}

TEST_F(KernelGradients, SddmmGoesToBothEnds) {
  const std::int64_t heads = 2;
  Values x = random_values(n_ * kWidth, 1), z = random_values(n_ * kWidth, 2), r = random_values(m_ * heads, 3),
         e(r.size());
  const auto scalar = [&] {
    sddmm<double>(context_, {g_.in_edges(), matrix(z, n_, kWidth), matrix(x, n_, kWidth), heads, matrix(e, m_, heads)});
    return inner(r, e);
  };
  Values dz(z.size()), dx(x.size());
  spmm<double>(context_, {g_.in_edges(), matrix(x, n_, kWidth), r, heads, Reduce::kSum, matrix(dz, n_, kWidth), {}});
  spmm<double>(context_, {g_.out_edges(), matrix(z, n_, kWidth), r, heads, Reduce::kSum, matrix(dx, n_, kWidth), {}});
  expect_gradient("y", &z, dz, scalar);
  expect_gradient("x", &x, dx, scalar);
}

TEST_F(KernelGradients, EdgeSoftmax) {
  const std::int64_t heads = 3;
  Values e = random_values(m_ * heads, 1, -2, 2), r = random_values(m_ * heads, 2), a(e.size()), de(e.size());
  const auto scalar = [&] {
    edge_softmax<double>(context_, {g_.offsets, matrix(e, m_, heads), matrix(a, m_, heads)});
    return inner(r, a);
  };
  scalar();
  edge_softmax_grad<double>(context_, {g_.offsets, matrix(a, m_, heads), matrix(r, m_, heads), matrix(de, m_, heads)});
  expect_gradient("e", &e, de, scalar);
}

TEST_F(KernelGradients, GatherIsUndoneBySegmentSums) {
  for (const bool by_source : {true, false}) {
    Values x = random_values(n_ * kWidth, 1), r = random_values(m_ * kWidth, 2), e(r.size()), dx(x.size());
    const auto scalar = [&] {
      gather<double>(context_, {g_.in_edges(), by_source, matrix(x, n_, kWidth), matrix(e, m_, kWidth)});
      return inner(r, e);
    };
    const SparsePattern back = by_source ? g_.out_edges() : g_.in_edges();
    segment_reduce<double>(context_, {back, matrix(r, m_, kWidth), Reduce::kSum, matrix(dx, n_, kWidth), {}});
    expect_gradient("x", &x, dx, scalar);
  }
}

TEST_F(KernelGradients, SegmentSumsAndExtremes) {
  for (const Reduce reduce : {Reduce::kSum, Reduce::kMax, Reduce::kMin}) {
    Values e = random_values(m_ * kWidth, 1), r = random_values(n_ * kWidth, 2), y(r.size()), de(e.size());
    std::vector<std::int32_t> arg(y.size());
    const MatrixView<std::int32_t> arg_view{arg.data(), n_, kWidth};
    const auto scalar = [&] {
      segment_reduce<double>(context_, {g_.in_edges(), matrix(e, m_, kWidth), reduce, matrix(y, n_, kWidth), arg_view});
      return inner(r, y);
    };
    scalar();
    if (reduce == Reduce::kSum) {
      gather<double>(context_, {g_.in_edges(), false, matrix(r, n_, kWidth), matrix(de, m_, kWidth)});
    } else {
      segment_arg_grad<double>(context_, {g_.offsets, arg_view, matrix(r, n_, kWidth), matrix(de, m_, kWidth)});
    }
    expect_gradient("e", &e, de, scalar);
  }
}

TEST_F(KernelGradients, Products) {
  const std::int64_t m = 5, n = 3, k = 4;
  Values a = random_values(m * k, 1), b = random_values(k * n, 2), r = random_values(m * n, 3), c(r.size()),
         da(a.size()), db(b.size());
  const auto dense = [&] {
    gemm<double>(context_, {matrix(a, m, k), matrix(b, k, n), matrix(c, m, n), Orientation::kNN});
    return inner(r, c);
  };
  gemm<double>(context_, {matrix(r, m, n), matrix(b, k, n), matrix(da, m, k), Orientation::kNT});
  gemm<double>(context_, {matrix(a, m, k), matrix(r, m, n), matrix(db, k, n), Orientation::kTN});
  expect_gradient("a", &a, da, dense);
  expect_gradient("b", &b, db, dense);

  Values values = random_values(m_, 4), w = random_values(n_ * n, 5), s = random_values(n_ * n, 6), y(s.size()),
         dw(w.size());
  const auto sparse = [&] {
    spx_gemm<double>(context_, {g_.in_edges(), values, matrix(w, n_, n), matrix(y, n_, n)});
    return inner(s, y);
  };
  spx_gemm<double>(context_, {g_.out_edges(), values, matrix(s, n_, n), matrix(dw, n_, n)});
  expect_gradient("w", &w, dw, sparse);
}

TEST_F(KernelGradients, FunctionsOfOneElement) {
  for (const Unary fn : {Unary::kRelu, Unary::kLeakyRelu, Unary::kElu, Unary::kSigmoid, Unary::kTanh, Unary::kExp,
                         Unary::kSqrt, Unary::kRsqrt}) {
    const bool positive = fn == Unary::kSqrt || fn == Unary::kRsqrt;
    Values x = random_values(40, 1, positive ? 0.5 : -2, 2), r = random_values(40, 2), y(40), dx(40);
    const auto scalar = [&] {
      unary<double>(context_, {fn, 0.3, 0, matrix(x, 5, 8), matrix(y, 5, 8)});
      return inner(r, y);
    };
    scalar();
    unary_grad<double>(context_, {fn, 0.3, matrix(y, 5, 8), matrix(r, 5, 8), matrix(dx, 5, 8)});
    expect_gradient("x", &x, dx, scalar);
  }
}

TEST_F(KernelGradients, MaximumAndMinimumOfTwo) {
  for (const bool maximum : {true, false}) {
    Values a = random_values(40, 1), b = random_values(40, 2), r = random_values(40, 3), c(40), da(40), db(40);
    const auto scalar = [&] {
      binary<double>(
          context_, {maximum ? Binary::kMaximum : Binary::kMinimum, matrix(a, 5, 8), matrix(b, 5, 8), matrix(c, 5, 8)});
      return inner(r, c);
    };
    extreme_grad<double>(context_,
                         {maximum, true, matrix(a, 5, 8), matrix(b, 5, 8), matrix(r, 5, 8), matrix(da, 5, 8)});
    extreme_grad<double>(context_,
                         {maximum, false, matrix(a, 5, 8), matrix(b, 5, 8), matrix(r, 5, 8), matrix(db, 5, 8)});
    expect_gradient("a", &a, da, scalar);
    expect_gradient("b", &b, db, scalar);
  }
}

TEST_F(KernelGradients, BatchNorm) {
  const std::int64_t n = 9, d = 4;
  Values x = random_values(n * d, 1), gamma = random_values(d, 2, 0.5, 2), beta = random_values(d, 3),
         r = random_values(n * d, 4);
  Values y(x.size()), mean(d), var(d), dx(x.size()), dgamma(d), dbeta(d);
  const auto scalar = [&] {
    batch_norm<double>(context_, {matrix(x, n, d), matrix(gamma, 1, d), matrix(beta, 1, d), 1e-5, matrix(y, n, d),
                                  matrix(mean, 1, d), matrix(var, 1, d)});
    return inner(r, y);
  };
  scalar();
  batch_norm_grad<double>(
      context_, {matrix(x, n, d), matrix(gamma, 1, d), matrix(mean, 1, d), matrix(var, 1, d), matrix(r, n, d), 1e-5,
                 matrix(dx, n, d), matrix(dgamma, 1, d), matrix(dbeta, 1, d)});
  expect_gradient("x", &x, dx, scalar);
  expect_gradient("gamma", &gamma, dgamma, scalar);
  expect_gradient("beta", &beta, dbeta, scalar);
}

TEST_F(KernelGradients, LayerNorm) {
  const std::int64_t n = 9, d = 4;
  for (const bool graph_mode : {false, true}) {
    const std::int64_t groups = graph_mode ? 1 : n;
    Values x = random_values(n * d, 1), gamma = random_values(d, 2, 0.5, 2), beta = random_values(d, 3),
           r = random_values(n * d, 4);
    Values y(x.size()), mean(static_cast<std::size_t>(groups)), var(mean.size()), dx(x.size()), dgamma(d), dbeta(d);
    const auto scalar = [&] {
      layer_norm<double>(context_, {graph_mode, matrix(x, n, d), matrix(gamma, 1, d), matrix(beta, 1, d), 1e-2,
                                    matrix(y, n, d), matrix(mean, groups, 1), matrix(var, groups, 1)});
      return inner(r, y);
    };
    scalar();
    layer_norm_grad<double>(
        context_, {graph_mode, matrix(x, n, d), matrix(gamma, 1, d), matrix(mean, groups, 1), matrix(var, groups, 1),
                   matrix(r, n, d), 1e-2, matrix(dx, n, d), matrix(dgamma, 1, d), matrix(dbeta, 1, d)});
    expect_gradient("x", &x, dx, scalar);
    expect_gradient("gamma", &gamma, dgamma, scalar);
    expect_gradient("beta", &beta, dbeta, scalar);
  }
}

TEST_F(KernelGradients, Losses) {
  const std::int64_t n = 8, c = 4;
  const std::vector<NodeId> rows = {0, 1, 4, 5, 7};
  const std::vector<std::int32_t> labels = {0, 3, 1, 1, -1, 2, 0, 1};
  const std::vector<float> weights = {0.5F, 2, 1, 3};
  std::vector<float> targets(static_cast<std::size_t>(n * c));
  for (std::size_t i = 0; i < targets.size(); ++i)
    targets[i] = i % 5 == 0 ? std::nanf("") : static_cast<float>(i % 3) / 2;
  Values z = random_values(n * c, 1, -3, 3), loss(1), dz(z.size());
  const ConstMatrixView<float> target{targets.data(), n, c};
  const std::function<void()> losses[] = {
      [&] {
        cross_entropy<double>(context_, {matrix(z, n, c), labels, rows, {}, 0, matrix(loss, 1, 1), matrix(dz, n, c)});
      },
      [&] {
        cross_entropy<double>(context_,
                              {matrix(z, n, c), labels, rows, weights, 0.1, matrix(loss, 1, 1), matrix(dz, n, c)});
      },
      [&] {
        bce_with_logits<double>(context_, {matrix(z, n, c), target, rows, matrix(loss, 1, 1), matrix(dz, n, c)});
      },
      [&] {
        mse<double>(context_, {matrix(z, n, c), target, rows, matrix(loss, 1, 1), matrix(dz, n, c)});
      }};
  for (const auto& run : losses) {
    run();
    const Values gradient = dz;
    expect_gradient("logits", &z, gradient, [&] {
      run();
      return loss[0];
    });
  }
}

}  // namespace
}  // namespace gneiss::kernels
