// An op's time is made of bytes that it streams, rows that it gathers and flop, each over a measured rate. Rates of
// gathers and products are tables, interpolated over the logarithms of both axes. Near ends of edges are read as from a
// smaller table than far ones, and what a band has in the cache at the cache's rate.
#include "cost/cost.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/cuda/panels.h"
#include "kernels/spmm.h"

namespace gneiss::cost {
namespace {

using ir::Op;
using ir::OpKind;
using kernels::Orientation;

constexpr double kFloat = sizeof(float);
constexpr double kMiB = 1024.0 * 1024.0;

/// Where `x` lies on a logarithmic axis: the corner below and the share of the way to the next.
std::pair<std::size_t, double> locate(const std::vector<double>& axis, double x) {
  if (axis.size() < 2 || x <= axis.front()) return {0, 0};
  if (x >= axis.back()) return {axis.size() - 2, 1};
  const auto above = static_cast<std::size_t>(std::upper_bound(axis.begin(), axis.end(), x) - axis.begin());
  return {above - 1, std::log(x / axis[above - 1]) / std::log(axis[above] / axis[above - 1])};
}

bool ascending(const std::vector<double>& axis) {
  for (std::size_t i = 0; i < axis.size(); ++i) {
    if (!std::isfinite(axis[i]) || axis[i] <= 0 || (i > 0 && axis[i] <= axis[i - 1])) return false;
  }
  return !axis.empty();
}

bool positive(double rate) { return std::isfinite(rate) && rate > 0; }

double count(const ir::Program& program, ir::ValueId v) {
  return static_cast<double>(std::max<std::int64_t>(program.elements(v), 0));
}

/// Flop a second of the sparse product, less where the rows it gathers from are too many for the cache that they were
/// measured in.
double spx_rate(const Rates& rates, const FeatureShape& features, double columns, bool gradient) {
  const RateGrid& along_columns = features.dropped ? rates.spx_slots : rates.spx_gradient;
  const double measured = (gradient ? along_columns : rates.spx_forward).at(columns, features.nonzeros * kFloat);
  const double table = (gradient ? features.rows : features.cols) * columns * kFloat;
  const double slower = rates.gather.at(columns, table) / rates.gather.at(columns, rates.spx_rows * columns * kFloat);
  return measured * std::min(1.0, slower);
}

}  // namespace

double RateGrid::at(double columns_wanted, double size) const {
  const auto [c, across] = locate(columns, columns_wanted);
  const auto [s, along] = locate(sizes, size);
  const auto corner = [&, c = c, s = s](std::size_t dc, std::size_t ds) {
    const std::size_t column = std::min(c + dc, columns.size() - 1);
    return std::log(rates[column * sizes.size() + std::min(s + ds, sizes.size() - 1)]);
  };
  const double below = corner(0, 0) + along * (corner(0, 1) - corner(0, 0));
  const double above = corner(1, 0) + along * (corner(1, 1) - corner(1, 0));
  return std::exp(below + across * (above - below));
}

std::string invalid_rate(const Rates& rates) {
  const std::pair<const char*, const RateGrid*> grids[] = {{"gather", &rates.gather},
                                                           {"tile_gather", &rates.tile_gather},
                                                           {"gemm_nn", &rates.gemm_nn},
                                                           {"gemm_nt", &rates.gemm_nt},
                                                           {"gemm_tn", &rates.gemm_tn},
                                                           {"spx_forward", &rates.spx_forward},
                                                           {"spx_gradient", &rates.spx_gradient},
                                                           {"spx_slots", &rates.spx_slots},
                                                           {"stream", &rates.stream}};
  for (const auto& [name, grid] : grids) {
    if (!ascending(grid->columns) || !ascending(grid->sizes)) return name;
    if (grid->rates.size() != grid->columns.size() * grid->sizes.size()) return name;
    if (!std::all_of(grid->rates.begin(), grid->rates.end(), positive)) return name;
  }
  const std::pair<const char*, double> numbers[] = {
      {"spx_rows", rates.spx_rows}, {"attention", rates.attention},       {"attention_grad", rates.attention_grad},
      {"dropout", rates.dropout},   {"exponentials", rates.exponentials}, {"segments", rates.segments},
      {"map", rates.map},           {"call_seconds", rates.call_seconds}};
  for (const auto& [name, value] : numbers) {
    if (!positive(value)) return name;
  }
  return {};
}

namespace {

/// Rows of tables of `sources` rows, by what of the table an edge can meet.
double from_tables_seconds(const RateGrid& rates, double gathered, double sources, double columns, const Near& near) {
  const double row_bytes = columns * kFloat;
  const auto seconds_from = [&](double rows) {
    return gathered * row_bytes / rates.at(columns, std::min(sources, rows) * row_bytes);
  };
  return near.cluster * seconds_from(kClusterNodes) + (near.region - near.cluster) * seconds_from(kRegionNodes) +
         (1 - near.region) * seconds_from(sources);
}

}  // namespace

double gather_seconds(const Rates& rates, double edges, double rows, double sources, double columns, const Near& near) {
  return rates.call_seconds + from_tables_seconds(rates.gather, edges + rows, sources, columns, near);
}

double panel_gather_seconds(const Rates& rates, double edges, double rows, double sources, double columns, double panel,
                            const Near& near) {
  const double panels = std::ceil(columns / panel);
  const double copied = 2 * sources * columns * kFloat;
  return panels * gather_seconds(rates, edges, rows, sources, columns / panels, near) +
         copied / rates.stream.at(1, copied + 1);
}

namespace {

/// Segments of rows of edges that are strewn evenly over all sources, or over those of a region.
double segments_of(double edges, double rows, double sources, double tile, const Near& near) {
  const auto strewn = [&](double some, double over) {
    const double pairs = std::max(1.0, rows * std::ceil(over / tile));
    return pairs * (1 - std::exp(-some / pairs));
  };
  return strewn(near.region * edges, std::min(sources, static_cast<double>(kRegionNodes))) +
         strewn((1 - near.region) * edges, sources);
}

/// A gather tile by tile: each segment begins and passes over its row of the result, whose rows are `result_columns`
/// wide.
double in_tiles_seconds(const Rates& rates, double edges, double rows, double sources, double columns, double tile,
                        double result_columns, const Near& near) {
  const double segments = segments_of(edges, rows, sources, tile, near);
  return rates.call_seconds + from_tables_seconds(rates.tile_gather, edges, tile, columns, near) +
         segments * columns / rates.segments +
         segment_passes_seconds(rates, segments, columns * kFloat, rows * result_columns * kFloat);
}

}  // namespace

double segment_passes_seconds(const Rates& rates, double segments, double row_bytes, double result_bytes) {
  return segments * (2 * row_bytes + double{sizeof(RowSegment)}) / rates.stream.at(1, result_bytes);
}

double tiled_gather_seconds(const Rates& rates, double edges, double rows, double sources, double columns, double tile,
                            const Near& near) {
  const double panels =
      std::ceil(columns / static_cast<double>(kernels::spmm_panel_columns(static_cast<std::int64_t>(tile))));
  const double copied = panels > 1 ? 2 * sources * columns * kFloat : 0;
  return panels * in_tiles_seconds(rates, edges, rows, sources, columns / panels, tile, columns, near) +
         copied / rates.stream.at(1, copied + 1);
}

double tiled_attention_seconds(const Rates& rates, double edges, double rows, double sources, double columns,
                               double tile, double edge_seconds, const Near& near) {
  // Segments of 17 edges of 32 columns and four heads took 25 ns forward and 39 ns backward; the weights of an edge 4.4
  // and 6.2 ns.
  constexpr double kEdgesToBegin = 6;
  return in_tiles_seconds(rates, edges, rows, sources, columns, tile, columns, near) +
         kEdgesToBegin * segments_of(edges, rows, sources, tile, near) * edge_seconds;
}

double gemm_seconds(const Rates& rates, Orientation orientation, double m, double n, double k) {
  const double flops = 2 * m * n * k;
  switch (orientation) {
    case Orientation::kNN:
      return rates.call_seconds + flops / rates.gemm_nn.at(n, k);
    case Orientation::kNT:
      return rates.call_seconds + flops / rates.gemm_nt.at(n, k);
    case Orientation::kTN:
      break;
  }
  return rates.call_seconds + flops / rates.gemm_tn.at(n, m);
}

double spx_gemm_seconds(const Rates& rates, const FeatureShape& features, double columns, bool gradient) {
  return rates.call_seconds + 2 * features.nonzeros * columns / spx_rate(rates, features, columns, gradient);
}

double dense_features_seconds(const Rates& rates, const FeatureShape& features, double columns, bool gradient) {
  return gradient ? gemm_seconds(rates, Orientation::kTN, features.cols, columns, features.rows)
                  : gemm_seconds(rates, Orientation::kNN, features.rows, columns, features.cols);
}

double sparse_threshold(const Rates& rates, const FeatureShape& features, double columns, bool gradient) {
  const double dense = dense_features_seconds(rates, features, columns, gradient);
  FeatureShape sparse = features;
  // The sparse product takes the longer the more values are stored: halve the interval.
  double wins = 0;
  double loses = 1;
  for (int round = 0; round < 30; ++round) {
    const double density = (wins + loses) / 2;
    sparse.nonzeros = density * features.rows * features.cols;
    (spx_gemm_seconds(rates, sparse, columns, gradient) < dense ? wins : loses) = density;
  }
  return wins;
}

double cached_stream_seconds(const Rates& rates, double bytes) {
  constexpr double kBandBytes = 192 << 10;  // about what a band has in L2
  return bytes / rates.stream.at(1, kBandBytes);
}

double fresh_memory_seconds(double bytes) {
  constexpr double kBytesPerSecond = 2e9;
  return bytes / kBytesPerSecond;
}

double stream_seconds(const Rates& rates, double bytes) {
  return rates.call_seconds + bytes / rates.stream.at(1, bytes);
}

namespace {

/// Seconds of one op of a plan, by kind.
class StepCost {
 public:
  StepCost(const Rates& rates, const ir::Plan& plan, const ir::Step& step)
      : rates_(rates),
        plan_(plan),
        program_(plan.program),
        step_(step),
        op_(plan.program.ops[static_cast<std::size_t>(step.op)]) {}

