// Where a row lies, by its number alone: the hottest rows on every device, the next spread over the devices, then main
// memory, then a file.
//
//   [0, R)          replicated: a copy on each device
//   [R, R + M)      pooled: one device each, by turns (interleaved) or in a row (blocked)
//   [R + M, … H)    main memory
//   [… rows)        the file
//
// Two compares and a division, no map: node ids are in the order of the rows' heat. All arithmetic is in 64 bits, as a
// row times its width passes 2^31 long before the rows do. Pure functions, for host, simulated device and kernels
// alike.
//
// Interleaved is the rule: rows that follow each other are about as hot, so that each device serves as much. Blocked
// puts the hottest of the pool on the first device; it is here to show that.
//
// Source: [min2022data_tiering], section 4.2 and Listing 1; how we differ: the listing computes width * offset / G in
// this order, which is another row wherever G does not divide the offset, and in 32 bits.
#pragma once

#include <cstdint>

namespace gneiss::tiers {

enum class Tier : std::uint8_t { kReplicated, kPooled, kHost, kDisk };
inline constexpr int kTiers = 4;

enum class Placement : std::uint8_t { kInterleaved, kBlocked };

struct TierMap {
  std::int64_t rows = 0;        ///< of all tiers
  std::int64_t replicated = 0;  ///< R
  std::int64_t pooled = 0;      ///< M
  std::int64_t host = 0;        ///< rows in main memory; what is left lies in the file
  std::int64_t devices = 1;     ///< G, at least 1
  Placement placement = Placement::kInterleaved;
};

/// The row's number within the table of its tier; of pooled rows that of their device.
struct Place {
  Tier tier = Tier::kReplicated;
  std::int64_t device = -1;  ///< of pooled rows; -1: on any, or none
  std::int64_t row = 0;

  bool operator==(const Place&) const = default;
};

/// Pooled rows of a device, in blocked placement, but for the last.
constexpr std::int64_t block_rows(const TierMap& map) { return (map.pooled + map.devices - 1) / map.devices; }

/// Where a row lies; `id` in [0, rows).
constexpr Place place_of(const TierMap& map, std::int64_t id) {
  if (id < map.replicated) return {Tier::kReplicated, -1, id};
  const std::int64_t offset = id - map.replicated;
  if (offset < map.pooled) {
    if (map.placement == Placement::kInterleaved) return {Tier::kPooled, offset % map.devices, offset / map.devices};
    return {Tier::kPooled, offset / block_rows(map), offset % block_rows(map)};
  }
  const std::int64_t behind = offset - map.pooled;
  if (behind < map.host) return {Tier::kHost, -1, behind};
  return {Tier::kDisk, -1, behind - map.host};
}

/// The row that lies there: the inverse of place_of.
constexpr std::int64_t row_at(const TierMap& map, const Place& place) {
  switch (place.tier) {
    case Tier::kReplicated:
      return place.row;
    case Tier::kPooled:
      return map.replicated + (map.placement == Placement::kInterleaved ? place.row * map.devices + place.device
                                                                        : place.device * block_rows(map) + place.row);
    case Tier::kHost:
      return map.replicated + map.pooled + place.row;
    case Tier::kDisk:
      return map.replicated + map.pooled + map.host + place.row;
  }
  return -1;
}

/// How many pooled rows a device holds.
constexpr std::int64_t pooled_rows(const TierMap& map, std::int64_t device) {
  if (map.placement == Placement::kInterleaved) return (map.pooled - device + map.devices - 1) / map.devices;
  const std::int64_t left = map.pooled - device * block_rows(map);
  return left < 0 ? 0 : (left < block_rows(map) ? left : block_rows(map));
}

/// How many rows lie in a device's memory.
constexpr std::int64_t device_rows(const TierMap& map, std::int64_t device) {
  return map.replicated + pooled_rows(map, device);
}

/// Where a row of a table begins, in elements.
constexpr std::int64_t first_element(const Place& place, std::int64_t width) { return place.row * width; }

/// The map for `hot` rows a device can hold: pooled over devices that reach each other, replicated on devices that do
/// not, as on one alone. More hot rows than there are become all.
constexpr TierMap plain_map(std::int64_t rows, std::int64_t hot, std::int64_t devices, bool linked,
                            Placement placement = Placement::kInterleaved) {
  TierMap map;
  map.rows = rows;
  map.devices = devices;
  map.placement = placement;
  const bool pools = linked && devices > 1;
  const std::int64_t all = pools ? (hot > rows / devices ? rows : hot * devices) : (hot < rows ? hot : rows);
  (pools ? map.pooled : map.replicated) = all;
  map.host = rows - all;
  return map;
}

}  // namespace gneiss::tiers
