// The score of an edge and its slope, and reading of rows, for attention and its backward.
#pragma once

#include "kernels/cuda/math.h"
#include "kernels/cuda/row_shares.h"

namespace gneiss::kernels::GNEISS_DEVICE {

inline constexpr int kEdgesAhead = 4;  // whose rows are on their way together

struct EdgeScore {
  float value = 0;  ///< the leaky ReLU of the sum of both ends
  float slope = 0;  ///< its derivative
};

__device__ inline EdgeScore score_of(float raw, float leak) {
  return raw > 0 ? EdgeScore{raw, 1.0F} : EdgeScore{leak * raw, leak};
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