  double seconds() const {
    if (step_.loop >= 0) return in_loop();
    switch (op_.kind) {
      case OpKind::spmm:
        return spmm();
      case OpKind::gemm:
        return gemm();
      case OpKind::spx_gemm:
        return spx_gemm();
      case OpKind::attention:
        return attention(rates_.attention);
      case OpKind::attention_grad:
        return attention(rates_.attention_grad);
      case OpKind::sddmm:
        return gather() + stream_seconds(rates_, step_.bytes);
      case OpKind::dropout:
        return stream() + values_drawn() / rates_.dropout;
      case OpKind::elu:
      case OpKind::sigmoid:
      case OpKind::tanh:
      case OpKind::exp:
      case OpKind::cross_entropy:
      case OpKind::bce_with_logits:
        return stream() + count(program_, op_.inputs[0]) / rates_.exponentials;
      case OpKind::gather_src:
      case OpKind::gather_dst:
      case OpKind::spmm_arg_grad:
      case OpKind::spmm_arg_weight_grad:
        return gather() + stream_seconds(rates_, step_.bytes);
      case OpKind::halo_wait:
      case OpKind::halo_add_start:
        return lies_apart(op_.inputs[0]) ? stream() : rates_.call_seconds;
      default:
        return stream();
    }
  }

