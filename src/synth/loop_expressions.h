// Elementwise ops as C++ expressions on kernels/edge_math.h.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace gneiss::synth {

/// What an op computes of one column of its operands, which are expressions themselves.
std::string column_expression(const ir::Op& op, const std::vector<std::string>& operands);

}  // namespace gneiss::synth
