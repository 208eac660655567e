// Variants of the ops over graphs but spmm against the reference: every graph, width, head count, weighting and
// direction.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <tuple>
#include <vector>

#include "graph/source_tiles.h"
#include "kernels/arg_sources.h"
#include "kernels/attention.h"
#include "kernels/attention_grad.h"
#include "kernels/dropout.h"
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
#include "parity/graph_kernels.h"
#include "parity/kernels_of_programs.h"
#include "parity/parity.h"

namespace gneiss::testing {
namespace {

const auto* const kWhatRuns = expect_kernels_to_run(KernelsOfGraphs{});

TEST_P(GraphKernels, SddmmAgrees) {
  const std::pair<std::int64_t, std::int64_t> shapes[] = {{1, 1},  {3, 1},   {16, 1},  {33, 1}, {64, 8},
                                                          {24, 8}, {128, 1}, {602, 1}, {10, 5}};
  for (const auto& [d, heads] : shapes) {
    if (g().edges() * d > kMostElements) continue;
    Matrix<float> y = random_matrix(g().rows, d, pad_of(d), 1);
    Matrix<float> x = random_matrix(g().cols, d, pad_of(d), 2);
    Matrix<float> e(g().edges(), heads, pad_of(d));
    Matrix<float> magnitudes(g().edges(), heads, pad_of(d));
    Matrix<float> y_abs = absolute(y);
    Matrix<float> x_abs = absolute(x);
    kernels::SddmmArgs<float> args{g().in_edges(), y.view(), x.view(), heads, e.view()};
    kernels::sddmm_variants<float>().back().run({},
                                                {g().in_edges(), y_abs.view(), x_abs.view(), heads, magnitudes.view()});
    EXPECT_GE(expect_parity<kernels::SddmmArgs<float>>(
                  {"sddmm d=" + std::to_string(d),
                   kernels::sddmm_variants<float>(),
                   args,
                   0,
                   {{&e.values, sum_bound(magnitudes.values, static_cast<double>(d / heads))}}}),
              1);
  }
}

/// Random inputs of attention. Scores of a few units make a softmax that is neither flat nor a single edge.
struct AttentionInputs {
  Matrix<float> z, s_src, s_dst, gate;