 private:
  /// Rows of ghosts that lie together are received and sent where they are; others are copied.
  bool lies_apart(ir::ValueId rows) const { return plan_.stride(rows) > program_.type(rows).cols; }
  const ir::GraphDef& graph() const { return program_.graphs[static_cast<std::size_t>(op_.attrs.integer("graph", 0))]; }
  double edges() const { return static_cast<double>(std::max<std::int64_t>(graph().num_edges, 0)); }
  double heads() const { return static_cast<double>(op_.attrs.integer("heads", 1)); }
  double rows(std::int32_t set) const {
    return static_cast<double>(std::max<std::int64_t>(program_.node_sets[static_cast<std::size_t>(set)].size, 0));
  }
  bool along_out_edges() const { return op_.attrs.integer("transpose", 0) != 0; }
  double sources() const { return rows(along_out_edges() ? graph().dst_set : graph().src_set); }
  double destinations() const { return rows(along_out_edges() ? graph().src_set : graph().dst_set); }
  /// Columns of the widest operand that has rows of nodes.
  double columns() const {
    std::int64_t widest = 1;
    for (const ir::ValueId v : op_.inputs) {
      if (program_.type(v).domain == ir::Domain::kNode) widest = std::max(widest, program_.type(v).cols);
    }
    return static_cast<double>(widest);
  }

