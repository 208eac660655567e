// Clusters by label propagation under a size cap, in levels.
//
// Each node begins as a cluster of its own and moves, round by round, to the cluster of most of its neighbours that has
// room. To be the same for any number of threads a round is cut into kSteps steps by a hash of the node's id: the nodes
// of a step decide in parallel on the labels as the step began, then move one after the other in order of their ids.
// With all nodes in one step neighbours would swap labels for ever; with 8 the result is as good as in-place updates.
//
// Nearly all time goes into reading labels of neighbours at random, so few are read: more and more from round to round
// (the first labels say little; the last moves bring least), along in-edges alone if hardly a node has none, else along edges of one direction
// in turn, and none for nodes that already lie with most of their neighbours.
//
// The clusters are then the nodes of a graph with the counts of edges as weights (each keeps its heaviest neighbours),
// which is clustered in the same way with a larger cap. Clusters of one such group lie side by side: what the
// second-level cache does not hold is then more often in the third.
#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>

#include "base/parallel.h"
#include "base/prefetch.h"
#include "graph/reorder.h"

namespace gneiss::graph {
namespace {

constexpr int kRounds = 5;
constexpr int kEarlyRounds = 3;
constexpr int kSteps = 8;
constexpr std::int64_t kLevelGrowth = kRegionNodes / kBlockNodes;  // nodes of a group to nodes of its parts, at most
constexpr int kLevels = 3;
// Of more neighbours every second, third, … votes: a sample elects the same cluster. 8, 16, 32, 64 and 64 votes bring one to three points
// more of arxiv's and yelp's edges into a block and fewer of ogbn-products', in 1.5 times as long for the later rounds. A last round of 24
// votes of each direction brings from two points fewer to one more into a region, in two and a half times as long.
constexpr std::array<EdgeId, kRounds> kMostVotes = {8, 16, 24, 24, 16};
constexpr std::int32_t kSettlingVotes = 8;  // fewer votes settle no node
constexpr std::size_t kHeaviest = 32;       // neighbours that a cluster keeps in the graph of clusters
constexpr EdgeId kGroupEdges = 8192;        // edges of a cluster that are looked at for that, at most
constexpr EdgeId kEdgeStride = 4;           // and of a node at most every fourth
constexpr EdgeId kEarlyEdgeStride = 16;     // or, after the early rounds, every sixteenth
constexpr std::int64_t kNodeGrain = 1024;
constexpr std::int64_t kElections = 32;       // nodes that elect before it is seen whether their clusters have room
constexpr std::int64_t kPrefetchLabels = 64;  // labels ahead that are fetched
constexpr std::int64_t kPrefetchRows = 8;     // nodes ahead of those whose lists of neighbours are fetched
constexpr std::int64_t kClusterGrain = 64;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Finalizer of MurmurHash3.
std::uint32_t mix(std::uint32_t x) {
  x = (x ^ (x >> 16)) * 0x85EBCA6BU;
  x = (x ^ (x >> 13)) * 0xC2B2AE35U;
  return x ^ (x >> 16);
}

EdgeId vote_stride(EdgeId edges, EdgeId votes) { return std::max<EdgeId>(1, (edges + votes - 1) / votes); }

/// A graph whose nodes stand for `sizes` nodes each. Votes go along both patterns in turn.
struct Level {
  SparsePattern edges;
  SparsePattern reverse;                  ///< no rows: `edges` holds both directions, or shows enough
  std::span<const std::int32_t> weights;  ///< of `edges`; empty = all one, as where there is a reverse
  std::span<const std::int32_t> sizes;    ///< empty = all one

  std::int32_t size(NodeId v) const { return sizes.empty() ? 1 : sizes[at(v)]; }
};

/// Votes for labels: an open hash table with room for a sample at a load of a quarter.
class Votes {
 public:
  void add(NodeId label, std::int32_t votes) {
    std::uint32_t slot = (static_cast<std::uint32_t>(label) * 0x9E3779B1U) >> (32 - kBits);
    while (count_[slot] != 0 && label_[slot] != label) slot = (slot + 1) & (kSlots - 1);
    if (count_[slot] == 0) {
      label_[slot] = label;
      used_[num_used_++] = static_cast<std::uint16_t>(slot);
    }
    count_[slot] += votes;
  }

  /// Calls visit(label, votes) for every label in order of their first votes, and forgets them.
  template <class Visit>
  void drain(const Visit& visit) {
    for (std::size_t i = 0; i < num_used_; ++i) {
      visit(label_[used_[i]], count_[used_[i]]);
      count_[used_[i]] = 0;
    }
    num_used_ = 0;
  }