  AttentionInputs(const KernelGraph& g, std::int64_t d, std::int64_t heads, bool gated, std::int64_t pad,
                  float range = 3)
      : z(random_matrix(g.cols, d, pad, 1)),
        s_src(random_matrix(g.cols, heads, pad, 2, -range, range)),
        s_dst(random_matrix(g.rows, heads, pad, 3, -range, range)),
        gate(random_matrix(gated ? g.edges() : 0, heads, 0, 4, 0, 2)) {}
};

constexpr std::pair<std::int64_t, std::int64_t> kAttentionShapes[] = {{1, 1},  {33, 1},  {47, 1},  {32, 4}, {64, 8},
                                                                      {15, 5}, {42, 21}, {160, 5}, {320, 2}};

/// Of attention over `args`.
std::size_t scratch_of(const kernels::AttentionArgs<float>& args) {
  return kernels::attention_workspace_bytes(args.y.rows, args.heads, !args.tiles.empty(), sizeof(float));
}

TEST_P(GraphKernels, AttentionAgrees) {
  for (const auto& [d, heads] : kAttentionShapes) {
    if (g().edges() * d > kMostElements) continue;
    for (const bool gated : {false, true}) {
      AttentionInputs in(g(), d, heads, gated, pad_of(d));
      Matrix<float> y(g().rows, d, pad_of(d));
      Matrix<float> tangent(g().rows, d, pad_of(d));
      Matrix<float> lse(g().rows, heads, pad_of(d));
      kernels::AttentionArgs<float> args{g().in_edges(), in.z.view(), in.s_src.view(), in.s_dst.view(), in.gate.view(),
                                         heads,          0.2,         y.view(),        tangent.view(),  lse.view()};
      const std::string what =
          "attention d=" + std::to_string(d) + " heads " + std::to_string(heads) + (gated ? " gated" : "");
      // Weights add up to 1 and carry the rounding of exp and of up to 32 running scales; values are at most 2.
      EXPECT_GE(expect_parity<kernels::AttentionArgs<float>>({what,
                                                              kernels::attention_variants<float>(),
                                                              args,
                                                              scratch_of(args),
                                                              {{&y.values, relative_bound(64)},
                                                               {&tangent.values, relative_bound(64)},
                                                               {&lse.values, relative_bound(16)}}}),
                1);
      args.tangent = {};
      args.lse = {};
      EXPECT_GE(expect_parity<kernels::AttentionArgs<float>>({what + " for inference",
                                                              kernels::attention_variants<float>(),
                                                              args,
                                                              scratch_of(args),
                                                              {{&y.values, relative_bound(64)}}}),
                1);
    }
  }
}

/// <a, b> of each head of a row.
Matrix<float> inner_by_heads(Matrix<float>& a, Matrix<float>& b, std::int64_t heads) {
  Matrix<float> out(a.rows, heads, 0, 0.0F);
  const std::int64_t width = a.cols / heads;
  for (std::int64_t r = 0; r < a.rows; ++r) {
    for (std::int64_t c = 0; c < a.cols; ++c) out.at(r, c / width) += a.at(r, c) * b.at(r, c);
  }
  return out;
}

/// What the results of attention_grad are without cancellation: its sums over absolute values.
void grad_sizes(const kernels::AttentionGradArgs<float>& args, Matrix<float>* dz, Matrix<float>* ds_src) {
  const auto copy = [](const ConstMatrixView<float>& from, float sign) {
    Matrix<float> to(from.rows, from.cols);
    for (std::int64_t r = 0; r < from.rows; ++r) {
      for (std::int64_t c = 0; c < from.cols; ++c) to.at(r, c) = sign * std::abs(from.at(r, c));
    }
    return to;
  };
  // With dots negative, the two parts of ds_src add up.
  Matrix<float> z = copy(args.z, 1), dots = copy(args.dots, -1), dy = copy(args.dy, 1);
  kernels::AttentionGradArgs<float> sizes = args;
  sizes.z = z.view();
  sizes.dots = dots.view();
  sizes.dy = dy.view();
  sizes.dz = dz->view();
  sizes.ds_src = ds_src->view();
  kernels::attention_grad_variants<float>().back().run({}, sizes);
}

TEST_P(GraphKernels, AttentionAgreesOnFarScores) {
  // Scores so far apart that weights vanish, and slopes other than the usual one.
  struct Case {
    float range;
    double slope;
  };
  for (const auto& [range, slope] :
       {Case{15, 0.2}, Case{60, 0.2}, Case{400, 0.2}, Case{400, 0}, Case{3, 1}, Case{3, 1.5}, Case{3, -0.1}}) {
    for (const auto& [d, heads] : {std::pair<std::int64_t, std::int64_t>{20, 1}, {32, 4}, {15, 5}}) {
      if (g().edges() * d > kMostElements) continue;
      AttentionInputs in(g(), d, heads, false, 0, range);
      Matrix<float> y(g().rows, d), tangent(g().rows, d), lse(g().rows, heads);
      const kernels::AttentionArgs<float> args{g().in_edges(), in.z.view(), in.s_src.view(), in.s_dst.view(), {}, heads,
                                               slope,          y.view(),    tangent.view(),  lse.view()};
      // A score is rounded relative to its size, and a weight takes the error of its exponent.
      const double rounding = 64 + 8 * range;
      const std::string what =
          "attention of scores up to " + std::to_string(range) + ", slope " + std::to_string(slope);
      EXPECT_GE(expect_parity<kernels::AttentionArgs<float>>({what,
                                                              kernels::attention_variants<float>(),
                                                              args,
                                                              scratch_of(args),
                                                              {{&y.values, relative_bound(rounding)},
                                                               {&tangent.values, relative_bound(rounding)},
                                                               {&lse.values, relative_bound(16)}}}),
                1);
      if (slope < 0) continue;  // grad_sizes needs derivatives that are not negative
      kernels::attention_variants<float>().back().run({}, args);
      Matrix<float> dy = random_matrix(g().rows, d, 0, 5);
      Matrix<float> dots = inner_by_heads(dy, y, heads);
      Matrix<float> dz(g().cols, d), ds_src(g().cols, heads);
      const kernels::AttentionGradArgs<float> grad{g().out_edges(), in.z.view(), in.s_src.view(), in.s_dst.view(),
                                                   lse.view(),      dots.view(), dy.view(),       {},
                                                   heads,           slope,       dz.view(),       ds_src.view()};
      Matrix<float> dz_size(g().cols, d), ds_src_size(g().cols, heads);
      grad_sizes(grad, &dz_size, &ds_src_size);
      EXPECT_GE(expect_parity<kernels::AttentionGradArgs<float>>(
                    {what + ", backward",
                     kernels::attention_grad_variants<float>(),
                     grad,
                     kernels::attention_grad_workspace_bytes(g().rows, heads, sizeof(float)),
                     {{&dz.values, sum_bound(dz_size.values, rounding)},
                      {&ds_src.values, sum_bound(ds_src_size.values, rounding)}}}),
                1);
    }
  }
}

TEST_P(GraphKernels, AttentionGradAgrees) {
  for (const auto& [d, heads] : kAttentionShapes) {
    if (g().edges() * d > kMostElements) continue;
    for (const bool gated : {false, true}) {
      AttentionInputs in(g(), d, heads, gated, pad_of(d));
      Matrix<float> y(g().rows, d), tangent(g().rows, d), lse(g().rows, heads);
      kernels::attention_variants<float>().back().run(
          {}, {g().in_edges(), in.z.view(), in.s_src.view(), in.s_dst.view(), in.gate.view(), heads, 0.2, y.view(),
               tangent.view(), lse.view()});
      Matrix<float> dy = random_matrix(g().rows, d, pad_of(d), 5);
      Matrix<float> dots = inner_by_heads(dy, y, heads);
      Matrix<float> dz(g().cols, d, pad_of(d)), ds_src(g().cols, heads, 1);
      kernels::AttentionGradArgs<float> args{g().out_edges(), in.z.view(), in.s_src.view(), in.s_dst.view(),
                                             lse.view(),      dots.view(), dy.view(),       in.gate.view(),
                                             heads,           0.2,         dz.view(),       ds_src.view()};
      Matrix<float> dz_size = dz, ds_src_size = ds_src;
      grad_sizes(args, &dz_size, &ds_src_size);
      // Weights inherit the rounding of exp's argument, some 64 units; then come the sums over edges and columns.
      const double columns = static_cast<double>(d / heads);
      const double terms = 64 + columns + longest_row(g().out_edges());
      EXPECT_GE(
          expect_parity<kernels::AttentionGradArgs<float>>(
              {"attention_grad d=" + std::to_string(d) + " heads " + std::to_string(heads) + (gated ? " gated" : ""),
               kernels::attention_grad_variants<float>(),
               args,
               kernels::attention_grad_workspace_bytes(g().rows, heads, sizeof(float)),
               {{&dz.values, sum_bound(dz_size.values, terms)},
                {&ds_src.values, sum_bound(ds_src_size.values, terms)}}}),
          1);
    }
  }
}

/// Tiles of one source, of a few with a rest, and one tile of all (on large graphs three tiles alone); scores near
/// each other, and too far apart for a bound of a row. Graphs of many nodes take the scores in turn: every shape meets
/// every tile, and every scores every tile.
TEST_P(GraphKernels, AttentionAgreesTileByTile) {
  const KernelGraph sorted = sorted_rows(g());
  const std::int64_t most = std::max(sorted.rows, sorted.cols);
  constexpr std::int64_t kManyNodes = 100;
  int turn = 0;
  for (const std::int64_t tile : {std::int64_t{1}, std::int64_t{7}, most / 3 + 1, std::int64_t{65536}}) {
    if (most > 500 && tile != most / 3 + 1) continue;
    const graph::SourceTiles in_tiles = graph::tile_sources(sorted.in_edges(), tile, 2);
    const graph::SourceTiles out_tiles = graph::tile_sources(sorted.out_edges(), tile, 2);
    for (const auto& [d, heads] : kAttentionShapes) {
      int scores = 0;
      for (const auto& [range, gated] : {std::pair<float, bool>{3, false}, {3, true}, {400, false}}) {
        if (g().edges() * d > kMostElements) continue;
        if (most > kManyNodes && scores++ != turn % 3) continue;
        AttentionInputs in(sorted, d, heads, gated, 0, range);
        Matrix<float> y(g().rows, d, pad_of(d)), tangent(g().rows, d, pad_of(d)), lse(g().rows, heads);
        kernels::AttentionArgs<float> args{
            sorted.in_edges(), in.z.view(),    in.s_src.view(), in.s_dst.view(), in.gate.view(), heads, 0.2,
            y.view(),          tangent.view(), lse.view(),      in_tiles.view()};
        const std::string what = "attention d=" + std::to_string(d) + " heads " + std::to_string(heads) +
                                 " in tiles of " + std::to_string(tile);
        // A tile may raise the running maximum once more than there are batches.
        const double rounding = 64 + 8 * range + static_cast<double>(in_tiles.tile_chunks.size());
        EXPECT_EQ(expect_parity<kernels::AttentionArgs<float>>({what,
                                                                kernels::attention_variants<float>(),
                                                                args,
                                                                scratch_of(args),
                                                                {{&y.values, relative_bound(rounding)},
                                                                 {&tangent.values, relative_bound(rounding)},
                                                                 {&lse.values, relative_bound(16)}}}),
                  2);
        kernels::attention_variants<float>().back().run({}, args);
        Matrix<float> dy = random_matrix(g().rows, d, 0, 5);
        Matrix<float> dots = inner_by_heads(dy, y, heads);
        Matrix<float> dz(g().cols, d, pad_of(d)), ds_src(g().cols, heads);
        const kernels::AttentionGradArgs<float> grad{
            sorted.out_edges(), in.z.view(),   in.s_src.view(), in.s_dst.view(), lse.view(),
            dots.view(),        dy.view(),     in.gate.view(),  heads,           0.2,
            dz.view(),          ds_src.view(), out_tiles.view()};
        Matrix<float> dz_size = dz, ds_src_size = ds_src;
        grad_sizes(grad, &dz_size, &ds_src_size);
        const double terms = rounding + static_cast<double>(d / heads) + longest_row(sorted.out_edges()) +
                             static_cast<double>(out_tiles.tile_chunks.size());
        EXPECT_EQ(expect_parity<kernels::AttentionGradArgs<float>>(
                      {what + ", backward",
                       kernels::attention_grad_variants<float>(),
                       grad,
                       kernels::attention_grad_workspace_bytes(g().rows, heads, sizeof(float)),
                       {{&dz.values, sum_bound(dz_size.values, terms)},
                        {&ds_src.values, sum_bound(ds_src_size.values, terms)}}}),
                  2);
      }
      ++turn;
    }
    ++turn;  // nine shapes are three turns: without this one a shape would meet the same scores at every tile
  }
}

/// The entries of row v, as a pattern of one row; `offsets` is where its offsets lie.
SparsePattern row_alone(const SparsePattern& pattern, std::int64_t v, std::array<EdgeId, 2>* offsets) {
  const auto begin = static_cast<std::size_t>(pattern.offsets[static_cast<std::size_t>(v)]);
  const auto count = static_cast<std::size_t>(pattern.offsets[static_cast<std::size_t>(v) + 1]) - begin;
  *offsets = {0, static_cast<EdgeId>(count)};
  return {1, pattern.cols, *offsets, pattern.indices.subspan(begin, count), {}};
}

/// Rows of few edges are taken some at a time. A row has the same bits alone, where no other follows, as among all.
TEST_P(GraphKernels, AttentionOfARowAloneHasTheSameBits) {
  for (const auto& [d, heads] : {std::pair<std::int64_t, std::int64_t>{33, 1}, {32, 4}, {64, 8}, {320, 4}}) {
    if (g().edges() * d > kMostElements) continue;
    AttentionInputs in(g(), d, heads, false, 0);
    Matrix<float> y(g().rows, d), tangent(g().rows, d), lse(g().rows, heads);
    const kernels::AttentionArgs<float> all{g().in_edges(), in.z.view(), in.s_src.view(), in.s_dst.view(), {},
                                            heads,          0.2,         y.view(),        tangent.view(),  lse.view()};
    Matrix<float> dy = random_matrix(g().rows, d, 0, 5);
    Matrix<float> dots = random_matrix(g().rows, heads, 0, 6);
    Matrix<float> dz(g().cols, d), ds_src(g().cols, heads);
    const kernels::AttentionGradArgs<float> grad{g().out_edges(), in.z.view(), in.s_src.view(), in.s_dst.view(),
                                                 lse.view(),      dots.view(), dy.view(),       {},
                                                 heads,           0.2,         dz.view(),       ds_src.view()};
    Buffer<std::byte> scratch(
        std::max(scratch_of(all), kernels::attention_grad_workspace_bytes(g().rows, heads, sizeof(float))));
    kernels::attention<float>({2, scratch.span()}, all);
    kernels::attention_grad<float>({2, scratch.span()}, grad);
    std::array<EdgeId, 2> offsets;
    Matrix<float> y_alone(g().rows, d), tangent_alone(g().rows, d), lse_alone(g().rows, heads), dz_alone(g().cols, d),
        ds_alone(g().cols, heads);
    for (std::int64_t v = 0; v < g().rows; ++v) {
      kernels::AttentionArgs<float> one = all;
      one.pattern = row_alone(all.pattern, v, &offsets);
      one.s_dst = all.s_dst.band(v, v + 1);
      one.y = y_alone.view().band(v, v + 1);
      one.tangent = tangent_alone.view().band(v, v + 1);
      one.lse = lse_alone.view().band(v, v + 1);
      kernels::attention<float>({1, scratch.span()}, one);
    }
    for (std::int64_t u = 0; u < g().cols; ++u) {
      kernels::AttentionGradArgs<float> one = grad;
      one.pattern = row_alone(grad.pattern, u, &offsets);
      one.z = grad.z.band(u, u + 1);
      one.s_src = grad.s_src.band(u, u + 1);
      one.dz = dz_alone.view().band(u, u + 1);
      one.ds_src = ds_alone.view().band(u, u + 1);
      kernels::attention_grad<float>({1, scratch.span()}, one);
    }
    EXPECT_EQ(y.values, y_alone.values) << d << " columns";
    EXPECT_EQ(tangent.values, tangent_alone.values) << d << " columns";
    EXPECT_EQ(lse.values, lse_alone.values) << d << " columns";
    EXPECT_EQ(dz.values, dz_alone.values) << d << " columns";
    EXPECT_EQ(ds_src.values, ds_alone.values) << d << " columns";
  }
}

/// A rank has the sources of its own rows alone. Given the range of all sources' scores, near enough to each other for
/// a bound or not, a row has the bits that it has among all; with the range of its own sources it need not.
TEST_P(GraphKernels, AttentionOfARowsOwnSourcesHasTheSameBits) {
  int others = 0;
  for (const auto& [d, heads, spread] :
       {std::tuple<std::int64_t, std::int64_t, float>{33, 1, 3.0F}, {32, 4, 3.0F}, {64, 8, 17.0F}, {30, 2, 3.0F}}) {
    if (g().edges() * d > kMostElements || g().cols > 500) continue;
    AttentionInputs in(g(), d, heads, false, 0, spread);
    Matrix<float> range(2, heads);
    for (std::int64_t h = 0; h < heads; ++h) {
      range.at(0, h) = -std::numeric_limits<float>::infinity();
      range.at(1, h) = std::numeric_limits<float>::infinity();
      for (std::int64_t u = 0; u < g().cols; ++u) {
        range.at(0, h) = std::max(range.at(0, h), in.s_src.at(u, h));
        range.at(1, h) = std::min(range.at(1, h), in.s_src.at(u, h));
      }
    }
    Matrix<float> y(g().rows, d), tangent(g().rows, d), lse(g().rows, heads);
    const kernels::AttentionArgs<float> all{g().in_edges(), in.z.view(), in.s_src.view(), in.s_dst.view(), {},
                                            heads,          0.2,         y.view(),        tangent.view(),  lse.view()};
    Buffer<std::byte> scratch(scratch_of(all));
    kernels::attention<float>({2, scratch.span()}, all);
    for (const bool shared : {true, false}) {
      Matrix<float> y_own(g().rows, d), tangent_own(g().rows, d), lse_own(g().rows, heads);
      for (std::int64_t v = 0; v < g().rows; ++v) {
        std::array<EdgeId, 2> offsets;
        const SparsePattern row = row_alone(all.pattern, v, &offsets);
        const std::int64_t count = row.nonzeros();
        Matrix<float> z(count, d), s_src(count, heads);
        std::vector<NodeId> places(static_cast<std::size_t>(count));
        for (std::int64_t k = 0; k < count; ++k) {
          places[static_cast<std::size_t>(k)] = static_cast<NodeId>(k);
          std::copy_n(&in.z.at(row.indices[static_cast<std::size_t>(k)], 0), d, &z.at(k, 0));
          std::copy_n(&in.s_src.at(row.indices[static_cast<std::size_t>(k)], 0), heads, &s_src.at(k, 0));
        }
        kernels::AttentionArgs<float> own = all;
        own.pattern = {1, count, offsets, places, {}};
        own.z = z.view();
        own.s_src = s_src.view();
        own.s_dst = all.s_dst.band(v, v + 1);
        own.y = y_own.view().band(v, v + 1);
        own.tangent = tangent_own.view().band(v, v + 1);
        own.lse = lse_own.view().band(v, v + 1);
        if (shared) own.range = range.view();
        kernels::attention<float>({1, scratch.span()}, own);
      }
      if (!shared) {
        others += y.values == y_own.values && lse.values == lse_own.values ? 0 : 1;
        continue;
      }
      EXPECT_EQ(y.values, y_own.values) << d << " columns";
      EXPECT_EQ(tangent.values, tangent_own.values) << d << " columns";
      EXPECT_EQ(lse.values, lse_own.values) << d << " columns";
    }
  }
  if (g().rows > 10 && g().cols > 10 && g().cols <= 500 && g().edges() > 4 * g().rows) {
    EXPECT_GT(others, 0);
  }
}

/// A score that is no number, or infinitely low as of a masked node, at a source: alike in every variant.
TEST_P(GraphKernels, AttentionAgreesOnScoresThatAreNoNumbers) {
  if (g().cols < 2 || g().edges() * 32 > kMostElements) return;
  for (const float odd : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    AttentionInputs in(g(), 32, 4, false, 0);
    for (std::int64_t h = 0; h < 4; ++h) in.s_src.at(g().cols / 2, h) = odd;
    Matrix<float> y(g().rows, 32), wanted(g().rows, 32);
    const kernels::AttentionArgs<float> args{
        g().in_edges(), in.z.view(), in.s_src.view(), in.s_dst.view(), {}, 4, 0.2, y.view(), {}, {}};
    Buffer<std::byte> scratch(scratch_of(args));
    kernels::AttentionArgs<float> reference = args;
    reference.y = wanted.view();
    kernels::attention_variants<float>().back().run({}, reference);
    kernels::attention<float>({2, scratch.span()}, args);
    for (std::int64_t v = 0; v < g().rows; ++v) {
      EXPECT_EQ(std::isnan(y.at(v, 0)), std::isnan(wanted.at(v, 0))) << "row " << v << " with " << odd;
    }
  }
}

TEST_P(GraphKernels, EdgeSoftmaxAgrees) {
  for (const std::int64_t heads : {1, 3, 8, 16}) {
    for (const std::int64_t pad : {0, 2}) {
      Matrix<float> e = random_matrix(g().edges(), heads, pad, 1, -30, 30);
      Matrix<float> a(g().edges(), heads, pad);
      kernels::EdgeSoftmaxArgs<float> args{g().offsets, e.view(), a.view()};
      // exp(e - max) inherits the rounding of its argument: up to 60 half units.
      EXPECT_GE(
          expect_parity<kernels::EdgeSoftmaxArgs<float>>(
              {"edge_softmax", kernels::edge_softmax_variants<float>(), args, 0, {{&a.values, relative_bound(64)}}}),
          1);
      args.e = a.view();
      a = e;
      args.a = a.view();
      EXPECT_GE(expect_parity<kernels::EdgeSoftmaxArgs<float>>({"edge_softmax in place",
                                                                kernels::edge_softmax_variants<float>(),
                                                                {g().offsets, a.view(), a.view()},
                                                                0,
                                                                {{&a.values, relative_bound(64)}}}),
                1);
    }
  }
}

TEST_P(GraphKernels, EdgeSoftmaxGradAgrees) {
  for (const std::int64_t heads : {1, 3, 8}) {
    Matrix<float> a = random_matrix(g().edges(), heads, heads % 2, 1, 0, 1);
    Matrix<float> da = random_matrix(g().edges(), heads, heads % 2, 2);
    Matrix<float> de(g().edges(), heads, heads % 2);
    const double terms = longest_row(g().in_edges());
    EXPECT_GE(expect_parity<kernels::EdgeSoftmaxGradArgs<float>>({"edge_softmax_grad",
                                                                  kernels::edge_softmax_grad_variants<float>(),
                                                                  {g().offsets, a.view(), da.view(), de.view()},
                                                                  0,
                                                                  {{&de.values, relative_bound(4 + terms)}}}),
              1);
  }
}

TEST_P(GraphKernels, GatherAgrees) {
  for (const std::int64_t d : {1, 3, 33}) {
    for (const bool by_source : {true, false}) {
      Matrix<float> x = random_matrix(by_source ? g().cols : g().rows, d, pad_of(d), 1);
      Matrix<float> e(g().edges(), d, pad_of(d));
      EXPECT_GE(expect_parity<kernels::GatherArgs<float>>({"gather",
                                                           kernels::gather_variants<float>(),
                                                           {g().in_edges(), by_source, x.view(), e.view()},
                                                           0,
                                                           {{&e.values, relative_bound(0)}}}),
                1);
    }
  }
}

TEST_P(GraphKernels, SegmentReduceAgrees) {
  for (const std::int64_t d : {1, 3, 16, 33}) {
    for (const Reduce reduce : kReductions) {
      for (const bool transposed : {false, true}) {
        const SparsePattern pattern = transposed ? g().out_edges() : g().in_edges();
        Matrix<float> e = random_matrix(g().edges(), d, pad_of(d), 1);
        Matrix<float> y(pattern.rows, d, pad_of(d));
        Matrix<std::int32_t> arg(pattern.rows, d, pad_of(d), -7);
        EXPECT_GE(
            expect_parity<kernels::SegmentReduceArgs<float>>(
                {"segment_reduce",
                 kernels::segment_reduce_variants<float>(),
                 {pattern, e.view(), reduce, y.view(), arg.view()},
                 0,
                 {{&y.values, relative_bound(longest_row(pattern) * longest_row(pattern))}},
                 reduce == Reduce::kMax || reduce == Reduce::kMin ? std::vector<std::vector<std::int32_t>*>{&arg.values}
                                                                  : std::vector<std::vector<std::int32_t>*>{}}),
            1);
      }
    }
  }
}

TEST_P(GraphKernels, ArgGradientsAgree) {
  for (const std::int64_t d : {1, 3, 16, 33, 128}) {
    Matrix<float> x = random_matrix(g().cols, d, pad_of(d), 1);
    Matrix<float> w = random_matrix(g().edges(), 1, 0, 2, 0.5, 1);
    Matrix<float> y(g().rows, d, 0);
    Matrix<std::int32_t> arg(g().rows, d, pad_of(d));
    kernels::spmm_variants<float>().back().run(
        {}, {g().in_edges(), x.view(), w.values, 1, Reduce::kMax, y.view(), arg.view()});
    Matrix<float> dy = random_matrix(g().rows, d, pad_of(d), 3);
    Matrix<float> dx(g().cols, d, pad_of(d));
    const double terms = longest_row(g().out_edges());
    EXPECT_GE(expect_parity<kernels::SpmmArgGradArgs<float>>(
                  {"spmm_arg_grad",
                   kernels::spmm_arg_grad_variants<float>(),
                   {g().out_edges(), g().offsets, arg.view(), dy.view(), w.values, dx.view()},
                   0,
                   {{&dx.values, relative_bound(terms * terms)}}}),
              1);
    std::vector<float> dw(w.values.size(), 77);
    EXPECT_GE(
        expect_parity<kernels::SpmmArgWeightGradArgs<float>>({"spmm_arg_weight_grad",
                                                              kernels::spmm_arg_weight_grad_variants<float>(),
                                                              {g().in_edges(), arg.view(), dy.view(), x.view(), dw},
                                                              0,
                                                              {{&dw, relative_bound(static_cast<double>(d))}}}),
        1);
    Matrix<float> de(g().edges(), d, pad_of(d));
    EXPECT_GE(expect_parity<kernels::SegmentArgGradArgs<float>>({"segment_arg_grad",
                                                                 kernels::segment_arg_grad_variants<float>(),
                                                                 {g().offsets, arg.view(), dy.view(), de.view()},
                                                                 0,
                                                                 {{&de.values, relative_bound(0)}}}),
              1);
  }
}

/// Ids in no order, up to the largest that fits.
std::vector<std::int64_t> some_ids(std::int64_t count) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) ids[static_cast<std::size_t>(i)] = 0x7fff'ffff - (i ^ 5) * 3;
  return ids;
}

