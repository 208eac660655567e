// Every way to cut a graph, on graphs that partitioners stumble over, against counts made edge by edge.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "data/load.h"
#include "partition/choose.h"
#include "support/data_fixtures.h"

namespace gneiss::partition {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Edges {
  std::vector<NodeId> from;
  std::vector<NodeId> to;

  void add(std::int64_t u, std::int64_t v) {
    from.push_back(static_cast<NodeId>(u));
    to.push_back(static_cast<NodeId>(v));
  }
  void add_both(std::int64_t u, std::int64_t v) {
    add(u, v);
    add(v, u);
  }
  graph::Graph graph(std::int64_t nodes) const {
    return graph::build_graph({Buffer<NodeId>::copy_of(from), Buffer<NodeId>::copy_of(to), {}}, nodes);
  }
};

graph::Graph star(std::int64_t leaves) {
  Edges edges;
  for (std::int64_t v = 1; v <= leaves; ++v) edges.add_both(0, v);
  return edges.graph(leaves + 1);
}

graph::Graph path(std::int64_t nodes) {
  Edges edges;
  for (std::int64_t v = 0; v + 1 < nodes; ++v) edges.add_both(v, v + 1);
  return edges.graph(nodes);
}

/// Rings of ten nodes whose ids are dealt out in turn: a cut by ids cuts every edge, components none.
graph::Graph rings(std::int64_t count) {
  Edges edges;
  for (std::int64_t ring = 0; ring < count; ++ring) {
    for (std::int64_t i = 0; i < 10; ++i) edges.add_both(i * count + ring, (i + 1) % 10 * count + ring);
  }
  return edges.graph(10 * count);
}

/// Directed, with parallel edges, self loops, isolated nodes and a hub.
graph::Graph awkward(std::int64_t nodes, std::uint64_t seed) {
  RandomStream random(seed, 1);
  Edges edges;
  const auto below = [&] { return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(nodes))); };
  for (std::int64_t e = 0; e < 4 * nodes; ++e) edges.add(below(), below() * 3 / 4);
  for (std::int64_t e = 0; e < nodes; ++e) edges.add(below(), nodes / 2);
  for (std::int64_t v = 0; v < nodes; v += 5) edges.add(v, v);
  for (int twice = 0; twice < 3; ++twice) edges.add(0, nodes - 1);
  return edges.graph(nodes);
}

struct Named {
  std::string name;
  graph::Graph graph;
};

std::vector<Named> graphs() {
  std::vector<Named> made;
  made.push_back({"star", star(400)});
  made.push_back({"path", path(300)});
  made.push_back({"rings", rings(32)});
  made.push_back({"awkward", awkward(500, 3)});
  made.push_back({"few nodes", awkward(5, 4)});
  made.push_back({"no edges", Edges().graph(40)});
  made.push_back({"one node", Edges().graph(1)});
  return made;
}

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const CutMethod& method : cut_methods()) names.push_back(method.name);
  return names;
}

double largest_load(const graph::Graph& graph, const Owners& owners, int parts) {
  std::vector<double> load(static_cast<std::size_t>(parts));
  const std::vector<double> work = node_work(graph, {.parts = parts});
  for (std::size_t v = 0; v < owners.size(); ++v) load[static_cast<std::size_t>(owners[v])] += work[v];
  return *std::max_element(load.begin(), load.end());
}

TEST(Cuts, EveryNodeHasAnOwnerInRangeOrTheCutIsRefused) {
  for (const Named& named : graphs()) {
    for (const std::string& method : method_names()) {
      for (const int parts : {1, 2, 3, 8, 64}) {
        SCOPED_TRACE(named.name + ", " + method + ", " + std::to_string(parts));
        try {
          const Cut cut = cut_graph(named.graph, method, {.parts = parts}, {});
          ASSERT_EQ(std::ssize(cut.owners), named.graph.num_nodes());
          for (const std::int32_t owner : cut.owners) ASSERT_TRUE(owner >= 0 && owner < parts);
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
          EXPECT_TRUE(method == "metis" || method == "components");
        }
      }
    }
  }
}

TEST(Cuts, LoadsAreAsEvenAsEachMethodPromises) {
  for (const Named& named : graphs()) {
    const std::vector<double> work = node_work(named.graph, {});
    const double all = std::accumulate(work.begin(), work.end(), 0.0);
    const double heaviest = *std::max_element(work.begin(), work.end());
    for (const int parts : {2, 3, 8, 64}) {
      SCOPED_TRACE(named.name + ", " + std::to_string(parts));
      const double mean = all / parts;
      const CutOptions options{.parts = parts};
      const auto load = [&](const Owners& owners) { return largest_load(named.graph, owners, parts); };
      EXPECT_LE(load(cut_contiguous(named.graph, options)), mean + heaviest);
      EXPECT_LE(load(cut_by_clusters(named.graph, options)), mean + heaviest);
      EXPECT_LE(load(cut_by_degree(named.graph, options)), 4.0 / 3 * std::max(mean, heaviest) + 1e-9);
      const Neighbours neighbours = neighbours_of(named.graph, 1);
      EXPECT_LE(load(cut_by_stream(named.graph, rows_of(neighbours), options)), std::max(1.05 * mean, mean + heaviest));
    }
  }
}

