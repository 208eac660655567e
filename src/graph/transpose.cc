// Transpose by counting sort, bucket by bucket of columns, and the symmetry test that is a transpose without storing
// it.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "graph/graph.h"
#include "graph/symmetry.h"

namespace gneiss::graph {

namespace {

/// Entries of a pattern dealt into buckets of consecutive columns, in two sweeps over ranges of rows: one counts, one
/// deals. A bucket holds them in order of their rows; its place is the one that its columns have in the transposed
/// pattern.
class Buckets {
 public:
  Buckets(const SparsePattern& pattern, int threads) : pattern_(pattern), threads_(threads) {
    while (shift_ > kLeastShift && (pattern.cols >> shift_) < kBuckets) --shift_;
    count_ = num_chunks(pattern.cols, std::int64_t{1} << shift_);
    grain_ = std::max<std::int64_t>(1, num_chunks(pattern.rows, kRanges));
    ranges_ = num_chunks(pattern.rows, grain_);
    place_.assign(static_cast<std::size_t>(ranges_ * count_ + 1), 0);
    each_entry([](std::size_t& place, std::int64_t, EdgeId) { ++place; });
    std::size_t before = 0;
    for (std::int64_t b = 0; b < count_; ++b) {
      first_.push_back(before);
      for (std::int64_t range = 0; range < ranges_; ++range) {
        before += std::exchange(place_[static_cast<std::size_t>(range * count_ + b)], before);
      }
    }
    first_.push_back(before);
  }

  std::int64_t count() const { return count_; }
  std::int64_t first_column(std::int64_t b) const { return b << shift_; }
  std::int64_t end_column(std::int64_t b) const { return std::min(pattern_.cols, (b + 1) << shift_); }
  std::size_t begin(std::int64_t b) const { return first_[static_cast<std::size_t>(b)]; }
  std::size_t end(std::int64_t b) const { return first_[static_cast<std::size_t>(b) + 1]; }

  /// Calls put(place, row, k) for every entry k. To be called once.
  template <class Put>
  void deal(const Put& put) {
    each_entry([&](std::size_t& place, std::int64_t row, EdgeId k) { put(place++, row, k); });
  }

 private:
  /// Columns of a bucket are numbered in 16 bits.
  static constexpr int kMostShift = 16;
  static constexpr int kLeastShift = 8;
  static constexpr std::int64_t kBuckets = 256;
  static constexpr std::int64_t kRanges = 256;

  template <class Fn>
  void each_entry(const Fn& fn) {
    parallel_chunks(threads_, pattern_.rows, grain_, [&](std::int64_t begin, std::int64_t end) {
      std::size_t* place = place_.data() + begin / grain_ * count_;
      for (std::int64_t r = begin; r < end; ++r) {
        const EdgeId last = pattern_.offsets[static_cast<std::size_t>(r) + 1];
        for (EdgeId k = pattern_.offsets[static_cast<std::size_t>(r)]; k < last; ++k) {
          fn(place[pattern_.indices[static_cast<std::size_t>(k)] >> shift_], r, k);
        }
      }
    });
  }

  const SparsePattern& pattern_;
  int threads_;
  int shift_ = kMostShift;
  std::int64_t count_ = 0;
  std::int64_t grain_ = 1;
  std::int64_t ranges_ = 0;
  std::vector<std::size_t> place_;  ///< of the next entry, by range of rows and bucket
  std::vector<std::size_t> first_;
};

/// Fills the offsets and indices of `out`, and `carried` with carry(k) of each entry k in its place; neither if there
/// is nothing to carry.
template <class Carried, class Carry>
void sort_entries(const SparsePattern& pattern, int threads, Transpose* out, Buffer<Carried>* carried,
                  const Carry& carry) {
  const auto nnz = static_cast<std::size_t>(pattern.nonzeros());
  const bool carries = !carried->empty();
  out->cols = pattern.rows;
  out->offsets = Buffer<EdgeId>::zeros(static_cast<std::size_t>(pattern.cols) + 1);
  out->indices = Buffer<NodeId>(nnz);
  Buckets buckets(pattern, threads);
  Buffer<std::uint16_t> columns(nnz);
  buckets.deal([&](std::size_t place, std::int64_t row, EdgeId k) {
    out->indices[place] = static_cast<NodeId>(row);
    columns[place] = static_cast<std::uint16_t>(pattern.indices[static_cast<std::size_t>(k)]);
    if (carries) (*carried)[place] = carry(k);
  });
  // A bucket is sorted by columns from a copy; the places that it jumps between stay in a cache.
  parallel_chunks(threads, buckets.count(), 1, [&](std::int64_t b, std::int64_t) {
    const std::size_t begin = buckets.begin(b);
    const std::size_t end = buckets.end(b);
    const std::vector<NodeId> rows(out->indices.begin() + begin, out->indices.begin() + end);
    const std::vector<Carried> copy(carried->begin() + (carries ? begin : 0), carried->begin() + (carries ? end : 0));
    const std::int64_t first = buckets.first_column(b);
    std::vector<std::size_t> cursor(static_cast<std::size_t>(buckets.end_column(b) - first), 0);
    for (std::size_t i = begin; i < end; ++i) ++cursor[static_cast<std::uint16_t>(columns[i] - first)];
    std::size_t before = begin;
    for (std::size_t c = 0; c < cursor.size(); ++c) {
      before += std::exchange(cursor[c], before);
      out->offsets[static_cast<std::size_t>(first) + c + 1] = static_cast<EdgeId>(before);
    }
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t at = cursor[static_cast<std::uint16_t>(columns[i] - first)]++;
      out->indices[at] = rows[i - begin];
      if (carries) (*carried)[at] = copy[i - begin];
    }
  });
}

}  // namespace