 private:
  static constexpr int kBits = 7;
  static constexpr std::uint32_t kSlots = 1U << kBits;
  static_assert(kSlots >= 4 * *std::max_element(kMostVotes.begin(), kMostVotes.end()));
  std::array<NodeId, kSlots> label_;
  std::array<std::int32_t, kSlots> count_{};
  std::array<std::uint16_t, kSlots> used_;
  std::size_t num_used_ = 0;
};

/// Label propagation on one level; labels are ids of its nodes.
class Propagation {
 public:
  Propagation(const Level& level, std::int64_t cap, int threads)
      : level_(level),
        cap_(cap),
        threads_(threads),
        label_(at(level.edges.rows)),
        wanted_(label_.size()),
        cluster_size_(label_.size()),
        settled_(label_.size(), 0) {
    std::iota(label_.begin(), label_.end(), 0);
    for (std::size_t v = 0; v < label_.size(); ++v) cluster_size_[v] = level.size(static_cast<NodeId>(v));
    for (std::size_t v = 0; v < label_.size(); ++v)
      steps_[mix(static_cast<std::uint32_t>(v)) % kSteps].push_back(static_cast<NodeId>(v));
  }

  /// Rounds [begin, end) of kRounds.
  void run(int begin, int end) {
    for (int round = begin; round < end; ++round) {
      most_votes_ = kMostVotes[static_cast<std::size_t>(round)];
      voters_ = level_.reverse.rows == 0 || round % 2 == 0 ? &level_.edges : &level_.reverse;
      for (const std::vector<NodeId>& step : steps_) {
        decide(step, mix(static_cast<std::uint32_t>(round) + 1));
        move(step);
      }
    }
  }

  const Buffer<NodeId>& labels() const { return label_; }

 private:
  void decide(const std::vector<NodeId>& step, std::uint32_t salt) {
    parallel_chunks(threads_, static_cast<std::int64_t>(step.size()), kNodeGrain, [&](std::int64_t begin, std::int64_t end) {
      Votes votes;
      // Some nodes elect, then it is seen whether the clusters that they want have room, whose sizes have arrived meanwhile.
      for (std::int64_t first = begin; first < end; first += kElections) {
        const std::int64_t last = std::min(end, first + kElections);
        for (std::int64_t i = first; i < last; ++i) {
          fetch_ahead(step, i, end);
          const NodeId v = step[at(i)];
          wanted_[at(i)] = settled_[at(v)] != 0 ? label_[at(v)] : elect(v, salt, false, &votes);
          prefetch(&cluster_size_[at(wanted_[at(i)])]);
        }
        for (std::int64_t i = first; i < last; ++i) {
          const NodeId v = step[at(i)];
          if (wanted_[at(i)] != label_[at(v)] && !has_room(wanted_[at(i)], v)) wanted_[at(i)] = elect(v, salt, true, &votes);
        }
      }
    });
  }

  bool has_room(NodeId label, NodeId v) const { return cluster_size_[at(label)] + level_.size(v) <= cap_; }

  void fetch_ahead(const std::vector<NodeId>& step, std::int64_t i, std::int64_t end) const {
    const std::int64_t labels_ahead = std::max<std::int64_t>(2, kPrefetchLabels / most_votes_);
    if (i + labels_ahead + 2 * kPrefetchRows < end) prefetch_offset(step[at(i + labels_ahead + 2 * kPrefetchRows)]);
    if (i + labels_ahead + kPrefetchRows < end) prefetch_row(step[at(i + labels_ahead + kPrefetchRows)]);
    if (i + labels_ahead < end) prefetch_labels(step[at(i + labels_ahead)]);
  }

  void prefetch_offset(NodeId v) const { prefetch(&voters_->offsets[at(v)]); }

  void prefetch_row(NodeId v) const {
    if (settled_[at(v)] != 0) return;
    constexpr EdgeId kPerLine = 16;
    const EdgeId end = std::min(voters_->offsets[at(v) + 1], voters_->offsets[at(v)] + 4 * kPerLine);
    for (EdgeId k = voters_->offsets[at(v)]; k < end; k += kPerLine) prefetch(&voters_->indices[at(k)]);
  }

