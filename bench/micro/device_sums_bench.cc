// Sums over neighbours on a device, beside what they are compared with: a row by its length beside a block a row
// (Morphling), and, on one of two devices, rows that come while others are added beside rows that are waited for one by
// one and beside a halo that comes first. The other device's rows lie on the same card, or with the host behind its
// link. And products of all rows, on tensor cores too.
//
// `direct` is a blocking get an edge: a launch whose warps have the longest pieces, and as many, as the tuner may
// choose (32 entries, 16 pieces, one row under way) and nothing of their own; it asks for a remote row, waits for it,
// adds it and asks for the next. Own rows are added by a second launch, and the two sums not to each other, in its
// favour.
//
// usage: device_sums_bench DATA [DEVICE [REPEATS]]     one JSON line a measurement; DEVICE is cuda, cuda:N or emulated
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "base/random.h"
#include "comm/loopback.h"
#include "data/load.h"
#include "exchange/sum_pieces.h"
#include "kernels/cuda/variants.h"
#include "partition/contiguous.h"
#include "partition/local_graph.h"
#include "runtime/device.h"
#include "runtime/device_exchange.h"

namespace gneiss {
namespace {

using SpmmArgs = kernels::OnDevice<kernels::SpmmArgs>;
using GemmArgs = kernels::OnDevice<kernels::GemmArgs>;
using UnitsArgs = kernels::OnDevice<kernels::SpmmUnitsArgs>;
using Matrix = MatrixView<float, Space::kDevice>;
using Clock = std::chrono::steady_clock;

/// The same numbers over and over: what they are does not matter, and there may be 600 million.
std::vector<float> random_rows(std::int64_t rows, std::int64_t cols) {
  constexpr std::size_t kPeriod = 1000003;
  RandomStream random(1, 0);
  std::vector<float> values(static_cast<std::size_t>(rows * cols));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = i < kPeriod ? static_cast<float>(random.below(2001)) / 1000 - 1 : values[i - kPeriod];
  return values;
}

/// Rows of another device, with the host and behind its link.
class FarRows {
 public:
  FarRows(runtime::Device* device, const float* from, std::int64_t count)
      : device_(device), data_(device->allocate_far(std::max<std::int64_t>(1, count) * 4)) {
    if (count > 0) device->upload(data_, from, count * 4);
  }
  FarRows(const FarRows&) = delete;
  FarRows& operator=(const FarRows&) = delete;
  ~FarRows() { device_->release_far(data_); }
  const float* data() const { return static_cast<const float*>(data_); }

 private:
  runtime::Device* device_;
  void* data_;
};

class Bench {
 public:
  Bench(std::string device, int repeats) : device_(runtime::open_device(device)), repeats_(repeats) {}

  int repeats() const { return repeats_; }

  /// Sums of the whole graph.
  void whole(const graph::Graph& graph, std::int64_t cols) {
    runtime::DeviceCopies copies(device_.get());
    const std::vector<float> rows = random_rows(graph.num_nodes(), cols);
    const runtime::DeviceMemory y(device_.get(), graph.num_nodes() * cols * 4);
    const runtime::DeviceMemory other(device_.get(), graph.num_nodes() * cols * 4);
    SpmmArgs args;
    args.pattern = pattern(&copies, graph.in_edges());
    args.x = matrix(copies.send(std::span<const float>(rows)).data, graph.num_nodes(), cols);
    args.y = {reinterpret_cast<float*>(y.data()), graph.num_nodes(), cols};
    const auto& ours = std::get<kernels::DeviceKernel<SpmmArgs>>(device_->kernels());
    const auto& variants = kernels::variants_beside(device_->kernels());
    const auto& theirs = std::get<kernels::DeviceVariant<SpmmArgs>>(variants).kernel;
    const double our_ms = time(ours, args);
    SpmmArgs beside = args;
    beside.y.data = reinterpret_cast<float*>(other.data());
    const double their_ms = time(theirs, beside);
    say("spmm", cols,
        {{"ours_ms", our_ms},
         {"block_per_row_ms", their_ms},
         {"ratio", their_ms / our_ms},
         {"farthest", farthest(args.y, beside.y)}});
  }

