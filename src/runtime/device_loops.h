// Loops over edges on a device: kernels that no table holds, because they were compiled for one plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/matrix_view.h"
#include "kernels/cuda/device_kernels.h"
#include "kernels/cuda/edge_loop.h"

namespace gneiss::runtime {

/// Enqueues a kernel whose threads share `items`. `arguments` are what it takes, whole; they are copied.
using ItemKernel = std::function<void(const kernels::DeviceContext& context, std::int64_t items,
                                      std::span<const std::byte> arguments)>;

/// How such a kernel looks to the emulation: the items of one thread, from `first` on.
using EmulatedItems = void (*)(const void* arguments, std::int64_t first, std::int64_t step);
/// As a kernel of the emulation: threads take their turns in the order of its seed.
ItemKernel emulated_kernel(EmulatedItems function);

/// How such a kernel looks to a card, in a program that nvcc compiled it for: null, or why the card did not take it.
using CardItems = const char* (*)(void* stream, unsigned blocks, unsigned threads, const void* arguments);
/// Errors of the kernel: kInternal if the card does not take it.
ItemKernel card_kernel(CardItems function);

/// How many blocks of how many threads a device runs such a kernel with.
struct ItemGrid {
  unsigned blocks = 1;
  unsigned threads = 32;
};
ItemGrid grid_for(const kernels::DeviceContext& context, std::int64_t items);

/// Kernels that were compiled for a device while the program runs, and stay as long as this.
class DeviceModule {
 public:
  virtual ~DeviceModule() = default;
  /// Errors: kInternal if there is no such kernel.
  virtual ItemKernel kernel(const std::string& name) = 0;
};

/// The kernels of a plan's loops.
struct DeviceLoops {
  std::vector<ItemKernel> loops;         ///< one for each of plan.loops
  ItemKernel totals;                     ///< adds up what tasks sum over all edges; empty where no loop does
  std::shared_ptr<DeviceModule> module;  ///< what they are part of
};

/// One of them with what it runs on.
struct DeviceLoop {
  ItemKernel loop;
  ItemKernel add_totals;
  kernels::EdgeLoopLaunch launch;  ///< without key and parts
  std::vector<void*> matrices;     ///< those that it reads, then those that it writes
  std::vector<MatrixView<float, Space::kDevice>> totals;
};

/// The structure that a loop walks; see kernels::edge_loop_args.
kernels::EdgeLoopArgs device_loop_args(const SparsePatternIn<Space::kDevice>& edges,
                                       const SparsePatternIn<Space::kDevice>& in_edges, DeviceSpan<const float> weights,
                                       DeviceSpan<const std::int64_t> ids);

/// Enqueues a loop. Sums over all edges are taken by tasks, each with a part of the workspace, and then added in the
/// order of tasks: the same bits in every run.
void launch_loop(const kernels::DeviceContext& context, const DeviceLoop& loop);

}  // namespace gneiss::runtime
