// Logarithm and the functions of one element, the same bits on every card and in the emulation. Exponentials are those
// of compiled loops over edges (edge_math.h).
#pragma once

#include "kernels/cuda/device.h"
#include "kernels/cuda/log.h"
#include "kernels/edge_math.h"

namespace gneiss::kernels::GNEISS_DEVICE {

/// exp(x) as edge::exp has it, and on to the smallest numbers below -87, where that is 0.
constexpr float exp_to_zero(float x) {
  if (x > -80.0F || x != x) return edge::exp(x);
  const float root = edge::exp(x / 2);
  return root * root;
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
