// Floyd's method needs to know which entries it took. Three ways, chosen by size, give the same set from the same
// draws: a bitmap where the row is short or much of it is taken, an array that is compared whole for up to 32 picks,
// and a hash set for the rest. All of them end with the picks in ascending order.
#include "minibatch/picks.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "minibatch/draws.h"

namespace gneiss::minibatch {
namespace {

constexpr std::int64_t kShortRow = 512;  ///< entries; a bitmap of eight words
constexpr std::int64_t kFewPicks = 32;
constexpr std::int64_t kWordsPerPick = 16;  ///< a bitmap pays below that
/// Draws of the two parts of pick_weighted_distinct are numbered apart.
constexpr std::uint64_t kExponentialDraws = std::uint64_t{1} << 32;

/// Calls take(t) for each of Floyd's choices; taken(t) says if t was.
template <class Taken, class Take>
void floyd(std::uint64_t key, Row row, std::int64_t count, const Taken& taken, const Take& take) {
  const auto first = static_cast<std::uint64_t>(row.degree - count);
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(count); ++i) {
    const std::uint64_t j = first + i;
    const std::uint64_t t = below(draw(key, i), j + 1);
    take(taken(t) ? j : t);
  }
}

/// `words` are zero and hold the row's bits; they are zero afterwards.
void pick_by_bitmap(std::uint64_t key, Row row, std::int64_t count, std::uint64_t* words, EdgeId* out) {
  floyd(
      key, row, count, [&](std::uint64_t t) { return (words[t / 64] >> (t % 64) & 1U) != 0; },
      [&](std::uint64_t t) { words[t / 64] |= std::uint64_t{1} << (t % 64); });
  const std::int64_t num_words = (row.degree + 63) / 64;
  for (std::int64_t w = 0; w < num_words; ++w) {
    for (std::uint64_t left = words[w]; left != 0; left &= left - 1)
      *out++ = row.begin + w * 64 + std::countr_zero(left);
    words[w] = 0;
  }
}

/// At most 32 picks of a row shorter than 2^31. Compares and ranks whole vectors, without a branch on what was drawn.
void pick_few(std::uint64_t key, Row row, std::int64_t count, EdgeId* out) {
  constexpr std::int32_t kNone = std::numeric_limits<std::int32_t>::max();
  alignas(64) std::int32_t taken[kFewPicks];
  std::fill(taken, taken + kFewPicks, kNone);
  const std::int64_t padded = (count + 7) / 8 * 8;
  std::int64_t size = 0;
  const auto holds = [&](std::uint64_t t) {
    std::int32_t equal = 0;
    for (std::int64_t k = 0; k < padded; ++k)
      equal |= static_cast<std::int32_t>(taken[k] == static_cast<std::int32_t>(t));
    return equal != 0;
  };
  floyd(key, row, count, holds, [&](std::uint64_t t) { taken[size++] = static_cast<std::int32_t>(t); });
  for (std::int64_t i = 0; i < count; ++i) {
    std::int32_t rank = 0;
    for (std::int64_t k = 0; k < padded; ++k) rank += static_cast<std::int32_t>(taken[k] < taken[i]);
    out[rank] = row.begin + taken[i];
  }
}

/// A set of numbers by open addressing over zeroed words; t is stored as t + 1.
class NumberSet {
 public:
  NumberSet(std::vector<std::uint64_t>* words, std::int64_t count)
      : bits_(std::bit_width(static_cast<std::uint64_t>(2 * count))), words_(words) {
    words_->assign(std::size_t{1} << bits_, 0);
  }
  bool holds(std::uint64_t t) const { return (*words_)[find(t)] != 0; }
  void insert(std::uint64_t t) { (*words_)[find(t)] = t + 1; }

 private:
  std::size_t find(std::uint64_t t) const {
    std::size_t at = (t * kGoldenRatio) >> (64 - bits_);
    while ((*words_)[at] != 0 && (*words_)[at] != t + 1) at = (at + 1) & (words_->size() - 1);
    return at;
  }

  int bits_;
  std::vector<std::uint64_t>* words_;
};

void pick_by_hash(std::uint64_t key, Row row, std::int64_t count, EdgeId* out, PickScratch* scratch) {
  NumberSet set(&scratch->words, count);
  std::int64_t size = 0;
  floyd(
      key, row, count, [&](std::uint64_t t) { return set.holds(t); },
      [&](std::uint64_t t) {
        set.insert(t);
        out[size++] = row.begin + static_cast<EdgeId>(t);
      });
  std::sort(out, out + count);
  scratch->words.clear();  // a bitmap that comes next wants zeros
}

/// The entry of a row that 64 random bits mean.
EdgeId weighted_entry(std::uint64_t bits, std::span<const AliasColumn> columns) {
  const unsigned __int128 product = static_cast<unsigned __int128>(bits) * columns.size();
  const auto column = static_cast<std::size_t>(product >> 64);
  const auto fraction = static_cast<std::uint32_t>(static_cast<std::uint64_t>(product) >> 32);
  return fraction < columns[column].threshold ? static_cast<EdgeId>(column)
                                              : static_cast<EdgeId>(columns[column].alias);
}

/// Is `entry` in the ascending list? Inserts it otherwise.
bool insert_sorted(std::vector<EdgeId>* list, EdgeId entry) {
  const auto at = std::lower_bound(list->begin(), list->end(), entry);
  if (at != list->end() && *at == entry) return false;
  list->insert(at, entry);
  return true;
}

}  // namespace

void Smallest::start(std::int64_t count) {
  count_ = count;
  kept_.clear();
}

