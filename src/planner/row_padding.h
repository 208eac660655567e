// Rows that start where a cache line does, for matrices whose rows are read at the ends of edges.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/plan.h"

namespace gneiss::planner {

/// Cache lines of 64 bytes that a row of that many bytes touches, on average over the rows of a matrix in which they
/// lie side by side.
double lines_of_row(std::int64_t row_bytes);

/// Bytes from row to row at which a row touches the fewest lines: the next power of two, or multiple of 64; `row_bytes`
/// itself where that would save less than an eighth of the lines or take more than a quarter more memory.
std::int64_t padded_row_bytes(std::int64_t row_bytes);

/// Fills the strides of the plan: those results' that a sum over edges or an attention reads row by row at random. What
/// leaves the program, or is seen by a compiled loop, stays as it is.
void pad_rows(ir::Plan* plan, std::vector<std::string>* decisions);

}  // namespace gneiss::planner
