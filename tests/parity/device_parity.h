// Runs the device kernel of an op in the emulation, whose memory is that of the host, for several orders of threads.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/buffer.h"
#include "kernels/cuda/device_kernels.h"
#include "kernels/cuda/emulation.h"

namespace gneiss::testing {

// The names of a kernel's words are the emulation's own; a test only launches.
#undef __global__
#undef __device__
#undef __host__
#undef __launch_bounds__

namespace internal {

template <class Args>
struct DeviceArgs;
template <template <class, Space> class Args>
struct DeviceArgs<Args<float, Space::kHost>> {
  using Type = Args<float, Space::kDevice>;
};

}  // namespace internal

/// Calls check(where, seed) after each run of the device kernel for `args`, if there is one; `reset`
/// comes before each; `orders` of threads, each with another number of blocks. Spans of the host and of a device are
/// both a pointer and a size, so the arguments keep their bits.
template <class Args>
void on_emulated_device(const Args& args, std::uint64_t orders, const std::function<void()>& reset,
                        const std::function<void(const std::string& where, bool first)>& check) {
  using OnDevice = typename internal::DeviceArgs<Args>::Type;
  static_assert(sizeof(Args) == sizeof(OnDevice));
  const auto* kernel = kernels::find_kernel<OnDevice>(kernels::emulated_kernels());
  if (kernel == nullptr) return;
  if constexpr (requires { args.tiles; }) {
    if (!args.tiles.empty()) return;  // the kernel of devices reads the pattern alone: it is the same problem once more
  }
  const auto moved = std::bit_cast<OnDevice>(args);
  for (std::uint64_t seed = 1; seed <= orders; ++seed) {
    Buffer<std::byte> workspace(kernel->workspace_bytes(moved));
    if (!workspace.empty()) std::memset(workspace.data(), 0xFF, workspace.size());
    kernels::emulated::set_order(seed);
    kernels::DeviceContext context;
    context.workspace = {workspace.data(), workspace.size()};
    context.most_blocks = 1 + static_cast<std::int64_t>(seed);
    reset();
    kernel->run(context, moved);
    check("emulated device, order " + std::to_string(seed), seed == 1);
  }
}

}  // namespace gneiss::testing
