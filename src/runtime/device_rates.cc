// Launches do not wait for each other's end on the host, so that a time is that of many in a row, waited for once. The
// time of a launch is that of one in a recorded step, as trainings run them.
#include "runtime/device_rates.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>

#include "base/error.h"
#include "cost/device_profile.h"
#include "cost/made_up_data.h"
#include "graph/graph.h"
#include "kernels/attention.h"
#include "kernels/attention_grad.h"
#include "kernels/binary.h"
#include "kernels/dropout.h"
#include "kernels/gemm.h"
#include "kernels/spmm.h"
#include "kernels/spx_gemm.h"
#include "kernels/unary.h"

namespace gneiss::runtime {
namespace {

using cost::Neighbours;
using cost::RateGrid;
using cost::SparseFeatures;
using kernels::OnDevice;
using kernels::Orientation;
using Matrix = MatrixView<float, Space::kDevice>;

constexpr std::int64_t kHeads = 4;
constexpr std::int64_t kWidth = 32;
constexpr double kElement = sizeof(float);
/// The share of a run that counts as the cost of what is measured besides another op, where the difference of two times
/// is lost in noise.
constexpr double kLeastShare = 0.05;

class DeviceCalibration {
 public:
  DeviceCalibration(DeviceProgram* program, const DeviceSizes& sizes) : program_(*program), sizes_(sizes) {
    const auto most = [](const std::vector<double>& values) { return *std::max_element(values.begin(), values.end()); };
    const double floats =
        std::max({most(sizes.tables), most(sizes.streams), 2 * kElement * static_cast<double>(sizes.product_floats),
                  4 * kElement * static_cast<double>(sizes.rows * kWidth), static_cast<double>(sizes.gathered_bytes),
                  kElement * static_cast<double>(SparseFeatures::kRows) * most(sizes.columns)}) /
        kElement;
    pool_ = program_.zeros<float>(static_cast<std::int64_t>(floats));
    results_ = program_.zeros<float>(static_cast<std::int64_t>(floats));
  }

  cost::Rates run() {
    rates_ = cost::h100_profile().rates;  // of what is not measured
    measure_launch();
    measure_stream();
    measure_gather();
    rates_.gemm_nn = measure_gemm(Orientation::kNN);
    rates_.gemm_nt = measure_gemm(Orientation::kNT);
    rates_.gemm_tn = measure_gemm(Orientation::kTN);
    measure_sparse_products();
    measure_attention();
    measure_dropout();
    measure_exponentials();
    return std::move(rates_);
  }

 private:
  Matrix in(std::int64_t rows, std::int64_t cols, std::int64_t at = 0) const { return view(pool_, rows, cols, at); }
  Matrix out(std::int64_t rows, std::int64_t cols, std::int64_t at = 0) const { return view(results_, rows, cols, at); }
  static Matrix view(DeviceSpan<float> span, std::int64_t rows, std::int64_t cols, std::int64_t at) {
    GNEISS_ASSERT(at + rows * cols <= static_cast<std::int64_t>(span.size), "{} x {} values do not fit", rows, cols);
    return {span.data + at, rows, cols};
  }

  double seconds_of(const std::function<void()>& call, std::int64_t times) const {
    using Clock = std::chrono::steady_clock;
    program_.device->wait();
    const auto start = Clock::now();
    for (std::int64_t i = 0; i < times; ++i) call();
    program_.device->wait();
    return std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(times);
  }

  /// Median seconds of a call.
  double median(const std::function<void()>& call) const {
    constexpr double kMostTimes = 1000;
    const double first = std::max(1e-9, seconds_of(call, 1));  // and what a first call takes besides
    const auto times = static_cast<std::int64_t>(std::clamp(sizes_.seconds / first, 1.0, kMostTimes));
    std::array<double, 3> seconds{};
    for (double& each : seconds) each = seconds_of(call, times);
    std::sort(seconds.begin(), seconds.end());
    return std::max(1e-9, seconds[1]);
  }

  template <template <class, Space> class Args>
  double kernel_seconds(const OnDevice<Args>& args) {
    const std::int64_t bytes = program_.scratch_bytes<Args>(args);
    const DeviceMemory scratch(program_.device.get(), bytes);
    const DeviceSpan<std::byte> span{scratch.data(), static_cast<std::size_t>(bytes)};
    return median([&] { program_.launch<Args>(args, {}, span); });
  }

  void measure_launch() {
    constexpr int kLaunches = 100;
    const OnDevice<kernels::BinaryArgs> args = {
        .fn = kernels::Binary::kAdd, .a = in(16, 16), .b = in(16, 16, 1024), .c = out(16, 16)};
    RecordedWork work;
    rates_.call_seconds = median([&] {
                            work.run(program_.device.get(), {}, [&] {
                              for (int i = 0; i < kLaunches; ++i) program_.launch<kernels::BinaryArgs>(args);
                            });
                          }) /
                          kLaunches;
  }

