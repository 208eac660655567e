// Runs the device kernel of an op in the emulation, whose memory is that of the host, for several orders of threads,
// and on a card where that is asked for (card.h).
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <typeindex>
#include <typeinfo>
#include <vector>

#include "base/buffer.h"
#include "kernels/cuda/device_kernels.h"
#include "kernels/cuda/emulation.h"
#include "kernels/cuda/variants.h"
#include "parity/card.h"

namespace gneiss::testing {

// The names of a kernel's words are the emulation's own; a test only launches.
#undef __global__
#undef __device__
#undef __host__
#undef __launch_bounds__
#undef __grid_constant__

namespace internal {

template <class Args>
struct DeviceArgs;
template <template <class, Space> class Args>
struct DeviceArgs<Args<float, Space::kHost>> {
  using Type = Args<float, Space::kDevice>;
};

/// The bytes of arguments, without what lies between their members.
template <class OnDevice>
std::vector<std::byte> without_padding(OnDevice args) {
#if __has_builtin(__builtin_clear_padding)
  __builtin_clear_padding(&args);
#endif
  std::vector<std::byte> bytes(sizeof(args));
  std::memcpy(bytes.data(), &args, sizeof(args));
  return bytes;
}

/// What arguments point to for the host, which reads it when it launches.
template <class OnDevice>
std::vector<const void*> patterns_of(const OnDevice& args) {
  std::vector<const void*> found;
  if constexpr (requires { args.pattern->offsets; }) found.push_back(args.pattern);
  if constexpr (requires { args.in_edges->offsets; }) found.push_back(args.in_edges);
  if constexpr (requires { args.sparse_rows->offsets; }) found.push_back(args.sparse_rows);
  return found;
}

/// The same kernel on the card that the environment asks for, with few blocks and with as many as a card holds.
template <class OnDevice>
void on_card(const OnDevice& args, const std::function<void()>& reset,
             const std::function<void(const std::string& where, bool first)>& check) {
  Card& card = Card::get();
  const char* what = typeid(OnDevice).name();
  card.require_reachable(without_padding(args), what, patterns_of(args));
  const auto& kernel = kernels::find_kernel<OnDevice>(card.kernels());
  for (const std::int64_t most_blocks : {1, 3, 1056}) {
    const std::string where = card.name() + ", " + std::to_string(most_blocks) + " blocks";
    Buffer<std::byte> workspace(kernel.workspace_bytes(args));
    if (!workspace.empty()) std::memset(workspace.data(), 0xFF, workspace.size());
    kernels::DeviceContext context;
    context.workspace = {workspace.data(), workspace.size()};
    context.most_blocks = most_blocks;
    reset();
    kernel.run(context, args);
    card.finish(what);
    check(where, false);
  }
}

/// The kernel of another design that stands beside the op's, where there is one that takes these arguments: within the
/// bounds of the reference, and on a card with the emulation's bits.
template <class OnDevice>
void beside(const OnDevice& args, const std::function<void()>& reset,
            const std::function<void(const std::string& where, bool first)>& check) {
  const auto* variant = kernels::find_variant<OnDevice>(kernels::emulated_variants());
  if (variant == nullptr || !variant->declines(args).empty()) return;
  const auto run = [&](const auto& kernel, const std::string& where, bool first) {
    Buffer<std::byte> workspace(kernel.workspace_bytes(args));
    kernels::DeviceContext context;
    context.workspace = {workspace.data(), workspace.size()};
    reset();
    kernel.run(context, args);
    if (!first) Card::get().finish(typeid(OnDevice).name());
    check(where + std::string(kernel.name), first);
  };
  kernels::emulated::set_order(1);
  run(variant->kernel, "emulated device, ", true);
  if (!Card::asked()) return;
  const auto& there = kernels::variants_beside(Card::get().kernels());
  run(kernels::find_variant<OnDevice>(there)->kernel, Card::get().name() + ", ", false);
}

}  // namespace internal

/// The orders of threads that a kernel has to be run in.
inline constexpr std::uint64_t kOrders = 3;

/// The arguments of all kernels of devices that this program has run in so many.
inline std::set<std::type_index>& kernels_in_all_orders() {
  static std::set<std::type_index> arguments;
  return arguments;
}

/// Calls check(where, seed) after each run of the device kernel for `args`; `reset`
/// comes before each; `orders` of threads, each with another number of blocks. Spans of the host and of a device are
/// both a pointer and a size, so the arguments keep their bits.
template <class Args>
void on_emulated_device(const Args& args, std::uint64_t orders, const std::function<void()>& reset,
                        const std::function<void(const std::string& where, bool first)>& check) {
  using OnDevice = typename internal::DeviceArgs<Args>::Type;
  static_assert(sizeof(Args) == sizeof(OnDevice));
  const auto& kernel = kernels::find_kernel<OnDevice>(kernels::emulated_kernels());
  if constexpr (requires { args.tiles; }) {
    if (!args.tiles.empty()) return;  // the kernel of devices reads the pattern alone: it is the same problem once more
  }
  const auto moved = std::bit_cast<OnDevice>(args);
  for (std::uint64_t seed = 1; seed <= orders; ++seed) {
    Buffer<std::byte> workspace(kernel.workspace_bytes(moved));
    if (!workspace.empty()) std::memset(workspace.data(), 0xFF, workspace.size());
    kernels::emulated::set_order(seed);
    kernels::DeviceContext context;
    context.workspace = {workspace.data(), workspace.size()};
    context.most_blocks = 1 + static_cast<std::int64_t>(seed);
    reset();
    kernel.run(context, moved);
    check("emulated device, order " + std::to_string(seed), seed == 1);
  }
  if (orders >= kOrders) kernels_in_all_orders().insert(typeid(OnDevice));
  if (Card::asked()) internal::on_card(moved, reset, check);
  if (orders > 1) internal::beside(moved, reset, check);
}

}  // namespace gneiss::testing
