// A run of f32 values rounded to 16 bits.
#pragma once

#include <cstdint>

#include "base/half.h"

namespace gneiss::kernels::cpu {

/// to[0, count) = from[0, count), rounded.
inline void round_row(HalfType type, const float* from, std::int64_t count, std::uint16_t* to) {
  if (type == HalfType::kBf16) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = to_bf16(from[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i] = to_f16(from[i]);
  }
}

}  // namespace gneiss::kernels::cpu
