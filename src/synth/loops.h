// Loops over edges as C++: one function a loop, from the ops that fuse_edges put into it.
//
// The same text is part of a program that is written out and is compiled by a run with --jit, so both compute the same
// bits. It needs nothing but kernels/edge_math.h, or, for devices, kernels/cuda/edge_loop.h. Row by row of the nodes
// that a loop walks, and edge by edge of a row, it computes what the ops do for that edge in local variables: columns
// side by side where ops are elementwise, which the compiler turns into vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/space.h"
#include "ir/plan.h"
#include "synth/names.h"

namespace gneiss::synth {

/// The C++ name of a loop of the plan: that of what it makes.
std::string loop_name(const ir::Plan& plan, const Names& names, std::size_t loop);

/// The functions of all loops of the plan; "" if it has none. On the host `kernels::EdgeLoopFunction`s, on a device
/// kernels.
std::string loop_functions(const ir::Plan& plan, const Names& names, Space space);

/// A source file of them and nothing else.
std::string loops_source(const ir::Plan& plan, const Names& names, Space space = Space::kHost);
/// The headers that it includes, by name and text, and those that they include; those of the standard library are not
/// among them.
const std::vector<std::pair<std::string, std::string>>& loop_headers(Space space = Space::kHost);
/// What a compiler of the host is told about it, for the host and for the emulation.
inline constexpr const char* kLoopOptions = "-O3 -fopenmp-simd -fno-math-errno -fno-trapping-math";
inline constexpr const char* kEmulatedLoopOptions = "-O2 -ffp-contract=off -fno-math-errno -fno-trapping-math";
/// And nvcc; in the form of CMake.
inline constexpr const char* kCardLoopOptions = "-fmad=false;--expt-relaxed-constexpr";

/// What a text for devices is called. It is CUDA; a compiler of the host takes it for C++.
inline constexpr const char* kDeviceLoopsFile = "loops.cu";
/// On devices, the kernel that adds up what the tasks of a loop sum over their edges.
inline constexpr const char* kLoopTotals = "add_edge_totals";
/// What each thread of a device has of a loop in arrays, bytes.
std::int64_t loop_array_bytes(const ir::Plan& plan, const Names& names, std::size_t loop);

}  // namespace gneiss::synth
