// A matrix whose rows lie in the tiers of a map, read as if it were one; and exact counts of what was read from where.
//
// Devices' memories are arrays of their own here: hot rows are copied to them once, cold ones stay where they are. A
// reader of a row asks the map for its place and reads there; nothing else knows where rows lie. Values are the same
// for every map.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/ids.h"
#include "tiers/tier_map.h"

namespace gneiss::tiers {

/// What was read from one tier. A transaction is a piece of memory, aligned to its size, of which a row's bytes touch
/// at least one: what a device's memory and the link move at least.
struct TierCount {
  std::int64_t rows = 0;
  std::int64_t bytes = 0;
  std::int64_t pieces_32 = 0;   ///< transactions of 32 bytes
  std::int64_t pieces_128 = 0;  ///< and of 128

  void add(const TierCount& other) {
    rows += other.rows;
    bytes += other.bytes;
    pieces_32 += other.pieces_32;
    pieces_128 += other.pieces_128;
  }
  bool operator==(const TierCount&) const = default;
};

/// What one reader, or all, have read.
struct TierTraffic {
  std::array<TierCount, kTiers> tier{};    ///< by Tier
  std::vector<std::int64_t> pooled_bytes;  ///< [devices] by the device whose memory it was

  void add(const TierTraffic& other);
  const TierCount& of(Tier t) const { return tier[static_cast<std::size_t>(t)]; }
  std::int64_t rows() const;
  /// The share of rows that some device's memory served; 0 where nothing was read.
  double hit_rate() const;

  bool operator==(const TierTraffic&) const = default;
};

/// Pieces of `size` bytes that a row touches in a table that begins at a piece's start.
constexpr std::int64_t pieces_of(std::int64_t row, std::int64_t row_bytes, std::int64_t size) {
  if (row_bytes == 0) return 0;
  const std::int64_t first = row * row_bytes;
  return (first + row_bytes - 1) / size - first / size + 1;
}

/// The same of a row of such a table, in the mean.
constexpr double mean_pieces(std::int64_t row_bytes, std::int64_t size) {
  std::int64_t sum = 0;  // rows begin at the same places again after `size` of them
  for (std::int64_t row = 0; row < size; ++row) sum += pieces_of(row, row_bytes, size);
  return static_cast<double>(sum) / static_cast<double>(size);
}

/// Reads rows of a file: rows[i], as they are stored, to out + places[i] * row_bytes. For several threads at once.
using RowReader =
    std::function<void(std::span<const NodeId> rows, std::span<const std::uint32_t> places, std::byte* out)>;

class TieredRows {
 public:
  /// Row i is bytes [i * row_bytes, (i + 1) * row_bytes) of `rows`, which must outlive this. Errors: kShape if the map
  /// is of another number of rows, or leaves some to a file.
  TieredRows(std::span<const std::byte> rows, std::int64_t row_bytes, const TierMap& map);
  /// Devices' rows are read from the file once, all others when they are gathered. Errors: kShape if the map has rows
  /// in main memory; those of `file`.
  TieredRows(RowReader file, std::int64_t row_bytes, const TierMap& map);

  const TierMap& map() const { return map_; }
  std::int64_t row_bytes() const { return row_bytes_; }
  bool is_hot(NodeId id) const { return id < map_.replicated + map_.pooled; }
  /// Of a device's memory.
  std::int64_t device_bytes(std::int64_t device) const { return device_rows(map_, device) * row_bytes_; }

  /// Rows of `ids` side by side to `out`, as a device reads them all. Counted in `traffic`.
  void gather(std::span<const NodeId> ids, std::byte* out, TierTraffic* traffic) const;
  /// The cold ones alone, in their order: what the CPU gathers for a device that holds the others. How many they are.
  std::int64_t gather_cold(std::span<const NodeId> ids, std::byte* out, TierTraffic* traffic) const;
  /// The hot ones, and between them those that gather_cold gathered of the same ids.
  void merge(std::span<const NodeId> ids, const std::byte* cold, std::byte* out, TierTraffic* traffic) const;
  std::int64_t count_cold(std::span<const NodeId> ids) const;
  /// What a gather of these rows counts, without reading them.
  void count(std::span<const NodeId> ids, TierTraffic* traffic) const;

 private:
  void make_tables();
  std::byte* device_row(const Place& place);
  const std::byte* address(const Place& place) const;
  void fetch(NodeId id) const;

  std::span<const std::byte> rows_;
  RowReader file_;  ///< of rows that are in no memory; none: all are in some
  std::int64_t row_bytes_;
  TierMap map_;
  Buffer<std::byte> replicated_;
  std::vector<Buffer<std::byte>> pooled_;  ///< [devices]
};

}  // namespace gneiss::tiers
