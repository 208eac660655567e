// A stable counting sort of entries by key, on all threads: how edges get into the order of their destinations, and how
// a pattern is transposed.
//
// Entries are first dealt into buckets of consecutive keys, then each bucket is sorted from a copy; the places that
// either step jumps between stay in a cache. Items (rows of a pattern, edges of a list) are cut into ranges that do not
// depend on the threads; each range counts and then deals its own entries.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/ids.h"
#include "base/parallel.h"

namespace gneiss::graph {

/// Entries dealt into buckets of consecutive keys, in two sweeps over ranges of items: one counts, one deals. A bucket
/// holds them in order of their items; its place is the one that its keys have in the sorted whole.
/// walk(begin, end, fn) calls fn(key, value, k) for every entry of these items, in order; k numbers it.
template <class Walk>
class Buckets {
 public:
  Buckets(std::int64_t keys, std::int64_t items, int threads, const Walk& walk)
      : keys_(keys), items_(items), threads_(threads), walk_(walk) {
    while (shift_ > kLeastShift && (keys >> shift_) < kBuckets) --shift_;
    count_ = num_chunks(keys, std::int64_t{1} << shift_);
    grain_ = std::max<std::int64_t>(1, num_chunks(items, kRanges));
    ranges_ = num_chunks(items, grain_);
    place_.assign(static_cast<std::size_t>(ranges_ * count_ + 1), 0);
    each_entry([](std::size_t& place, std::int64_t, NodeId, EdgeId) { ++place; });
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
  std::int64_t first_key(std::int64_t b) const { return b << shift_; }
  std::int64_t end_key(std::int64_t b) const { return std::min(keys_, (b + 1) << shift_); }
  std::size_t begin(std::int64_t b) const { return first_[static_cast<std::size_t>(b)]; }
  std::size_t end(std::int64_t b) const { return first_[static_cast<std::size_t>(b) + 1]; }

  /// Calls put(place, key, value, k) for every entry. To be called once.
  template <class Put>
  void deal(const Put& put) {
    each_entry([&](std::size_t& place, std::int64_t key, NodeId value, EdgeId k) { put(place++, key, value, k); });
  }

 private:
  /// Keys of a bucket are numbered in 16 bits.
  static constexpr int kMostShift = 16;
  static constexpr int kLeastShift = 8;
  static constexpr std::int64_t kBuckets = 256;
  static constexpr std::int64_t kRanges = 256;

  template <class Fn>
  void each_entry(const Fn& fn) {
    parallel_chunks(threads_, items_, grain_, [&](std::int64_t begin, std::int64_t end) {
      std::size_t* place = place_.data() + begin / grain_ * count_;
      walk_(begin, end, [&](std::int64_t key, NodeId value, EdgeId k) { fn(place[key >> shift_], key, value, k); });
    });
  }

  std::int64_t keys_;
  std::int64_t items_;
  int threads_;
  const Walk& walk_;
  int shift_ = kMostShift;
  std::int64_t count_ = 0;
  std::int64_t grain_ = 1;
  std::int64_t ranges_ = 0;
  std::vector<std::size_t> place_;  ///< of the next entry, by range of items and bucket
  std::vector<std::size_t> first_;
};

/// Sorts entries stably by key: offsets [keys + 1] say where each key's begin, values [entries] are theirs, and
/// `carried` has carry(k) of each entry k in its place, or is empty if there is nothing to carry.
///
/// Threads   the result does not depend on them
/// Cost      O(keys + entries); while it runs 2 bytes an entry, and a copy of the entries that the threads sort
template <class Walk, class Carried, class Carry>
void sort_by_key(std::int64_t keys, std::int64_t items, int threads, const Walk& walk, Buffer<EdgeId>* offsets,
                 Buffer<NodeId>* values, Buffer<Carried>* carried, const Carry& carry) {
  const bool carries = !carried->empty();
  Buckets<Walk> buckets(keys, items, threads, walk);
  Buffer<std::uint16_t> key_of(values->size());
  buckets.deal([&](std::size_t place, std::int64_t key, NodeId value, EdgeId k) {
    (*values)[place] = value;
    key_of[place] = static_cast<std::uint16_t>(key);
    if (carries) (*carried)[place] = carry(k);
  });
  parallel_chunks(threads, buckets.count(), 1, [&](std::int64_t b, std::int64_t) {
    const std::size_t begin = buckets.begin(b);
    const std::size_t end = buckets.end(b);
    const std::vector<NodeId> dealt(values->begin() + begin, values->begin() + end);
    const std::vector<Carried> copy(carried->begin() + (carries ? begin : 0), carried->begin() + (carries ? end : 0));
    const std::int64_t first = buckets.first_key(b);
    std::vector<std::size_t> cursor(static_cast<std::size_t>(buckets.end_key(b) - first), 0);
    for (std::size_t i = begin; i < end; ++i) ++cursor[static_cast<std::uint16_t>(key_of[i] - first)];
    std::size_t before = begin;
    for (std::size_t c = 0; c < cursor.size(); ++c) {
      before += std::exchange(cursor[c], before);
      (*offsets)[static_cast<std::size_t>(first) + c + 1] = static_cast<EdgeId>(before);
    }
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t at = cursor[static_cast<std::uint16_t>(key_of[i] - first)]++;
      (*values)[at] = dealt[i - begin];
      if (carries) (*carried)[at] = copy[i - begin];
    }
  });
}

}  // namespace gneiss::graph