  void measure_stream() {
    rates_.stream = {{1}, sizes_.streams, {}};
    for (const double bytes : sizes_.streams) {
      const auto rows = static_cast<std::int64_t>(bytes / (3 * kWidth * kElement));
      const OnDevice<kernels::BinaryArgs> args = {.fn = kernels::Binary::kAdd,
                                                  .a = in(rows, kWidth),
                                                  .b = in(rows, kWidth, rows * kWidth),
                                                  .c = out(rows, kWidth)};
      rates_.stream.rates.push_back(bytes / kernel_seconds<kernels::BinaryArgs>(args));
    }
  }

  double spmm_seconds(const Neighbours& graph, const SparsePatternIn<Space::kDevice>& pattern, std::int64_t columns) {
    OnDevice<kernels::SpmmArgs> args;
    args.pattern = pattern;
    args.x = in(graph.sources, columns);
    args.y = out(graph.rows, columns);
    return kernel_seconds<kernels::SpmmArgs>(args);
  }

  void measure_gather() {
    rates_.gather = {sizes_.columns, sizes_.tables, {}};
    for (const double columns : sizes_.columns) {
      const double row_bytes = columns * kElement;
      for (const double table : sizes_.tables) {
        const auto rows = static_cast<std::int64_t>(static_cast<double>(sizes_.gathered_bytes) / row_bytes);
        const Neighbours graph(std::max<std::int64_t>(1, rows / Neighbours::kDegree),
                               static_cast<std::int64_t>(table / row_bytes));
        const Sent pattern(program_.device.get(), graph.pattern());
        const double seconds = spmm_seconds(graph, pattern.view(), static_cast<std::int64_t>(columns));
        rates_.gather.rates.push_back((graph.edges() + static_cast<double>(graph.rows)) * row_bytes / seconds);
      }
    }
    rates_.tile_gather = rates_.gather;
  }

  /// By the columns of the result and the other small size; the third size is large.
  RateGrid measure_gemm(Orientation orientation) {
    RateGrid grid{sizes_.columns, sizes_.inner, {}};
    for (const double columns : grid.columns) {
      for (const double size : grid.sizes) {
        const auto n = static_cast<std::int64_t>(columns);
        const auto small = static_cast<std::int64_t>(size);
        const std::int64_t large = sizes_.product_floats / std::max(n, small);
        const bool tn = orientation == Orientation::kTN;
        OnDevice<kernels::GemmArgs> args;
        args.a = in(large, small);
        args.b = in(small, n, large * small);
        args.c = out(tn ? small : large, n);
        args.orientation = orientation;
        if (tn) args.b = in(large, n, large * small);
        if (orientation == Orientation::kNT) args.b = in(n, small, large * small);
        const double flops = 2.0 * columns * size * static_cast<double>(large);
        grid.rates.push_back(flops / kernel_seconds<kernels::GemmArgs>(args));
      }
    }
    return grid;
  }

  void measure_sparse_products() {
    rates_.spx_rows = SparseFeatures::kCols;
    std::vector<double> sizes;
    const std::size_t corners = sizes_.columns.size() * sizes_.densities.size();
    std::array<std::vector<double>, 3> found;
    for (std::vector<double>& rates : found) rates.resize(corners);
    for (std::size_t d = 0; d < sizes_.densities.size(); ++d) {
      const SparseFeatures features(sizes_.densities[d]);
      const graph::Transpose transposed = graph::transpose(features.pattern(), features.values);
      const graph::Transpose with_slots = graph::transpose(features.pattern(), true);
      sizes.push_back(static_cast<double>(features.values.size_bytes()));
      const Sent forward(program_.device.get(), features.pattern(), features.values);
      const Sent gradient(program_.device.get(), transposed.pattern(), transposed.values);
      const Sent slots(program_.device.get(), with_slots.pattern(), features.values);
      for (std::size_t c = 0; c < sizes_.columns.size(); ++c) {
        const auto n = static_cast<std::int64_t>(sizes_.columns[c]);
        const double flops = 2.0 * static_cast<double>(features.values.size()) * sizes_.columns[c];
        const std::size_t at = c * sizes_.densities.size() + d;
        std::size_t which = 0;
        for (const Sent* a : {&forward, &gradient, &slots}) {
          found[which++][at] =
              flops /
              kernel_seconds<kernels::SpxGemmArgs>(
                  {.a = a->view(), .values = a->values(), .b = in(a->view().cols, n), .c = out(a->view().rows, n)});
        }
      }
    }
    rates_.spx_forward = {sizes_.columns, sizes, found[0]};
    rates_.spx_gradient = {sizes_.columns, sizes, found[1]};
    rates_.spx_slots = {sizes_.columns, sizes, found[2]};
  }

