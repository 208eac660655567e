// Random numbers of mini-batches: a value is a function of where it is used and of nothing else.
//
//   hop key    of (seed, epoch, batch, hop)
//   node key   of (hop key, original id of the node)
//   draw i     of (node key, i)
//
// So any thread, route, device or rank makes the same batch, and renaming nodes does not change it. This is the
// contract that every sampler of these batches keeps, those on devices too: the constants and steps here are part of
// it.
//
// Method: the finalizer of SplitMix64 over a counter; an integer below a bound is the high half of a 128-bit product,
// whose bias is under bound / 2^64, without a rejection that devices would have to agree on.
// Source: [steele2014splitmix], constants of Stafford's variant 13; [lemire2019bounded].
#pragma once

#include <cstdint>

#include "minibatch/batch.h"

namespace gneiss::minibatch {

inline constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15U;

inline constexpr std::uint64_t mix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

/// A key made of another and a number.
inline constexpr std::uint64_t sub_key(std::uint64_t key, std::uint64_t number) {
  return mix64(key + (number + 1) * kGoldenRatio);
}

/// What a key is for; other purposes never share a sequence.
enum class Purpose : std::uint64_t { kPicks = 1, kSourceNumbers = 2, kSeedOrder = 3 };

inline constexpr std::uint64_t epoch_key(std::uint64_t seed, std::int64_t epoch, Purpose purpose) {
  return sub_key(sub_key(mix64(seed), static_cast<std::uint64_t>(purpose)), static_cast<std::uint64_t>(epoch));
}

inline constexpr std::uint64_t hop_key(const BatchKey& batch, int hop) {
  const std::uint64_t key = epoch_key(batch.seed, batch.epoch, Purpose::kPicks);
  return sub_key(sub_key(key, static_cast<std::uint64_t>(batch.index)), static_cast<std::uint64_t>(hop));
}

inline constexpr std::uint64_t node_key(std::uint64_t hop, std::int64_t orig_id) {
  return sub_key(hop, static_cast<std::uint64_t>(orig_id));
}

inline constexpr std::uint64_t draw(std::uint64_t node, std::uint64_t i) { return sub_key(node, i); }

/// In [0, range), range > 0.
inline constexpr std::uint64_t below(std::uint64_t bits, std::uint64_t range) {
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(bits) * range) >> 64);
}

/// In (0, 1), 52 random bits: with one more the largest would round to 1.
inline constexpr double unit(std::uint64_t bits) { return (static_cast<double>(bits >> 12) + 0.5) * 0x1.0p-52; }

}  // namespace gneiss::minibatch
