// Functions of the elements at one place of several matrices. A thread takes four neighbouring columns where all
// matrices allow it, else one.
#pragma once

#include "kernels/cuda/device.h"
#include "kernels/cuda/row_shares.h"

namespace gneiss::kernels::GNEISS_DEVICE {

/// A matrix that is read where an element of a result `width` columns wide is made: a row serves for every row, a
/// column of a narrower matrix for as many neighbouring columns of the result.
struct Spread {
  const float* data = nullptr;
  std::int64_t stride = 0;    ///< 0: one row for all
  std::uint32_t columns = 1;  ///< of the result for each of its own

  Spread() = default;
  Spread(const ConstMatrixView<float, Space::kDevice>& from, std::int64_t width)
      : data(from.data),
        stride(from.rows == 1 ? 0 : from.stride),
        columns(from.cols == 0 ? 1 : static_cast<std::uint32_t>(width / from.cols)) {}

  bool by_fours() const { return columns == 1 ? lie_together(data, stride) : columns % 4 == 0; }

  template <int kVector>
  __device__ void load(std::int64_t r, std::uint32_t c, float* to) const {
    const float* row = data + r * stride;
    if (columns == 1) return load_vector<kVector>(row + c, to);
    const float one = row[c / columns];
    for (int q = 0; q < kVector; ++q) to[q] = one;
  }
};

/// result[r, c] = function(r, c's operands): `Function` has operands() -> an array of Spread, and of(const float*) of
/// one element of each.
template <int kVector, class Function>
__global__ void map_by_place(Function function, MatrixView<float, Space::kDevice> result) {
  constexpr int kOperands = Function::kOperands;
  const auto across = static_cast<std::uint32_t>(result.cols / kVector);
  for (std::int64_t i = first_item(); i < result.rows * across; i += item_step()) {
    const std::int64_t r = i / across;
    const auto c = static_cast<std::uint32_t>(i - r * across) * kVector;
    float in[kOperands][kVector];
    for (int o = 0; o < kOperands; ++o) function.operands[o].template load<kVector>(r, c, in[o]);
    Four out{};
    for (int q = 0; q < kVector; ++q) {
      float at[kOperands];
      for (int o = 0; o < kOperands; ++o) at[o] = in[o][q];
      out.of[q] = function.of(at);
    }
    float* to = result.data + r * result.stride + c;
    if constexpr (kVector == 4) {
      *reinterpret_cast<Four*>(to) = out;
    } else {
      *to = out.of[0];
    }
  }
}

template <class Function>
void launch_by_place(const DeviceContext& context, const Function& function,
                     const MatrixView<float, Space::kDevice>& result) {
  bool by_fours = result.cols % 4 == 0 && lie_together(result.data, result.stride);
  for (const Spread& operand : function.operands) by_fours = by_fours && operand.by_fours();
  const std::int64_t places = result.rows * result.cols;
  if (by_fours) {
    launch(context, map_by_place<4, Function>, launch_over(context, places / 4), function, result);
  } else {
    launch(context, map_by_place<1, Function>, launch_over(context, places), function, result);
  }
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
