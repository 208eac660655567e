// Sizes are few and far apart: a rate is interpolated between them, and a choice rarely hangs on a tenth of it.
#include "cost/calibrate.h"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <vector>

#include "base/buffer.h"
#include "base/error.h"
#include "base/file.h"
#include "base/parallel.h"
#include "base/swept_rows.h"
#include "cost/made_up_data.h"
#include "graph/graph.h"
#include "graph/source_tiles.h"
#include "kernels/attention.h"
#include "kernels/attention_grad.h"
#include "kernels/bands.h"
#include "kernels/binary.h"
#include "kernels/dropout.h"
#include "kernels/gemm.h"
#include "kernels/spmm.h"
#include "kernels/spx_gemm.h"
#include "kernels/unary.h"

namespace gneiss::cost {
namespace {

using kernels::Context;
using kernels::Orientation;

constexpr double kMiB = 1024.0 * 1024.0;
constexpr std::int64_t kFeatureRows = SparseFeatures::kRows;
constexpr std::int64_t kFeatureCols = SparseFeatures::kCols;
constexpr std::int64_t kHeads = 4;
/// The share of a run that counts as the cost of what is measured besides a gather, where the difference of two times
/// is lost in noise.
constexpr double kLeastShare = 0.05;

/// Whose processor time counts: the whole process's, or where others measure in it too, the calling thread's, which
/// does its part of every call.
enum class Whose : std::uint8_t { kProcess, kThread };

/// How often the scheduler took a processor away.
std::int64_t interruptions(Whose whose) {
  rusage usage{};
  getrusage(whose == Whose::kProcess ? RUSAGE_SELF : RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

double processor_seconds(Whose whose) {
  timespec now{};
  clock_gettime(whose == Whose::kProcess ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Seconds of a call. One that another process interrupted counts with its processor time, shared by the threads.
double seconds_of(const std::function<void()>& call, int threads, Whose whose) {
  using Clock = std::chrono::steady_clock;
  const std::int64_t interruptions_before = interruptions(whose);
  const double processor_before = processor_seconds(whose);
  const auto start = Clock::now();
  call();
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (interruptions(whose) == interruptions_before) return seconds;
  const double taken = processor_seconds(whose) - processor_before;
  return std::min(seconds, whose == Whose::kProcess ? taken / threads : taken);
}

class Calibration {
 public:
  Calibration(int threads, Whose whose)
      : threads_(threads), whose_(whose), pool_(random_values(kPoolFloats)), results_(kResultFloats) {
    std::fill(results_.begin(), results_.end(), 0.0F);
  }

  Rates run() {
    measure_calls();
    measure_stream();
    measure_gather();
    measure_segments();
    measure_tile_gather();
    rates_.gemm_nn = measure_gemm(Orientation::kNN);
    rates_.gemm_nt = measure_gemm(Orientation::kNT);
    rates_.gemm_tn = measure_gemm(Orientation::kTN);
    measure_sparse_products();
    measure_attention();
    measure_dropout();
    measure_exponentials();
    measure_mapping();
    return std::move(rates_);
  }

 private:
  static constexpr std::int64_t kPoolFloats = std::int64_t{64} << 20;
  static constexpr std::int64_t kResultFloats = std::int64_t{24} << 20;

  /// Views of the same memory: what a value is does not change the time.
  ConstMatrixView<float> in(std::int64_t rows, std::int64_t cols, std::int64_t at = 0) const {
    GNEISS_ASSERT(at + rows * cols <= kPoolFloats, "calibration: {} x {} values do not fit", rows, cols);
    return {pool_.data() + at, rows, cols};
  }
  MatrixView<float> out(std::int64_t rows, std::int64_t cols, std::int64_t at = 0) {
    GNEISS_ASSERT(at + rows * cols <= kResultFloats, "calibration: {} x {} results do not fit", rows, cols);
    return {results_.data() + at, rows, cols};
  }
  Context context() const { return {threads_, {}}; }

  /// Median seconds of a call: of at least three, and of as many as 40 ms hold, so that a moment when something else
  /// had a core is one of many.
  double median(const std::function<void()>& call) const {
    call();
    std::vector<double> seconds;
    double total = 0;
    while (seconds.size() < 3 || total < 0.04) {
      seconds.push_back(seconds_of(call, threads_, whose_));
      total += seconds.back();
    }
    const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
    std::nth_element(seconds.begin(), middle, seconds.end());
    return std::max(1e-9, *middle);
  }

  void measure_calls() {
    const kernels::BinaryArgs<float> args{kernels::Binary::kAdd, in(16, 16), in(16, 16, 1024), out(16, 16)};
    constexpr int kCalls = 1000;
    rates_.call_seconds = median([&] {
                            for (int i = 0; i < kCalls; ++i) kernels::binary<float>(context(), args);
                          }) /
                          kCalls;
  }

  void measure_stream() {
    rates_.stream.columns = {1};
    for (const double mib : {0.75, 6.0, 24.0, 192.0}) {
      const auto rows = static_cast<std::int64_t>(mib * kMiB / (3 * 32 * sizeof(float)));
      const kernels::BinaryArgs<float> args{kernels::Binary::kAdd, in(rows, 32), in(rows, 32, kPoolFloats / 2),
                                            out(rows, 32)};
      const double seconds = median([&] { kernels::binary<float>(context(), args); });
      rates_.stream.sizes.push_back(mib * kMiB);
      rates_.stream.rates.push_back(mib * kMiB / seconds);
    }
  }

  double spmm_seconds(const Neighbours& graph, std::int64_t columns, const TiledPattern& tiles = {}) {
    const kernels::SpmmArgs<float> args{graph.pattern(),       in(graph.sources, columns), {}, 1,
                                        kernels::Reduce::kSum, out(graph.rows, columns),   {}, tiles};
    return median([&] { kernels::spmm<float>(context(), args); });
  }

  void measure_gather() {
    rates_.gather.columns = {16, 32, 128};
    for (const double mib : {0.5, 1.0, 2.0, 4.0, 8.0, 24.0, 64.0, 256.0}) rates_.gather.sizes.push_back(mib * kMiB);
    for (const double columns : rates_.gather.columns) {
      const double row_bytes = columns * sizeof(float);
      for (const double size : rates_.gather.sizes) {
        const double gathered = 96 * kMiB;
        const Neighbours graph(static_cast<std::int64_t>(gathered / row_bytes) / Neighbours::kDegree,
                               static_cast<std::int64_t>(size / row_bytes));
        const double seconds = spmm_seconds(graph, static_cast<std::int64_t>(columns));
        rates_.gather.rates.push_back((graph.edges() + static_cast<double>(graph.rows)) * row_bytes / seconds);
      }
    }
  }

  /// What a walk tile by tile took, and what it met.
  struct TileWalk {
    double seconds = 0;
    double segments = 0;
    double row_bytes = 0;    ///< of one row
    double read_bytes = 0;   ///< of rows, along all edges
    double write_bytes = 0;  ///< of the result, once
  };

  TileWalk walk_tiles(std::int64_t columns, std::int64_t sources, std::int64_t tile, std::int64_t degree) {
    constexpr std::int64_t kRead = std::int64_t{192} << 20;
    const std::int64_t row_bytes = columns * std::int64_t{sizeof(float)};
    const Neighbours graph(kRead / row_bytes / degree, sources, degree);
    const graph::SourceTiles tiles = graph::tile_sources(graph.pattern(), tile, threads_);
    const auto bytes = static_cast<double>(row_bytes);
    return {spmm_seconds(graph, columns, tiles.view()), static_cast<double>(tiles.segments.size()), bytes,
            graph.edges() * bytes, static_cast<double>(graph.rows) * bytes};
  }

  double passing_seconds(const TileWalk& walk) const {
    return segment_passes_seconds(rates_, walk.segments, walk.row_bytes, walk.write_bytes);
  }

  /// Short segments besides long ones, both of many lengths, tell what it takes to begin one. Both in turn and more
  /// than once: what another process does to the caches meanwhile is more than the difference.
  void measure_segments() {
    constexpr std::int64_t kColumns = 32;
    constexpr std::int64_t kTile = 8'192;
    constexpr std::int64_t kTiles = 4;
    constexpr std::size_t kTurns = 5;
    std::array<double, kTurns> seconds{};
    for (double& each : seconds) {
      const TileWalk in_short = walk_tiles(kColumns, kTiles * kTile, kTile, kTiles * 12);
      const TileWalk in_long = walk_tiles(kColumns, kTiles * kTile, kTile, kTiles * 96);
      const double more = in_short.seconds - passing_seconds(in_short) - (in_long.seconds - passing_seconds(in_long));
      each = std::max(more, kLeastShare * in_long.seconds) / (in_short.segments - in_long.segments);
    }
    std::nth_element(seconds.begin(), seconds.begin() + kTurns / 2, seconds.end());
    rates_.segments = kColumns / seconds[kTurns / 2];
  }

  /// In long segments, so that little of a walk is not the rows that are read: half of it at most, should the other
  /// rates not fit.
  void measure_tile_gather() {
    constexpr std::int64_t kDegreeInTile = 64;
    constexpr double kLeastGathered = 0.5;
    rates_.tile_gather.columns = {16, 32, kernels::kSpmmPanelColumns};
    for (const double mib : {0.5, 1.0, 2.0, 4.0, 8.0}) rates_.tile_gather.sizes.push_back(mib * kMiB);
    for (const double columns : rates_.tile_gather.columns) {
      for (const double size : rates_.tile_gather.sizes) {
        const auto tile = std::min(static_cast<std::int64_t>(size / (columns * sizeof(float))), graph::kMostTileCols);
        const TileWalk walk = walk_tiles(static_cast<std::int64_t>(columns), tile, tile, kDegreeInTile);
        const double besides = walk.segments * columns / rates_.segments + passing_seconds(walk);
        rates_.tile_gather.rates.push_back(walk.read_bytes /
                                           std::max(walk.seconds - besides, kLeastGathered * walk.seconds));
      }
    }
  }

  /// By the columns of the result and the other small size; the third size is large: the operand with the small size is
  /// read from memory, as features are, while a result of many columns stays in a cache, as in a band of rows.
  RateGrid measure_gemm(Orientation orientation) {
    RateGrid grid{{16, 32, 128}, {32, 128, 512, 4096}, {}};
    for (const double columns : grid.columns) {
      for (const double size : grid.sizes) {
        constexpr double kReadFloats = 24 << 20;
        constexpr double kWideFloats = 160'000 * 32;
        const auto n = static_cast<std::int64_t>(columns);
        const auto small = static_cast<std::int64_t>(size);
        const auto large = static_cast<std::int64_t>(
            std::clamp(std::min(kReadFloats / size, kWideFloats / columns), 1024.0, 160'000.0));
        const bool tn = orientation == Orientation::kTN;
        kernels::GemmArgs<float> args{in(large, small), in(small, n, kPoolFloats / 2), out(tn ? small : large, n),
                                      orientation};
        if (tn) args.b = in(large, n, kPoolFloats / 2);
        if (orientation == Orientation::kNT) args.b = in(n, small, kPoolFloats / 2);
        const std::int64_t inner = tn ? large : small;
        Buffer<std::byte> workspace(kernels::gemm_workspace_bytes(orientation, args.c.rows, n, inner, sizeof(float)));
        const Context scratch{threads_, workspace.span()};
        const double seconds = median([&] { kernels::gemm<float>(scratch, args); });
        grid.rates.push_back(2.0 * static_cast<double>(args.c.size()) * static_cast<double>(inner) / seconds);
      }
    }
    return grid;
  }

  void measure_sparse_products() {
    const std::vector<double> columns = {16, 32, 128};
    constexpr double kDensities[] = {0.001, 0.01, 0.1, 0.3};
    const std::size_t corners = columns.size() * std::size(kDensities);
    rates_.spx_forward = {columns, {}, std::vector<double>(corners)};
    rates_.spx_gradient = {columns, {}, std::vector<double>(corners)};
    rates_.spx_slots = {columns, {}, std::vector<double>(corners)};
    rates_.spx_rows = kFeatureCols;
    for (std::size_t d = 0; d < std::size(kDensities); ++d) {
      const SparseFeatures features(kDensities[d]);
      rates_.spx_forward.sizes.push_back(static_cast<double>(features.values.size_bytes()));
      rates_.spx_gradient.sizes.push_back(static_cast<double>(features.values.size_bytes()));
      rates_.spx_slots.sizes.push_back(static_cast<double>(features.values.size_bytes()));
      const graph::Transpose transposed = graph::transpose(features.pattern(), features.values, threads_);
      const graph::Transpose with_slots = graph::transpose(features.pattern(), true, threads_);
      for (std::size_t c = 0; c < columns.size(); ++c) {
        const auto n = static_cast<std::int64_t>(columns[c]);
        kernels::SpxGemmArgs<float> args{features.pattern(), features.values, in(kFeatureCols, n),
                                         out(kFeatureRows, n)};
        const double flops = 2.0 * static_cast<double>(features.values.size()) * columns[c];
        const std::size_t at = c * std::size(kDensities) + d;
        rates_.spx_forward.rates[at] = flops / median([&] { kernels::spx_gemm<float>(context(), args); });
        args = {transposed.pattern(), transposed.values, in(kFeatureRows, n), out(kFeatureCols, n)};
        rates_.spx_gradient.rates[at] = flops / median([&] { kernels::spx_gemm<float>(context(), args); });
        args.a = with_slots.pattern();
        args.values = features.values;
        rates_.spx_slots.rates[at] = flops / median([&] { kernels::spx_gemm<float>(context(), args); });
      }
    }
  }

  void measure_attention() {
    constexpr std::int64_t kNodes = 16'384;
    constexpr std::int64_t kColumns = 32;
    const Neighbours graph(kNodes, kNodes);
    const MatrixView<float> y = out(kNodes, kColumns);
    const MatrixView<float> tangent = out(kNodes, kColumns, kNodes * kColumns);
    const MatrixView<float> lse = out(kNodes, kHeads, 2 * kNodes * kColumns);
    const ConstMatrixView<float> z = in(kNodes, kColumns);
    const ConstMatrixView<float> s_src = in(kNodes, kHeads, kNodes * kColumns);
    const ConstMatrixView<float> s_dst = in(kNodes, kHeads, kNodes * (kColumns + kHeads));
    const kernels::AttentionArgs<float> args{graph.pattern(), z, s_src, s_dst, {}, kHeads, 0.2, y, tangent, lse};
    Buffer<std::byte> range(kernels::attention_workspace_bytes(kNodes, kHeads, false, sizeof(float)));
    const double forward = median([&] { kernels::attention<float>({threads_, range.span()}, args); });

    const MatrixView<float> dz = out(kNodes, kColumns, 3 * kNodes * kColumns);
    const MatrixView<float> ds_src = out(kNodes, kHeads, 4 * kNodes * kColumns);
    const ConstMatrixView<float> dy = in(kNodes, kColumns, 2 * kNodes * kColumns);
    const ConstMatrixView<float> dots = in(kNodes, kHeads, 3 * kNodes * kColumns);
    const kernels::AttentionGradArgs<float> grad{graph.pattern(), z,   s_src, s_dst, lse, dots, dy, {},
                                                 kHeads,          0.2, dz,    ds_src};
    Buffer<std::byte> workspace(kernels::attention_grad_workspace_bytes(kNodes, kHeads, sizeof(float)));
    const Context scratch{threads_, workspace.span()};
    const double backward = median([&] { kernels::attention_grad<float>(scratch, grad); });

    const double gather = gather_seconds(rates_, graph.edges(), kNodes, kNodes, kColumns);
    const double scores = graph.edges() * kHeads;
    rates_.attention = scores / std::max(forward - gather, kLeastShare * forward);
    rates_.attention_grad = scores / std::max(backward - gather, kLeastShare * backward);
  }

  void measure_dropout() {
    constexpr std::int64_t kRows = 32'768;
    kernels::DropoutArgs<float> args;
    args.x = in(kRows, 64);
    args.y = out(kRows, 64);
    const double seconds = median([&] { kernels::dropout<float>(context(), args); });
    const double values = static_cast<double>(kRows) * 64;
    const double stream = stream_seconds(rates_, 2 * values * sizeof(float));
    rates_.dropout = values / std::max(seconds - stream, kLeastShare * seconds);
  }

  /// Of rows in the second-level cache, as in a band.
  void measure_exponentials() {
    constexpr std::int64_t kRows = 4096;
    kernels::UnaryArgs<float> args{kernels::Unary::kElu, 1, 0, in(kRows, 32), out(kRows, 32)};
    const double seconds = median([&] { kernels::unary<float>(context(), args); });
    args.fn = kernels::Unary::kRelu;
    const double stream = median([&] { kernels::unary<float>(context(), args); });
    rates_.exponentials = static_cast<double>(kRows) * 32 / std::max(seconds - stream, kLeastShare * seconds);
  }

  /// A file of rows, as features are moved to, read by tasks that end anywhere in a page, with and without mapping it
  /// anew. Without a place for such a file the default stays.
  void measure_mapping() {
    constexpr std::int64_t kTasks = 64;
    constexpr std::int64_t kTaskRows = 600;
    constexpr std::int64_t kBandRows = 200;
    constexpr std::int64_t kCols = 800;
    constexpr std::int64_t kLineFloats = 16;
    constexpr std::int64_t kRows = kTasks * kTaskRows;
    constexpr std::int64_t kBytes = kRows * kCols * std::int64_t{sizeof(float)};
    rates_.map = default_rates().map;
    if (scratch_room() < 2 * kBytes) return;
    std::deque<ScratchFile> files;
    files.emplace_back(kBytes).write(pool_.data(), kBytes);
    const MappedFile mapped = ScratchFile::map_in_a_row(files);
    auto* data =
        reinterpret_cast<float*>(const_cast<std::byte*>(mapped.bytes().data()));  // mapped and given back, not written
    const std::vector<std::int64_t> cuts = kernels::cut_rows({}, kRows, kTasks);
    const auto sweep = [&](std::vector<FileRows> rows) {
      SweptRows swept(std::move(rows), cuts);
      return median([&] {
        swept.start();
        kernels::for_each_band(
            threads_, cuts, kBandRows,
            [&](const kernels::Band& band) {
              swept.map(band.begin, band.end);
              float sum = 0;
              for (const float* x = data + band.begin * kCols; x < data + band.end * kCols; x += kLineFloats) sum += *x;
              results_[static_cast<std::size_t>(band.task * kLineFloats)] = sum;
            },
            [&](std::int64_t task) { swept.through(task); });
      });
    };
    const double anew = sweep({{reinterpret_cast<std::byte*>(data), kCols * std::int64_t{sizeof(float)}, false}});
    const double again = sweep({});
    rates_.map = static_cast<double>(kBytes) / std::max(anew - again, kLeastShare * anew);
  }

  int threads_;
  Whose whose_;
  Buffer<float> pool_;
  Buffer<float> results_;
  Rates rates_;
};

/// A grid as a table: a line for each number of columns, a column for each size.
std::string table(const char* title, const RateGrid& grid, double size_unit, double rate_unit, bool by_columns = true) {
  std::string text = fmt::format("  {}\n    {:>8}", title, by_columns ? "columns" : "");
  for (const double size : grid.sizes) text += fmt::format(" {:>9.4g}", size / size_unit);
  text += '\n';
  for (std::size_t c = 0; c < grid.columns.size(); ++c) {
    text += by_columns ? fmt::format("    {:8.0f}", grid.columns[c]) : fmt::format("    {:8}", "");
    for (std::size_t s = 0; s < grid.sizes.size(); ++s)
      text += fmt::format(" {:9.1f}", grid.rates[c * grid.sizes.size() + s] / rate_unit);
    text += '\n';
  }
  return text;
}

}  // namespace

Rates measure_rates(int threads, bool alone) {
  return Calibration(threads, alone ? Whose::kProcess : Whose::kThread).run();
}

std::string describe(const Rates& rates) {
  std::string text;
  text += table("spmm: GB/s of rows read and written, by MiB gathered from", rates.gather, kMiB, 1e9);
  text += table("tiled spmm: GB/s of rows read, by MiB of a tile", rates.tile_gather, kMiB, 1e9);
  text += table("gemm nn: Gflop/s by inner size", rates.gemm_nn, 1, 1e9);
  text += table("gemm nt: Gflop/s by inner size", rates.gemm_nt, 1, 1e9);
  text += table("gemm tn: Gflop/s by rows of the result", rates.gemm_tn, 1, 1e9);
  text += table("spx_gemm forward: Gflop/s on stored values, by MiB of them", rates.spx_forward, kMiB, 1e9);
  text += table("spx_gemm weight gradient: Gflop/s on stored values, by MiB of them", rates.spx_gradient, kMiB, 1e9);
  text += table("the same after dropout", rates.spx_slots, kMiB, 1e9);
  text += table("elementwise: GB/s read and written, by MiB", rates.stream, kMiB, 1e9, false);
  text += fmt::format("  attention: {:.0f} M softmax weights/s forward, {:.0f} M/s backward, besides the gather\n",
                      rates.attention / 1e6, rates.attention_grad / 1e6);
  text += fmt::format(
      "  dropout: {:.0f} M values/s; tiled spmm: {:.1f} ns to begin a segment of 32 columns; {:.2f} us a call\n",
      rates.dropout / 1e6, 32e9 / rates.segments, 1e6 * rates.call_seconds);
  text += fmt::format(
      "  exponentials: {:.0f} M values/s; rows in a file: {:.0f} GB/s mapped and given back{}\n",
      rates.exponentials / 1e6, rates.map / 1e9,
      rates.map == default_rates().map ? " (not measured: no room for a file in the temporary folder)" : "");
  text += fmt::format("  γ: density in % below which the sparse product of features wins, for {} x {} features\n",
                      kFeatureRows, kFeatureCols);
  text += fmt::format("    {:>8} {:>9} {:>9} {:>14}\n", "columns", "forward", "gradient", "after dropout");
  for (const double columns : {16.0, 32.0, 64.0, 128.0}) {
    const auto percent = [&](bool gradient, bool dropped) {
      return 100 * sparse_threshold(rates, {kFeatureRows, kFeatureCols, 0, dropped}, columns, gradient);
    };
    text += fmt::format("    {:8.0f} {:9.1f} {:9.1f} {:14.1f}\n", columns, percent(false, false), percent(true, false),
                        percent(true, true));
  }
  return text;
}

}  // namespace gneiss::cost
