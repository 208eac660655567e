// Variants of spmm against the reference: every graph, width, head count, weighting and direction.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "graph/source_tiles.h"
#include "kernels/cpu/fetch_ahead.h"
#include "kernels/cpu/store_past.h"
#include "kernels/cuda/panels.h"
#include "kernels/cuda/variants.h"
#include "kernels/spmm.h"
#include "parity/graph_kernels.h"
#include "parity/kernels_of_programs.h"
#include "parity/parity.h"

namespace gneiss::testing {
namespace {

const auto* const kWhatRuns = expect_kernels_to_run(KernelsOfSpmm{});

/// spmm on one pattern, with outputs; `magnitudes` holds the same sum over absolute values. Rows of x lie `x_pad`
/// columns farther apart. Rows of sums and means of an even number of columns are scaled. Returns how many variants
/// besides the reference took it.
int check_spmm(const std::string& what, const SparsePattern& pattern, std::int64_t d, std::int64_t heads, bool weighted,
               Reduce reduce, double terms, std::int64_t pad, const TiledPattern& tiles = {}, std::int64_t x_pad = 0) {
  Matrix<float> x = random_matrix(pattern.cols, d, pad + x_pad, 1);
  Matrix<float> w = random_matrix(weighted ? pattern.nonzeros() : 0, heads, 0, 2);
  Matrix<float> y(pattern.rows, d, pad);
  Matrix<std::int32_t> arg(pattern.rows, d, pad, -7);
  kernels::SpmmArgs<float> args{pattern, x.view(), w.values, heads, reduce, y.view(), {}, tiles};
  const bool extreme = reduce == Reduce::kMax || reduce == Reduce::kMin;
  if (extreme) args.arg = arg.view();
  Matrix<float> scales = random_matrix(!extreme && d % 2 == 0 ? pattern.rows : 0, 1, 0, 3);
  args.scales = scales.view();
  Matrix<float> magnitudes(pattern.rows, d, pad);
  Matrix<float> x_abs = absolute(x);
  Matrix<float> w_abs = absolute(w);
  Matrix<float> scales_abs = absolute(scales);
  kernels::SpmmArgs<float> bound = args;
  bound.scales = scales_abs.view();
  bound.x = x_abs.view();
  bound.w = w_abs.values;
  bound.reduce = reduce == Reduce::kMean ? Reduce::kMean : Reduce::kSum;
  bound.y = magnitudes.view();
  bound.arg = {};
  kernels::spmm_variants<float>().back().run({}, bound);
  Parity<kernels::SpmmArgs<float>> problem{what,
                                           kernels::spmm_variants<float>(),
                                           args,
                                           kernels::spmm_workspace_bytes(args),
                                           {{&y.values, sum_bound(magnitudes.values, extreme ? 0 : terms)}}};
  if (extreme) problem.exact.push_back(&arg.values);
  const int taken = expect_parity(problem);
  EXPECT_GE(taken, 1);
  return taken;
}

TEST_P(GraphKernels, SpmmAgrees) {
  for (const std::int64_t d : kWidths) {
    if (g().edges() * d > kMostElements) continue;
    for (const Reduce reduce : kReductions) {
      for (const bool weighted : {false, true}) {
        const std::string what = "spmm d=" + std::to_string(d) + " reduce " + std::to_string(static_cast<int>(reduce)) +
                                 (weighted ? " weighted" : "");
        check_spmm(what, g().in_edges(), d, 1, weighted, reduce, longest_row(g().in_edges()), pad_of(d));
        check_spmm(what + " transposed", g().out_edges(), d, 1, weighted, reduce, longest_row(g().out_edges()),
                   pad_of(d));
      }
    }
  }
}

/// The weight gradient by the rows of X as they are: c = X^T b, added by atomics.
TEST_P(GraphKernels, TheImplicitTransposeAgrees) {
  using Args = kernels::OnDevice<kernels::ImplicitTransposeArgs>;
  const auto& variant = *kernels::find_variant<Args>(kernels::emulated_variants());
  const SparsePattern& pattern = g().in_edges();
  for (const std::int64_t d : {1, 16, 33}) {
    if (g().edges() * d > kMostElements) continue;
    const Matrix<float> values = random_matrix(pattern.nonzeros(), 1, 0, 4);
    Matrix<float> b = random_matrix(pattern.rows, d, 0, 5);
    std::vector<double> want(static_cast<std::size_t>(pattern.cols * d));
    std::vector<double> magnitudes(want.size());
    for (std::int64_t v = 0; v < pattern.rows; ++v) {
      for (EdgeId k = pattern.offsets[static_cast<std::size_t>(v)];
           k < pattern.offsets[static_cast<std::size_t>(v) + 1]; ++k) {
        for (std::int64_t j = 0; j < d; ++j) {
          const double term = static_cast<double>(values.values[static_cast<std::size_t>(k)]) * b.view().at(v, j);
          const auto at = static_cast<std::size_t>(pattern.indices[static_cast<std::size_t>(k)] * d + j);
          want[at] += term;
          magnitudes[at] += std::abs(term);
        }
      }
    }
    Args args;
    args.x = {pattern.rows,
              pattern.cols,
              {pattern.offsets.data(), pattern.offsets.size()},
              {pattern.indices.data(), pattern.indices.size()},
              {}};
    args.values = {values.values.data(), values.values.size()};
    args.dy = MatrixView<float, Space::kDevice>(b.values.data(), pattern.rows, d);
    for (const std::uint64_t order : {1, 2, 3}) {
      std::vector<float> c(want.size(), std::nanf(""));
      args.dw = {c.data(), pattern.cols, d};
      kernels::emulated::set_order(order);
      variant.kernel.run({}, args);
      for (std::size_t i = 0; i < c.size(); ++i)
        ASSERT_NEAR(c[i], want[i], kEps * (static_cast<double>(pattern.nonzeros()) + 4) * magnitudes[i]) << i;
    }
  }
}

/// A table of rows larger than what counts as in the cache: its rows are fetched twice.
TEST_P(GraphKernels, SpmmAgreesOnLargeTables) {
  const std::int64_t elements = kernels::cpu::FetchAhead::most_in_cache() / std::int64_t{sizeof(float)} + 1;
  for (const SparsePattern& pattern : {g().in_edges(), g().out_edges()}) {
    const std::int64_t x_pad = elements / std::max<std::int64_t>(1, pattern.cols);
    for (const bool weighted : {false, true}) {
      check_spmm("spmm from a large table", pattern, 33, 1, weighted, Reduce::kSum, longest_row(pattern), 3, {}, x_pad);
    }
  }
}

/// The first rows by themselves, whose edges are far from the last, and all rows, whose last edges are not: edges are
/// read in different ways (spmm-inl.h), from tables in and out of the cache.
TEST_P(GraphKernels, SpmmOfTheFirstRowsHasTheSameBits) {
  const SparsePattern& pattern = g().in_edges();
  std::int64_t rows = pattern.rows;
  while (rows > 0 && pattern.offsets[static_cast<std::size_t>(rows)] + kernels::cpu::FetchAhead::kMostFar > g().edges())
    --rows;
  if (rows == 0) return;  // all edges are near the last
  const auto variants = kernels::spmm_variants<float>();
  const auto cpu =
      std::find_if(variants.begin(), variants.end(), [](const auto& variant) { return variant.name == "cpu"; });
  ASSERT_NE(cpu, variants.end());
  const std::int64_t large = kernels::cpu::FetchAhead::most_in_cache() / std::int64_t{sizeof(float)} /
                                 std::max<std::int64_t>(1, pattern.cols) +
                             1;
  for (const std::int64_t pad : {std::int64_t{0}, large}) {
    for (const std::int64_t d : {std::int64_t{5}, std::int64_t{32}, std::int64_t{100}}) {
      for (const bool weighted : {false, true}) {
        const Matrix<float> x = random_matrix(pattern.cols, d, pad, 1);
        const Matrix<float> w = random_matrix(weighted ? pattern.nonzeros() : 0, 1, 0, 2);
        Matrix<float> all(pattern.rows, d);
        Matrix<float> first(rows, d);
        kernels::SpmmArgs<float> args{
            pattern, {x.values.data(), x.rows, d, x.stride}, w.values, 1, Reduce::kSum, all.view(), {}};
        cpu->run({2, {}}, args);
        args.pattern = pattern.band(0, rows);
        args.y = first.view();
        cpu->run({2, {}}, args);
        all.values.resize(first.values.size());
        EXPECT_EQ(first.values, all.values) << d << " columns" << (weighted ? ", weighted" : "");
      }
    }
  }
}

/// A result of more rows than the cache has, which is stored past it: the bits are those of one that is stored as
/// usual.
TEST_P(GraphKernels, SpmmOfLargeResultsHasTheSameBits) {
  const SparsePattern& pattern = g().in_edges();
  if (pattern.rows == 0) return;
  const std::int64_t lines = kernels::cpu::most_stored_in_cache() / std::int64_t{64} / pattern.rows + 1;
  for (const std::int64_t d : {std::int64_t{32}, std::int64_t{41}, std::int64_t{304}}) {
    const std::int64_t stride = std::max<std::int64_t>(lines, 19) * 16;
    const Matrix<float> x = random_matrix(pattern.cols, d, 0, 1);
    const Matrix<float> w = random_matrix(pattern.nonzeros(), 1, 0, 2);
    Matrix<float> usual(pattern.rows, d);
    Buffer<float> large = Buffer<float>::zeros(static_cast<std::size_t>(pattern.rows * stride));
    kernels::SpmmArgs<float> args{pattern, {x.values.data(), x.rows, d}, w.values, 1, Reduce::kSum, usual.view(), {}};
    ASSERT_FALSE(kernels::cpu::stores_past_caches(args.y, 0));
    kernels::spmm<float>({2, {}}, args);
    args.y = {large.data(), pattern.rows, d, stride};
    ASSERT_TRUE(kernels::cpu::stores_past_caches(args.y, 0));
    kernels::spmm<float>({2, {}}, args);
    for (std::int64_t v = 0; v < pattern.rows; ++v) {
      ASSERT_EQ(std::memcmp(args.y.row(v), usual.view().row(v), static_cast<std::size_t>(d) * sizeof(float)), 0)
          << "row " << v << " of " << d << " columns";
      for (std::int64_t c = d; c < std::min(stride, d + 64); ++c) ASSERT_EQ(args.y.at(v, c), 0) << "behind row " << v;
    }
  }
}

/// Panels that divide the columns, leave a narrow one, and are wider than all; elements are the same sums as of whole
/// rows.
TEST_P(GraphKernels, SpmmByPanelsHasTheSameBits) {
  for (const SparsePattern& pattern : {g().in_edges(), g().out_edges()}) {
    for (const std::int64_t d : {std::int64_t{33}, std::int64_t{64}, std::int64_t{100}}) {
      for (const bool weighted : {false, true}) {
        for (const Reduce reduce : {Reduce::kSum, Reduce::kMean}) {
          const Matrix<float> x = random_matrix(pattern.cols, d, pad_of(d), 1);
          const Matrix<float> w = random_matrix(weighted ? pattern.nonzeros() : 0, 1, 0, 2);
          Matrix<float> scales = random_matrix(weighted ? pattern.rows : 0, 1, 0, 3);
          Matrix<float> whole(pattern.rows, d, 5);
          kernels::SpmmArgs<float> args{
              pattern, {x.values.data(), x.rows, d, x.stride}, w.values, 1, reduce, whole.view(), {}};
          args.scales = scales.view();
          for (const std::int64_t panel : {std::int64_t{7}, std::int64_t{32}, std::int64_t{128}}) {
            Matrix<float> by_panels(pattern.rows, d, 5);
            args.y = by_panels.view();
            args.panel = panel;
            Buffer<std::byte> workspace(kernels::spmm_workspace_bytes(args));
            EXPECT_EQ(workspace.empty(), panel > d || pattern.cols == 0);
            on_every_target([&](const std::string& target) {
              std::fill(by_panels.values.begin(), by_panels.values.end(), 77.0F);
              args.y = whole.view();
              args.panel = 0;
              kernels::spmm<float>({1, {}}, args);
              args.y = by_panels.view();
              args.panel = panel;
              for (const int threads : {1, 3}) {
                kernels::spmm<float>({threads, workspace.span()}, args);
                EXPECT_EQ(by_panels.values, whole.values) << target << ": " << d << " columns in panels of " << panel;
              }
            });
          }
        }
      }
    }
  }
}

/// Panels are for sums over one head in f32; without a reason to take them everything is as without them.
TEST_P(GraphKernels, SpmmTakesNoPanelsOfHeadsAndExtremes) {
  const SparsePattern& pattern = g().in_edges();
  const Matrix<float> x = random_matrix(pattern.cols, 64, 0, 1);
  const Matrix<float> w = random_matrix(pattern.nonzeros(), 2, 0, 2);
  Matrix<float> y(pattern.rows, 64);
  kernels::SpmmArgs<float> args{pattern, {x.values.data(), x.rows, 64}, w.values, 2, Reduce::kSum, y.view(), {}};
  args.panel = 32;
  EXPECT_EQ(kernels::spmm_workspace_bytes(args), 0);
  args.heads = 1;
  args.w = {};
  args.reduce = Reduce::kMax;
  EXPECT_EQ(kernels::spmm_workspace_bytes(args), 0);
  EXPECT_NO_THROW(kernels::spmm<float>({2, {}}, args));
}

TEST_P(GraphKernels, SpmmAgreesWithHeads) {
  const std::pair<std::int64_t, std::int64_t> shapes[] = {{2, 2}, {24, 8}, {64, 8}, {33, 3}, {42, 21}, {160, 5}};
  for (const auto& [d, heads] : shapes) {
    if (g().edges() * d > kMostElements) continue;
    for (const Reduce reduce : kReductions) {
      const std::string what = "spmm d=" + std::to_string(d) + " heads " + std::to_string(heads);
      check_spmm(what, g().in_edges(), d, heads, true, reduce, longest_row(g().in_edges()), pad_of(d));
      check_spmm(what + " transposed", g().out_edges(), d, heads, true, reduce, longest_row(g().out_edges()),
                 pad_of(d));
    }
  }
}

/// Tiles of one source, of a few with a rest, and one tile of all.
TEST_P(GraphKernels, SpmmAgreesTileByTile) {
  struct Case {
    std::int64_t d, heads;
    bool weighted;
  };
  const Case cases[] = {{1, 1, false},   {32, 1, false}, {33, 1, true}, {41, 1, false}, {64, 1, true},  {65, 1, false},
                        {200, 1, false}, {300, 1, true}, {24, 8, true}, {42, 21, true}, {600, 20, true}};
  const KernelGraph sorted = sorted_rows(g());
  for (const SparsePattern& pattern : {sorted.in_edges(), sorted.out_edges()}) {
    for (const std::int64_t tile : {std::int64_t{1}, std::int64_t{7}, pattern.cols / 3 + 1, std::int64_t{65536}}) {
      if (tile == 1 && pattern.cols > 500) continue;
      const graph::SourceTiles tiles = graph::tile_sources(pattern, tile, 2);
      EXPECT_LE(tiles.bytes(), graph::most_source_tile_bytes(pattern.rows, pattern.cols, pattern.nonzeros(), tile));
      for (const Case& c : cases) {
        if (g().edges() * c.d > kMostElements) continue;
        for (const Reduce reduce : {Reduce::kSum, Reduce::kMean}) {
          const std::string what = "spmm d=" + std::to_string(c.d) + " heads " + std::to_string(c.heads) +
                                   " in tiles of " + std::to_string(tile);
          // A rounding for each tile comes on top of those of the terms.
          const double terms = longest_row(pattern) + static_cast<double>(tiles.tile_chunks.size());
          EXPECT_EQ(check_spmm(what, pattern, c.d, c.heads, c.weighted, reduce, terms, pad_of(c.d), tiles.view()), 2);
        }
      }
      check_spmm("max with tiles", pattern, 16, 1, false, Reduce::kMax, 0, 0, tiles.view());
    }
  }
}

/// A table that a device takes in panels of columns, whole ones and a rest, by fours and one by one. Few rows, one of
/// them long.
TEST(SpmmByPanels, Agrees) {
  constexpr std::int64_t kSources = 131'072;
  constexpr std::int64_t kRows = 40;
  std::vector<EdgeId> offsets = {0};
  std::vector<NodeId> indices;
  RandomStream random(5, 5);
  for (std::int64_t v = 0; v < kRows; ++v) {
    const std::int64_t degree = v == 7 ? 3000 : v % 4 == 0 ? 0 : 5 + v;
    for (std::int64_t i = 0; i < degree; ++i)
      indices.push_back(static_cast<NodeId>(random.below(static_cast<std::uint64_t>(kSources))));
    offsets.push_back(std::ssize(indices));
  }
  const SparsePattern pattern{kRows, kSources, offsets, indices, {}};
  for (const std::int64_t d : {66, 72}) {
    ASSERT_LT(kernels::panel_columns(kSources, d, sizeof(float)), d);
    for (const Reduce reduce : {Reduce::kSum, Reduce::kMean, Reduce::kMax, Reduce::kMin}) {
      for (const bool weighted : {false, true})
        check_spmm("spmm by panels d=" + std::to_string(d), pattern, d, weighted && d == 72 ? 2 : 1, weighted, reduce,
                   3000, 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Graphs, GraphKernels, ::testing::ValuesIn(kernel_graphs()), graph_name);

}  // namespace
}  // namespace gneiss::testing