TEST_P(GraphKernels, WinnersByIdAgreeAndAddTheSameBits) {
  if (g().cols == 0) return;  // nobody has an id
  const std::vector<std::int64_t> ids = some_ids(g().cols);
  for (const std::int64_t d : {1, 3, 16, 33, 128}) {
    for (const bool weighted : {false, true}) {
      // Small whole numbers: many ties.
      Matrix<float> x = random_matrix(g().cols, d, pad_of(d), 1, -2, 2);
      for (float& value : x.values) value = std::trunc(value);
      std::vector<float> w;
      if (weighted) w = random_matrix(g().edges(), 1, 0, 2, -1, 1).values;
      Matrix<float> y(g().rows, d, 0);
      Matrix<std::int32_t> arg(g().rows, d, pad_of(d));
      kernels::spmm_variants<float>().back().run({},
                                                 {g().in_edges(), x.view(), w, 1, Reduce::kMin, y.view(), arg.view()});
      Matrix<float> dy = random_matrix(g().rows, d, pad_of(d), 3);
      Matrix<std::int32_t> source(g().rows, d, pad_of(d), -7);
      Matrix<float> weighed(g().rows, d, pad_of(d));
      kernels::ArgSourcesArgs<float> named{g().in_edges(), ids, arg.view(), {}, {}, source.view(), {}};
      if (!w.empty()) {
        named.dy = dy.view();
        named.w = w;
        named.weighed = weighed.view();
      }
      EXPECT_GE(expect_parity<kernels::ArgSourcesArgs<float>>({"arg_sources",
                                                               kernels::arg_sources_variants<float>(),
                                                               named,
                                                               0,
                                                               {{&weighed.values, relative_bound(0)}},
                                                               {&source.values}}),
                1);
      kernels::arg_sources<float>({}, named);
      Matrix<float>& rows = w.empty() ? dy : weighed;
      Matrix<float> dx(g().cols, d, pad_of(d));
      SparsePattern ends = g().out_edges();
      ends.slots = {};
      const double terms = longest_row(ends);
      const kernels::SpmmArgGradArgs<float> by_id{ends, {}, source.view(), rows.view(), {}, dx.view(), ids};
      EXPECT_GE(expect_parity<kernels::SpmmArgGradArgs<float>>({"spmm_arg_grad by ids",
                                                                kernels::spmm_arg_grad_variants<float>(),
                                                                by_id,
                                                                0,
                                                                {{&dx.values, relative_bound(terms * terms)}}}),
                1);
      // By positions of edges the same is added in the same order, on a device too.
      Matrix<float> by_position(g().cols, d, pad_of(d));
      const kernels::SpmmArgGradArgs<float> plain{g().out_edges(), g().offsets, arg.view(),
                                                  dy.view(),       w,           by_position.view()};
      kernels::spmm_arg_grad<float>({}, by_id);
      kernels::spmm_arg_grad<float>({}, plain);
      EXPECT_EQ(dx.values, by_position.values) << "d=" << d << ", weighted " << weighted;
      const auto nothing = [] {};
      std::vector<float> on_device;
      const auto keep = [&](const std::string&, bool) { on_device = dx.values; };
      const auto same = [&](const std::string& where, bool) { EXPECT_EQ(by_position.values, on_device) << where; };
      on_emulated_device<kernels::SpmmArgGradArgs<float>>(by_id, 1, nothing, keep);
      on_emulated_device<kernels::SpmmArgGradArgs<float>>(plain, 1, nothing, same);
    }
  }
}

