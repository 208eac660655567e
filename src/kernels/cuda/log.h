// Logarithm, the same bits on every card and in the emulation.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace gneiss::kernels {

/// log(x): x = 2^n m with m in [sqrt(1/2), sqrt(2)), log m = 2 atanh(z) by its series, z = (m - 1) / (m + 1), |z| <=
/// 0.172: eleven terms leave less than a unit of the last place. Negative: NaN. Zero: -infinity.
constexpr double log_of(double x) {
  constexpr double kLn2 = 0.69314718055994530942;
  if (!(x > 0)) return x == 0 ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  if (x > std::numeric_limits<double>::max()) return x;
  const double normal = x < std::numeric_limits<double>::min() ? x * 0x1p54 : x;
  const auto bits = std::bit_cast<std::uint64_t>(normal);
  auto exponent = static_cast<std::int64_t>(bits >> 52) - 1023 - (x < std::numeric_limits<double>::min() ? 54 : 0);
  double m = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFFULL) | 0x3FF0000000000000ULL);
  if (m > 1.41421356237309504880) {
    m /= 2;
    exponent += 1;
  }
  const double z = (m - 1) / (m + 1);
  const double square = z * z;
  double sum = 0;
  for (int power = 21; power >= 1; power -= 2) sum = sum * square + 1.0 / power;
  return static_cast<double>(exponent) * kLn2 + 2 * z * sum;
}

}  // namespace gneiss::kernels
