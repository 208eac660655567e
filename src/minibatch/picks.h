// Which of a node's in-edges a sample takes. Pure functions of a node's key (see draws.h), on one row of the graph.
//
// Every function writes its picks as entries of the graph's arrays, ascending, so that the order of a batch's nodes
// does not depend on the algorithm that found them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"

namespace gneiss::minibatch {

/// Entries [begin, begin + degree) of the graph's in-edges: those of one node.
struct Row {
  EdgeId begin = 0;
  EdgeId degree = 0;
};

/// The `count` smallest of the keys that are offered; of equal keys those offered first.
class Smallest {
 public:
  void start(std::int64_t count);
  void offer(std::uint64_t key, EdgeId entry) {
    if (static_cast<std::int64_t>(kept_.size()) < count_) {
      add(key, entry);
    } else if (count_ > 0 && key < kept_.front().key) {
      replace(key, entry);
    }
  }
  /// Writes what was kept, ascending by entry, and returns how many that are.
  std::int64_t write(EdgeId* out);

 private:
  struct Kept {
    std::uint64_t key;
    EdgeId entry;
    bool operator<(const Kept& other) const { return key != other.key ? key < other.key : entry < other.entry; }
  };
  void add(std::uint64_t key, EdgeId entry);
  void replace(std::uint64_t key, EdgeId entry);

  std::int64_t count_ = 0;
  std::vector<Kept> kept_;  ///< a heap, the largest first
};

/// What the functions below need; one for each thread. It grows to what the largest row asks for.
struct PickScratch {
  std::vector<std::uint64_t> words;
  std::vector<EdgeId> taken;
  Smallest smallest;
};

/// Takes every entry.
void pick_all(Row row, EdgeId* out);

/// Takes `count` <= degree distinct entries; every set of that size is as likely as any other.
///   for j in [degree - count, degree): t = below(draw, j + 1), both ends included; takes j if t was taken, else t
/// Cost      O(count) and a sort of as many; O(degree / 64) where that is less
/// Source    [bentley1987pearls], Floyd's method. A known slip draws from [0, j): the last entry is then too rare.
void pick_distinct(std::uint64_t node_key, Row row, std::int64_t count, EdgeId* out, PickScratch* scratch);

/// Takes `count` entries, each of them any with the same chance; degree > 0.
void pick_repeated(std::uint64_t node_key, Row row, std::int64_t count, EdgeId* out);

/// Where a weighted draw lands: column i of a row is kept where 32 random bits are below its threshold, and stands for
/// the entry `alias` of the row otherwise.
struct AliasColumn {
  std::uint32_t threshold = 0;
  std::uint32_t alias = 0;
};

/// Fills a row's columns, so that entry i is drawn with probability weights[i] / sum; a row whose weights are all 0
/// gives no meaningful columns. Weights are finite and not negative, and fewer than 2^32.
/// Source    [vose1991alias]; thresholds are integers, so that a draw is the same on every device
void fill_alias_columns(std::span<const float> weights, std::span<AliasColumn> columns);

/// Takes `count` entries, each with a chance that its weight sets; some weight is not 0. `columns` are those of the
/// row.
void pick_weighted_repeated(std::uint64_t node_key, Row row, std::span<const AliasColumn> columns, std::int64_t count,
                            EdgeId* out);

/// Takes `count` distinct entries one after the other, each with a chance that its weight sets among those not yet
/// taken; at least `count` weights are not 0.
///   weighted draws, those already taken rejected; a row on which that takes long goes on by the smallest -log(u) / w
///   of the entries that are left, which has the same distribution
/// Source    [efraimidis2006reservoir]. The second part rounds like the machine's log.
void pick_weighted_distinct(std::uint64_t node_key, Row row, std::span<const float> weights,
                            std::span<const AliasColumn> columns, std::int64_t count, EdgeId* out,
                            PickScratch* scratch);

}  // namespace gneiss::minibatch