TEST_P(GraphKernels, SparseFeaturesAgree) {
  for (const std::int64_t d : {1, 16, 33, 64}) {
    for (const bool transposed : {false, true}) {
      const SparsePattern a = transposed ? g().out_edges() : g().in_edges();
      Matrix<float> values = random_matrix(g().edges(), 1, 0, 1, 0, 1);
      Matrix<float> b = random_matrix(a.cols, d, pad_of(d), 2);
      Matrix<float> c(a.rows, d, pad_of(d));
      const double terms = longest_row(a);
      EXPECT_GE(expect_parity<kernels::SpxGemmArgs<float>>({"spx_gemm",
                                                            kernels::spx_gemm_variants<float>(),
                                                            {a, values.values, b.view(), c.view()},
                                                            0,
                                                            {{&c.values, relative_bound(terms * terms)}}}),
                1);
      if (a.rows * a.cols > kMostElements) continue;
      Matrix<float> dst(a.rows, a.cols, 1);
      EXPECT_GE(expect_parity<kernels::ToDenseArgs<float>>({"to_dense",
                                                            kernels::to_dense_variants<float>(),
                                                            {a, values.values, dst.view()},
                                                            0,
                                                            {{&dst.values, relative_bound(0)}}}),
                1);
    }
  }
}