  /// Calls visit(place of the edge) for each voter of a node.
  template <class Visit>
  void for_voters(NodeId v, const Visit& visit) const {
    const EdgeId begin = voters_->offsets[at(v)];
    const EdgeId end = voters_->offsets[at(v) + 1];
    const EdgeId stride = vote_stride(end - begin, most_votes_);
    for (EdgeId k = begin; k < end; k += stride) visit(k);
  }

  void prefetch_labels(NodeId v) const {
    if (settled_[at(v)] != 0) return;
    for_voters(v, [&](EdgeId k) { prefetch(&label_[at(voters_->indices[at(k)])]); });
  }

  void poll(NodeId v, Votes* votes) const {
    for_voters(v, [&](EdgeId k) {
      const NodeId u = voters_->indices[at(k)];
      if (u != v) votes->add(label_[at(u)], level_.weights.empty() ? 1 : level_.weights[at(k)]);
    });
  }

  /// The label with most votes, and with room if that is asked; a node stays where no other has more. Ties fall to a different label in
  /// each round.
  NodeId elect(NodeId v, std::uint32_t salt, bool with_room, Votes* votes) {
    poll(v, votes);
    const NodeId own = label_[at(v)];
    std::int32_t all = 0;
    NodeId best = own;
    std::int32_t most = 0;
    std::uint32_t rank = 0;
    votes->drain([&](NodeId label, std::int32_t count) {
      all += count;
      if (count < most) return;
      const std::uint32_t this_rank = label == own ? ~0U : mix(static_cast<std::uint32_t>(label) ^ salt) >> 1;
      if (count == most && this_rank <= rank) return;
      if (with_room && label != own && !has_room(label, v)) return;
      best = label;
      most = count;
      rank = this_rank;
    });
    if (best == own && 2 * most > all && all >= kSettlingVotes) settled_[at(v)] = 1;
    return best;
  }

  void move(const std::vector<NodeId>& step) {
    for (std::size_t i = 0; i < step.size(); ++i) {
      const NodeId v = step[i];
      const NodeId to = wanted_[i];
      if (to == label_[at(v)] || !has_room(to, v)) continue;
      cluster_size_[at(label_[at(v)])] -= level_.size(v);
      cluster_size_[at(to)] += level_.size(v);
      label_[at(v)] = to;
    }
  }

  const Level& level_;
  std::int64_t cap_;
  int threads_;
  // Of this round: votes of a node, and the direction that they come from.
  EdgeId most_votes_ = 0;
  const SparsePattern* voters_ = nullptr;
  Buffer<NodeId> label_;
  std::vector<NodeId> wanted_;  ///< by place in the step
  Buffer<std::int32_t> cluster_size_;
  std::vector<std::uint8_t> settled_;  ///< it stayed with most of its neighbours and is not asked again
  std::array<std::vector<NodeId>, kSteps> steps_;
};

/// Groups numbered by their first members, and the members of each in ascending order.
struct Grouping {
  Buffer<NodeId> group;  ///< of each member
  std::vector<std::int64_t> offsets;
  std::vector<NodeId> members;
  std::vector<std::int32_t> sizes;  ///< in nodes of the graph

  std::int64_t count() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
};

Grouping group_by(Buffer<NodeId> label, const Level& level) {
  Grouping out;
  std::vector<NodeId> number(label.size(), -1);
  out.offsets = {0};
  for (NodeId& l : label) {
    NodeId& seen = number[at(l)];
    if (seen < 0) {
      seen = static_cast<NodeId>(out.sizes.size());
      out.sizes.push_back(0);
      out.offsets.push_back(0);
    }
    l = seen;
    ++out.offsets[at(l) + 1];
  }
  std::partial_sum(out.offsets.begin(), out.offsets.end(), out.offsets.begin());
  std::vector<std::int64_t> cursor(out.offsets.begin(), out.offsets.end() - 1);
  out.members.resize(label.size());
  for (std::size_t v = 0; v < label.size(); ++v) {
    out.members[at(cursor[at(label[v])]++)] = static_cast<NodeId>(v);
    out.sizes[at(label[v])] += level.size(static_cast<NodeId>(v));
  }
  out.group = std::move(label);
  return out;
}

/// The graph of the groups: to each its heaviest neighbours, by number of edges between them.
struct Contraction {
  std::vector<EdgeId> offsets;
  std::vector<NodeId> indices;
  std::vector<std::int32_t> weights;
};

/// Calls visit(place of an edge) for every `stride`-th edge of a node.
template <class Visit>
void for_sampled_edges(const SparsePattern& edges, NodeId v, EdgeId stride, const Visit& visit) {
  for (EdgeId k = edges.offsets[at(v)] + v % stride; k < edges.offsets[at(v) + 1]; k += stride) visit(k);
}

/// Adds up edges to other groups, for one group at a time.
class GroupEdges {
 public:
  explicit GroupEdges(std::int64_t groups) : sum_(at(groups), 0) {}