  /// Rows of the graph times weights.
  void product(std::int64_t rows, std::int64_t inner, std::int64_t cols) {
    runtime::DeviceCopies copies(device_.get());
    const std::vector<float> a = random_rows(rows, inner);
    const std::vector<float> b = random_rows(inner, cols);
    const runtime::DeviceMemory c(device_.get(), rows * cols * 4);
    const runtime::DeviceMemory other(device_.get(), rows * cols * 4);
    GemmArgs args;
    args.a = matrix(copies.send(std::span<const float>(a)).data, rows, inner);
    args.b = matrix(copies.send(std::span<const float>(b)).data, inner, cols);
    args.c = {reinterpret_cast<float*>(c.data()), rows, cols};
    const auto& kernel = std::get<kernels::DeviceKernel<GemmArgs>>(device_->kernels());
    const double our_ms = time(kernel, args);
    GemmArgs beside = args;
    beside.c.data = reinterpret_cast<float*>(other.data());
    const double tensor_ms = time(kernel, beside, true);
    say(fmt::format("product {} to", inner), cols,
        {{"ours_ms", our_ms}, {"tensor_ms", tensor_ms}, {"farthest", farthest(args.c, beside.c)}});
  }

  /// Sums of the first of two devices.
  void part(const graph::Graph& graph, std::initializer_list<std::int64_t> widths) {
    const std::vector<std::int64_t> starts = partition::contiguous(graph.offsets(), 2);
    comm::loopback(2)->run([&](comm::Communicator& communicator) {
      const auto self = static_cast<std::size_t>(communicator.rank());
      const partition::LocalGraph local = partition::local_graph(graph, starts[self], starts[self + 1]);
      const comm::HaloPlan halo = comm::make_halo_plan(communicator, starts, local.ghosts);
      if (self != 0) return;
      std::vector<exchange::FinePieces> cuts;
      for (const exchange::Tuning& tuning : {exchange::Tuning{16, 1, 8, 2}, exchange::Tuning{32, 4, 4, 4}, kDirect})
        cuts.push_back(exchange::fine_pieces(local.graph.in_edges(), halo, tuning, {}));
      for (const std::int64_t cols : widths) first_of_two(local, halo, graph.num_nodes() - halo.owned, cols, cuts);
    });
  }

 private:
  static constexpr exchange::Tuning kDirect = {exchange::kMostTuning.piece, exchange::kMostTuning.dist, 8, 1};

  /// `cuts`: the last is that of `direct`.
  void first_of_two(const partition::LocalGraph& local, const comm::HaloPlan& halo, std::int64_t others,
                    std::int64_t cols, const std::vector<exchange::FinePieces>& cuts) {
    runtime::DeviceCopies copies(device_.get());
    const std::vector<float> own_rows = random_rows(halo.owned, cols);
    const std::vector<float> other_rows = random_rows(others, cols);
    const float* const own = copies.send(std::span<const float>(own_rows)).data;
    const float* const near = copies.send(std::span<const float>(other_rows)).data;
    const FarRows far(device_.get(), other_rows.data(), others * cols);
    const runtime::DeviceMemory sums(device_.get(), halo.owned * cols * 4);
    const runtime::DeviceMemory by_halo(device_.get(), halo.owned * cols * 4);
    const runtime::DeviceMemory table(device_.get(), (halo.owned + halo.ghosts) * cols * 4);
    SpmmArgs sum;
    sum.pattern = pattern(&copies, local.graph.in_edges());
    sum.x = matrix(own, halo.owned, cols);
    sum.y = {reinterpret_cast<float*>(sums.data()), halo.owned, cols};
    for (const bool behind_link : {false, true}) {
      const kernels::PeerRows<float> peers[] = {{own, cols}, {behind_link ? far.data() : near, cols}};
      const auto shown = copies.send(std::span<const kernels::PeerRows<float>>(peers));
      const double halo_ms = halo_first(halo, own, shown, sum, table, by_halo);
      const Matrix want(reinterpret_cast<float*>(by_halo.data()), halo.owned, cols);
      const double direct_ms = direct(cuts.back(), sum, shown, want);
      for (auto cut = cuts.begin(); cut + 1 != cuts.end(); ++cut) {
        const exchange::Tuning& tuning = cut->tuning;
        const runtime::DeviceUnits units(device_.get(), *cut, halo.owned, 2);
        UnitsArgs args = units.arguments(sum, shown, cols % 4 == 0);
        const auto& kernel = std::get<kernels::DeviceKernel<UnitsArgs>>(device_->kernels());
        const double pipelined = time(kernel, args);
        const double off = farthest(sum.y, want);
        args.shape.blocking = true;
        const double blocking = time(kernel, args);
        say(fmt::format("{} piece {} dist {} stages {}", behind_link ? "far" : "near", tuning.piece, tuning.dist,
                        tuning.stages),
            cols,
            {{"pipelined_ms", pipelined},
             {"blocking_ms", blocking},
             {"direct_ms", direct_ms},
             {"ratio", blocking / pipelined},
             {"halo_first_ms", halo_ms},
             {"farthest", off},
             {"remote_rows", static_cast<double>(cut->remote.sources.size())},
             {"halo_rows", static_cast<double>(halo.ghosts)}});
      }
    }
  }

