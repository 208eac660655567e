// Clusters by label propagation under a size cap, in levels.
//
// Each node begins as a cluster of its own and moves, round by round, to the cluster of most of its neighbours that has
// room. To be the same for any number of threads a round is cut into kSteps steps by a hash of the node's id: the nodes
// of a step decide in parallel on the labels as the step began, then move one after the other in order of their ids.
// With all nodes in one step neighbours would swap labels for ever; with 8 the result is as good as in-place updates.
//
// Nearly all time goes into reading labels of neighbours at random, so few are read: more and more from round to round
// (the first labels say little; the last moves bring least), along in-edges alone if hardly a node has none, else along
// edges of one direction in turn, and none for nodes that already lie with most of their neighbours.
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
#include "graph/elections.h"
#include "graph/reorder.h"

namespace gneiss::graph {
namespace {

constexpr int kRounds = 5;
constexpr int kEarlyRounds = 3;
constexpr int kSteps = 8;
constexpr std::int64_t kLevelGrowth = kRegionNodes / kClusterNodes;  // nodes of a group to nodes of its parts, at most
constexpr int kLevels = 3;
// Of more neighbours every second, third, … votes: a sample elects the same cluster. 8, 16, 32, 64 and 64 votes bring
// one to three points more of arxiv's and yelp's edges into a cluster and fewer of ogbn-products', in 1.5 times as long
// for the later rounds. A last round of 24 votes of each direction brings from two points fewer to one more into a
// region, in two and a half times as long.
constexpr std::array<EdgeId, kRounds> kMostVotes = {8, 16, 24, 24, 16};
static_assert(*std::max_element(kMostVotes.begin(), kMostVotes.end()) <= kMostVoters);
constexpr std::size_t kHeaviest = 32;  // neighbours that a cluster keeps in the graph of clusters
constexpr std::int64_t kGroupMembers =
    512;                              // nodes of a cluster whose edges are looked at: of more every second, third, …
constexpr EdgeId kGroupEdges = 8192;  // edges of a cluster that are looked at for that, at most
constexpr EdgeId kEdgeStride = 4;     // and of a node at most every fourth
constexpr EdgeId kEarlyEdgeStride = 16;  // or, after the early rounds, every sixteenth
constexpr std::int64_t kNodeGrain = 1024;
constexpr std::size_t kPrefetchMoves = 16;  // nodes ahead whose clusters' sizes are fetched
constexpr std::int64_t kPrefetchRows = 8;   // nodes ahead of those whose edges are contracted
constexpr std::int64_t kClusterGrain = 64;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Finalizer of MurmurHash3.
std::uint32_t mix(std::uint32_t x) {
  x = (x ^ (x >> 16)) * 0x85EBCA6BU;
  x = (x ^ (x >> 13)) * 0xC2B2AE35U;
  return x ^ (x >> 16);
}

/// A graph whose nodes stand for `sizes` nodes each. Votes go along both patterns in turn.
struct Level {
  SparsePattern edges;
  SparsePattern reverse;                  ///< no rows: `edges` holds both directions, or shows enough
  std::span<const std::int32_t> weights;  ///< of `edges`; empty = all one, as where there is a reverse
  std::span<const std::int32_t> sizes;    ///< empty = all one

  std::int32_t size(NodeId v) const { return sizes.empty() ? 1 : sizes[at(v)]; }
};

/// Label propagation on one level; labels are ids of its nodes.
class Propagation {
 public:
  Propagation(const Level& level, std::int64_t cap, int threads)
      : level_(level),
        threads_(threads),
        label_(at(level.edges.rows)),
        clusters_(node_sizes(level), cap),
        settled_(label_.size(), 0) {
    std::iota(label_.begin(), label_.end(), 0);
    for (std::size_t v = 0; v < label_.size(); ++v)
      steps_[mix(static_cast<std::uint32_t>(v)) % kSteps].push_back(static_cast<NodeId>(v));
    wanted_.resize(label_.size());
  }

  /// Rounds [begin, end) of kRounds.
  void run(int begin, int end) {
    for (int round = begin; round < end; ++round) {
      Election election{.voters = level_.reverse.rows == 0 || round % 2 == 0 ? level_.edges : level_.reverse,
                        .most_voters = kMostVotes[static_cast<std::size_t>(round)],
                        .weights = level_.weights,
                        .sizes = level_.sizes,
                        .labels = label_,
                        .clusters = clusters_,
                        .salt = mix(static_cast<std::uint32_t>(round) + 1)};
      for (const std::vector<NodeId>& step : steps_) {
        parallel_chunks(threads_, static_cast<std::int64_t>(step.size()), kNodeGrain,
                        [&](std::int64_t first, std::int64_t last) {
                          const std::size_t size = at(last - first);
                          elect(election, std::span(step).subspan(at(first), size),
                                std::span(wanted_).subspan(at(first), size), settled_);
                        });
        move(step);
      }
    }
  }

