// 16-bit formats: every pattern, and rounding against the nearest of all patterns.
#include "base/half.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"

namespace gneiss {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Finite non-negative numbers of a format, ascending: the pattern is the position.
std::vector<float> numbers(HalfType type) {
  std::vector<float> list;
  for (std::uint32_t bits = 0; std::isfinite(from_half(type, static_cast<std::uint16_t>(bits))); ++bits) {
    list.push_back(from_half(type, static_cast<std::uint16_t>(bits)));
  }
  return list;
}

/// The nearest number's pattern, of two as near the even one; beyond the range the largest's or infinity's.
std::uint16_t nearest(const std::vector<float>& list, double value) {
  const auto above = std::lower_bound(list.begin(), list.end(), value);
  const auto position = static_cast<std::size_t>(above - list.begin());
  if (position == 0) return 0;
  // Infinity stands where the next number would be.
  const double step = static_cast<double>(list.back()) - static_cast<double>(list[list.size() - 2]);
  const double high = above == list.end() ? static_cast<double>(list.back()) + step : static_cast<double>(*above);
  const double low = list[position - 1];
  const bool up = high - value < value - low || (high - value == value - low && position % 2 == 0);
  return static_cast<std::uint16_t>(up ? position : position - 1);
}

class Half : public ::testing::TestWithParam<HalfType> {};

TEST_P(Half, EveryPatternComesBack) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = from_half(GetParam(), half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(from_half(GetParam(), to_half(GetParam(), value)))) << bits;
    } else {
      ASSERT_EQ(to_half(GetParam(), value), half) << value;
    }
  }
}

TEST_P(Half, RoundsToTheNearestTiesToEven) {
  const std::vector<float> list = numbers(GetParam());
  const auto check = [&](float value) {
    ASSERT_EQ(to_half(GetParam(), value), nearest(list, value)) << value;
    ASSERT_EQ(to_half(GetParam(), -value), nearest(list, value) | 0x8000U) << -value;
  };
  for (std::size_t i = 0; i + 1 < list.size(); ++i) {
    const double low = list[i];
    const double high = list[i + 1];
    const auto middle = static_cast<float>((low + high) / 2);
    check(middle);
    check(std::nextafter(middle, 0.0F));
    check(std::nextafter(middle, kInfinity));
  }
  RandomStream random(3, 7);
  for (int i = 0; i < 100000; ++i) check(static_cast<float>(std::exp2(random.uniform(-40, 17))));
}

TEST_P(Half, KeepsInfinityAndNotANumber) {
  EXPECT_EQ(from_half(GetParam(), to_half(GetParam(), kInfinity)), kInfinity);
  EXPECT_EQ(from_half(GetParam(), to_half(GetParam(), -kInfinity)), -kInfinity);
  EXPECT_TRUE(std::isnan(from_half(GetParam(), to_half(GetParam(), std::nanf("")))));
  // A NaN whose payload lies in the bits that are dropped.
  EXPECT_TRUE(std::isnan(from_half(GetParam(), to_half(GetParam(), std::bit_cast<float>(0x7F800001U)))));
  EXPECT_TRUE(std::signbit(from_half(GetParam(), to_half(GetParam(), -0.0F))));
}

INSTANTIATE_TEST_SUITE_P(Types, Half, ::testing::Values(HalfType::kBf16, HalfType::kF16),
                         [](const auto& test) { return std::string(half_name(test.param)); });

TEST(HalfRange, EndsWhereTheFormatsSay) {
  EXPECT_EQ(from_f16(to_f16(65504)), 65504);
  EXPECT_EQ(from_f16(to_f16(65519.99F)), 65504);
  EXPECT_EQ(from_f16(to_f16(65520)), kInfinity);
  EXPECT_EQ(from_f16(1), 0x1p-24F);
  EXPECT_EQ(from_f16(to_f16(0x1p-25F)), 0);
  EXPECT_EQ(from_bf16(to_bf16(std::numeric_limits<float>::max())), kInfinity);
  EXPECT_EQ(from_bf16(to_bf16(1.00390625F)), 1);          // 1 + 2^-8: a tie
  EXPECT_EQ(from_bf16(to_bf16(1.01171875F)), 1.015625F);  // 1 + 3 * 2^-8: a tie the other way
}

}  // namespace
}  // namespace gneiss