  void add(NodeId g, std::int32_t weight) {
    if (sum_[at(g)] == 0) met_.push_back(g);
    sum_[at(g)] += weight;
  }

  /// Keeps the heaviest, `own` left out, and forgets all. Returns how many.
  std::size_t take(NodeId own, NodeId* indices, std::int32_t* weights) {
    std::erase(met_, own);
    const std::size_t kept = std::min(kHeaviest, met_.size());
    std::partial_sort(met_.begin(), met_.begin() + static_cast<std::ptrdiff_t>(kept), met_.end(),
                      [&](NodeId a, NodeId b) { return std::pair(-sum_[at(a)], a) < std::pair(-sum_[at(b)], b); });
    for (std::size_t i = 0; i < kept; ++i) {
      indices[i] = met_[i];
      weights[i] = sum_[at(met_[i])];
    }
    for (const NodeId g : met_) sum_[at(g)] = 0;
    sum_[at(own)] = 0;
    met_.clear();
    return kept;
  }

 private:
  std::vector<std::int32_t> sum_;
  std::vector<NodeId> met_;
};

/// Edges of the members of group g. Looks ahead as far as member `end`.
EdgeId count_edges(const Level& level, const Grouping& groups, std::int64_t g, std::int64_t end) {
  EdgeId count = 0;
  for (std::int64_t i = groups.offsets[at(g)]; i < groups.offsets[at(g) + 1]; ++i) {
    if (i + kPrefetchRows < end) {
      const auto ahead = at(groups.members[at(i + kPrefetchRows)]);
      prefetch(&level.edges.offsets[ahead]);
      if (level.reverse.rows > 0) prefetch(&level.reverse.offsets[ahead]);
    }
    const auto v = at(groups.members[at(i)]);
    count += level.edges.offsets[v + 1] - level.edges.offsets[v];
    if (level.reverse.rows > 0) count += level.reverse.offsets[v + 1] - level.reverse.offsets[v];
  }
  return count;
}

/// Fetches what will be looked at of the members of groups after the i-th, up to `end`: where their edges lie, which these are, and the
/// groups at their other ends.
void fetch_ahead(const Level& level, const Grouping& groups, std::int64_t i, std::int64_t end, EdgeId stride) {
  for (const SparsePattern* edges : {&level.edges, &level.reverse}) {
    if (edges->rows == 0) continue;
    if (i + 3 * kPrefetchRows < end) prefetch(&edges->offsets[at(groups.members[at(i + 3 * kPrefetchRows)])]);
    if (i + 2 * kPrefetchRows < end) {
      for_sampled_edges(*edges, groups.members[at(i + 2 * kPrefetchRows)], stride, [&](EdgeId k) { prefetch(&edges->indices[at(k)]); });
    }
    if (i + kPrefetchRows < end) {
      for_sampled_edges(*edges, groups.members[at(i + kPrefetchRows)], stride,
                        [&](EdgeId k) { prefetch(&groups.group[at(edges->indices[at(k)])]); });
    }
  }
}

/// Looks at every `least_stride`-th edge of a group, or at fewer.
Contraction contract(const Level& level, const Grouping& groups, EdgeId least_stride, int threads) {
  const std::int64_t count = groups.count();
  std::vector<EdgeId> edges(at(count));
  std::vector<EdgeId> room(at(count) + 1, 0);  // most groups of a graph without clusters are single nodes of few edges
  parallel_chunks(threads, count, kClusterGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t g = begin; g < end; ++g) edges[at(g)] = count_edges(level, groups, g, groups.offsets[at(end)]);
  });
  for (std::int64_t g = 0; g < count; ++g) {
    room[at(g) + 1] = room[at(g)] + std::min(edges[at(g)], static_cast<EdgeId>(kHeaviest));
  }
  std::vector<NodeId> indices(at(room.back()));
  std::vector<std::int32_t> weights(indices.size());
  std::vector<EdgeId> kept(at(count));
  std::vector<GroupEdges> scratch(at(std::max(1, threads)), GroupEdges(count));
  parallel_chunks(threads, count, kClusterGrain, [&](std::int64_t begin, std::int64_t end) {
    GroupEdges& sums = scratch[at(omp_get_thread_num())];
    for (std::int64_t g = begin; g < end; ++g) {
      const EdgeId stride = std::max(least_stride, 1 + edges[at(g)] / kGroupEdges);
      for (std::int64_t i = groups.offsets[at(g)]; i < groups.offsets[at(g) + 1]; ++i) {
        fetch_ahead(level, groups, i, groups.offsets[at(end)], stride);
        const NodeId v = groups.members[at(i)];
        for_sampled_edges(level.edges, v, stride, [&](EdgeId k) {
          sums.add(groups.group[at(level.edges.indices[at(k)])], level.weights.empty() ? 1 : level.weights[at(k)]);
        });
        if (level.reverse.rows == 0) continue;
        for_sampled_edges(level.reverse, v, stride, [&](EdgeId k) { sums.add(groups.group[at(level.reverse.indices[at(k)])], 1); });
      }
      const auto first = at(room[at(g)]);
      kept[at(g)] =
          static_cast<EdgeId>(sums.take(static_cast<NodeId>(g), indices.data() + first, weights.data() + first));
    }
  });
  Contraction out;
  out.offsets = {0};
  for (std::size_t g = 0; g < at(count); ++g) {
    out.indices.insert(out.indices.end(), indices.begin() + room[g], indices.begin() + room[g] + kept[g]);
    out.weights.insert(out.weights.end(), weights.begin() + room[g], weights.begin() + room[g] + kept[g]);
    out.offsets.push_back(out.offsets.back() + kept[g]);
  }
  return out;
}