  /// A blocking get an edge, then own rows. Errors: kInternal if the two do not give `want`
  double direct(const exchange::FinePieces& cut, const SpmmArgs& sum, DeviceSpan<const kernels::PeerRows<float>> shown,
                const Matrix& want) {
    const runtime::DeviceUnits units(device_.get(), cut, sum.y.rows, 2);
    const runtime::DeviceMemory second(device_.get(), sum.y.size() * 4);
    UnitsArgs remote = units.arguments(sum, shown, sum.y.cols % 4 == 0);
    UnitsArgs own = remote;
    remote.shape.blocking = true;
    own.sum.y.data = reinterpret_cast<float*>(second.data());
    runtime::DeviceCopies copies(device_.get());
    const std::vector<EdgeId> no_pieces(remote.own.unit_at.size);
    const std::vector<std::int32_t> not_carried(no_pieces.size(), -1);
    const std::vector<kernels::RowRuns> no_runs(static_cast<std::size_t>(sum.y.rows));
    for (auto* const nothing : {&remote.own, &own.others}) {
      nothing->unit_at = copies.send(std::span<const EdgeId>(no_pieces));
      nothing->carried = copies.send(std::span<const std::int32_t>(not_carried));
      nothing->runs = copies.send(std::span<const kernels::RowRuns>(no_runs));
      nothing->carried_sums = 0;
    }
    const auto& kernel = std::get<kernels::DeviceKernel<UnitsArgs>>(device_->kernels());
    const double ms = time(kernel, remote) + time(kernel, own);
    std::vector<float> both = here(remote.sum.y);
    const std::vector<float> others = here(own.sum.y);
    for (std::size_t i = 0; i < both.size(); ++i) both[i] += others[i];
    GNEISS_CHECK(farthest(both, here(want)) < 1e-4, ErrorCode::kInternal, "direct gives other sums");
    return ms;
  }

  /// All ghosts' rows first, then the sum.
  double halo_first(const comm::HaloPlan& halo, const float* own, DeviceSpan<const kernels::PeerRows<float>> shown,
                    const SpmmArgs& sum, const runtime::DeviceMemory& table, const runtime::DeviceMemory& y) {
    const std::int64_t cols = sum.y.cols;
    const Matrix rows(reinterpret_cast<float*>(table.data()), halo.owned + halo.ghosts, cols);
    const runtime::PeerSum copy(device_.get(), runtime::no_entries(halo.owned));
    const runtime::PeerSum fetch(device_.get(), runtime::halo_entries(halo));
    copy.run(device_->context(), matrix(own, halo.owned, cols), rows.band(0, halo.owned), {});
    SpmmArgs args = sum;
    args.x = rows;
    args.y.data = reinterpret_cast<float*>(y.data());
    const auto& kernel = std::get<kernels::DeviceKernel<SpmmArgs>>(device_->kernels());
    const runtime::DeviceMemory scratch(device_.get(), static_cast<std::int64_t>(kernel.workspace_bytes(args)));
    return time([&] {
      fetch.run(device_->context(), {}, rows.band(halo.owned, rows.rows), shown);
      kernels::DeviceContext context = device_->context();
      context.workspace = {scratch.data(), static_cast<std::size_t>(scratch.bytes())};
      kernel.run(context, args);
    });
  }