  /// Of a loop over edges: rows of nodes are gathered, sums and products of the edge at hand take what they take in a
  /// cache.
  double in_loop() const {
    const double cached = step_.bytes / rates_.stream.at(1, 32 << 10);
    if (op_.kind == OpKind::gather_src || op_.kind == OpKind::gather_dst) return gather();
    if (op_.kind == OpKind::gemm) return step_.flops / rates_.gemm_nn.at(32, 32);
    return op_.kind == OpKind::dropout ? cached + values_drawn() / rates_.dropout : cached;
  }

  double stream() const {
    const double others = step_.bytes - step_.cached_bytes;
    return rates_.call_seconds + others / rates_.stream.at(1, others + step_.away_bytes) +
           cached_stream_seconds(rates_, step_.cached_bytes);
  }

  double gather() const { return gather_seconds(rates_, edges(), destinations(), sources(), columns(), plan_.near); }

  double spmm() const {
    const double weights = ir::weighs_edges(op_) ? count(program_, op_.inputs[1]) * kFloat : 0;
    const double weight_seconds = weights / rates_.stream.at(1, weights + 1);
    if (op_.attrs.has("exchange")) return gather() + weight_seconds + more_passes();
    const auto panel = static_cast<double>(op_.attrs.integer("panel", 0));
    if (panel > 0)
      return panel_gather_seconds(rates_, edges(), destinations(), sources(), columns(), panel, plan_.near) +
             std::ceil(columns() / panel) * weight_seconds;
    if (rates_.panels) {
      const auto at_a_time = static_cast<double>(kernels::panel_columns(
          static_cast<std::int64_t>(sources()), static_cast<std::int64_t>(columns()), std::int64_t{sizeof(float)}));
      const double panels = std::ceil(columns() / std::max(1.0, at_a_time));
      return panels * (gather_seconds(rates_, edges(), destinations(), sources(), columns() / panels, plan_.near) +
                       weight_seconds);
    }
    if (tile() <= 0) return gather() + weight_seconds;
    const std::int32_t part = plan_.loss_tiles_of(op_);
    const double walked =
        part >= 0 ? static_cast<double>(plan_.loss_tiles[static_cast<std::size_t>(part)].edges) : edges();
    return tiled_gather_seconds(rates_, walked, destinations(), sources(), columns(), tile(), plan_.near) +
           weight_seconds;
  }

  /// A sum by pieces clears its result, and reads and writes it once more for those that come late.
  double more_passes() const {
    const double passes = op_.attrs.integer("scaled", 0) != 0 || op_.attrs.text("fn", "sum") == "mean" ? 6 : 4;
    return stream_seconds(rates_, passes * destinations() * columns() * kFloat);
  }

  double attention(double weights_a_second) const {
    const double edge_seconds = heads() / weights_a_second;
    const double gathered = tile() <= 0 ? gather()
                                        : tiled_attention_seconds(rates_, edges(), destinations(), sources(), columns(),
                                                                  tile(), edge_seconds, plan_.near);
    return gathered + edges() * edge_seconds;
  }

  /// Sources of a tile; 0 where the op does not run tile by tile.
  double tile() const {
    const ir::GraphUse& use = plan_.graph_uses[static_cast<std::size_t>(op_.attrs.integer("graph", 0))];
    return step_.walks_tiles ? static_cast<double>(along_out_edges() ? use.out_tile : use.in_tile) : 0;
  }

  double gemm() const {
    const ir::ValueId a = op_.inputs[0];
    const ir::ValueId c = op_.results[0];
    const bool ta = op_.attrs.integer("ta", 0) != 0;
    const Orientation orientation = ta                                ? Orientation::kTN
                                    : op_.attrs.integer("tb", 0) != 0 ? Orientation::kNT
                                                                      : Orientation::kNN;
    const auto inner = static_cast<double>(ta ? program_.rows(a) : program_.type(a).cols);
    return gemm_seconds(rates_, orientation, static_cast<double>(program_.rows(c)),
                        static_cast<double>(program_.type(c).cols), inner);
  }

