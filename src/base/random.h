// Stateless random numbers: a value is a function of a key and a counter, so any thread, route or rank that asks for
// the same draw gets the same number and nothing has to be stored.
//
// Method: Philox-4x32 with 7 rounds, the fewest that pass BigCrush. Source: Salmon et al., "Parallel random numbers: as
// easy as 1, 2, 3", SC 2011.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace gneiss {

inline constexpr int kPhiloxRounds = 7;
inline constexpr std::uint32_t kPhiloxM0 = 0xD2511F53U;
inline constexpr std::uint32_t kPhiloxM1 = 0xCD9E8D57U;
inline constexpr std::uint32_t kPhiloxW0 = 0x9E3779B9U;
inline constexpr std::uint32_t kPhiloxW1 = 0xBB67AE85U;

using PhiloxBlock = std::array<std::uint32_t, 4>;

/// Four independent 32-bit draws for one (key, counter).
constexpr PhiloxBlock philox(std::uint64_t key, PhiloxBlock counter) {
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const std::uint64_t p0 = std::uint64_t{kPhiloxM0} * counter[0];
    const std::uint64_t p1 = std::uint64_t{kPhiloxM1} * counter[2];
    counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ k0, static_cast<std::uint32_t>(p1),
               static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += kPhiloxW0;
    k1 += kPhiloxW1;
  }
  return counter;
}

/// A float in [0, 1) with 24 random bits.
constexpr float uniform_float(std::uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1.0p-24F; }

/// A sequence of draws from one (seed, stream): for shuffles, initial weights and generators.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::uint32_t stream) : seed_(seed), stream_(stream) {}

  std::uint32_t next() {
    if (used_ == 4) {
      block_ = philox(seed_, {static_cast<std::uint32_t>(counter_), static_cast<std::uint32_t>(counter_ >> 32), stream_,
                              0x5EED5EEDU});
      ++counter_;
      used_ = 0;
    }
    return block_[static_cast<std::size_t>(used_++)];
  }
  std::uint64_t next64() {
    const std::uint64_t high = next();
    return high << 32 | next();
  }
  /// In [0, 1) with 53 random bits.
  double uniform() { return static_cast<double>(next64() >> 11) * 0x1.0p-53; }
  /// In [low, high).
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// Unbiased integer in [0, bound), bound > 0 (Lemire's multiply-and-reject).
  std::uint64_t below(std::uint64_t bound) {
    for (;;) {
      const unsigned __int128 product = static_cast<unsigned __int128>(next64()) * bound;
      if (static_cast<std::uint64_t>(product) >= (0 - bound) % bound) return static_cast<std::uint64_t>(product >> 64);
    }
  }
  /// Standard normal (Box-Muller).
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

 private:
  std::uint64_t seed_;
  std::uint32_t stream_;
  std::uint64_t counter_ = 0;
  PhiloxBlock block_{};
  int used_ = 4;
};

}  // namespace gneiss