  SparsePatternIn<Space::kDevice> pattern(runtime::DeviceCopies* copies, const SparsePattern& from) {
    SparsePatternIn<Space::kDevice> to;
    to.rows = from.rows;
    to.cols = from.cols;
    to.offsets = copies->send(from.offsets);
    to.indices = copies->send(from.indices);
    return to;
  }

  /// Kernels take operands as mutable views and write results only.
  static Matrix matrix(const float* data, std::int64_t rows, std::int64_t cols) {
    return {const_cast<float*>(data), rows, cols};
  }

  template <class Kernel, class Args>
  double time(const Kernel& kernel, const Args& args, bool tensor_cores = false) {
    const runtime::DeviceMemory scratch(device_.get(), static_cast<std::int64_t>(kernel.workspace_bytes(args)));
    kernels::DeviceContext context = device_->context();
    context.workspace = {scratch.data(), static_cast<std::size_t>(scratch.bytes())};
    context.tensor_cores = tensor_cores;
    return time([&] { kernel.run(context, args); });
  }

  /// Milliseconds of one of several that follow one another; the median of five such runs. One alone is a rehearsal.
  double time(const std::function<void()>& enqueue) {
    enqueue();
    device_->wait();
    std::vector<double> runs;
    for (int i = 0; i < (repeats_ > 1 ? 5 : 1); ++i) {
      const auto start = Clock::now();
      for (int k = 0; k < repeats_; ++k) enqueue();
      device_->wait();
      runs.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count() / repeats_);
    }
    const auto middle = runs.begin() + std::ssize(runs) / 2;
    std::nth_element(runs.begin(), middle, runs.end());
    return *middle;
  }

  std::vector<float> here(const Matrix& a) {
    std::vector<float> values(static_cast<std::size_t>(a.size()));
    device_->download(values.data(), a.data, a.size() * 4);
    return values;
  }

  /// The largest difference of two results.
  double farthest(const Matrix& a, const Matrix& b) { return farthest(here(a), here(b)); }
  static double farthest(const std::vector<float>& a, const std::vector<float>& b) {
    double most = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
      most = std::max(most, static_cast<double>(std::abs(a[i] - b[i])) / (1 + std::abs(a[i])));
    return most;
  }

  void say(const std::string& what, std::int64_t cols, std::vector<std::pair<const char*, double>> numbers) {
    std::string line = fmt::format("{{\"what\": \"{} {} columns\"", what, cols);
    for (const auto& [name, value] : numbers) line += fmt::format(", \"{}\": {:.6g}", name, value);
    fmt::print("{}}}\n", line);
    std::fflush(stdout);
  }

  std::unique_ptr<runtime::Device> device_;
  int repeats_;
};

int run(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: device_sums_bench DATA [DEVICE [REPEATS]]\n");
    return 2;
  }
  data::LoadOptions options;
  options.own_split_only = true;
  options.threads = available_threads();
  const data::Dataset dataset = data::load(argv[1], options);
  Bench bench(argc > 2 ? argv[2] : "cuda", argc > 3 ? std::max(1, std::atoi(argv[3])) : 20);
  for (const std::int64_t cols : {16, 32, 64, 128, 256}) bench.whole(dataset.graph, cols);
  bench.part(dataset.graph, {16, 32, 128});
  std::vector<std::pair<std::int64_t, std::int64_t>> shapes = {
      {dataset.features.cols, 32}, {32, 32}, {32, dataset.labels.num_classes}};
  if (bench.repeats() > 1) shapes.insert(shapes.end(), {{128, 128}, {256, 256}});  // seconds each in the emulation
  for (const auto& [inner, cols] : shapes) bench.product(dataset.graph.num_nodes(), inner, cols);
  return 0;
}

}  // namespace
}  // namespace gneiss

int main(int argc, char** argv) {
  try {
    return gneiss::run(argc, argv);
  } catch (const gneiss::Error& error) {
    fmt::print(stderr, "device_sums_bench: {}\n", error.message());
    return 1;
  }
}
