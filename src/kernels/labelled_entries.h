// How many entries a loss over a matrix of targets is a mean of.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel.h"

namespace gneiss::kernels {

/// Entries of the rows of `targets` that are not NaN. Shapes targets: [n,c], rows: ascending.
std::int64_t labelled_entries(int threads, ConstMatrixView<float> targets, std::span<const NodeId> rows);

}  // namespace gneiss::kernels