/// Nodes from the groups of the last level down.
Order flatten(const std::vector<Grouping>& levels) {
  Order order(at(levels.back().count()));
  std::iota(order.begin(), order.end(), 0);
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    Order finer;
    finer.reserve(level->members.size());
    for (const NodeId g : order) {
      finer.insert(finer.end(), level->members.begin() + level->offsets[at(g)],
                   level->members.begin() + level->offsets[at(g) + 1]);
    }
    order = std::move(finer);
  }
  return order;
}

/// Clusters of the finest level side by side, by the clusters of clusters that they form.
Order order_clusters(Level level, const Buffer<NodeId>& labels, EdgeId stride, int threads) {
  std::vector<Grouping> groupings;
  std::vector<Contraction> contractions;
  groupings.reserve(kLevels);  // levels refer to the entries
  contractions.reserve(kLevels);
  groupings.push_back(group_by(Buffer<NodeId>::copy_of(labels), level));
  std::int64_t cap = kBlockNodes;
  while (groupings.size() < kLevels && groupings.back().count() > 1) {
    contractions.push_back(contract(level, groupings.back(), stride, threads));
    const Contraction& coarse = contractions.back();
    const std::int64_t count = groupings.back().count();
    level = {{count, count, coarse.offsets, coarse.indices, {}}, {}, coarse.weights, groupings.back().sizes};
    Propagation groups(level, cap *= kLevelGrowth, threads);
    groups.run(0, kRounds);
    groupings.push_back(group_by(Buffer<NodeId>::copy_of(groups.labels()), level));
    stride = 1;
  }
  return flatten(groupings);
}

/// Do edges of one direction show where nodes belong? They do where hardly a node has none; the other direction takes a transpose.
bool in_edges_suffice(const Graph& graph) {
  constexpr std::int64_t kNodesToAlone = 16;
  const auto offsets = graph.offsets();
  std::int64_t alone = 0;
  for (std::size_t v = 0; v < at(graph.num_nodes()); ++v) alone += offsets[v] == offsets[v + 1] ? 1 : 0;
  return alone <= graph.num_nodes() / kNodesToAlone;
}

}  // namespace

Order cluster_order(const Graph& graph, int threads, const OrderTest& goes_on) {
  std::optional<Transpose> out_edges;
  Level level{graph.in_edges(), {}, {}, {}};
  if (!graph.symmetric() && !in_edges_suffice(graph)) {
    out_edges = transpose(graph.in_edges(), false, threads);
    level.reverse = out_edges->pattern();
  }
  Propagation nodes(level, kBlockNodes, threads);
  nodes.run(0, kEarlyRounds);
  if (goes_on && !goes_on(order_clusters(level, nodes.labels(), kEarlyEdgeStride, threads))) return {};
  nodes.run(kEarlyRounds, kRounds);
  return order_clusters(level, nodes.labels(), kEdgeStride, threads);
}

}  // namespace gneiss::graph
