// Runs a loop over edges that was made for one plan (synth/loops.h): tasks side by side, sums over all edges in the
// order of tasks.
#pragma once

#include <cstdint>
#include <span>

#include "base/matrix_view.h"
#include "kernels/edge_math.h"
#include "kernels/kernel.h"

namespace gneiss::kernels {

/// The structure that a loop walks: `edges` are the in-edges, or the out-edges with slots where the loop reads by them.
EdgeLoopArgs edge_loop_args(const SparsePattern& edges, const SparsePattern& in_edges, std::span<const float> weights,
                            std::span<const std::int64_t> ids);

/// Calls `function` for the rows of every task and adds up what it sums over all edges. `cuts`: rows at which tasks
/// start, and their number (cut_rows); `totals`: one after the other what `function` fills. Scratch: a float for each
/// of their elements and task. Bitwise equal for any number of threads.
void run_edge_loop(const Context& context, EdgeLoopFunction function, const EdgeLoopArgs& args,
                   std::span<const std::int64_t> cuts, std::span<const MatrixView<float>> totals);

}  // namespace gneiss::kernels
