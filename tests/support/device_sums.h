// Kernels on emulated devices that sum on one of several, for tests: matrices in their memory, and the same kernel on a
// card where one is asked for.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "kernels/cuda/device_kernels.h"
#include "parity/card.h"
#include "runtime/device.h"
#include "runtime/device_exchange.h"

namespace gneiss::testing {

using DeviceMatrix = MatrixView<float, Space::kDevice>;

/// A matrix in a device's memory, rows `stride` apart.
struct OnDeviceMatrix {
  OnDeviceMatrix(runtime::Device* device, std::int64_t rows, std::int64_t cols, std::int64_t stride)
      : memory(device, rows * stride * 4 + 4), view(reinterpret_cast<float*>(memory.data()), rows, cols, stride) {}
  OnDeviceMatrix(runtime::Device* device, std::int64_t rows, std::int64_t cols)
      : OnDeviceMatrix(device, rows, cols, cols) {}

  void set(const float* from) {  // memory of the emulation is the host's
    for (std::int64_t r = 0; r < view.rows; ++r) std::copy_n(from + r * view.cols, view.cols, view.row(r));
  }
  void get(float* to) const {
    for (std::int64_t r = 0; r < view.rows; ++r) std::copy_n(view.row(r), view.cols, to + r * view.cols);
  }
  std::span<float> all() const { return {view.data, static_cast<std::size_t>(view.rows * view.stride)}; }

  runtime::DeviceMemory memory;
  DeviceMatrix view;
};

inline SparsePatternIn<Space::kDevice> send_pattern(runtime::DeviceCopies* copies, const SparsePattern& from) {
  SparsePatternIn<Space::kDevice> to;
  to.rows = from.rows;
  to.cols = from.cols;
  to.offsets = copies->send(from.offsets);
  to.indices = copies->send(from.indices);
  to.slots = copies->send(from.slots);
  return to;
}

inline std::span<float> result_of(const kernels::OnDevice<kernels::SpmmUnitsArgs>& args) {
  return {args.sum.y.data, static_cast<std::size_t>(args.sum.y.rows * args.sum.y.stride)};
}
inline std::span<float> result_of(const kernels::OnDevice<kernels::SumPeerRowsArgs>& args) {
  return {args.y.data, static_cast<std::size_t>(args.y.rows * args.y.stride)};
}

/// On the card that the environment asks for, on the same memory, which is this process's.
template <class Args>
void expect_bits_on_card(const Args& args) {
  if constexpr (requires { result_of(args); }) {
    static std::mutex one_at_a_time;
    const std::lock_guard lock(one_at_a_time);
    const std::span<float> result = result_of(args);
    const std::vector<float> want(result.begin(), result.end());
    const auto& kernel = std::get<kernels::DeviceKernel<Args>>(Card::get().kernels());
    Buffer<std::byte> scratch(kernel.workspace_bytes(args));
    if (!scratch.empty()) std::memset(scratch.data(), 0xFF, scratch.size());
    if (!want.empty()) std::memset(result.data(), 0xFF, result.size_bytes());
    kernels::DeviceContext context;
    context.workspace = {scratch.data(), scratch.size()};
    kernel.run(context, args);
    Card::get().finish("sums on one of several devices");
    std::vector<float> got(result.begin(), result.end());
    if (Card::spoils() && !got.empty()) got[0] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(got[0]) ^ 1U);
    EXPECT_TRUE(got.empty() || std::memcmp(got.data(), want.data(), result.size_bytes()) == 0);
  }
}

template <class Args>
void run_kernel(runtime::Device* device, const Args& args) {
  const auto& kernel = std::get<kernels::DeviceKernel<Args>>(device->kernels());
  const runtime::DeviceMemory scratch(device, static_cast<std::int64_t>(kernel.workspace_bytes(args)));
  kernels::DeviceContext context = device->context();
  context.workspace = {scratch.data(), static_cast<std::size_t>(scratch.bytes())};
  kernel.run(context, args);
  if (Card::asked()) expect_bits_on_card(args);
}

}  // namespace gneiss::testing
