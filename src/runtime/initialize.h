// First values of parameters.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/program.h"

namespace gneiss::runtime {

/// Draws the first values of a parameter, row-major rows x cols. The draws are a function of the seed and the parameter's name,
/// so adding a layer does not change the others'. Bounds as in torch: glorot U(±sqrt(6/(fan_in+fan_out))), he
/// N(0, sqrt(2/fan_in)), uniform U(±value), normal N(0, value).
template <class T>
void initialize(const ir::Param& param, std::uint64_t seed, std::span<T> values);

}  // namespace gneiss::runtime