TEST_P(GraphKernels, DropoutOfEdgesAndSparseValuesAgreesBitForBit) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(std::max(g().rows, g().cols)));
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i * 0x1'0000'0007ULL + 3);
  const SparsePattern pattern = g().in_edges();
  for (const std::int64_t heads : {1, 3, 4, 8}) {
    Matrix<float> x = random_matrix(g().edges(), heads, heads % 2, 1);
    Matrix<float> y(g().edges(), heads, heads % 2);
    kernels::DropoutArgs<float> args{0.4, 5, 9, 2, ids, &pattern, nullptr, x.view(), y.view()};
    for (const bool reversed : {false, true}) {
      args.reversed = reversed;
      EXPECT_GE(
          expect_parity<kernels::DropoutArgs<float>>(
              {"dropout of edges", kernels::dropout_variants<float>(), args, 0, {{&y.values, relative_bound(0)}}}),
          1);
    }
  }
  ids.resize(static_cast<std::size_t>(g().rows));
  Matrix<float> x = random_matrix(g().edges(), 1, 0, 1);
  Matrix<float> y(g().edges(), 1, 0);
  kernels::DropoutArgs<float> args{0.4, 5, 9, 2, ids, nullptr, &pattern, x.view(), y.view()};
  EXPECT_GE(
      expect_parity<kernels::DropoutArgs<float>>(
          {"dropout of sparse values", kernels::dropout_variants<float>(), args, 0, {{&y.values, relative_bound(0)}}}),
      1);
}

INSTANTIATE_TEST_SUITE_P(Graphs, GraphKernels, ::testing::ValuesIn(kernel_graphs()), graph_name);

}  // namespace
}  // namespace gneiss::testing
