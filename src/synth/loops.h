// Loops over edges as C++: one function a loop, from the ops that fuse_edges put into it.
//
// The same text is part of a program that is written out and is compiled by a run with --jit, so both compute the same
// bits. It needs nothing but kernels/edge_math.h. Row by row of the nodes that a loop walks, and edge by edge of a row,
// it computes what the ops do for that edge in local variables: columns side by side where ops are elementwise, which
// the compiler turns into vectors.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "ir/plan.h"
#include "synth/names.h"

namespace gneiss::synth {

/// The C++ name of a loop of the plan: that of what it makes.
std::string loop_name(const ir::Plan& plan, const Names& names, std::size_t loop);

/// The functions of all loops of the plan, `kernels::EdgeLoopFunction`s; "" if it has none.
std::string loop_functions(const ir::Plan& plan, const Names& names);

/// A source file of them and nothing else.
std::string loops_source(const ir::Plan& plan, const Names& names);
/// The headers that it includes, by name and text, and those that they include.
const std::vector<std::pair<std::string, std::string>>& loop_headers();
/// What a compiler is told about it.
inline constexpr const char* kLoopOptions = "-O3 -fopenmp-simd -fno-math-errno -fno-trapping-math";

}  // namespace gneiss::synth
