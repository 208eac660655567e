// Kernels on 16-bit operands: against the reference, and bit for bit against themselves on widened copies.
#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "base/half.h"
#include "kernels/gemm.h"
#include "kernels/spmm.h"
#include "kernels/to_float.h"
#include "kernels/to_half.h"
#include "parity/kernel_graphs.h"
#include "parity/kernels_of_programs.h"
#include "parity/parity.h"

namespace gneiss::testing {
namespace {

const auto* const kWhatRuns = expect_kernels_to_run(KernelsOfHalves{});

/// Also of empty results, whose data may be null.
bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

constexpr HalfType kTypes[] = {HalfType::kBf16, HalfType::kF16};

struct HalfMatrix {
  HalfType type;
  std::int64_t stride;
  std::vector<std::uint16_t> values;

  ConstHalves view() const { return {type, values.data(), stride}; }
  Halves view() { return {type, values.data(), stride}; }
};

/// A matrix whose values are all of `type`, and their 16-bit patterns.
std::pair<Matrix<float>, HalfMatrix> halves_of(Matrix<float> matrix, HalfType type) {
  HalfMatrix half{type, matrix.stride, {}};
  for (float& x : matrix.values) {
    half.values.push_back(to_half(type, x));
    x = from_half(type, half.values.back());
  }
  return {std::move(matrix), std::move(half)};
}

template <class Args>
const kernels::Variant<Args>& variant(std::span<const kernels::Variant<Args>> variants, std::string_view name) {
  for (const auto& one : variants) {
    if (one.name == name) return one;
  }
  ADD_FAILURE() << "no variant " << name;
  return variants.back();
}

void check_gemm(std::int64_t m, std::int64_t n, std::int64_t k, kernels::Orientation orientation, HalfType type,
                std::int64_t pad) {
  const bool tn = orientation == kernels::Orientation::kTN;
  const bool nt = orientation == kernels::Orientation::kNT;
  auto [a, half] = halves_of(random_matrix(tn ? k : m, tn ? m : k, pad, 1), type);
  Matrix<float> b = random_matrix(nt ? n : k, nt ? k : n, pad, 2);
  Matrix<float> c(m, n, pad);
  Matrix<float> addend = random_matrix(m, n, pad, 3);
  Matrix<float> a_abs = absolute(a);
  Matrix<float> b_abs = absolute(b);
  Matrix<float> magnitudes(m, n, pad);
  const auto variants = kernels::gemm_variants<float>();
  variants.back().run({}, {a_abs.view(), b_abs.view(), magnitudes.view(), orientation});
  for (float& bound : magnitudes.values) bound += 1;
  const std::size_t workspace_bytes = kernels::gemm_workspace_bytes(orientation, m, n, k, sizeof(float));
  for (const bool adds : {false, true}) {
    if (adds && (tn || m == 0)) continue;
    kernels::GemmArgs<float> args{a.view(), b.view(), c.view(), orientation};
    if (adds) args.addend = addend.view();
    kernels::GemmArgs<float> halved = args;
    halved.a.data = nullptr;
    halved.a_half = std::as_const(half).view();
    EXPECT_EQ(
        expect_parity<kernels::GemmArgs<float>>({"gemm",
                                                 variants,
                                                 halved,
                                                 workspace_bytes,
                                                 {{&c.values, sum_bound(magnitudes.values, static_cast<double>(k))}}}),
        1);
    on_every_target([&](const std::string& target) {
      Buffer<std::byte> workspace(std::max<std::size_t>(1, workspace_bytes));
      variant(variants, "cpu").run({2, workspace.span()}, args);
      const std::vector<float> want = c.values;
      std::fill(c.values.begin(), c.values.end(), 77.0F);
      variant(variants, "cpu").run({3, workspace.span()}, halved);
      EXPECT_TRUE(same_bits(c.values, want)) << target << ", " << half_name(type) << ", " << m << " " << n << " " << k
                                             << ", orientation " << static_cast<int>(orientation);
    });
  }
}

TEST(HalfKernels, GemmReadsThem) {
  const std::int64_t sizes[][3] = {{0, 3, 4},      {3, 0, 4},      {3, 4, 0},      {1, 1, 1},
                                   {5, 7, 3},      {33, 16, 602},  {900, 16, 33},  {16, 33, 901},
                                   {602, 32, 410}, {70, 47, 1300}, {25, 80, 1030}, {97, 101, 130}};
  for (const auto& [m, n, k] : sizes) {
    for (const auto orientation : {kernels::Orientation::kNN, kernels::Orientation::kTN, kernels::Orientation::kNT}) {
      for (const HalfType type : kTypes) check_gemm(m, n, k, orientation, type, m % 2 == 0 ? 0 : 3);
    }
  }
}

/// On a device the rows that are kept in 16 bits are those that it would have kept in f32, rounded: in every order of
/// threads. `args` reads halves and stores f32 into `y`.
void check_rounded_on_device(kernels::SpmmArgs<float> args, Matrix<float>& y, HalfType type, const std::string& what) {
  std::vector<float> wide;
  on_emulated_device<kernels::SpmmArgs<float>>(
      args, 1, [&] { std::fill(y.values.begin(), y.values.end(), 77.0F); },
      [&](const std::string&, bool first) {
        if (first) wide = y.values;
      });
  constexpr std::uint16_t kPadding = 0x1234;
  HalfMatrix rounded{type, y.stride, std::vector<std::uint16_t>(y.values.size())};
  std::vector<std::uint16_t> want(y.values.size(), kPadding);
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (static_cast<std::int64_t>(i) % y.stride < y.cols) want[i] = to_half(type, wide[i]);
  }
  args.y.data = nullptr;
  args.y_half = rounded.view();
  on_emulated_device<kernels::SpmmArgs<float>>(
      args, internal::orders_of(want.size()),
      [&] { std::fill(rounded.values.begin(), rounded.values.end(), kPadding); },
      [&](const std::string& where, bool) { EXPECT_EQ(rounded.values, want) << what << ", " << where; });
}

void check_spmm(const KernelGraph& graph, bool transposed, std::int64_t d, bool weighted, bool mean, HalfType type,
                std::int64_t pad) {
  const SparsePattern pattern = transposed ? graph.out_edges() : graph.in_edges();
  auto [x, half] = halves_of(random_matrix(pattern.cols, d, pad, 1), type);
  Matrix<float> w = random_matrix(graph.edges(), 1, 0, 2);
  Matrix<float> y(pattern.rows, d, pad);
  Matrix<float> magnitudes(pattern.rows, d, pad);
  Matrix<float> x_abs = absolute(x);
  Matrix<float> w_abs = absolute(w);
  Matrix<float> scales = random_matrix(weighted ? pattern.rows : 0, 1, 0, 3);
  Matrix<float> scales_abs = absolute(scales);
  const auto variants = kernels::spmm_variants<float>();
  kernels::SpmmArgs<float> args{pattern, x_abs.view(), {}, 1, kernels::Reduce::kSum, magnitudes.view(), {}};
  if (weighted) args.w = w_abs.values;
  args.scales = scales_abs.view();
  variants.back().run({}, args);
  args.scales = scales.view();
  args.x = x.view();
  if (weighted) args.w = w.values;
  if (mean) args.reduce = kernels::Reduce::kMean;
  args.y = y.view();
  kernels::SpmmArgs<float> halved = args;
  halved.x.data = nullptr;
  halved.x_half = std::as_const(half).view();
  EXPECT_EQ(expect_parity<kernels::SpmmArgs<float>>(
                {graph.name,
                 variants,
                 halved,
                 0,
                 {{&y.values, sum_bound(magnitudes.values, 1 + static_cast<double>(graph.edges()))}}}),
            1);
  check_rounded_on_device(halved, y, type, graph.name + ", d " + std::to_string(d));
  on_every_target([&](const std::string& target) {
    variant(variants, "cpu").run({2, {}}, args);
    const Matrix<float> want = y;
    std::fill(y.values.begin(), y.values.end(), 77.0F);
    variant(variants, "cpu_half").run({3, {}}, halved);
    EXPECT_TRUE(same_bits(y.values, want.values)) << graph.name << ", " << target << ", d " << d;
    HalfMatrix rounded{type, y.stride, std::vector<std::uint16_t>(y.values.size(), 0x1234)};
    kernels::SpmmArgs<float> stored = halved;
    stored.y.data = nullptr;
    stored.y_half = rounded.view();
    variant(variants, "cpu_half").run({2, {}}, stored);
    for (std::int64_t r = 0; r < y.rows; ++r) {
      for (std::int64_t c = 0; c < y.stride; ++c) {
        const auto at = static_cast<std::size_t>(r * y.stride + c);
        ASSERT_EQ(rounded.values[at], c < d ? to_half(type, want.values[at]) : 0x1234)
            << graph.name << ", " << target << ", " << r << " " << c;
      }
    }
  });
}

TEST(HalfKernels, SpmmReadsAndWritesThem) {
  for (const KernelGraph& graph : kernel_graphs()) {
    for (const std::int64_t d : {1, 3, 16, 33, 128, 602}) {
      for (const HalfType type : kTypes) {
        check_spmm(graph, false, d, true, false, type, 3);
        check_spmm(graph, false, d, false, true, type, 0);
        check_spmm(graph, true, d, true, false, type, 0);
      }
    }
  }
}

TEST(HalfKernels, ReferenceSpmmRoundsItsResults) {
  for (const HalfType type : kTypes) {
    const KernelGraph graph = make_kernel_graph("pair", 2, 2, {{0, 0}, {0, 1}});
    auto [x, half] = halves_of(random_matrix(2, 3, 0, 4), type);
    HalfMatrix y{type, 3, std::vector<std::uint16_t>(6)};
    Matrix<float> shape(2, 3);
    kernels::SpmmArgs<float> args{graph.in_edges(), x.view(), {}, 1, kernels::Reduce::kSum, shape.view(), {}};
    args.x_half = std::as_const(half).view();
    args.y_half = y.view();
    kernels::spmm_variants<float>().back().run({}, args);
    for (std::int64_t c = 0; c < 3; ++c) {
      EXPECT_EQ(y.values[static_cast<std::size_t>(c)], to_half(type, x.at(0, c) + x.at(1, c)));
      EXPECT_EQ(y.values[static_cast<std::size_t>(3 + c)], 0);
    }
  }
}

TEST(HalfKernels, WidensEveryPattern) {
  for (const HalfType type : kTypes) {
    for (const std::int64_t cols : {1, 7, 64, 65536}) {
      HalfMatrix half{type, cols, {}};
      for (std::uint32_t bits = 0; bits < 65536 / cols * cols; ++bits)
        half.values.push_back(static_cast<std::uint16_t>(bits));
      Matrix<float> y(65536 / cols, cols);
      const kernels::ToFloatArgs<float> args{std::as_const(half).view(), y.view()};
      const auto reset = [&] { std::fill(y.values.begin(), y.values.end(), 77.0F); };
      const auto check = [&](const std::string& target) {
        for (std::size_t i = 0; i < y.values.size(); ++i) {
          const float want = from_half(type, half.values[i]);
          const bool same = std::isnan(want)
                                ? std::isnan(y.values[i])
                                : std::bit_cast<std::uint32_t>(want) == std::bit_cast<std::uint32_t>(y.values[i]);
          ASSERT_TRUE(same) << target << ", pattern " << i << ": " << y.values[i] << " for " << want;
        }
      };
      on_every_target([&](const std::string& target) {
        reset();
        variant(kernels::to_float_variants<float>(), "cpu").run({2, {}}, args);
        check(target);
      });
      on_emulated_device<kernels::ToFloatArgs<float>>(args, kOrders, reset,
                                                      [&](const std::string& where, bool) { check(where); });
    }
  }
}

TEST(HalfKernels, ToHalfAgrees) {
  for (const HalfType type : kTypes) {
    Matrix<float> x = random_matrix(2500, 33, 3, 1, -70000, 70000);
    x.values[0] = std::numeric_limits<float>::infinity();
    x.values[1] = 1e-7F;
    // Every exponent of both signs, fractions in the middle between halves, and what is no number.
    for (std::uint32_t i = 0; i < 65536; ++i) x.values[36 + i] = std::bit_cast<float>(i << 16 | (i % 3) << 14);
    HalfMatrix want{type, 36, std::vector<std::uint16_t>(x.values.size(), 1)};
    HalfMatrix got = want;
    const auto variants = kernels::to_half_variants<float>();
    variants.back().run({}, {x.view(), want.view()});
    for (const int threads : {1, 3}) {
      variants.front().run({threads, {}}, {x.view(), got.view()});
      EXPECT_EQ(got.values, want.values);
    }
    EXPECT_EQ(got.values[35], 1);  // padding
    on_emulated_device<kernels::ToHalfArgs<float>>(
        {x.view(), got.view()}, kOrders, [&] { std::fill(got.values.begin(), got.values.end(), std::uint16_t{1}); },
        [&](const std::string& where, bool) { EXPECT_EQ(got.values, want.values) << where; });
  }
}

}  // namespace
}  // namespace gneiss::testing
