// Is A equal to its transpose? If so one structure serves forward and backward.
#pragma once

#include <span>

#include "base/matrix_view.h"

namespace gneiss::graph {

/// True if `pattern` (rows ascending inside) is square and equals its transpose, with equal values where given.
/// Parallel entries are compared as a sequence. O(nnz).
bool is_symmetric(const SparsePattern& pattern, std::span<const float> values, int threads = 1);

}  // namespace gneiss::graph
