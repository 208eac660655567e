// Contiguous parts of about equal work, and a part's own graph.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "partition/contiguous.h"
#include "partition/local_graph.h"
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

}  // namespace
}  // namespace gneiss