void Smallest::add(std::uint64_t key, EdgeId entry) {
  kept_.push_back({key, entry});
  std::push_heap(kept_.begin(), kept_.end());
}

void Smallest::replace(std::uint64_t key, EdgeId entry) {
  std::pop_heap(kept_.begin(), kept_.end());
  kept_.back() = {key, entry};
  std::push_heap(kept_.begin(), kept_.end());
}

std::int64_t Smallest::write(EdgeId* out) {
  std::sort(kept_.begin(), kept_.end(), [](const Kept& a, const Kept& b) { return a.entry < b.entry; });
  for (const Kept& kept : kept_) *out++ = kept.entry;
  return static_cast<std::int64_t>(kept_.size());
}

void pick_all(Row row, EdgeId* out) {
  for (EdgeId t = 0; t < row.degree; ++t) out[t] = row.begin + t;
}

void pick_distinct(std::uint64_t node_key, Row row, std::int64_t count, EdgeId* out, PickScratch* scratch) {
  if (count == row.degree) return pick_all(row, out);
  if (row.degree <= kShortRow) {
    std::uint64_t words[kShortRow / 64] = {};
    return pick_by_bitmap(node_key, row, count, words, out);
  }
  if (count <= kFewPicks && row.degree < std::numeric_limits<std::int32_t>::max())
    return pick_few(node_key, row, count, out);
  const std::int64_t num_words = (row.degree + 63) / 64;
  if (num_words > kWordsPerPick * count) return pick_by_hash(node_key, row, count, out, scratch);
  if (static_cast<std::int64_t>(scratch->words.size()) < num_words)
    scratch->words.resize(static_cast<std::size_t>(num_words));
  pick_by_bitmap(node_key, row, count, scratch->words.data(), out);
}

void pick_repeated(std::uint64_t node_key, Row row, std::int64_t count, EdgeId* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t t =
        below(draw(node_key, static_cast<std::uint64_t>(i)), static_cast<std::uint64_t>(row.degree));
    out[i] = row.begin + static_cast<EdgeId>(t);
  }
  std::sort(out, out + count);
}

void fill_alias_columns(std::span<const float> weights, std::span<AliasColumn> columns) {
  const std::size_t size = weights.size();
  double sum = 0;
  for (const float w : weights) sum += static_cast<double>(w);
  std::vector<double> share(size);
  std::vector<std::uint32_t> under;
  std::vector<std::uint32_t> over;
  for (std::size_t i = 0; i < size; ++i) {
    share[i] = sum > 0 ? static_cast<double>(weights[i]) * static_cast<double>(size) / sum : 1.0;
    (share[i] < 1 ? under : over).push_back(static_cast<std::uint32_t>(i));
    columns[i] = {std::numeric_limits<std::uint32_t>::max(), static_cast<std::uint32_t>(i)};
  }
  const auto heaviest = static_cast<std::uint32_t>(std::max_element(weights.begin(), weights.end()) - weights.begin());
  while (!under.empty()) {
    const std::uint32_t column = under.back();
    under.pop_back();
    if (over.empty()) {  // rounding alone leaves a column under 1 now; one of weight 0 must still never be drawn
      if (weights[column] == 0) columns[column] = {0, heaviest};
      continue;
    }
    const std::uint32_t giver = over.back();
    columns[column] = {static_cast<std::uint32_t>(share[column] * 0x1.0p32), giver};
    share[giver] -= 1 - share[column];
    if (share[giver] < 1) {
      over.pop_back();
      under.push_back(giver);
    }
  }
}

void pick_weighted_repeated(std::uint64_t node_key, Row row, std::span<const AliasColumn> columns, std::int64_t count,
                            EdgeId* out) {
  for (std::int64_t i = 0; i < count; ++i)
    out[i] = row.begin + weighted_entry(draw(node_key, static_cast<std::uint64_t>(i)), columns);
  std::sort(out, out + count);
}

void pick_weighted_distinct(std::uint64_t node_key, Row row, std::span<const float> weights,
                            std::span<const AliasColumn> columns, std::int64_t count, EdgeId* out,
                            PickScratch* scratch) {
  std::vector<EdgeId>& taken = scratch->taken;  // within the row, ascending
  taken.clear();
  const std::int64_t draws = row.degree > kShortRow / 8 ? 3 * count + 8 : 0;
  for (std::int64_t i = 0; i < draws && static_cast<std::int64_t>(taken.size()) < count; ++i)
    insert_sorted(&taken, weighted_entry(draw(node_key, static_cast<std::uint64_t>(i)), columns));
  const std::int64_t left = count - static_cast<std::int64_t>(taken.size());
  if (left > 0) {
    scratch->smallest.start(left);
    auto next = taken.begin();
    for (EdgeId t = 0; t < row.degree; ++t) {
      const bool is_taken = next != taken.end() && *next == t;
      if (is_taken) ++next;
      const float weight = weights[static_cast<std::size_t>(t)];
      if (is_taken || weight == 0) continue;
      const double time = -std::log(unit(draw(node_key, kExponentialDraws + static_cast<std::uint64_t>(t)))) / weight;
      scratch->smallest.offer(std::bit_cast<std::uint64_t>(time), t);  // of numbers >= 0, bits are ordered as values
    }
    const auto size = static_cast<std::ptrdiff_t>(taken.size());
    taken.resize(static_cast<std::size_t>(count));
    scratch->smallest.write(taken.data() + size);
    std::inplace_merge(taken.begin(), taken.begin() + size, taken.end());
  }
  for (std::size_t i = 0; i < taken.size(); ++i) out[i] = row.begin + taken[i];
}

}  // namespace gneiss::minibatch
