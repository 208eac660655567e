// What an op takes, in seconds: bytes over a rate, or flop over a rate.
//
// One set of rates serves every choice that is made by modelled time (order, sparse path) and the times that `gneiss
// plan` shows. Rates are measured once for a machine (cost/calibrate.h) or are those of the CPU study's machine. The
// model knows how near neighbours lie and what is still in a cache, but no busy machine: it is there to rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/near.h"
#include "ir/plan.h"
#include "kernels/gemm.h"

namespace gneiss::cost {

/// A rate by columns and by a second size; between the corners of the grid interpolated over the logarithms of both,
/// beyond them that of the nearest.
struct RateGrid {
  std::vector<double> columns;  ///< ascending, at least one
  std::vector<double> sizes;    ///< ascending, at least one
  std::vector<double> rates;    ///< [columns, sizes] row-major, a second

  double at(double columns_wanted, double size) const;
};

/// Rates of a machine with all the threads that a process may use, a second.
struct Rates {
  std::string source;     ///< Where they come from, for people.
  RateGrid gather;        ///< Bytes of rows that spmm reads and writes; by columns and bytes of the rows gathered from.
  RateGrid tile_gather;   ///< Bytes of rows that a tiled spmm reads, segments apart; by columns and bytes of a tile.
  RateGrid gemm_nn;       ///< Flop of c [m,n] = a b, for large m; by n and inner size.
  RateGrid gemm_nt;       ///< Flop of c [m,n] = a b^T, for large m; by n and inner size.
  RateGrid gemm_tn;       ///< Flop of c [m,n] = a^T b, for a large inner size; by n and m.
  RateGrid spx_forward;   ///< Flop of spx_gemm on stored values; by columns and bytes of values.
  RateGrid spx_gradient;  ///< Flop of spx_gemm on transposed features with a copy of their values.
  RateGrid spx_slots;     ///< Flop of spx_gemm on transposed features whose values are found by slots.
  double spx_rows = 0;    ///< Rows of the dense operand that the three above were measured with.
  RateGrid stream;        ///< Bytes that an elementwise op reads and writes; by 1 and by those bytes.
  double attention = 0;   ///< Edges times heads whose softmax is taken, the gather apart.
  double attention_grad = 0;  ///< Edges times heads whose softmax is differentiated, the gather apart.
  double dropout = 0;         ///< Values drawn.
  double exponentials = 0;    ///< Values whose exponential is taken, reading and writing them apart.
  double segments = 0;        ///< Row segments of one column that a tiled spmm begins, passes over the result apart.
  double map = 0;             ///< Bytes of rows in a file that are mapped and given back, reading them apart.
  double call_seconds = 0;    ///< Seconds of a call with nothing to do.
  bool panels = false;        ///< Of a device, whose spmm takes panels of columns (kernels/cuda/panels.h).
};

/// The CPU study's machine (2 threads of a Zen 5 with AVX-512): its tables of gathers, products and sparse products.
/// What it did not measure is from `gneiss doctor --calibrate` on a machine of that kind, but for the gathers of
/// tiles, which are an Intel Xeon's with a slow last level.
const Rates& default_rates();

/// How often the phases after the setup are expected to run: what is done once is weighed against that.
struct Repeats {
  double steps = 200;
  double evaluations = 200;
};

/// "" if every grid is ascending and complete and every rate a positive finite number; else which one is not.
std::string invalid_rate(const Rates& rates);

/// An aggregation of `columns` columns from `sources` rows over `edges` edges to `rows` rows. Of the edges that are
/// near, rows come as from a table of a tile or a region, of the others from anywhere.
double gather_seconds(const Rates& rates, double edges, double rows, double sources, double columns,
                      const Near& near = {});
/// The same aggregation in panels of columns, each copied before it is gathered from.
double panel_gather_seconds(const Rates& rates, double edges, double rows, double sources, double columns, double panel,
                            const Near& near = {});
/// What `segments` take to pass over a row of the result each, which comes from memory anew for each tile where the
/// result is large.
double segment_passes_seconds(const Rates& rates, double segments, double row_bytes, double result_bytes);
/// The same aggregation with its sources in tiles of `tile` rows, one tile after another. Edges from within a region
/// take few segments.
double tiled_gather_seconds(const Rates& rates, double edges, double rows, double sources, double columns, double tile,
                            const Near& near = {});
/// The same for attention or its backward, besides the softmax weights, which take `edge_seconds` an edge: a segment
/// carries two sums and a softmax on.
double tiled_attention_seconds(const Rates& rates, double edges, double rows, double sources, double columns,
                               double tile, double edge_seconds, const Near& near = {});
/// c [m,n] with inner size k.
double gemm_seconds(const Rates& rates, kernels::Orientation orientation, double m, double n, double k);

/// Sparse input features.
struct FeatureShape {
  double rows = 0;
  double cols = 0;
  double nonzeros = 0;
  bool dropped = false;  ///< their values change in every step, by dropout
};
/// Features times a matrix of `columns` columns; `gradient`: the transposed features.
double spx_gemm_seconds(const Rates& rates, const FeatureShape& features, double columns, bool gradient);
/// The same product with the features as a dense matrix.
double dense_features_seconds(const Rates& rates, const FeatureShape& features, double columns, bool gradient);
/// γ: the density below which the sparse product of such features, however many are stored, is the faster one, 0 to 1.
double sparse_threshold(const Rates& rates, const FeatureShape& features, double columns, bool gradient);

/// An op that reads and writes `bytes` bytes in order.
double stream_seconds(const Rates& rates, double bytes);
/// The same of bytes that a band of rows has in a cache.
double cached_stream_seconds(const Rates& rates, double bytes);

/// What a process waits for memory that it has not touched before. Hosts give it at 0.5 to 8 GB/s
/// (docs/performance.md), by what others have just freed: no rate of a machine, and none is measured.
double fresh_memory_seconds(double bytes);

/// One call of a plan whose steps are bound.
double step_seconds(const Rates& rates, const ir::Plan& plan, const ir::Step& step);

}  // namespace gneiss::cost
