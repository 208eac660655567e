// Elections of label propagation under every instruction set, against a count of votes in a map.
#include "graph/elections.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <tuple>

#include "base/error.h"
#include "base/random.h"
#include "graph/reorder.h"
#include "parity/targets.h"

namespace gneiss::graph {
namespace {

using ::gneiss::testing::on_every_target;

/// Rows of 0, 1, 2, … sources, up to 80, from all over; every seventh begins with the node itself.
struct Voters {
  std::vector<EdgeId> offsets = {0};
  std::vector<NodeId> indices;
  std::vector<std::int32_t> weights;

  explicit Voters(NodeId nodes) {
    RandomStream random(5, 1);
    for (NodeId v = 0; v < nodes; ++v) {
      for (NodeId k = 0; k < v % 81; ++k) {
        indices.push_back(v % 7 == 0 && k == 0 ? v
                                               : static_cast<NodeId>(random.below(static_cast<std::uint64_t>(nodes))));
        weights.push_back(static_cast<std::int32_t>(1 + random.below(5)));
      }
      offsets.push_back(static_cast<EdgeId>(indices.size()));
    }
  }
  SparsePattern pattern() const {
    const auto nodes = static_cast<std::int64_t>(offsets.size()) - 1;
    return {nodes, nodes, offsets, indices, {}};
  }
};

std::uint32_t rank_of(NodeId label, std::uint32_t salt) {
  std::uint32_t x = static_cast<std::uint32_t>(label) ^ salt;
  x = (x ^ (x >> 16)) * 0x85EBCA6BU;
  x = (x ^ (x >> 13)) * 0xC2B2AE35U;
  return (x ^ (x >> 16)) >> 1;
}

struct Outcome {
  NodeId label;
  bool settled;
  bool operator==(const Outcome&) const = default;
};

Outcome plain_election(const Election& election, NodeId v) {
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  const EdgeId begin = election.voters.offsets[at(v)];
  const EdgeId end = election.voters.offsets[at(v) + 1];
  EdgeId stride = 1;
  while (stride * election.most_voters < end - begin) ++stride;
  std::map<NodeId, std::int32_t> votes;
  std::int32_t all = 0;
  for (EdgeId k = begin; k < end; k += stride) {
    const NodeId u = election.voters.indices[at(k)];
    if (u == v) continue;
    const std::int32_t weight = election.weights.empty() ? 1 : election.weights[at(k)];
    votes[election.labels[at(u)]] += weight;
    all += weight;
  }
  const NodeId own = election.labels[at(v)];
  std::tuple<std::int32_t, bool, std::uint32_t, NodeId> best{0, true, 0, own};
  for (const auto& [label, count] : votes) {
    if (label == own || election.clusters.has_room(label, election.size(v))) {
      best = std::max(best, std::tuple(count, label == own, rank_of(label, election.salt), label));
    }
  }
  const NodeId label = std::get<3>(best);
  return {label, label == own && all >= 8 && 2 * std::get<0>(best) > all};
}

TEST(ElectionsParityTest, CountsVotesAsAMapDoes) {
  constexpr NodeId kNodes = 2500;
  const Voters voters(kNodes);
  std::vector<NodeId> nodes(kNodes);
  std::iota(nodes.begin(), nodes.end(), 0);
  for (const NodeId labels_used : {3, 40, 2500}) {
    RandomStream random(7, static_cast<std::uint64_t>(labels_used));
    std::vector<NodeId> labels(kNodes);
    Buffer<std::int32_t> members = Buffer<std::int32_t>::zeros(kNodes);
    std::vector<std::int32_t> sizes(kNodes);
    for (std::size_t v = 0; v < labels.size(); ++v) {
      labels[v] = static_cast<NodeId>(random.below(static_cast<std::uint64_t>(labels_used)));
      ++members[static_cast<std::size_t>(labels[v])];
      sizes[v] = static_cast<std::int32_t>(1 + random.below(3));
    }
    // A third of the clusters or so have no room.
    const ClusterSizes clusters(std::move(members), kNodes / labels_used + (labels_used == kNodes ? 1 : 5));
    for (const EdgeId most : {EdgeId{1}, EdgeId{8}, EdgeId{24}, kMostVoters}) {
      for (const bool weighted : {false, true}) {
        Election election{.voters = voters.pattern(),
                          .most_voters = most,
                          .weights = {},
                          .sizes = {},
                          .labels = labels,
                          .clusters = clusters,
                          .salt = 12345};
        if (weighted) {
          election.weights = voters.weights;
          election.sizes = sizes;
        }
        std::vector<Outcome> expected;
        std::int64_t moved = 0;
        for (const NodeId v : nodes) {
          expected.push_back(plain_election(election, v));
          moved += expected.back().label != labels[static_cast<std::size_t>(v)] ? 1 : 0;
        }
        ASSERT_GT(moved, kNodes / 10);
        on_every_target([&](const std::string& target) {
          std::vector<NodeId> wanted(kNodes, -1);
          std::vector<std::uint8_t> settled(kNodes, 0);
          elect(election, nodes, wanted, settled);
          for (std::size_t v = 0; v < nodes.size(); ++v) {
            ASSERT_EQ((Outcome{wanted[v], settled[v] != 0}), expected[v])
                << target << ", node " << v << ", " << labels_used << " labels, " << most << " voters, weighted "
                << weighted;
          }
        });
      }
    }
  }
}

TEST(ElectionsParityTest, DoesNotAskWhoIsSettled) {
  const std::vector<EdgeId> offsets = {0, 2, 2, 2};
  const std::vector<NodeId> indices = {1, 2};
  const std::vector<NodeId> labels = {0, 1, 1};
  const ClusterSizes clusters(Buffer<std::int32_t>::copy_of(std::vector<std::int32_t>{1, 2, 0}), 9);
  const Election election{
      .voters = {3, 3, offsets, indices, {}}, .weights = {}, .sizes = {}, .labels = labels, .clusters = clusters};
  on_every_target([&](const std::string& target) {
    std::vector<NodeId> wanted(3, -1);
    std::vector<std::uint8_t> settled = {0, 0, 0};
    elect(election, std::vector<NodeId>{0, 1, 2}, wanted, settled);
    EXPECT_EQ(wanted, (std::vector<NodeId>{1, 1, 1})) << target;
    settled[0] = 1;
    elect(election, std::vector<NodeId>{0, 1, 2}, wanted, settled);
    EXPECT_EQ(wanted, (std::vector<NodeId>{0, 1, 1})) << target;
  });
}

TEST(ElectionsParityTest, RefusesMoreVotersThanItCounts) {
  const ClusterSizes clusters(Buffer<std::int32_t>::copy_of(std::vector<std::int32_t>{1}), 9);
  const std::vector<EdgeId> offsets = {0, 0};
  const std::vector<NodeId> labels = {0};
  Election election{
      .voters = {1, 1, offsets, {}, {}}, .weights = {}, .sizes = {}, .labels = labels, .clusters = clusters};
  std::vector<NodeId> wanted(1);
  std::vector<std::uint8_t> settled(1);
  EXPECT_NO_THROW(elect(election, labels, wanted, settled));
  for (const EdgeId most : {EdgeId{0}, kMostVoters + 1}) {
    election.most_voters = most;
    EXPECT_THROW(elect(election, labels, wanted, settled), Error) << most;
  }
}

TEST(ClusterSizesTest, KnowsWhoHasRoomAfterEveryMove) {
  ClusterSizes clusters(Buffer<std::int32_t>::copy_of(std::vector<std::int32_t>{3, 2, 0}), 3);
  const auto room = [&](std::int32_t size) {
    return std::vector<bool>{clusters.has_room(0, size), clusters.has_room(1, size), clusters.has_room(2, size)};
  };
  EXPECT_EQ(room(1), (std::vector<bool>{false, true, true}));
  EXPECT_EQ(room(2), (std::vector<bool>{false, false, true}));
  clusters.move(0, 1, 1);
  EXPECT_EQ(room(1), (std::vector<bool>{true, false, true}));
  clusters.move(1, 2, 3);
  EXPECT_EQ(room(1), (std::vector<bool>{true, true, false}));
  EXPECT_EQ(room(3), (std::vector<bool>{false, true, false}));
}

TEST(ClusterOrderTest, IsTheSameForEveryInstructionSet) {
  RandomStream random(3, 1);
  constexpr NodeId kNodes = 9000;
  EdgeList edges{Buffer<NodeId>(kNodes * 6), Buffer<NodeId>(kNodes * 6), {}};
  for (NodeId e = 0; e < kNodes * 6; ++e) {
    const NodeId v = e / 6;
    const auto anywhere = static_cast<NodeId>(random.below(kNodes));
    edges.dst[static_cast<std::size_t>(e)] = v;
    edges.src[static_cast<std::size_t>(e)] = e % 6 == 0 ? anywhere : v - v % 90 + anywhere % 90;
  }
  const Graph graph = build_graph(edges, kNodes);
  const Order expected = cluster_order(graph, 1);
  on_every_target([&](const std::string& target) { EXPECT_EQ(cluster_order(graph, 2), expected) << target; });
}

}  // namespace
}  // namespace gneiss::graph
