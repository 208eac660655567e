// Contiguous parts of about equal work, and a part's own graph.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "base/random.h"
#include "partition/contiguous.h"
#include "partition/local_graph.h"
#include "partition/traffic.h"
#include "support/data_fixtures.h"

namespace gneiss {
namespace {

using ::testing::ElementsAre;

std::vector<EdgeId> offsets_of(const std::vector<EdgeId>& degrees) {
  std::vector<EdgeId> offsets = {0};
  for (const EdgeId degree : degrees) offsets.push_back(offsets.back() + degree);
  return offsets;
}

TEST(Contiguous, PartsAreEqualInEdges) {
  EXPECT_THAT(partition::contiguous(offsets_of({6, 0, 0, 2, 2, 2}), 2, 0), ElementsAre(0, 1, 6));
  EXPECT_THAT(partition::contiguous(offsets_of({1, 1, 1, 1, 1, 1}), 3), ElementsAre(0, 2, 4, 6));
}

TEST(Contiguous, AHubMovesNoCutButItsOwn) {
  // Targets are 25, 50 and 75 of 100: the hub takes what it takes, the nodes after it are cut as if it were none.
  std::vector<EdgeId> degrees(61, 1);
  degrees[0] = 40;
  EXPECT_THAT(partition::contiguous(offsets_of(degrees), 4, 0), ElementsAre(0, 1, 11, 36, 61));
}

TEST(Contiguous, PartsMayBeEmpty) {
  EXPECT_THAT(partition::contiguous(offsets_of({}), 3), ElementsAre(0, 0, 0, 0));
  const std::vector<std::int64_t> starts = partition::contiguous(offsets_of({3, 3}), 5);
  EXPECT_EQ(starts.front(), 0);
  EXPECT_EQ(starts.back(), 2);
  EXPECT_TRUE(std::is_sorted(starts.begin(), starts.end()));
}

/// Edges with weights of their own; 0 -> 2 twice, a loop at 2.
graph::Graph small_graph() {
  graph::EdgeList edges;
  edges.src = Buffer<NodeId>::copy_of(std::vector<NodeId>{4, 0, 0, 2, 3, 1, 4});
  edges.dst = Buffer<NodeId>::copy_of(std::vector<NodeId>{2, 2, 2, 2, 2, 0, 3});
  edges.weight = Buffer<float>::copy_of(std::vector<float>{0.1F, 0.2F, 0.3F, 0.4F, 0.5F, 0.6F, 0.7F});
  return graph::build_graph(edges, 5);
}

TEST(LocalGraph, OwnSourcesComeFirstAndWeightsStayWithTheirEdges) {
  const partition::LocalGraph local = partition::local_graph(small_graph(), 2, 4);
  EXPECT_EQ(local.graph.num_dst(), 2);
  EXPECT_EQ(local.graph.num_src(), 4);
  EXPECT_THAT(local.ghosts, ElementsAre(0, 4));
  EXPECT_THAT(local.graph.offsets(), ElementsAre(0, 5, 6));
  EXPECT_THAT(local.graph.sources(), ElementsAre(0, 1, 2, 2, 3, 3));
  EXPECT_THAT(local.graph.weights(), ElementsAre(0.4F, 0.5F, 0.2F, 0.3F, 0.1F, 0.7F));
  EXPECT_FALSE(local.graph.symmetric());
}

TEST(LocalGraph, BothWaysHasTheEndsOfOutEdgesToo) {
  const partition::LocalGraph local = partition::local_graph(small_graph(), 2, 4, true);
  EXPECT_THAT(local.ghosts, ElementsAre(0, 4));
  EXPECT_THAT(local.reversed.offsets(), ElementsAre(0, 1, 2));
  EXPECT_THAT(local.reversed.sources(), ElementsAre(0, 0)) << "2 -> 2, 3 -> 2";
  EXPECT_THAT(local.reversed.weights(), ElementsAre(0.4F, 0.5F));
  const partition::LocalGraph ends = partition::local_graph(small_graph(), 0, 1, true);
  EXPECT_THAT(ends.ghosts, ElementsAre(1, 2)) << "1 at a start, 2 at an end";
  EXPECT_THAT(ends.graph.sources(), ElementsAre(1));
  EXPECT_THAT(ends.reversed.sources(), ElementsAre(2, 2));
  EXPECT_THAT(ends.reversed.weights(), ElementsAre(0.2F, 0.3F)) << "parallel edges in their order";
}

TEST(LocalGraph, PartsWithoutNodesOrEdgesAreGraphs) {
  const partition::LocalGraph none = partition::local_graph(small_graph(), 2, 2);
  EXPECT_EQ(none.graph.num_dst(), 0);
  EXPECT_EQ(none.graph.num_src(), 0);
  const partition::LocalGraph isolated = partition::local_graph(small_graph(), 4, 5);
  EXPECT_EQ(isolated.graph.num_dst(), 1);
  EXPECT_EQ(isolated.graph.num_edges(), 0);
}

TEST(LocalGraph, SelfLoopsAreThoseOfTheWholeGraph) {
  const partition::LocalGraph local = partition::local_graph(small_graph(), 2, 4);
  const graph::Graph looped = graph::add_remaining_self_loops(local.graph);
  EXPECT_EQ(looped.num_src(), 4);
  EXPECT_THAT(looped.sources(), ElementsAre(0, 1, 2, 2, 3, 1, 3));
  EXPECT_THAT(looped.weights(), ElementsAre(0.4F, 0.5F, 0.2F, 0.3F, 0.1F, 1.0F, 0.7F));
}

TEST(PartTraffic, CountsEachRowOncePerReaderAndEachEdgeOnce) {
  RandomStream random(3, 0);
  for (int round = 0; round < 50; ++round) {
    const auto nodes = static_cast<std::int64_t>(1 + random.below(30));
    std::vector<NodeId> from;
    std::vector<NodeId> to;
    for (std::uint64_t e = random.below(100); e-- > 0;) {
      from.push_back(static_cast<NodeId>(random.below(static_cast<std::uint64_t>(nodes))));
      to.push_back(static_cast<NodeId>(random.below(static_cast<std::uint64_t>(nodes))));
    }
    const graph::Graph whole =
        graph::build_graph({Buffer<NodeId>::copy_of(from), Buffer<NodeId>::copy_of(to), {}}, nodes);
    const int parts = static_cast<int>(1 + random.below(6));
    const std::vector<std::int64_t> starts = partition::contiguous(whole.offsets(), parts);
    const auto owner = [&](NodeId v) {
      std::size_t p = 0;
      while (v >= starts[p + 1]) ++p;
      return p;
    };
    const std::vector<partition::PartTraffic> traffic =
        partition::part_traffic(whole, partition::owners_of(starts), parts);
    ASSERT_EQ(std::ssize(traffic), parts);
    const std::vector<partition::PartTraffic> both =
        partition::part_traffic(whole, partition::owners_of(starts), parts, true);
    for (std::size_t p = 0; p < traffic.size(); ++p) {
      std::int64_t local = 0;
      std::vector<std::int64_t> edges(traffic.size());
      std::vector<std::set<NodeId>> rows(traffic.size());
      std::vector<std::set<NodeId>> ends(traffic.size());
      for (std::size_t e = 0; e < from.size(); ++e) {
        if (owner(from[e]) == p && owner(to[e]) != p) ends[owner(to[e])].insert(to[e]);
        if (owner(to[e]) != p) continue;
        if (owner(from[e]) == p) {
          ++local;
          continue;
        }
        ++edges[owner(from[e])];
        rows[owner(from[e])].insert(from[e]);
      }
      EXPECT_EQ(traffic[p].nodes, starts[p + 1] - starts[p]);
      EXPECT_EQ(traffic[p].local_edges, local);
      EXPECT_EQ(traffic[p].remote_edges, std::accumulate(edges.begin(), edges.end(), std::int64_t{0}));
      EXPECT_EQ(traffic[p].edge_rows, edges);
      for (std::size_t q = 0; q < rows.size(); ++q) EXPECT_EQ(traffic[p].halo_rows[q], std::ssize(rows[q]));
      EXPECT_EQ(both[p].local_edges, local);
      EXPECT_EQ(both[p].edge_rows, edges);
      std::vector<NodeId> ghosts;
      for (std::size_t q = 0; q < rows.size(); ++q) {
        rows[q].merge(ends[q]);
        EXPECT_EQ(both[p].halo_rows[q], std::ssize(rows[q]));
        ghosts.insert(ghosts.end(), rows[q].begin(), rows[q].end());
      }
      EXPECT_EQ(partition::local_graph(whole, starts[p], starts[p + 1], true).ghosts, ghosts);
    }
  }
}

}  // namespace
}  // namespace gneiss
