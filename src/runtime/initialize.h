// First values of parameters, and the form in which they are saved.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/matrix_view.h"
#include "ir/program.h"

namespace gneiss::runtime {

/// Draws the first values of a parameter, row-major rows x cols. The draws are a function of the seed and the
/// parameter's name, so adding a layer does not change the others'. Bounds as in torch: glorot
/// U(±sqrt(6/(fan_in+fan_out))), he N(0, sqrt(2/fan_in)), uniform U(±value), normal N(0, value).
template <class T>
void initialize(std::string_view name, const ir::Init& init, std::uint64_t seed, std::span<T> values);

/// The values of a parameter in the orientation in which it is saved.
template <class T>
std::vector<T> stored_values(MatrixView<const T> values, bool transposed);

}  // namespace gneiss::runtime