  void measure_attention() {
    const std::int64_t nodes = std::max<std::int64_t>(1, sizes_.rows / Neighbours::kDegree);
    const std::int64_t values = nodes * kWidth;
    const Neighbours graph(nodes, nodes);
    const Sent pattern(program_.device.get(), graph.pattern());
    OnDevice<kernels::AttentionArgs> args;
    args.pattern = pattern.view();
    args.z = in(nodes, kWidth);
    args.s_src = in(nodes, kHeads, values);
    args.s_dst = in(nodes, kHeads, values + nodes * kHeads);
    args.heads = kHeads;
    args.y = out(nodes, kWidth);
    args.tangent = out(nodes, kWidth, values);
    args.lse = out(nodes, kHeads, 2 * values);
    const double forward = kernel_seconds<kernels::AttentionArgs>(args);

    OnDevice<kernels::AttentionGradArgs> grad;
    grad.pattern = pattern.view();
    grad.z = args.z;
    grad.s_src = args.s_src;
    grad.s_dst = args.s_dst;
    grad.lse = args.lse;
    grad.dots = in(nodes, kHeads, values + 2 * nodes * kHeads);
    grad.dy = in(nodes, kWidth, 2 * values);
    grad.heads = kHeads;
    grad.dz = args.y;
    grad.ds_src = out(nodes, kHeads, values);
    const double backward = kernel_seconds<kernels::AttentionGradArgs>(grad);

    const double gather = spmm_seconds(graph, pattern.view(), kWidth);
    const double scores = graph.edges() * static_cast<double>(kHeads);
    rates_.attention = scores / std::max(forward - gather, kLeastShare * forward);
    rates_.attention_grad = scores / std::max(backward - gather, kLeastShare * backward);
  }

  void measure_dropout() {
    OnDevice<kernels::DropoutArgs> args;
    args.x = in(sizes_.rows, kWidth);
    args.y = out(sizes_.rows, kWidth);
    program_.send_numbers(step_numbers(1, 1, 0, 1, 0.9, 0.999));
    const double seconds = kernel_seconds<kernels::DropoutArgs>(args);
    const double values = static_cast<double>(args.x.size());
    const double stream = cost::stream_seconds(rates_, 2 * values * kElement);
    rates_.dropout = values / std::max(seconds - stream, kLeastShare * seconds);
  }

  void measure_exponentials() {
    OnDevice<kernels::UnaryArgs> args = {
        .fn = kernels::Unary::kElu, .alpha = 1, .x = in(sizes_.rows, kWidth), .y = out(sizes_.rows, kWidth)};
    const double seconds = kernel_seconds<kernels::UnaryArgs>(args);
    args.fn = kernels::Unary::kRelu;
    const double stream = kernel_seconds<kernels::UnaryArgs>(args);
    rates_.exponentials = static_cast<double>(args.x.size()) / std::max(seconds - stream, kLeastShare * seconds);
  }

  /// A matrix of the host on the device, until this ends.
  class Sent {
   public:
    Sent(Device* device, const SparsePattern& from, std::span<const float> values = {})
        : offsets_(device, static_cast<std::int64_t>(from.offsets.size_bytes())),
          indices_(device, static_cast<std::int64_t>(from.indices.size_bytes())),
          slots_(device, static_cast<std::int64_t>(from.slots.size_bytes())),
          values_(device, static_cast<std::int64_t>(values.size_bytes())) {
      view_ = {from.rows, from.cols, upload(device, offsets_, from.offsets), upload(device, indices_, from.indices),
               upload(device, slots_, from.slots)};
      sent_values_ = upload(device, values_, values);
    }
    const SparsePatternIn<Space::kDevice>& view() const { return view_; }
    DeviceSpan<const float> values() const { return sent_values_; }

   private:
    template <class T>
    static DeviceSpan<const T> upload(Device* device, const DeviceMemory& to, std::span<const T> from) {
      if (!from.empty()) device->upload(to.data(), from.data(), static_cast<std::int64_t>(from.size_bytes()));
      return {reinterpret_cast<const T*>(to.data()), from.size()};
    }

    DeviceMemory offsets_;
    DeviceMemory indices_;
    DeviceMemory slots_;
    DeviceMemory values_;
    SparsePatternIn<Space::kDevice> view_;
    DeviceSpan<const float> sent_values_;
  };

  DeviceProgram& program_;
  const DeviceSizes& sizes_;
  DeviceSpan<float> pool_;  ///< what a value is does not change a time: zeros
  DeviceSpan<float> results_;
  cost::Rates rates_;
};

}  // namespace

cost::Rates measure_device_rates(DeviceProgram* program, const DeviceSizes& sizes) {
  cost::Rates rates = DeviceCalibration(program, sizes).run();
  rates.source = program->device->name() + ", measured";
  return rates;
}

}  // namespace gneiss::runtime