std::int64_t transpose_scratch_bytes(std::int64_t nnz, std::size_t entry_bytes) {
  return nnz * static_cast<std::int64_t>(sizeof(std::uint16_t) + sizeof(NodeId) + entry_bytes);
}

Transpose transpose(const SparsePattern& pattern, bool with_slots, int threads) {
  Transpose out;
  out.slots = Buffer<EdgeId>(with_slots ? static_cast<std::size_t>(pattern.nonzeros()) : 0);
  sort_entries(pattern, threads, &out, &out.slots, [&](EdgeId k) { return pattern.slot(k); });
  return out;
}

Transpose transpose(const SparsePattern& pattern, std::span<const float> values, int threads) {
  Transpose out;
  out.values = Buffer<float>(values.size());
  sort_entries(pattern, threads, &out, &out.values,
               [&](EdgeId k) { return values[static_cast<std::size_t>(pattern.slot(k))]; });
  return out;
}

bool is_symmetric(const SparsePattern& pattern, std::span<const float> values, int threads) {
  if (pattern.rows != pattern.cols) return false;
  if (pattern.rows == 0) return true;
  // Walking the rows in order visits the entries of each transposed row in order: entry (r, c) must be the next
  // unvisited entry of row c, and that entry must name r. Columns are walked in tiles, so that the places that the
  // walk jumps between stay in a cache; a tile pays only where a row has some entries in it.
  constexpr std::int64_t kTileColumns = 8192;
  constexpr std::int64_t kEntriesInTile = 8;
  const std::int64_t degree = pattern.nonzeros() / pattern.rows;
  const std::int64_t tiles =
      std::clamp<std::int64_t>(degree / kEntriesInTile, 1, num_chunks(pattern.cols, kTileColumns));
  const std::int64_t columns = num_chunks(pattern.cols, tiles);
  std::atomic<bool> symmetric = true;
  parallel_chunks(threads, pattern.cols, columns, [&](std::int64_t first, std::int64_t last) {
    std::vector<EdgeId> cursor(pattern.offsets.begin() + first, pattern.offsets.begin() + last);
    for (std::int64_t r = 0; r < pattern.rows && symmetric.load(std::memory_order_relaxed); ++r) {
      const auto row_begin = pattern.indices.begin() + pattern.offsets[static_cast<std::size_t>(r)];
      const auto row_end = pattern.indices.begin() + pattern.offsets[static_cast<std::size_t>(r) + 1];
      for (auto entry = std::lower_bound(row_begin, row_end, first); entry != row_end && *entry < last; ++entry) {
        const auto c = static_cast<std::size_t>(*entry);
        const auto k = static_cast<std::size_t>(entry - pattern.indices.begin());
        const auto other = static_cast<std::size_t>(cursor[c - static_cast<std::size_t>(first)]++);
        const bool there = static_cast<EdgeId>(other) < pattern.offsets[c + 1] && pattern.indices[other] == r;
        if (there && (values.empty() || values[k] == values[other])) continue;
        symmetric.store(false, std::memory_order_relaxed);
        return;
      }
    }
  });
  return symmetric.load();
}

}  // namespace gneiss::graph
