// Arguments of kernels as bytes, as a card takes them.
#include "runtime/device_loops.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "kernels/cuda/emulation.h"

namespace gneiss::runtime {
namespace {

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span<const T>(&value, 1));
}

/// A launch with its matrices, as EdgeLoopLaunchOf lays them out.
std::vector<std::byte> arguments_of(const kernels::EdgeLoopLaunch& launch, const std::vector<void*>& matrices) {
  static_assert(sizeof(kernels::EdgeLoopLaunchOf<3>) == sizeof(kernels::EdgeLoopLaunch) + 4 * sizeof(void*));
  std::vector<std::byte> bytes(sizeof(launch) + (matrices.size() + 1) * sizeof(void*));
  std::memcpy(bytes.data(), &launch, sizeof(launch));
  if (!matrices.empty()) std::memcpy(bytes.data() + sizeof(launch), matrices.data(), matrices.size() * sizeof(void*));
  return bytes;
}

}  // namespace

ItemGrid grid_for(const kernels::DeviceContext& context, std::int64_t items) {
  constexpr std::int64_t kWarp = 32;
  constexpr std::int64_t kThreads = 128;
  // Few items are spread over many processors.
  const std::int64_t threads = items <= kWarp * context.most_blocks ? kWarp : kThreads;
  const std::int64_t blocks = std::clamp<std::int64_t>((items + threads - 1) / threads, 1, context.most_blocks);
  return {static_cast<unsigned>(blocks), static_cast<unsigned>(threads)};
}

ItemKernel emulated_kernel(EmulatedItems function) {
  return [function](const kernels::DeviceContext& context, std::int64_t items, std::span<const std::byte> arguments) {
    namespace emulated = kernels::emulated;
    const ItemGrid grid = grid_for(context, items);
    const auto run = [function, grid, kept = std::vector<std::byte>(arguments.begin(), arguments.end())] {
      const auto body = [&] {
        const std::int64_t first = std::int64_t{emulated::blockIdx.x} * grid.threads + emulated::threadIdx.x;
        function(kept.data(), first, std::int64_t{grid.blocks} * grid.threads);
      };
      emulated::run_grid(grid.blocks, grid.threads, 0, std::cref(body));
    };
    if (emulated::Launches* recording = emulated::recording_of(context.stream)) {
      recording->keep(run);
    } else {
      run();
    }
  };
}

ItemKernel card_kernel(CardItems function) {
  return [function](const kernels::DeviceContext& context, std::int64_t items, std::span<const std::byte> arguments) {
    const ItemGrid grid = grid_for(context, items);
    const char* const fault = function(context.stream, grid.blocks, grid.threads, arguments.data());
    if (fault != nullptr) kernels::throw_not_launched(fault);
  };
}

kernels::EdgeLoopArgs device_loop_args(const SparsePatternIn<Space::kDevice>& edges,
                                       const SparsePatternIn<Space::kDevice>& in_edges, DeviceSpan<const float> weights,
                                       DeviceSpan<const std::int64_t> ids) {
  kernels::EdgeLoopArgs args;
  args.offsets = edges.offsets.data;
  args.ends = edges.indices.data;
  args.edges = static_cast<std::int64_t>(edges.indices.size);
  args.slots = edges.slots.size == 0 ? nullptr : edges.slots.data;
  args.in_offsets = in_edges.offsets.data;
  args.weights = weights.size == 0 ? nullptr : weights.data;
  args.ids = ids.size == 0 ? nullptr : ids.data;
  return args;
}

void launch_loop(const kernels::DeviceContext& context, const DeviceLoop& loop) {
  kernels::EdgeLoopLaunch launch = loop.launch;
  GNEISS_ASSERT(context.step != nullptr, "a loop over edges needs the numbers of its step");
  launch.key = &context.step->dropout_key;
  launch.part_size = 0;
  for (const MatrixView<float, Space::kDevice>& total : loop.totals) launch.part_size += total.rows * total.cols;
  const bool sums = launch.part_size > 0;
  launch.parts = sums ? reinterpret_cast<float*>(context.workspace.data) : nullptr;
  GNEISS_ASSERT(
      !sums || context.workspace.size >= static_cast<std::size_t>(launch.tasks * launch.part_size) * sizeof(float),
      "a loop over edges has {} bytes of scratch", context.workspace.size);
  loop.loop(context, sums ? launch.tasks : launch.rows, arguments_of(launch, loop.matrices));
  kernels::EdgeTotalsLaunch of_totals;
  of_totals.parts = launch.parts;
  of_totals.tasks = launch.tasks;
  of_totals.part_size = launch.part_size;
  for (const MatrixView<float, Space::kDevice>& total : loop.totals) {
    GNEISS_ASSERT(total.stride == total.cols, "a loop over edges sums into rows that lie apart");
    of_totals.size = total.rows * total.cols;
    of_totals.totals = total.data;
    loop.add_totals(context, of_totals.size, bytes_of(of_totals));
    of_totals.begin += of_totals.size;
  }
}

}  // namespace gneiss::runtime
