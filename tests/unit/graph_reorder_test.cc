// Orders of nodes: permutations all, the same for any number of threads, on graphs of every kind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "base/random.h"
#include "graph/reorder.h"
#include "support/data_fixtures.h"

namespace gneiss::graph {
namespace {

using ::gneiss::testing::error_of;
using ::gneiss::testing::list;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Pairs = std::vector<std::pair<NodeId, NodeId>>;

EdgeList edge_list(const Pairs& pairs, bool weighted = false) {
  EdgeList edges{Buffer<NodeId>(pairs.size()), Buffer<NodeId>(pairs.size()),
                 Buffer<float>(weighted ? pairs.size() : 0)};
  for (std::size_t e = 0; e < pairs.size(); ++e) {
    edges.src[e] = pairs[e].first;
    edges.dst[e] = pairs[e].second;
    if (weighted) edges.weight[e] = static_cast<float>(e + 1);
  }
  return edges;
}

/// `groups` communities of `size` nodes under shuffled ids, `inside` edges a node in its community and one to anywhere.
/// Of a community edges reach the first `reached` nodes, or all.
Graph communities(NodeId groups, NodeId size, int inside, bool undirected, NodeId reached = 0) {
  if (reached == 0) reached = size;
  const NodeId n = groups * size;
  RandomStream random(11, 1);
  std::vector<NodeId> id(static_cast<std::size_t>(n));
  std::iota(id.begin(), id.end(), 0);
  for (std::size_t i = id.size(); i > 1; --i) std::swap(id[i - 1], id[random.below(i)]);
  Pairs pairs;
  for (NodeId v = 0; v < n; ++v) {
    const auto node = [&](std::uint64_t at) { return id[static_cast<std::size_t>(at)]; };
    const auto first = static_cast<std::uint64_t>(v / size * size);
    for (int i = 0; i < inside; ++i)
      pairs.emplace_back(node(static_cast<std::uint64_t>(v)),
                         node(first + random.below(static_cast<std::uint64_t>(reached))));
    const std::uint64_t anywhere = random.below(static_cast<std::uint64_t>(n));
    if (static_cast<NodeId>(anywhere) % size < reached)
      pairs.emplace_back(node(static_cast<std::uint64_t>(v)), node(anywhere));
  }
  return build_graph(edge_list(pairs), n, {.to_undirected = undirected});
}

/// A hub in front, a path, a pair with parallel edges, self loops, isolated nodes; directed.
Graph odd_graph() {
  Pairs pairs;
  for (NodeId v = 1; v < 1000; ++v) pairs.emplace_back(v, 0);
  for (NodeId v = 1000; v < 1200; ++v) pairs.emplace_back(v, v + 1);
  for (int i = 0; i < 3; ++i) pairs.emplace_back(1300, 1301);
  for (NodeId v = 0; v < 1400; v += 7) pairs.emplace_back(v, v);
  return build_graph(edge_list(pairs, true), 1500);
}

std::vector<std::pair<std::string, Graph>> graphs() {
  std::vector<std::pair<std::string, Graph>> list;
  list.emplace_back("no nodes", build_graph({}, 0));
  list.emplace_back("no edges", build_graph({}, 9));
  list.emplace_back("one loop", build_graph(edge_list({{0, 0}}), 1));
  list.emplace_back("odd", odd_graph());
  list.emplace_back("directed", communities(40, 60, 6, false));
  list.emplace_back("undirected", communities(40, 60, 6, true));
  list.emplace_back("large", communities(64, 500, 8, true));  // several chunks in every step
  return list;
}

TEST(OrderTest, EveryMethodNamesEachNodeOnce) {
  for (const auto& [name, graph] : graphs()) {
    for (const Order& order : {degree_order(graph), rcm_order(graph), cluster_order(graph, 2)}) {
      EXPECT_EQ(static_cast<std::int64_t>(order.size()), graph.num_nodes()) << name;
      EXPECT_NO_THROW(inverse_order(order)) << name;
    }
  }
}

TEST(OrderTest, ThreadsDoNotMatter) {
  for (const auto& [name, graph] : graphs()) {
    const Order order = cluster_order(graph, 1);
    const Graph moved = permute(graph, order, 1);
    for (const int threads : {2, 5}) {
      EXPECT_EQ(cluster_order(graph, threads), order) << name << " with " << threads << " threads";
      const Graph again = permute(graph, order, threads);
      EXPECT_EQ(list(again.sources()), list(moved.sources())) << name;
      EXPECT_EQ(list(again.weights()), list(moved.weights())) << name;
    }
  }
}

TEST(DegreeOrderTest, HubsFirstThenById) {
  EXPECT_THAT(degree_order(build_graph(edge_list({{0, 2}, {1, 2}, {0, 1}, {2, 3}}), 5)), ElementsAre(2, 1, 3, 0, 4));
}

TEST(RcmOrderTest, NumbersAPathAlongIt) {
  // 3 - 0 - 4 - 1 - 2: the search begins at the end with the smaller id, and is reversed.
  EXPECT_THAT(rcm_order(build_graph(edge_list({{3, 0}, {0, 4}, {4, 1}, {1, 2}}), 5)), ElementsAre(3, 0, 4, 1, 2));
}

TEST(RcmOrderTest, KeepsTheBandOfAShuffledGridNarrow) {
  constexpr NodeId kSide = 20;
  RandomStream random(3, 1);
  std::vector<NodeId> id(kSide * kSide);
  std::iota(id.begin(), id.end(), 0);
  for (std::size_t i = id.size(); i > 1; --i) std::swap(id[i - 1], id[random.below(i)]);
  Pairs pairs;
  for (NodeId v = 0; v < kSide * kSide; ++v) {
    if (v % kSide + 1 < kSide) pairs.emplace_back(id[static_cast<std::size_t>(v)], id[static_cast<std::size_t>(v) + 1]);
    if (v + kSide < kSide * kSide)
      pairs.emplace_back(id[static_cast<std::size_t>(v)], id[static_cast<std::size_t>(v) + kSide]);
  }
  const Order position = inverse_order(rcm_order(build_graph(edge_list(pairs), kSide * kSide)));
  NodeId band = 0;
  for (const auto& [u, v] : pairs)
    band = std::max(band, std::abs(position[static_cast<std::size_t>(u)] - position[static_cast<std::size_t>(v)]));
  EXPECT_LE(band, 2 * kSide);
}

TEST(ClusterOrderTest, PutsCommunitiesTogether) {
  for (const bool undirected : {false, true}) {
    const Graph graph = communities(64, 500, 10, undirected);  // 32000 nodes: four clusters
    const Order order = cluster_order(graph, 1);
    EXPECT_LT(near_edges(graph).cluster, 0.3);
    EXPECT_GT(near_edges(graph, inverse_order(order)).cluster, 0.8);
    EXPECT_DOUBLE_EQ(near_edges(permute(graph, order, 1)).cluster, near_edges(graph, inverse_order(order)).cluster);
  }
}

TEST(ClusterOrderTest, PutsNodesWithoutInEdgesBesideThoseThatTheyPointTo) {
  const Graph graph = communities(64, 500, 10, false, 300);  // two fifths have none
  EXPECT_LT(near_edges(graph).cluster, 0.3);
  EXPECT_GT(near_edges(graph, inverse_order(cluster_order(graph, 1))).cluster, 0.8);
}

TEST(ClusterOrderTest, ShowsEarlyWhatItWillFind) {
  Order early;
  const auto keep_early = [&](bool goes_on) {
    return [&early, goes_on](std::span<const NodeId> order) {
      early.assign(order.begin(), order.end());
      return goes_on;
    };
  };
  for (const auto& [name, graph] : graphs()) {
    EXPECT_THAT(cluster_order(graph, 1, keep_early(false)), IsEmpty()) << name;
    EXPECT_EQ(static_cast<std::int64_t>(early.size()), graph.num_nodes()) << name;
    EXPECT_NO_THROW(inverse_order(early)) << name;
    const Order found = early;
    EXPECT_EQ(cluster_order(graph, 5, keep_early(true)), cluster_order(graph, 1)) << name << ": asking changes nothing";
    EXPECT_EQ(early, found) << name << " on five threads";
  }
  const auto early_share = [&](const Graph& graph) {
    cluster_order(graph, 1, keep_early(false));
    return near_edges(graph, inverse_order(early)).cluster;
  };
  const Graph many = communities(64, 500, 10, false);
  const double found = near_edges(many, inverse_order(cluster_order(many, 1))).cluster;
  EXPECT_GT(early_share(many), found / 2);
  EXPECT_LT(early_share(communities(1, 64 * 500, 10, false)), 0.5 * early_share(many));
}

TEST(ClusterOrderTest, HoldsTheCap) {
  // A clique's worth of one community that is far larger than a cluster may be: it falls into several, and still none
  // is lost.
  const Graph graph = communities(1, 20000, 8, true);
  const Order order = cluster_order(graph, 2);
  EXPECT_NO_THROW(inverse_order(order));
  EXPECT_GT(near_edges(graph, inverse_order(order)).cluster, near_edges(graph).cluster);
}

TEST(PermuteTest, MovesEdgesWithTheirWeights) {
  const Graph graph = build_graph(edge_list({{2, 0}, {0, 1}, {1, 0}, {1, 0}, {2, 2}}, true), 3);
  const Graph moved = permute(graph, std::vector<NodeId>{2, 0, 1}, 1);  // 2 -> 0, 0 -> 1, 1 -> 2
  EXPECT_THAT(list(moved.offsets()), ElementsAre(0, 1, 4, 5));
  EXPECT_THAT(list(moved.sources()), ElementsAre(0, 0, 2, 2, 1));
  EXPECT_THAT(list(moved.weights()), ElementsAre(5, 1, 3, 4, 2));
}

TEST(PermuteTest, SortsRowsOfAnyLengthWithParallelEdges) {
  // Row v has v sources from all over, and v % 3 of them once more.
  constexpr NodeId kNodes = 701;
  std::vector<std::pair<NodeId, NodeId>> pairs;
  for (NodeId v = 0; v < kNodes; ++v) {
    for (NodeId k = 0; k < v + v % 3; ++k) pairs.emplace_back((k % std::max<NodeId>(1, v) * 37 + v) % kNodes, v);
  }
  const Graph graph = build_graph(edge_list(pairs), kNodes);
  Order order(kNodes);
  for (NodeId i = 0; i < kNodes; ++i) order[static_cast<std::size_t>(i)] = i * 77 % kNodes;
  const Order position = inverse_order(order, 3);
  const Graph moved = permute(graph, order, 2);
  for (NodeId v = 0; v < kNodes; ++v) {
    std::vector<NodeId> expected;
    for (EdgeId k = graph.offsets()[static_cast<std::size_t>(v)]; k < graph.offsets()[static_cast<std::size_t>(v) + 1];
         ++k) {
      expected.push_back(position[static_cast<std::size_t>(graph.sources()[static_cast<std::size_t>(k)])]);
    }
    std::sort(expected.begin(), expected.end());
    const auto to = static_cast<std::size_t>(position[static_cast<std::size_t>(v)]);
    const auto row = moved.sources().subspan(static_cast<std::size_t>(moved.offsets()[to]), expected.size());
    EXPECT_EQ(std::vector<NodeId>(row.begin(), row.end()), expected) << v;
  }
}

TEST(PermuteTest, BackIsTheOriginal) {
  for (const auto& [name, graph] : graphs()) {
    const Order order = cluster_order(graph, 1);
    const Graph moved = permute(graph, order, 2);
    EXPECT_EQ(moved.symmetric(), graph.symmetric()) << name;
    // What the constructor would have found out itself.
    const Graph checked(moved.num_nodes(), Buffer<EdgeId>::copy_of(moved.offsets()),
                        Buffer<NodeId>::copy_of(moved.sources()), Buffer<float>::copy_of(moved.weights()));
    EXPECT_EQ(checked.symmetric(), moved.symmetric()) << name;
    const Graph back = permute(moved, inverse_order(order), 2);
    EXPECT_EQ(list(back.offsets()), list(graph.offsets())) << name;
    EXPECT_EQ(list(back.sources()), list(graph.sources())) << name;
    EXPECT_EQ(list(back.weights()), list(graph.weights())) << name;
  }
}

TEST(PermuteTest, RefusesWhatIsNoPermutation) {
  const Graph graph = build_graph({}, 3);
  EXPECT_THAT(error_of([&] {
                permute(graph, std::vector<NodeId>{0, 1}, 1);
              }).message(),
              HasSubstr("2 entries for a graph of 3 nodes"));
  EXPECT_THAT(error_of([&] { permute(graph, std::vector<NodeId>{0, 1, 1}, 1); }).message(), HasSubstr("entry 2 is 1"));
  EXPECT_THAT(error_of([] { inverse_order(std::vector<NodeId>{0, 2}); }).message(), HasSubstr("entry 1 is 2"));
  EXPECT_THAT(inverse_order({}), IsEmpty());
}

TEST(NearEdgesTest, CountsEdgesWithinClusters) {
  const auto last = static_cast<NodeId>(kClusterNodes);
  const Graph graph = build_graph(edge_list({{0, 1}, {1, 0}, {0, last}, {last, 1}}), last + 1);
  EXPECT_DOUBLE_EQ(near_edges(graph).cluster, 0.5);
  EXPECT_DOUBLE_EQ(near_edges(build_graph({}, 3)).cluster, 1);
}

TEST(NearEdgesTest, CountsEveryEdgeOnAnyNumberOfThreads) {
  const Graph graph = communities(64, 500, 10, false);
  const Order order = cluster_order(graph, 1);
  const Order position = inverse_order(order);
  std::int64_t in_cluster = 0;
  std::int64_t in_region = 0;
  for (std::int64_t v = 0; v < graph.num_nodes(); ++v) {
    for (EdgeId k = graph.offsets()[static_cast<std::size_t>(v)]; k < graph.offsets()[static_cast<std::size_t>(v) + 1];
         ++k) {
      const NodeId from = position[static_cast<std::size_t>(graph.sources()[static_cast<std::size_t>(k)])];
      const NodeId to = position[static_cast<std::size_t>(v)];
      in_cluster += from / kClusterNodes == to / kClusterNodes ? 1 : 0;
      in_region += from / kRegionNodes == to / kRegionNodes ? 1 : 0;
    }
  }
  for (const int threads : {1, 3}) {
    const Near near = near_edges(graph, position, threads);
    EXPECT_DOUBLE_EQ(near.cluster, static_cast<double>(in_cluster) / static_cast<double>(graph.num_edges()));
    EXPECT_DOUBLE_EQ(near.region, static_cast<double>(in_region) / static_cast<double>(graph.num_edges()));
  }
}

}  // namespace
}  // namespace gneiss::graph