TEST(Cuts, TheReportIsARecountOfTheEdges) {
  const graph::Graph graph = awkward(60, 9);
  for (const std::string& method : method_names()) {
    const Cut cut = cut_graph(graph, method == "components" || method == "metis" ? "auto" : method, {.parts = 4}, {});
    std::int64_t cut_edges = 0;
    std::set<std::pair<std::int32_t, NodeId>> ghosts;
    std::map<std::int32_t, std::int64_t> edges;
    for (std::int64_t v = 0; v < graph.num_nodes(); ++v) {
      const auto node = static_cast<std::size_t>(v);
      for (EdgeId e = graph.offsets()[node]; e < graph.offsets()[node + 1]; ++e) {
        const NodeId u = graph.sources()[static_cast<std::size_t>(e)];
        ++edges[cut.owners[node]];
        if (cut.owners[static_cast<std::size_t>(u)] == cut.owners[node]) continue;
        ++cut_edges;
        ghosts.emplace(cut.owners[node], u);
      }
    }
    EXPECT_EQ(cut.report.cut_edges, cut_edges) << method;
    EXPECT_EQ(cut.report.ghosts, std::ssize(ghosts)) << method;
    std::int64_t most = 0;
    for (const auto& [part, count] : edges) most = std::max(most, count);
    EXPECT_EQ(cut.report.most_edges, most) << method;
    EXPECT_DOUBLE_EQ(cut.report.load_ratio,
                     largest_load(graph, cut.owners, 4) * 4 / static_cast<double>(graph.num_edges() + 60));
  }
}

TEST(Cuts, AreTheSameForAnyNumberOfThreadsAndAgain) {
  const graph::Graph graph = awkward(500, 5);
  for (const std::string& method : method_names()) {
    if (method == "components" || (method == "metis" && !metis_is_there())) continue;
    const Owners once = cut_graph(graph, method, {.parts = 3, .threads = 1}, {}).owners;
    EXPECT_EQ(cut_graph(graph, method, {.parts = 3, .threads = 3}, {}).owners, once) << method;
  }
}

TEST(Cuts, ComponentsAreKeptWhole) {
  const graph::Graph graph = rings(32);
  const Cut cut = cut_graph(graph, "components", {.parts = 4}, {});
  EXPECT_EQ(cut.report.cut_edges, 0);
  EXPECT_DOUBLE_EQ(cut.report.load_ratio, 1);
  EXPECT_GT(cut_graph(graph, "contiguous", {.parts = 4}, {}).report.cut_edges, 0);
}

TEST(Cuts, AGiantComponentIsRefusedWithItsShare) {
  const Error error = testing::error_of([] { cut_graph(path(100), "components", {.parts = 2}, {}); });
  EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  EXPECT_THAT(error.message(), HasSubstr("one component has 100.0 % of all work"));
}

TEST(Cuts, StreamFindsWhatBelongsTogether) {
  // Two rings of cliques, ids dealt out in turn.
  Edges edges;
  for (std::int64_t u = 0; u < 60; ++u) {
    for (std::int64_t v = 0; v < u; ++v) {
      if (u % 2 == v % 2) edges.add_both(u, v);
    }
  }
  edges.add_both(0, 1);
  const graph::Graph graph = edges.graph(60);
  const Cut cut = cut_graph(graph, "stream", {.parts = 2}, {});
  EXPECT_EQ(cut.report.cut_edges, 2);
}

TEST(Cuts, MetisBalancesWorkAndNotNodes) {
  if (!metis_is_there()) GTEST_SKIP() << "libmetis is not installed";
  // A dense half and a sparse half: equal nodes would be unequal work.
  Edges edges;
  RandomStream random(8, 1);
  for (std::int64_t e = 0; e < 8000; ++e)
    edges.add_both(static_cast<std::int64_t>(random.below(400)), static_cast<std::int64_t>(random.below(400)));
  for (std::int64_t v = 400; v < 2000; ++v) edges.add_both(v, 400 + (v - 399) % 1600);
  const graph::Graph graph = edges.graph(2000);
  const Cut cut = cut_graph(graph, "metis", {.parts = 4}, {});
  EXPECT_LE(cut.report.load_ratio, 1.1);
  EXPECT_LT(cut.report.ghosts, cut_graph(graph, "degree", {.parts = 4}, {}).report.ghosts);
}

