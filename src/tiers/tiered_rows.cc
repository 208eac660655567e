// The one address function decides; a gather asks for rows a few ahead of those that it copies.
#include "tiers/tiered_rows.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/prefetch.h"

namespace gneiss::tiers {
namespace {

constexpr std::size_t kAhead = 8;  // rows on their way while one is copied
constexpr std::int64_t kLine = 64;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Rows that are asked of the file at once, and where they belong.
struct FileRows {
  std::vector<NodeId> rows;
  std::vector<std::uint32_t> places;

  void clear() {
    rows.clear();
    places.clear();
  }
  void add(NodeId row, std::size_t place) {
    rows.push_back(row);
    places.push_back(static_cast<std::uint32_t>(place));
  }
};

void count_row(const Place& place, std::int64_t row_bytes, TierTraffic* traffic) {
  TierCount& counted = traffic->tier[static_cast<std::size_t>(place.tier)];
  ++counted.rows;
  counted.bytes += row_bytes;
  counted.pieces_32 += pieces_of(place.row, row_bytes, 32);
  counted.pieces_128 += pieces_of(place.row, row_bytes, 128);
  if (place.tier != Tier::kPooled) return;
  if (traffic->pooled_bytes.size() <= at(place.device)) traffic->pooled_bytes.resize(at(place.device) + 1);
  traffic->pooled_bytes[at(place.device)] += row_bytes;
}

}  // namespace

void TierTraffic::add(const TierTraffic& other) {
  for (std::size_t t = 0; t < tier.size(); ++t) tier[t].add(other.tier[t]);
  pooled_bytes.resize(std::max(pooled_bytes.size(), other.pooled_bytes.size()));
  for (std::size_t d = 0; d < other.pooled_bytes.size(); ++d) pooled_bytes[d] += other.pooled_bytes[d];
}

std::int64_t TierTraffic::rows() const {
  std::int64_t sum = 0;
  for (const TierCount& counted : tier) sum += counted.rows;
  return sum;
}

double TierTraffic::hit_rate() const {
  const std::int64_t all = rows();
  const std::int64_t hits = of(Tier::kReplicated).rows + of(Tier::kPooled).rows;
  return all == 0 ? 0 : static_cast<double>(hits) / static_cast<double>(all);
}

TieredRows::TieredRows(std::span<const std::byte> rows, std::int64_t row_bytes, const TierMap& map)
    : rows_(rows), row_bytes_(row_bytes), map_(map) {
  GNEISS_CHECK(std::ssize(rows) == map.rows * row_bytes, ErrorCode::kShape,
               "tiers of {} rows of {} bytes for a matrix of {} bytes", map.rows, row_bytes, rows.size());
  GNEISS_CHECK(map.replicated + map.pooled + map.host == map.rows, ErrorCode::kShape,
               "{} of {} rows have no place in memory, and no file was given to read them from",
               map.rows - map.replicated - map.pooled - map.host, map.rows);
  make_tables();
  for (std::int64_t id = 0; id < map.replicated + map.pooled; ++id)
    std::memcpy(device_row(place_of(map, id)), rows.data() + id * row_bytes, at(row_bytes));
}

TieredRows::TieredRows(RowReader file, std::int64_t row_bytes, const TierMap& map)
    : file_(std::move(file)), row_bytes_(row_bytes), map_(map) {
  GNEISS_CHECK(map.host == 0, ErrorCode::kShape, "{} rows in main memory beside a file of all", map.host);
  constexpr std::int64_t kBlockBytes = std::int64_t{1} << 20;
  make_tables();
  const std::int64_t hot = map.replicated + map.pooled;
  const std::int64_t block = std::max<std::int64_t>(1, kBlockBytes / std::max<std::int64_t>(1, row_bytes));
  std::vector<NodeId> ids;
  std::vector<std::byte> bytes;
  for (std::int64_t first = 0; first < hot; first += block) {
    ids.resize(at(std::min(block, hot - first)));
    std::iota(ids.begin(), ids.end(), static_cast<NodeId>(first));
    bytes.resize(ids.size() * at(row_bytes));
    file_(ids, {}, bytes.data());
    for (std::size_t i = 0; i < ids.size(); ++i)
      std::memcpy(device_row(place_of(map, ids[i])), bytes.data() + i * at(row_bytes), at(row_bytes));
  }
}

void TieredRows::make_tables() {
  replicated_ = Buffer<std::byte>(at(map_.replicated * row_bytes_));
  for (std::int64_t d = 0; d < map_.devices; ++d) pooled_.emplace_back(at(pooled_rows(map_, d) * row_bytes_));
}

std::byte* TieredRows::device_row(const Place& place) {
  Buffer<std::byte>& table = place.tier == Tier::kReplicated ? replicated_ : pooled_[at(place.device)];
  return table.data() + first_element(place, row_bytes_);
}

/// Of rows in some memory.
const std::byte* TieredRows::address(const Place& place) const {
  switch (place.tier) {
    case Tier::kReplicated:
      return replicated_.data() + first_element(place, row_bytes_);
    case Tier::kPooled:
      return pooled_[at(place.device)].data() + first_element(place, row_bytes_);
    default:
      return rows_.data() + row_at(map_, place) * row_bytes_;
  }
}

/// Asks for the row's lines, if it lies in memory.
void TieredRows::fetch(NodeId id) const {
  const Place place = place_of(map_, id);
  if (place.tier == Tier::kDisk) return;
  const std::byte* const row = address(place);
  for (std::int64_t byte = 0; byte < row_bytes_; byte += kLine) prefetch(row + byte);
}

void TieredRows::gather(std::span<const NodeId> ids, std::byte* out, TierTraffic* traffic) const {
  thread_local FileRows in_file;
  in_file.clear();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i + kAhead < ids.size()) fetch(ids[i + kAhead]);
    const Place place = place_of(map_, ids[i]);
    count_row(place, row_bytes_, traffic);
    if (place.tier == Tier::kDisk) {
      in_file.add(ids[i], i);
    } else {
      std::memcpy(out + static_cast<std::int64_t>(i) * row_bytes_, address(place), at(row_bytes_));
    }
  }
  if (!in_file.rows.empty()) file_(in_file.rows, in_file.places, out);
}

