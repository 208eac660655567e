// The one address function decides; a gather asks for rows a few ahead of those that it copies.
#include "tiers/tiered_rows.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/prefetch.h"

namespace gneiss::tiers {
namespace {

constexpr std::size_t kAhead = 8;  // rows on their way while one is copied
constexpr std::int64_t kLine = 64;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

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
  for (std::size_t t = 0; t < tier.size(); ++t) {
    tier[t].rows += other.tier[t].rows;
    tier[t].bytes += other.tier[t].bytes;
    tier[t].pieces_32 += other.tier[t].pieces_32;
    tier[t].pieces_128 += other.tier[t].pieces_128;
  }
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
  GNEISS_CHECK(map.replicated + map.pooled + map.host == map.rows, ErrorCode::kUnsupported,
               "rows of a tier on disk are not read yet: {} of {} have no place in memory",
               map.rows - map.replicated - map.pooled - map.host, map.rows);
  replicated_ = Buffer<std::byte>(at(map.replicated * row_bytes));
  for (std::int64_t d = 0; d < map.devices; ++d) pooled_.emplace_back(at(pooled_rows(map, d) * row_bytes));
  for (std::int64_t id = 0; id < map.replicated + map.pooled; ++id) {
    const Place place = place_of(map, id);
    Buffer<std::byte>& table = place.tier == Tier::kReplicated ? replicated_ : pooled_[at(place.device)];
    std::memcpy(table.data() + first_element(place, row_bytes), rows.data() + id * row_bytes, at(row_bytes));
  }
}

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

void TieredRows::gather(std::span<const NodeId> ids, std::byte* out, TierTraffic* traffic) const {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i + kAhead < ids.size()) {
      const std::byte* ahead = address(place_of(map_, ids[i + kAhead]));
      for (std::int64_t byte = 0; byte < row_bytes_; byte += kLine) prefetch(ahead + byte);
    }
    const Place place = place_of(map_, ids[i]);
    std::memcpy(out, address(place), at(row_bytes_));
    count_row(place, row_bytes_, traffic);
    out += row_bytes_;
  }
}

std::int64_t TieredRows::gather_cold(std::span<const NodeId> ids, std::byte* out, TierTraffic* traffic) const {
  std::int64_t gathered = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i + kAhead < ids.size() && !is_hot(ids[i + kAhead])) {
      const std::byte* ahead = address(place_of(map_, ids[i + kAhead]));
      for (std::int64_t byte = 0; byte < row_bytes_; byte += kLine) prefetch(ahead + byte);
    }
    if (is_hot(ids[i])) continue;
    const Place place = place_of(map_, ids[i]);
    std::memcpy(out + gathered * row_bytes_, address(place), at(row_bytes_));
    count_row(place, row_bytes_, traffic);
    ++gathered;
  }
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
