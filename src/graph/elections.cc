// Every vote of a node is compared with all of them, a vector at a time: no branch depends on what the votes are. A
// table of votes takes half as long again, most of it for branches that were guessed wrong.
#include "graph/elections.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "graph/elections.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/prefetch.h"

HWY_BEFORE_NAMESPACE();
namespace gneiss::graph {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<std::int32_t>;
using Ranks = hn::RebindToUnsigned<Tag>;
constexpr std::int64_t kLanes = hn::MaxLanes(Tag());

constexpr std::int64_t kPrefetchLabels = 64;  // labels ahead that are fetched
constexpr std::int64_t kPrefetchRows = 8;     // nodes ahead of those whose lists of neighbours are fetched
constexpr std::int64_t kSettlingVotes = 8;    // fewer settle no node

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Every how many-th of `edges` votes. Some processors take several times as long to divide 64 bits as 32.
HWY_INLINE EdgeId every(EdgeId edges, EdgeId votes) {
  if (edges <= std::numeric_limits<std::int32_t>::max() - kMostVoters) {
    return std::max(1U, static_cast<std::uint32_t>(edges + votes - 1) / static_cast<std::uint32_t>(votes));
  }
  return (edges + votes - 1) / votes;
}

/// Calls visit(place of the edge) for each voter of a node.
template <class Visit>
HWY_INLINE void for_voters(const Election& election, NodeId v, const Visit& visit) {
  const EdgeId begin = election.voters.offsets[at(v)];
  const EdgeId end = election.voters.offsets[at(v) + 1];
  const EdgeId stride = every(end - begin, election.most_voters);
  for (EdgeId k = begin; k < end; k += stride) visit(k);
}

/// What will be read of the nodes after the i-th: where their voters lie, who these are, and their labels.
HWY_INLINE void fetch_ahead(const Election& election, std::span<const NodeId> nodes, std::size_t i,
                            std::span<const std::uint8_t> settled) {
  const SparsePattern& voters = election.voters;
  const std::size_t labels = i + at(std::max<std::int64_t>(2, kPrefetchLabels / election.most_voters));
  const std::size_t rows = labels + kPrefetchRows;
  const std::size_t offsets = rows + kPrefetchRows;
  if (offsets < nodes.size()) prefetch(&voters.offsets[at(nodes[offsets])]);
  if (rows < nodes.size() && settled[at(nodes[rows])] == 0) {
    constexpr EdgeId kPerLine = 16;
    const EdgeId begin = voters.offsets[at(nodes[rows])];
    const EdgeId end = std::min(voters.offsets[at(nodes[rows]) + 1], begin + 4 * kPerLine);
    for (EdgeId k = begin; k < end; k += kPerLine) prefetch(&voters.indices[at(k)]);
  }
  if (labels < nodes.size() && settled[at(nodes[labels])] == 0) {
    for_voters(election, nodes[labels], [&](EdgeId k) { prefetch(&election.labels[at(voters.indices[at(k)])]); });
  }
}

/// Finalizer of MurmurHash3.
HWY_INLINE hn::Vec<Ranks> mix(hn::Vec<Ranks> x) {
  const Ranks d;
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<16>(x)), hn::Set(d, 0x85EBCA6BU));
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<13>(x)), hn::Set(d, 0xC2B2AE35U));
  return hn::Xor(x, hn::ShiftRight<16>(x));
}

/// The votes for one node.
template <bool kWeighted>
class Poll {
 public:
  Poll(const Election& election, NodeId v) {
    for_voters(election, v, [&](EdgeId k) {
      const NodeId u = election.voters.indices[at(k)];
      label_[votes_] = election.labels[at(u)];
      if (kWeighted) weight_[votes_] = election.weights[at(k)];
      votes_ += u != v ? 1 : 0;
    });
    size_ = (votes_ + kLanes - 1) / kLanes * kLanes;
    std::fill(label_ + votes_, label_ + size_, -1);
    for (std::int64_t first = 0; first < size_; first += kLanes) count(first);
  }

  std::int32_t all() const {
    if (!kWeighted) return static_cast<std::int32_t>(votes_);
    std::int32_t sum = 0;
    for (std::int64_t i = 0; i < votes_; ++i) sum += weight_[i];
    return sum;
  }

  /// The most votes that a label has.
  std::int32_t most() const {
    const Tag d;
    auto most = hn::Zero(d);
    for (std::int64_t i = 0; i < size_; i += kLanes) most = hn::Max(most, hn::Load(d, count_ + i));
    return hn::GetLane(hn::MaxOfLanes(d, most));
  }