std::int64_t TieredRows::gather_cold(std::span<const NodeId> ids, std::byte* out, TierTraffic* traffic) const {
  thread_local FileRows in_file;
  in_file.clear();
  std::int64_t gathered = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i + kAhead < ids.size() && !is_hot(ids[i + kAhead])) fetch(ids[i + kAhead]);
    if (is_hot(ids[i])) continue;
    const Place place = place_of(map_, ids[i]);
    count_row(place, row_bytes_, traffic);
    if (place.tier == Tier::kDisk) {
      in_file.add(ids[i], at(gathered));
    } else {
      std::memcpy(out + gathered * row_bytes_, address(place), at(row_bytes_));
    }
    ++gathered;
  }
  if (!in_file.rows.empty()) file_(in_file.rows, in_file.places, out);
  return gathered;
}

void TieredRows::merge(std::span<const NodeId> ids, const std::byte* cold, std::byte* out, TierTraffic* traffic) const {
  for (const NodeId id : ids) {
    if (is_hot(id)) {
      const Place place = place_of(map_, id);
      std::memcpy(out, address(place), at(row_bytes_));
      count_row(place, row_bytes_, traffic);
    } else {
      std::memcpy(out, cold, at(row_bytes_));
      cold += row_bytes_;
    }
    out += row_bytes_;
  }
}

void TieredRows::count(std::span<const NodeId> ids, TierTraffic* traffic) const {
  for (const NodeId id : ids) count_row(place_of(map_, id), row_bytes_, traffic);
}

std::int64_t TieredRows::count_cold(std::span<const NodeId> ids) const {
  return std::count_if(ids.begin(), ids.end(), [&](NodeId id) { return !is_hot(id); });
}

}  // namespace gneiss::tiers