TEST(Cuts, MetisMakesCutEdgesFewWhereCopiesWouldTakeLong) {
  if (!metis_is_there()) GTEST_SKIP() << "libmetis is not installed";
  const graph::Graph graph = awkward(500, 7);
  const double work = metis_work(neighbours_of(graph, 1), 4);
  const Cut copies = cut_graph(graph, "metis", {.parts = 4, .most_metis_work = work}, {});
  EXPECT_EQ(copies.objective, "copies");
  EXPECT_EQ(copies.remark, "");
  const Cut edges = cut_graph(graph, "metis", {.parts = 4, .most_metis_work = work - 1}, {});
  EXPECT_EQ(edges.objective, "cut edges");
  EXPECT_THAT(edges.remark, HasSubstr("few copies would take it long"));
  EXPECT_LT(copies.report.ghosts, edges.report.ghosts);
  EXPECT_LT(edges.report.cut_edges, copies.report.cut_edges);
}

TEST(Cuts, TheWorkOfMetisIsPairsOfNeighboursTimesParts) {
  // A hub of four and its leaves: 16 pairs and four of one each.
  EXPECT_DOUBLE_EQ(metis_work(neighbours_of(star(4), 1), 3), 60);
  EXPECT_DOUBLE_EQ(metis_work(neighbours_of(Edges().graph(4), 1), 3), 0);
}

TEST(Cuts, AutoTellsWhatItCouldNotTry) {
  std::vector<Refusal> refused;
  cut_graph(path(100), "auto", {.parts = 2}, {}, &refused);
  ASSERT_EQ(refused.size(), metis_is_there() ? 1U : 2U);
  EXPECT_EQ(refused.back().method, "components");
  EXPECT_THAT(refused.back().reason, HasSubstr("one component has 100.0 % of all work"));
}

TEST(Cuts, AutoIsTheLeastOfTheEvenOnesByModelledTime) {
  for (const Named& named : graphs()) {
    for (const int parts : {2, 8}) {
      std::vector<Refusal> refused;
      const std::vector<Cut> cuts = all_cuts(named.graph, {.parts = parts}, {}, &refused);
      const Cut taken = cut_graph(named.graph, "auto", {.parts = parts}, {});
      EXPECT_EQ(cuts.size() + refused.size() + 1, cut_methods().size());
      double least = cuts.front().report.load_ratio;
      for (const Cut& cut : cuts) least = std::min(least, cut.report.load_ratio);
      const double most = std::max(1.05, 1.01 * least);
      EXPECT_LE(taken.report.load_ratio, most);
      for (const Cut& cut : cuts) {
        if (cut.report.load_ratio > most) continue;
        EXPECT_LE(taken.report.epoch_seconds, cut.report.epoch_seconds) << cut.method;
      }
    }
  }
}

TEST(Cuts, AnUnknownWayIsRefusedWithTheOthers) {
  const Error error = testing::error_of([] { cut_graph(path(4), "metes", {.parts = 2}, {}); });
  EXPECT_EQ(error.code(), ErrorCode::kUsage);
  EXPECT_THAT(error.hint(), HasSubstr("metis"));
}

TEST(Neighbours, AreUndirectedWithoutLoopsAndParallelEdges) {
  Edges edges;
  edges.add(1, 0);
  edges.add(1, 0);
  edges.add(0, 2);
  edges.add(2, 0);
  edges.add(3, 3);
  const Neighbours made = neighbours_of(edges.graph(4), 1);
  EXPECT_THAT(made.offsets, ElementsAre(0, 2, 3, 4, 4));
  EXPECT_THAT(made.nodes, ElementsAre(1, 2, 0, 0));
}

TEST(EpochSeconds, AreTheSlowestRanksSumsAndCopiesAndTheRing) {
  // Nodes 0, 1 | 2: part 1 reads node 0 once, over two edges; part 0 has one edge of its own.
  Edges edges;
  edges.add(0, 1);
  edges.add(0, 2);
  edges.add(0, 2);
  const EpochModel model{.sums = 2,
                         .columns = 8,
                         .seconds_per_work = 1,
                         .node_work = 1,
                         .bytes_per_second = 64,
                         .latency = 0.25,
                         .parameter_bytes = 128};
  const CutReport report = report_cut(edges.graph(3), {0, 0, 1}, 2, model);
  // Part 0: 2 (1 + 2) = 6. Part 1: 2 (2 + 1 + 0.25 + 32 / 64) = 7.5. Ring: 2 (0.25 + 64 / 64) = 2.5.
  EXPECT_DOUBLE_EQ(report.epoch_seconds, 10);
  EXPECT_DOUBLE_EQ(report.size_variance, 0.5);
}