  /// Of the labels with so many votes `own`, or else the one of the highest rank.
  NodeId winner(std::int32_t most, NodeId own, std::uint32_t salt) {
    const Tag d;
    const Ranks r;
    const auto all_ones = hn::Set(r, ~0U);
    auto highest = hn::Zero(r);
    for (std::int64_t i = 0; i < size_; i += kLanes) {
      const auto label = hn::Load(d, label_ + i);
      const auto is_own = hn::RebindMask(r, hn::Eq(label, hn::Set(d, own)));
      const auto rank =
          hn::IfThenElse(is_own, all_ones, hn::ShiftRight<1>(mix(hn::Xor(hn::BitCast(r, label), hn::Set(r, salt)))));
      const auto has_most = hn::RebindMask(r, hn::Eq(hn::Load(d, count_ + i), hn::Set(d, most)));
      hn::Store(hn::IfThenElseZero(has_most, hn::Max(rank, hn::Set(r, 1U))), r, rank_ + i);  // all others rank 0
      highest = hn::Max(highest, hn::Load(r, rank_ + i));
    }
    const auto top = hn::MaxOfLanes(r, highest);
    std::int64_t i = 0;
    while (hn::AllFalse(r, hn::Eq(hn::Load(r, rank_ + i), top))) i += kLanes;
    return label_[i + static_cast<std::int64_t>(hn::FindKnownFirstTrue(r, hn::Eq(hn::Load(r, rank_ + i), top)))];
  }

  void strike(NodeId label) {
    const Tag d;
    for (std::int64_t i = 0; i < size_; i += kLanes) {
      const auto struck = hn::Eq(hn::Load(d, label_ + i), hn::Set(d, label));
      hn::Store(hn::IfThenZeroElse(struck, hn::Load(d, count_ + i)), d, count_ + i);
    }
  }

 private:
  void count(std::int64_t first) {
    const Tag d;
    const auto labels = hn::Load(d, label_ + first);
    auto sum = hn::Zero(d);
    for (std::int64_t i = 0; i < votes_; ++i) {
      const auto weight = kWeighted ? hn::Set(d, weight_[i]) : hn::Set(d, 1);
      sum = hn::IfThenElse(hn::Eq(labels, hn::Set(d, label_[i])), hn::Add(sum, weight), sum);
    }
    hn::Store(sum, d, count_ + first);
  }

  static constexpr std::int64_t kRoom = kMostVoters + kLanes;  // a vote that does not count is written past the last
  alignas(64) NodeId label_[kRoom];
  alignas(64) std::int32_t weight_[kRoom];
  alignas(64) std::int32_t count_[kRoom];
  alignas(64) std::uint32_t rank_[kRoom];
  std::int64_t votes_ = 0;
  std::int64_t size_ = 0;
};

template <bool kWeighted>
NodeId elect_for(const Election& election, NodeId v, std::uint8_t* settled) {
  Poll<kWeighted> poll(election, v);
  const NodeId own = election.labels[at(v)];
  while (const std::int32_t most = poll.most()) {
    const NodeId label = poll.winner(most, own, election.salt);
    if (label == own) {
      const std::int32_t all = poll.all();
      if (2 * most > all && all >= kSettlingVotes) *settled = 1;
      return own;
    }
    if (election.clusters.has_room(label, election.size(v))) return label;
    poll.strike(label);
  }
  return own;
}

void elect_all(const Election& election, std::span<const NodeId> nodes, std::span<NodeId> wanted,
               std::span<std::uint8_t> settled) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    fetch_ahead(election, nodes, i, settled);
    const NodeId v = nodes[i];
    std::uint8_t& is_settled = settled[at(v)];
    if (is_settled != 0) {
      wanted[i] = election.labels[at(v)];
    } else {
      wanted[i] = election.weights.empty() ? elect_for<false>(election, v, &is_settled)
                                           : elect_for<true>(election, v, &is_settled);
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::graph
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gneiss::graph {

HWY_EXPORT(elect_all);

ClusterSizes::ClusterSizes(Buffer<std::int32_t> sizes, std::int64_t cap)
    : sizes_(std::move(sizes)), cap_(cap), full_(sizes_.size()) {
  for (std::size_t c = 0; c < full_.size(); ++c) full_[c] = sizes_[c] >= cap_;
}

void elect(const Election& election, std::span<const NodeId> nodes, std::span<NodeId> wanted,
           std::span<std::uint8_t> settled) {
  GNEISS_CHECK(election.most_voters > 0 && election.most_voters <= kMostVoters, ErrorCode::kShape,
               "an election of {} voters; 1 to {} are counted", election.most_voters, kMostVoters);
  HWY_DYNAMIC_DISPATCH(elect_all)(election, nodes, wanted, settled);
}

}  // namespace gneiss::graph
#endif  // HWY_ONCE