  const Buffer<NodeId>& labels() const { return label_; }

 private:
  static Buffer<std::int32_t> node_sizes(const Level& level) {
    Buffer<std::int32_t> sizes(at(level.edges.rows));
    for (std::size_t v = 0; v < sizes.size(); ++v) sizes[v] = level.size(static_cast<NodeId>(v));
    return sizes;
  }

  /// As far as there is room at their turn.
  void move(const std::vector<NodeId>& step) {
    for (std::size_t i = 0; i < step.size(); ++i) {
      if (i + kPrefetchMoves < step.size()) {
        clusters_.fetch(label_[at(step[i + kPrefetchMoves])]);
        clusters_.fetch(wanted_[i + kPrefetchMoves]);
      }
      NodeId& from = label_[at(step[i])];
      const NodeId to = wanted_[i];
      const std::int32_t size = level_.size(step[i]);
      if (to == from || !clusters_.has_room(to, size)) continue;
      clusters_.move(from, to, size);
      from = to;
    }
  }

  const Level& level_;
  int threads_;
  Buffer<NodeId> label_;
  ClusterSizes clusters_;
  std::vector<NodeId> wanted_;         ///< by place in the step
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

/// Every how many-th member of group g is looked at.
std::int64_t member_step(const Grouping& groups, std::int64_t g) {
  return 1 + (groups.offsets[at(g) + 1] - groups.offsets[at(g)]) / kGroupMembers;
}

/// Edges of the members of group g that are looked at. Fetches what lies as far ahead as member `end`.
EdgeId count_edges(const Level& level, const Grouping& groups, std::int64_t g, std::int64_t end) {
  EdgeId count = 0;
  const std::int64_t step = member_step(groups, g);
  for (std::int64_t i = groups.offsets[at(g)]; i < groups.offsets[at(g) + 1]; i += step) {
    if (i + kPrefetchRows * step < end) {
      const auto ahead = at(groups.members[at(i + kPrefetchRows * step)]);
      prefetch(&level.edges.offsets[ahead]);
      if (level.reverse.rows > 0) prefetch(&level.reverse.offsets[ahead]);
    }
    const auto v = at(groups.members[at(i)]);
    count += level.edges.offsets[v + 1] - level.edges.offsets[v];
    if (level.reverse.rows > 0) count += level.reverse.offsets[v + 1] - level.reverse.offsets[v];
  }
  return count;
}

/// Fetches what will be looked at of the members of groups after the i-th, up to `end`: where their edges lie, which
/// these are, and the groups at their other ends.
void fetch_ahead(const Level& level, const Grouping& groups, std::int64_t i, std::int64_t step, std::int64_t end,
                 EdgeId stride) {
  const auto ahead = [&](int times) { return i + times * kPrefetchRows * step; };
  for (const SparsePattern* edges : {&level.edges, &level.reverse}) {
    if (edges->rows == 0) continue;
    if (ahead(3) < end) prefetch(&edges->offsets[at(groups.members[at(ahead(3))])]);
    if (ahead(2) < end) {
      for_sampled_edges(*edges, groups.members[at(ahead(2))], stride,
                        [&](EdgeId k) { prefetch(&edges->indices[at(k)]); });
    }
    if (ahead(1) < end) {
      for_sampled_edges(*edges, groups.members[at(ahead(1))], stride,
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
      const std::int64_t step = member_step(groups, g);
      const EdgeId stride = std::max(least_stride, 1 + edges[at(g)] / kGroupEdges);
      for (std::int64_t i = groups.offsets[at(g)]; i < groups.offsets[at(g) + 1]; i += step) {
        fetch_ahead(level, groups, i, step, groups.offsets[at(end)], stride);
        const NodeId v = groups.members[at(i)];
        for_sampled_edges(level.edges, v, stride, [&](EdgeId k) {
          sums.add(groups.group[at(level.edges.indices[at(k)])], level.weights.empty() ? 1 : level.weights[at(k)]);
        });
        if (level.reverse.rows == 0) continue;
        for_sampled_edges(level.reverse, v, stride,
                          [&](EdgeId k) { sums.add(groups.group[at(level.reverse.indices[at(k)])], 1); });
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
  std::int64_t cap = kClusterNodes;
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

/// Do edges of one direction show where nodes belong? They do where hardly a node has none; the other direction takes a
/// transpose.
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
  Propagation nodes(level, kClusterNodes, threads);
  nodes.run(0, kEarlyRounds);
  if (goes_on && !goes_on(order_clusters(level, nodes.labels(), kEarlyEdgeStride, threads))) return {};
  nodes.run(kEarlyRounds, kRounds);
  return order_clusters(level, nodes.labels(), kEdgeStride, threads);
}

}  // namespace gneiss::graph
