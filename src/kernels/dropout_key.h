// What a dropout draw is a function of: shared by every variant, so that they agree bit for bit.
#pragma once

#include <cstdint>
#include <span>

namespace gneiss::kernels {

/// Key of all draws of one epoch. The odd constant (2^64 / golden ratio) keeps consecutive epochs far apart.
constexpr std::uint64_t dropout_key(std::uint64_t seed, std::uint64_t epoch) {
  return seed ^ (epoch * 0x9E3779B97F4A7C15ULL);
}

/// The two counter words that name a row: a 64-bit node id, or the 32-bit ids of both ends of an edge.
struct DropoutRow {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
};

inline DropoutRow node_row(std::span<const std::int64_t> ids, std::int64_t r) {
  const auto id = static_cast<std::uint64_t>(ids.empty() ? r : ids[static_cast<std::size_t>(r)]);
  return {static_cast<std::uint32_t>(id), static_cast<std::uint32_t>(id >> 32)};
}

inline DropoutRow edge_row(std::span<const std::int64_t> ids, std::int64_t destination, std::int64_t source) {
  return {node_row(ids, destination).low, node_row(ids, source).low};
}

/// What all draws of one call share.
struct DropoutRule {
  std::uint64_t key;
  std::uint32_t stream;
  std::uint32_t least;  ///< kept from here on, of 24 bits
  float scale;
};

}  // namespace gneiss::kernels