/// Of more parts than a word has bits: counted edge by edge, with sets.
TEST(PartTraffic, CountsWhatEachOfManyPartsReads) {
  constexpr int kMany = 130;
  const graph::Graph graph = data::load("dcsbm:nodes=700,edges=6000,classes=3,seed=4", {}).graph;
  Owners owners(700);
  for (std::size_t v = 0; v < owners.size(); ++v) owners[v] = static_cast<std::int32_t>(v * 37 % kMany);
  std::vector<std::vector<std::set<NodeId>>> read(kMany, std::vector<std::set<NodeId>>(kMany));
  std::vector<std::vector<std::int64_t>> edges(kMany, std::vector<std::int64_t>(kMany));
  for (std::size_t v = 0; v < owners.size(); ++v) {
    for (EdgeId k = graph.offsets()[v]; k < graph.offsets()[v + 1]; ++k) {
      const NodeId source = graph.sources()[static_cast<std::size_t>(k)];
      const auto from = static_cast<std::size_t>(owners[static_cast<std::size_t>(source)]);
      const auto to = static_cast<std::size_t>(owners[v]);
      ++edges[to][from];
      read[to][from].insert(source);
    }
  }
  const std::vector<PartTraffic> parts = part_traffic(graph, owners, kMany);
  for (std::size_t p = 0; p < kMany; ++p) {
    EXPECT_EQ(parts[p].nodes, std::count(owners.begin(), owners.end(), static_cast<std::int32_t>(p)));
    EXPECT_EQ(parts[p].local_edges, edges[p][p]);
    for (std::size_t from = 0; from < kMany; ++from) {
      EXPECT_EQ(parts[p].edge_rows[from], from == p ? 0 : edges[p][from]) << p << " of " << from;
      EXPECT_EQ(parts[p].halo_rows[from], from == p ? 0 : std::ssize(read[p][from])) << p << " of " << from;
    }
  }
}

/// Where edges are left in their file, in-edges are the neighbours: all of them in a symmetric graph.
TEST(Cuts, OfAFileAreThoseOfMemoryWhereTheGraphIsSymmetric) {
  for (const Named& named : graphs()) {
    if (!named.graph.symmetric()) continue;
    for (const char* method : {"contiguous", "stream", "degree"}) {
      EXPECT_EQ(cut_graph(named.graph, method, {.parts = 3, .in_file = true}, {}).owners,
                cut_graph(named.graph, method, {.parts = 3}, {}).owners)
          << named.name << " by " << method;
    }
  }
}

TEST(Cuts, OfAFileSayWhatTheyCannot) {
  std::vector<Refusal> refused;
  const Cut cut = cut_graph(star(50), "auto", {.parts = 2, .in_file = true}, {}, &refused);
  std::vector<std::string> names;
  for (const Refusal& one : refused) names.push_back(one.method);
  EXPECT_THAT(names, ElementsAre("clusters", "metis", "components"));
  Edges directed;
  directed.add(0, 1);
  EXPECT_THAT(cut_graph(directed.graph(4), "stream", {.parts = 2, .in_file = true}, {}).remark,
              HasSubstr("in-neighbours alone"));
  const Error error = testing::error_of([] { cut_graph(path(9), "metis", {.parts = 2, .in_file = true}, {}); });
  EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  EXPECT_THAT(error.hint(), HasSubstr("leave --mem out"));
}

TEST(PartOrder, KeepsTheOrderWithinParts) {
  const PartOrder made = order_by_part(Edges().graph(5), {1, 0, 2, 0, 1}, 4);
  EXPECT_THAT(made.order, ElementsAre(1, 3, 0, 4, 2));
  EXPECT_THAT(made.starts, ElementsAre(0, 2, 4, 5, 5));
}

/// A node that another part's edge comes into is no interior node; one that an edge to another part leaves is.
TEST(PartOrder, PutsInteriorNodesFirst) {
  Edges edges;
  edges.add(3, 0);  // from the other part
  edges.add(1, 4);  // to it
  edges.add(1, 2);
  edges.add(2, 2);
  edges.add(5, 3);
  const PartOrder made = order_by_part(edges.graph(6), {0, 0, 0, 1, 1, 1}, 2);
  EXPECT_THAT(made.order, ElementsAre(1, 2, 0, 3, 5, 4));
  EXPECT_THAT(made.starts, ElementsAre(0, 3, 6));
}

}  // namespace
}  // namespace gneiss::partition
