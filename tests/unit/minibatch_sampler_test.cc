// Batches against a plain sampler over maps and sets, and against each other: whatever makes them faster changes no
// byte.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "graph/graph.h"
#include "graph/reorder.h"
#include "minibatch/capacity.h"
#include "minibatch/draws.h"
#include "minibatch/sampler.h"
#include "minibatch/workspace.h"
#include "support/data_fixtures.h"

namespace gneiss::minibatch {
namespace {

using ::gneiss::testing::error_of;
using ::gneiss::testing::list;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Edge {
  NodeId src;
  NodeId dst;
  float weight = 1;
};

graph::Graph make_graph(std::int64_t nodes, const std::vector<Edge>& edges, bool weighted = false) {
  graph::EdgeList l{Buffer<NodeId>(edges.size()), Buffer<NodeId>(edges.size()),
                    Buffer<float>(weighted ? edges.size() : 0)};
  for (std::size_t e = 0; e < edges.size(); ++e) {
    l.src[e] = edges[e].src;
    l.dst[e] = edges[e].dst;
    if (weighted) l.weight[e] = edges[e].weight;
  }
  return graph::build_graph(l, nodes);
}

/// A directed graph with hubs, isolated nodes (every 17th), parallel edges and self loops.
graph::Graph wild_graph(NodeId nodes = 3000, bool weighted = true) {
  RandomStream random(3, 5);
  std::vector<Edge> edges;
  const auto any = [&] { return static_cast<NodeId>(random.below(static_cast<std::uint64_t>(nodes))); };
  for (NodeId v = 0; v < nodes; ++v) {
    if (v % 17 == 5) continue;
    const int degree = v % 500 == 0 ? nodes / 2 : static_cast<int>(random.below(24));
    for (int k = 0; k < degree; ++k) {
      NodeId u = random.below(3) == 0 ? static_cast<NodeId>(500 * random.below(6)) % nodes : any();
      if (u % 17 == 5) u = v;
      const float weight = random.below(9) == 0 ? 0.0F : static_cast<float>(random.uniform(0.1, 2.0));
      edges.push_back({u, v, weight});
      if (random.below(8) == 0) edges.push_back({u, v, weight + 1});
    }
  }
  return make_graph(nodes, edges, weighted);
}

std::vector<NodeId> some_seeds(NodeId nodes, int count) {
  std::set<NodeId> seeds;
  RandomStream random(8, 8);
  while (static_cast<int>(seeds.size()) < count)
    seeds.insert(static_cast<NodeId>(random.below(static_cast<std::uint64_t>(nodes))));
  std::vector<NodeId> shuffled(seeds.begin(), seeds.end());
  for (std::size_t i = shuffled.size(); i > 1; --i) std::swap(shuffled[i - 1], shuffled[random.below(i)]);
  return shuffled;
}

/// A batch in plain vectors.
struct Plain {
  std::vector<std::int64_t> nodes;
  struct Hop {
    std::int64_t num_dst = 0;
    std::int64_t num_src = 0;
    std::vector<EdgeId> offsets;
    std::vector<NodeId> sources;
    std::vector<EdgeId> edges;
    bool operator==(const Hop&) const = default;
  };
  std::vector<Hop> hops;
  bool operator==(const Plain&) const = default;
};

template <class Id>
Plain plain(const Slab& slab) {
  const MiniBatch<Id> batch(slab);
  Plain result;
  result.nodes.assign(batch.nodes().begin(), batch.nodes().end());
  for (int h = 0; h < batch.hops(); ++h) {
    const Block block = batch.hop(h);
    result.hops.push_back({block.num_dst, block.num_src, list(block.offsets), list(block.sources), list(block.edges)});
  }
  return result;
}

/// What sampling is, without anything that makes it fast: one edge after the other.
template <class Id>
Plain reference_batch(const Sampler<Id>& sampler, const BatchKey& key, const std::vector<Id>& seeds) {
  const InEdges<Id>& graph = sampler.graph();
  Plain batch;
  std::map<Id, NodeId> local;
  const auto id_of = [&](Id node) {
    const auto [at, is_new] = local.try_emplace(node, static_cast<NodeId>(batch.nodes.size()));
    if (is_new) batch.nodes.push_back(node);
    return at->second;
  };
  for (const Id seed : seeds) id_of(seed);
  Plain::Hop all{0, 0, {0}, {}, {}};  // of a subgraph
  PickScratch scratch;
  for (int h = 0; h < static_cast<int>(sampler.options().fanout.size()); ++h) {
    const bool subgraph = sampler.options().semantics == Semantics::kSubgraph;
    Plain::Hop hop = subgraph ? all : Plain::Hop{0, 0, {0}, {}, {}};
    const auto num_dst = static_cast<std::int64_t>(batch.nodes.size());
    for (std::int64_t i = hop.num_dst; i < num_dst; ++i) {
      const auto v = static_cast<std::size_t>(batch.nodes[static_cast<std::size_t>(i)]);
      const Row row{graph.offsets[v], graph.offsets[v + 1] - graph.offsets[v]};
      const auto draws = sampler.hop(key, h);
      std::vector<EdgeId> picks(static_cast<std::size_t>(sampler.picks_of(draws, row, static_cast<Id>(v))));
      sampler.pick(draws, row, static_cast<Id>(v), static_cast<std::int64_t>(picks.size()), picks.data(), &scratch);
      for (const EdgeId e : picks) {
        const auto at = static_cast<std::size_t>(e);
        hop.sources.push_back(id_of(graph.sources[at]));
        hop.edges.push_back(graph.slots.empty() ? e : graph.slots[at]);
      }
      hop.offsets.push_back(static_cast<EdgeId>(hop.edges.size()));
    }
    hop.num_dst = num_dst;
    hop.num_src = static_cast<std::int64_t>(batch.nodes.size());
    batch.hops.push_back(hop);
    all = hop;
  }
  return batch;
}

template <class Id>
std::string bytes_of(const Sampler<Id>& sampler, const BatchKey& key, const std::vector<Id>& seeds, int threads = 1,
                     std::int64_t slab_bytes = 0) {
  const auto workspace = sampler.make_workspace();
  Slab slab(slab_bytes);
  sampler.sample_together(key, seeds, threads, workspace.get(), &slab);
  return {reinterpret_cast<const char*>(slab.bytes().data()), slab.bytes().size()};
}

/// Every kind of sampling, named.
std::vector<std::pair<std::string, SamplerOptions>> all_kinds() {
  std::vector<std::pair<std::string, SamplerOptions>> kinds;
  const std::vector<std::int64_t> fanout = {6, 4, 3};
  const auto add = [&](const std::string& name, SamplerOptions options) {
    if (options.fanout.empty()) options.fanout = fanout;
    for (const Semantics semantics : {Semantics::kMessageFlow, Semantics::kSubgraph}) {
      options.semantics = semantics;
      kinds.emplace_back(name + " " + std::string(semantics_name(semantics)), options);
    }
  };
  add("uniform", {});
  add("deep", {.fanout = {2, 2, 2, 2, 2}});
  add("wide", {.fanout = {600}});
  add("all", {.fanout = {-1, 3}});
  add("all last", {.fanout = {3, -1}});
  add("replace", {.replace = true});
  add("replace all", {.fanout = {2, -1}, .replace = true});
  add("weighted", {.weighted = true});
  add("weighted all", {.fanout = {-1, 2}, .weighted = true});
  add("weighted replace", {.replace = true, .weighted = true});
  add("labor", {.labor = true});
  add("labor layers", {.labor = true, .layer_dependency = true});
  add("labor batches", {.labor = true, .batch_dependency = 7});
  return kinds;
}

TEST(Sampler, EqualsThePlainSampler) {
  const graph::Graph graph = wild_graph();
  const std::vector<NodeId> seeds = some_seeds(3000, 150);
  for (const auto& [name, options] : all_kinds()) {
    const Sampler<NodeId> sampler(in_edges(graph), options);
    const auto workspace = sampler.make_workspace();
    Slab slab;
    for (std::int64_t index = 0; index < 3; ++index) {
      const BatchKey key{11, 2, index};
      sampler.sample(key, seeds, workspace.get(), &slab);
      EXPECT_TRUE(plain<NodeId>(slab) == reference_batch(sampler, key, seeds)) << name << ", batch " << index;
      EXPECT_EQ(MiniBatch<NodeId>(slab).key(), key);
    }
  }
}

TEST(Sampler, TablesThreadsAndWidthOfIdsChangeNoByte) {
  const graph::Graph graph = wild_graph();
  const std::vector<NodeId> seeds = some_seeds(3000, 150);
  std::vector<std::int64_t> wide_sources(graph.sources().begin(), graph.sources().end());
  const InEdges<std::int64_t> wide{graph.offsets(), wide_sources, graph.weights(), {}, {}};
  const std::vector<std::int64_t> wide_seeds(seeds.begin(), seeds.end());
  const BatchKey key{4, 1, 9};
  for (auto [name, options] : all_kinds()) {
    options.table = TableKind::kDirect;
    const Sampler<NodeId> direct(in_edges(graph), options);
    const Sampler<std::int64_t> direct64(wide, options);
    options.table = TableKind::kHash;
    const Sampler<NodeId> hashed(in_edges(graph), options, 2);
    const Sampler<std::int64_t> hashed64(wide, options);
    const std::string expected = bytes_of(direct, key, seeds);
    const std::string expected64 = bytes_of(direct64, key, wide_seeds);
    for (const int threads : {1, 2, 5}) {
      EXPECT_TRUE(bytes_of(direct, key, seeds, threads) == expected) << name << ", direct, " << threads;
      EXPECT_TRUE(bytes_of(hashed, key, seeds, threads, 1 << 22) == expected) << name << ", hash, " << threads;
      EXPECT_TRUE(bytes_of(direct64, key, wide_seeds, threads) == expected64) << name << ", 64 bits, " << threads;
      EXPECT_TRUE(bytes_of(hashed64, key, wide_seeds, threads) == expected64) << name << ", 64 bits, hash, " << threads;
    }
    Slab slab;
    direct64.sample(key, wide_seeds, direct64.make_workspace().get(), &slab);
    EXPECT_TRUE(plain<std::int64_t>(slab) == reference_batch(direct, key, seeds)) << name;
  }
}

TEST(Sampler, AutomaticTablesGoByMemory) {
  const graph::Graph graph = wild_graph(3000, false);
  SamplerOptions options{.fanout = {2}};
  EXPECT_EQ(Sampler<NodeId>(in_edges(graph), options).table(), TableKind::kDirect);
  options.table_bytes = 3000 * 8;
  EXPECT_EQ(Sampler<NodeId>(in_edges(graph), options).table(), TableKind::kDirect);
  options.table_bytes -= 1;
  EXPECT_EQ(Sampler<NodeId>(in_edges(graph), options).table(), TableKind::kHash);
}

TEST(Sampler, BatchesOfAWorkspaceDoNotDependOnThoseBefore) {
  const graph::Graph graph = wild_graph();
  for (const TableKind table : {TableKind::kDirect, TableKind::kHash}) {
    const Sampler<NodeId> sampler(in_edges(graph), {.fanout = {5, 5}, .table = table});
    const auto workspace = sampler.make_workspace();
    Slab slab;
    const std::vector<NodeId> seeds = some_seeds(3000, 400);
    for (const int count : {400, 1, 0, 37, 400}) {
      const std::vector<NodeId> few(seeds.begin(), seeds.begin() + count);
      sampler.sample({1, 1, count}, few, workspace.get(), &slab);
      EXPECT_TRUE(plain<NodeId>(slab) == reference_batch(sampler, {1, 1, count}, few)) << count;
    }
    const std::int64_t growths = slab.growths();
    sampler.sample({1, 1, 400}, seeds, workspace.get(), &slab);
    EXPECT_EQ(slab.growths(), growths) << "the same batch again fits";
  }
}

TEST(Sampler, BlocksHoldWhatTheyPromise) {
  const graph::Graph graph = wild_graph();
  const std::vector<NodeId> seeds = some_seeds(3000, 100);
  for (const auto& [name, options] : all_kinds()) {
    const Sampler<NodeId> sampler(in_edges(graph), options);
    Slab slab;
    sampler.sample({0, 1, 0}, seeds, sampler.make_workspace().get(), &slab);
    const MiniBatch<NodeId> batch(slab);
    EXPECT_EQ(list(batch.seeds()), seeds);
    EXPECT_EQ(std::set<NodeId>(batch.nodes().begin(), batch.nodes().end()).size(), batch.nodes().size()) << name;
    EXPECT_EQ(batch.layer(0).num_src, static_cast<std::int64_t>(batch.nodes().size()));
    for (int h = 0; h < batch.hops(); ++h) {
      const Block block = batch.hop(h);
      const std::int64_t fanout = options.fanout[static_cast<std::size_t>(h)];
      EXPECT_EQ(block.num_dst, h == 0 ? 100 : batch.hop(h - 1).num_src);
      for (std::int64_t i = 0; i < block.num_dst; ++i) {
        const auto row = static_cast<std::size_t>(i);
        const NodeId v = batch.nodes()[row];
        std::set<EdgeId> distinct;
        for (EdgeId e = block.offsets[row]; e < block.offsets[row + 1]; ++e) {
          const auto at = static_cast<std::size_t>(e);
          const EdgeId edge = block.edges[at];
          ASSERT_GE(edge, graph.offsets()[static_cast<std::size_t>(v)]);
          ASSERT_LT(edge, graph.offsets()[static_cast<std::size_t>(v) + 1]);
          ASSERT_EQ(batch.nodes()[static_cast<std::size_t>(block.sources[at])],
                    graph.sources()[static_cast<std::size_t>(edge)]);
          if (options.weighted && fanout > 0 && options.semantics == Semantics::kMessageFlow) {
            ASSERT_GT(graph.weights()[static_cast<std::size_t>(edge)], 0);
          }
          distinct.insert(edge);
        }
        if (options.replace || options.weighted || options.semantics == Semantics::kSubgraph) continue;
        const EdgeId degree =
            graph.offsets()[static_cast<std::size_t>(v) + 1] - graph.offsets()[static_cast<std::size_t>(v)];
        const std::int64_t expected = fanout < 0 ? degree : std::min(fanout, degree);
        ASSERT_EQ(static_cast<std::int64_t>(distinct.size()), expected) << name;
        ASSERT_EQ(block.offsets[row + 1] - block.offsets[row], expected) << name;
      }
    }
  }
}

TEST(Sampler, ARenamedGraphGivesTheRenamedBatch) {
  const graph::Graph graph = wild_graph();
  graph::Order order(3000);
  std::iota(order.begin(), order.end(), 0);
  RandomStream random(1, 1);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  const graph::Graph renamed = graph::permute(graph, order, 1);
  const std::vector<std::int64_t> orig_id(order.begin(), order.end());
  const graph::Order new_id = graph::inverse_order(order);
  const OriginalOrder rows(renamed, orig_id, 2);
  const std::vector<NodeId> seeds = some_seeds(3000, 100);
  std::vector<NodeId> new_seeds;
  for (const NodeId v : seeds) new_seeds.push_back(new_id[static_cast<std::size_t>(v)]);
  for (const auto& [name, options] : all_kinds()) {
    const Sampler<NodeId> given(in_edges(graph), options);
    const Sampler<NodeId> other(rows.in_edges(), options);
    Slab a;
    Slab b;
    given.sample({3, 1, 4}, seeds, given.make_workspace().get(), &a);
    other.sample({3, 1, 4}, new_seeds, other.make_workspace().get(), &b);
    Plain expected = plain<NodeId>(a);
    Plain found = plain<NodeId>(b);
    for (std::int64_t& node : found.nodes) node = orig_id[static_cast<std::size_t>(node)];
    EXPECT_EQ(found.nodes, expected.nodes) << name;
    for (std::size_t h = 0; h < found.hops.size(); ++h) {
      EXPECT_EQ(found.hops[h].offsets, expected.hops[h].offsets) << name;
      EXPECT_EQ(found.hops[h].sources, expected.hops[h].sources) << name;
      for (std::size_t e = 0; e < found.hops[h].edges.size(); ++e) {
        const auto theirs = static_cast<std::size_t>(expected.hops[h].edges[e]);
        const auto ours = static_cast<std::size_t>(found.hops[h].edges[e]);
        ASSERT_EQ(orig_id[static_cast<std::size_t>(renamed.sources()[ours])], graph.sources()[theirs]) << name;
        ASSERT_EQ(renamed.weights()[ours], graph.weights()[theirs]) << name;
      }
    }
  }
  // Without slots the same sources come, of a graph without weights; one with weights keeps them.
  EXPECT_FALSE(OriginalOrder(renamed, orig_id, 2, EdgeSlots::kOfWeights).in_edges().slots.empty());
  const graph::Graph unweighted = graph::Graph::of_fitting(3000, Buffer<EdgeId>::copy_of(renamed.offsets()),
                                                           Buffer<NodeId>::copy_of(renamed.sources()));
  const OriginalOrder bare(unweighted, orig_id, 2, EdgeSlots::kOfWeights);
  EXPECT_TRUE(bare.in_edges().slots.empty());
  EXPECT_EQ(bare.bytes(), unweighted.num_edges() * std::int64_t{sizeof(NodeId)});
  EXPECT_TRUE(std::ranges::equal(bare.in_edges().sources, rows.in_edges().sources));
  EXPECT_THAT(error_of([&] { OriginalOrder(renamed, std::span(orig_id).first(7), 1); }).message(),
              HasSubstr("3000 nodes, but there are 7 original ids"));
}

TEST(Sampler, SmallAndOddGraphs) {
  const graph::Graph none = make_graph(0, {});
  Sampler<NodeId> sampler(in_edges(none), {.fanout = {3, 3}});
  Slab slab;
  sampler.sample({}, {}, sampler.make_workspace().get(), &slab);
  EXPECT_THAT(plain<NodeId>(slab).nodes, IsEmpty());
  EXPECT_EQ(MiniBatch<NodeId>(slab).hop(1).offsets.size(), 1U);

  const graph::Graph alone = make_graph(1, {});
  Sampler<NodeId> lonely(in_edges(alone), {.fanout = {3, -1}, .replace = true});
  lonely.sample({}, std::vector<NodeId>{0}, lonely.make_workspace().get(), &slab);
  EXPECT_THAT(plain<NodeId>(slab).nodes, ElementsAre(0));
  EXPECT_THAT(plain<NodeId>(slab).hops[1].offsets, ElementsAre(0, 0));

  // Node 0: a self loop, twice the edge from 1, one from 2.
  const graph::Graph odd = make_graph(4, {{0, 0}, {1, 0}, {1, 0}, {2, 0}, {0, 1}});
  Sampler<NodeId> whole(in_edges(odd), {.fanout = {10, 10}});
  whole.sample({}, std::vector<NodeId>{0, 3}, whole.make_workspace().get(), &slab);
  const Plain batch = plain<NodeId>(slab);
  EXPECT_THAT(batch.nodes, ElementsAre(0, 3, 1, 2));
  EXPECT_THAT(batch.hops[0].offsets, ElementsAre(0, 4, 4));
  EXPECT_THAT(batch.hops[0].sources, ElementsAre(0, 2, 2, 3));
  EXPECT_THAT(batch.hops[0].edges, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(batch.hops[1].offsets, ElementsAre(0, 4, 4, 5, 5));
  EXPECT_THAT(batch.hops[1].sources, ElementsAre(0, 2, 2, 3, 0));
}

TEST(Sampler, ASubgraphDrawsOnceForANodeAMessageFlowAtEachHop) {
  const graph::Graph graph = wild_graph();
  const std::vector<NodeId> seeds = some_seeds(3000, 60);
  Slab slab;
  const Sampler<NodeId> once(in_edges(graph), {.fanout = {4, 4, 4}, .semantics = Semantics::kSubgraph});
  once.sample({}, seeds, once.make_workspace().get(), &slab);
  const Plain batch = plain<NodeId>(slab);
  for (std::size_t h = 1; h < 3; ++h) {
    const auto& inner = batch.hops[h - 1];
    EXPECT_TRUE(std::equal(inner.edges.begin(), inner.edges.end(), batch.hops[h].edges.begin()));
    EXPECT_TRUE(std::equal(inner.offsets.begin(), inner.offsets.end(), batch.hops[h].offsets.begin()));
  }
  const Sampler<NodeId> anew(in_edges(graph), {.fanout = {4, 4, 4}});
  anew.sample({}, seeds, anew.make_workspace().get(), &slab);
  const Plain flow = plain<NodeId>(slab);
  EXPECT_FALSE(std::equal(flow.hops[0].edges.begin(), flow.hops[0].edges.end(), flow.hops[1].edges.begin()));
}

/// How often each in-edge of node 0, which has `degree` neighbours with two parallel edges among them, is taken.
std::vector<double> labor_inclusions(const SamplerOptions& options, int degree, int trials) {
  std::vector<Edge> edges = {{1, 0}};
  for (NodeId u = 1; u < degree; ++u) edges.push_back({u, 0});
  const graph::Graph graph = make_graph(degree, edges);
  const Sampler<NodeId> sampler(in_edges(graph), options);
  const auto workspace = sampler.make_workspace();
  Slab slab;
  std::vector<double> seen(static_cast<std::size_t>(degree), 0);
  for (int t = 0; t < trials; ++t) {
    sampler.sample({1, 1, t * options.batch_dependency}, std::vector<NodeId>{0}, workspace.get(), &slab);
    for (const EdgeId e : MiniBatch<NodeId>(slab).hop(0).edges) seen[static_cast<std::size_t>(e)] += 1;
  }
  return seen;
}

TEST(Labor, EachEdgeHasTheChanceOfUniformSampling) {
  constexpr int kDegree = 12;
  constexpr int kTrials = 12000;
  for (const SamplerOptions& options :
       {SamplerOptions{.fanout = {5}, .labor = true},
        SamplerOptions{.fanout = {5}, .labor = true, .layer_dependency = true, .batch_dependency = 4}}) {
    const std::vector<double> seen = labor_inclusions(options, kDegree, kTrials);
    double chi_square = 0;
    const double expected = kTrials * 5.0 / kDegree;
    for (const double count : seen) chi_square += (count - expected) * (count - expected) / expected * 11.0 / 7.0;
    EXPECT_LT(chi_square, 35.0);  // eleven degrees of freedom: one in 4000
    EXPECT_GT(chi_square, 1.0);
  }
}

std::size_t distinct_nodes(const graph::Graph& graph, SamplerOptions options, const BatchKey& key,
                           const std::vector<NodeId>& seeds, std::set<NodeId>* nodes = nullptr) {
  const Sampler<NodeId> sampler(in_edges(graph), std::move(options));
  Slab slab;
  sampler.sample(key, seeds, sampler.make_workspace().get(), &slab);
  const MiniBatch<NodeId> batch(slab);
  if (nodes != nullptr) nodes->insert(batch.nodes().begin(), batch.nodes().end());
  return batch.nodes().size();
}

TEST(Labor, DestinationsHopsAndBatchesShareNumbers) {
  RandomStream random(2, 2);
  std::vector<Edge> edges;
  for (NodeId v = 0; v < 2000; ++v)
    for (int k = 0; k < 40; ++k) edges.push_back({static_cast<NodeId>(random.below(2000)), v});
  const graph::Graph graph = make_graph(2000, edges);
  const std::vector<NodeId> seeds = some_seeds(2000, 50);
  const std::size_t uniform = distinct_nodes(graph, {.fanout = {5, 5}}, {1, 1, 0}, seeds);
  const std::size_t labor = distinct_nodes(graph, {.fanout = {5, 5}, .labor = true}, {1, 1, 0}, seeds);
  const std::size_t layers =
      distinct_nodes(graph, {.fanout = {5, 5}, .labor = true, .layer_dependency = true}, {1, 1, 0}, seeds);
  EXPECT_LT(static_cast<double>(labor), 0.8 * static_cast<double>(uniform));
  EXPECT_LT(layers, labor);
  // Batches next to each other take mostly the same nodes, batches far apart do not.
  const auto both = [&](std::int64_t first, std::int64_t second) {
    std::set<NodeId> nodes;
    const SamplerOptions options{.fanout = {5}, .labor = true, .batch_dependency = 16};
    distinct_nodes(graph, options, {1, 1, first}, seeds, &nodes);
    distinct_nodes(graph, options, {1, 1, second}, seeds, &nodes);
    return nodes.size();
  };
  EXPECT_LT(both(3, 4), both(3, 40));
  EXPECT_LT(static_cast<double>(both(15, 16)), 1.4 * static_cast<double>(both(15, 15)));
}

TEST(Sampler, RefusesWhatItCannotDo) {
  const graph::Graph graph = make_graph(5, {{0, 1}, {1, 2, -1.0F}}, true);
  const graph::Graph bare = make_graph(5, {{0, 1}});
  const auto message = [&](const graph::Graph& g, SamplerOptions options) {
    const Error error = error_of([&] { Sampler<NodeId>(in_edges(g), std::move(options)); });
    return fmt::format("{}: {}", exit_code(error.code()), error.message());
  };
  EXPECT_THAT(message(graph, {}), HasSubstr("2: expected a fanout for 1 to 16 hops, got 0"));
  EXPECT_THAT(message(graph, {.fanout = {3, 0}}), HasSubstr("2: expected a fanout of at least 1, or -1"));
  EXPECT_THAT(message(graph, {.fanout = {3}, .replace = true, .labor = true}), HasSubstr("2: labor sampling"));
  EXPECT_THAT(message(graph, {.fanout = {3}, .layer_dependency = true}), HasSubstr("2: layer and batch dependency"));
  EXPECT_THAT(message(graph, {.fanout = {3}, .labor = true, .batch_dependency = 0}), HasSubstr("at least 1, got 0"));
  EXPECT_THAT(message(bare, {.fanout = {3}, .weighted = true}),
              HasSubstr("2: weighted sampling asks for edge weights"));
  EXPECT_THAT(message(graph, {.fanout = {3}, .weighted = true}),
              HasSubstr("3: weighted sampling asks for weights from 0 "
                        "on; edge 1 of the graph weighs -1"));
  const Sampler<NodeId> sampler(in_edges(graph), {.fanout = {2}});
  const auto sampling_error = [&](const std::vector<NodeId>& seeds) {
    Slab slab;
    const Error error = error_of([&] { sampler.sample({0, 2, 7}, seeds, sampler.make_workspace().get(), &slab); });
    return fmt::format("{}: {}", exit_code(error.code()), error.message());
  };
  EXPECT_THAT(sampling_error({0, 5}),
              HasSubstr("3: seed 5 of batch 7 of epoch 2 is no node; the graph has nodes 0 to 4"));
  EXPECT_THAT(sampling_error({-1}), HasSubstr("3: seed -1 of batch 7"));
  EXPECT_THAT(sampling_error({3, 1, 3}), HasSubstr("3: node 3 is seed 0 and seed 2 of batch 7 of epoch 2"));
}

TEST(Fanout, IsReadFromText) {
  EXPECT_THAT(parse_fanout("15,10,5", "--fanout"), ElementsAre(15, 10, 5));
  EXPECT_THAT(parse_fanout(" -1 , 3", "--fanout"), ElementsAre(-1, 3));
  for (const char* bad :
       {"", ",", "3,", "0", "-2", "5,x", "1.5", "3 4", "99999999999", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"}) {
    const Error error = error_of([&] { parse_fanout(bad, "--fanout"); });
    EXPECT_EQ(error.code(), ErrorCode::kUsage) << bad;
    EXPECT_EQ(error.where(), "--fanout");
  }
}

TEST(Sampler, SaysWhatItDoes) {
  const graph::Graph graph = wild_graph();
  const auto text = [&](const SamplerOptions& options) { return Sampler<NodeId>(in_edges(graph), options).describe(); };
  EXPECT_EQ(text({.fanout = {15, -1}}), "uniform without replacement, mfg, fanout 15,-1");
  EXPECT_EQ(text({.fanout = {3}, .replace = true, .weighted = true, .semantics = Semantics::kSubgraph}),
            "weighted with replacement, subgraph, fanout 3");
  EXPECT_EQ(text({.fanout = {3}, .labor = true, .layer_dependency = true, .batch_dependency = 8}),
            "labor without replacement, one number a source for all hops, numbers kept for 8 batches, mfg, fanout 3");
}

TEST(Capacity, ProbesHoldTheirBatchesAndBoundsHoldAll) {
  const graph::Graph graph = wild_graph();
  std::vector<NodeId> nodes(3000);
  std::iota(nodes.begin(), nodes.end(), 0);
  const SeedOrder<NodeId> seeds(nodes, 3000, {}, {.batch_size = 64});
  for (const auto& [name, options] : all_kinds()) {
    const Sampler<NodeId> sampler(in_edges(graph), options);
    const BatchShape largest = largest_shape(sampler, 64);
    const BatchShape probed = probe_shape(sampler, seeds, {0, 1, 0}, 4);
    const BatchShape planned = capacity(sampler, seeds, {0, 1, 0}, 4, 1.25);
    EXPECT_FALSE(overflow(probed, planned).has_value()) << name;
    EXPECT_FALSE(overflow(planned, largest).has_value()) << name;
    Slab slab(largest.bytes);
    const auto workspace = sampler.make_workspace();
    for (std::int64_t index = 0; index < seeds.batches_per_epoch(); ++index) {
      sampler.sample({0, 1, index}, seeds.batch(seeds.epoch(1), index), workspace.get(), &slab);
      const BatchShape shape = MiniBatch<NodeId>(slab).shape();
      EXPECT_EQ(slab_bytes(shape, options.semantics, sizeof(NodeId)), shape.bytes) << name;
      EXPECT_FALSE(overflow(shape, largest).has_value()) << name;
    }
    EXPECT_EQ(slab.growths(), 0) << name;
  }
}

TEST(Capacity, ABoundHoldsForEachCountAndNeverForAProduct) {
  const BatchShape capacity{.hops = 1, .nodes = {10, 50}, .edges = {100}, .bytes = 1000};
  EXPECT_FALSE(overflow(capacity, capacity).has_value());
  BatchShape shape = capacity;
  shape.nodes = {1, 51};  // far fewer seeds do not make room for one node more
  ASSERT_TRUE(overflow(shape, capacity).has_value());
  EXPECT_EQ(overflow(shape, capacity)->what, "nodes");
  EXPECT_EQ(overflow(shape, capacity)->hop, 1);
  EXPECT_EQ(overflow(shape, capacity)->needed, 51);
  EXPECT_EQ(overflow(shape, capacity)->capacity, 50);
  shape = capacity;
  shape.edges = {101};
  EXPECT_EQ(overflow(shape, capacity)->what, "edges");
  shape = capacity;
  shape.bytes = 1001;
  EXPECT_EQ(overflow(shape, capacity)->what, "bytes");
}

TEST(Slab, GrowsWithWhatItHolds) {
  Slab slab;
  slab.start({1, 2, 3}, 4);
  const std::int64_t at = slab.place<NodeId>(5);
  for (NodeId i = 0; i < 5; ++i) slab.at<NodeId>(at, 5)[static_cast<std::size_t>(i)] = i;
  const std::int64_t far = slab.place<double>(100000);
  EXPECT_EQ(far % 64, 0);
  EXPECT_GE(slab.growths(), 1);
  EXPECT_THAT(list(std::as_const(slab).at<NodeId>(at, 5)), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(slab.header().key, (BatchKey{1, 2, 3}));
  EXPECT_EQ(error_of([&] { MiniBatch<std::int64_t> wrong(slab); }).code(), ErrorCode::kInternal);
}

}  // namespace
}  // namespace gneiss::minibatch