  double spx_gemm() const {
    const ir::ValueId a = op_.inputs[0];
    const FeatureShape features{static_cast<double>(program_.rows(a)), static_cast<double>(program_.type(a).cols),
                                static_cast<double>(plan_.feature_nonzeros), plan_.feature_slots};
    return spx_gemm_seconds(rates_, features, static_cast<double>(program_.type(op_.inputs[1]).cols),
                            op_.attrs.integer("ta", 0) != 0);
  }

  double values_drawn() const {
    const bool sparse = program_.type(op_.inputs[0]).layout == ir::Layout::kSparse;
    return sparse ? static_cast<double>(plan_.feature_nonzeros) : count(program_, op_.inputs[0]);
  }

  const Rates& rates_;
  const ir::Plan& plan_;
  const ir::Program& program_;
  const ir::Step& step_;
  const Op& op_;
};

Rates study_rates() {
  Rates rates;
  rates.source = "the CPU study's machine (gneiss doctor --calibrate measures this one)";
  // Section A, random gather at 2 threads: rows of 64, 128 and 512 bytes; section A's units are GB/s.
  rates.gather = {{16, 32, 128},
                  {0.5e6, 4e6, 12.6e6, 23e6, 31e6, 63e6, 126e6, 328e6},
                  {147e9, 107e9, 99e9,  54e9,  39e9, 30e9, 28e9, 27e9,  //
                   290e9, 201e9, 195e9, 99e9,  64e9, 55e9, 43e9, 41e9,  //
                   395e9, 243e9, 190e9, 149e9, 90e9, 58e9, 49e9, 40e9}};
  // Of an Intel Xeon with a slow last level, by its gathers and epochs: small tiles cost a machine with a fast one a
  // tenth of Reddit's GCN, tiles of 4 MiB cost the Xeon two fifths.
  rates.tile_gather = {{32}, {1 * kMiB, 2 * kMiB, 4 * kMiB, 8 * kMiB}, {180e9, 165e9, 110e9, 85e9}};
  // Section A, SGEMM of the study's own kernel at 2 threads; the nearest shapes measured.
  rates.gemm_nn = {{32, 256}, {32, 600}, {286e9, 434e9, 410e9, 456e9}};
  rates.gemm_nt = {{32, 128}, {32}, {287e9, 423e9}};
  rates.gemm_tn = {{32, 256}, {32, 600}, {284e9, 257e9, 376e9, 421e9}};
  // Section C, 20,000 x 8,710 features times 32 columns.
  rates.spx_forward = {{32}, {6.3e6, 12.2e6, 53.7e6, 139e6}, {175e9, 140e9, 118e9, 133e9}};
  // One thread's rates from gneiss doctor --calibrate on such a machine, twice; so are those of attention and dropout
  // below.
  rates.spx_gradient = {{32}, {0.13e6, 1.3e6, 13.4e6, 40e6}, {98e9, 115e9, 102e9, 95e9}};
  rates.spx_slots = {{32}, {0.13e6, 1.3e6, 13.4e6, 40e6}, {79e9, 69e9, 37e9, 36e9}};
  rates.spx_rows = 8710;
  // Section A: L2 read, L3 read, copy from memory.
  rates.stream = {{1}, {1 * kMiB, 8 * kMiB, 64 * kMiB}, {490e9, 215e9, 42e9}};
  // Section B: a tiled product of 32 columns took 5.5 ns longer for each segment than the gather alone; 3.3 ns of
  // them passed over 272 bytes of result and segments.
  rates.segments = 32 / 2.2e-9;
  rates.attention = 900e6;
  rates.attention_grad = 640e6;
  rates.dropout = 2.6e9;
  rates.exponentials = 10e9;
  // Two threads, pages of 4 KiB: what file systems keep that have no larger ones.
  rates.map = 28e9;
  rates.call_seconds = 2e-8;
  return rates;
}

}  // namespace

const Rates& default_rates() {
  static const Rates rates = study_rates();
  return rates;
}

double step_seconds(const Rates& rates, const ir::Plan& plan, const ir::Step& step) {
  return StepCost(rates, plan, step).seconds();
}

}  // namespace gneiss::cost
