// Sampling through a graph whose rows lie in several memories: the same batches, and counts that a recount confirms.
#include "tiers/tiered_edges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <vector>

#include "data/load.h"
#include "data/preprocess.h"
#include "minibatch/sampler.h"
#include "minibatch/seeds.h"
#include "minibatch/workspace.h"
#include "support/data_fixtures.h"
#include "tiers/accesses.h"
#include "tiers/scorer.h"

namespace gneiss::tiers {
namespace {

using ::gneiss::testing::error_of;
using ::testing::HasSubstr;

std::vector<GraphRow> rows_by_reads(const graph::Graph& graph, std::span<const double> reads, double share) {
  std::vector<GraphRow> rows = order_graph_rows(graph.offsets(), reads);
  rows.resize(static_cast<std::size_t>(share * static_cast<double>(rows.size())));
  return rows;
}

std::vector<double> some_reads(std::int64_t nodes) {
  std::vector<double> reads;
  for (std::int64_t v = 0; v < nodes; ++v) reads.push_back(static_cast<double>((v * 37) % 11));
  return reads;
}

void expect_equal(const minibatch::Slab& got, const minibatch::Slab& expected, const std::string& where,
                  bool same_numbers = true) {
  const minibatch::MiniBatch<NodeId> a(got);
  const minibatch::MiniBatch<NodeId> b(expected);
  ASSERT_TRUE(std::ranges::equal(a.nodes(), b.nodes())) << where;
  ASSERT_EQ(a.hops(), b.hops());
  for (int hop = 0; hop < a.hops(); ++hop) {
    ASSERT_TRUE(std::ranges::equal(a.hop(hop).offsets, b.hop(hop).offsets)) << where;
    ASSERT_TRUE(std::ranges::equal(a.hop(hop).sources, b.hop(hop).sources)) << where;
    if (!same_numbers) continue;
    ASSERT_TRUE(std::ranges::equal(a.hop(hop).edges, b.hop(hop).edges)) << where;
  }
}

std::vector<minibatch::SamplerOptions> kinds(bool weighted) {
  minibatch::SamplerOptions plain;
  plain.fanout = {4, 3, 2};
  std::vector<minibatch::SamplerOptions> all(5, plain);
  all[1].semantics = minibatch::Semantics::kSubgraph;
  all[2].labor = true;
  all[3].replace = true;
  all[4].fanout = {-1, 5};
  if (weighted) {
    all.push_back(plain);
    all.back().weighted = true;
  }
  return all;
}

TEST(TieredEdges, SamplersDrawTheSameBatches) {
  for (const char* spec : {"dcsbm:nodes=300,classes=3", "dcsbm:nodes=300,classes=3,directed=1"}) {
    data::Dataset dataset = data::load(spec, {});
    const std::vector<double> reads = some_reads(dataset.num_nodes());
    const minibatch::InEdges<NodeId> plain = minibatch::in_edges(dataset.graph);
    std::vector<NodeId> seeds = {5, 17, 3, 200, 299, 0};
    for (const std::int64_t devices : {1, 2, 4}) {
      for (const double share : {0.0, 0.2, 1.0}) {
        const TieredEdges tiered(plain, rows_by_reads(dataset.graph, reads, share), devices, 2);
        const TieredEdges short_ones(plain, rows_by_reads(dataset.graph, reads, share), devices, 2,
                                     minibatch::EdgeSlots::kOfWeights);
        EXPECT_EQ(short_ones.bytes(), 4 * dataset.graph.num_edges() + 8 * dataset.num_nodes());
        EXPECT_EQ(tiered.bytes(), short_ones.bytes() + 8 * dataset.graph.num_edges());
        for (const minibatch::SamplerOptions& options : kinds(false)) {
          const minibatch::Sampler<NodeId> expected(plain, options);
          const minibatch::Sampler<NodeId> got(tiered.in_edges(), options);
          const minibatch::Sampler<NodeId> without_slots(short_ones.in_edges(), options);
          const auto workspace = expected.make_workspace();
          const auto other = got.make_workspace();
          minibatch::Slab a;
          minibatch::Slab b;
          for (std::int64_t batch = 0; batch < 3; ++batch) {
            expected.sample({7, 1, batch}, seeds, workspace.get(), &a);
            got.sample({7, 1, batch}, seeds, other.get(), &b);
            expect_equal(b, a, got.describe());
            got.sample_together({7, 1, batch}, seeds, 3, other.get(), &b);
            expect_equal(b, a, got.describe());
            without_slots.sample({7, 1, batch}, seeds, other.get(), &b);
            expect_equal(b, a, got.describe(), false);
          }
        }
      }
    }
  }
}

/// A renamed graph with weights: its rows are sorted by original ids first, and only then dealt out.
TEST(TieredEdges, RenamedAndWeightedGraphsDrawTheSameToo) {
  data::Dataset given = data::load("dcsbm:nodes=200,classes=2", {});
  const auto copy = [](auto values) {
    Buffer<std::remove_const_t<typename decltype(values)::element_type>> made(values.size());
    std::copy(values.begin(), values.end(), made.begin());
    return made;
  };
  Buffer<float> weights(static_cast<std::size_t>(given.graph.num_edges()));
  for (std::size_t e = 0; e < weights.size(); ++e) weights[e] = static_cast<float>(1 + e % 5);
  given.graph =
      graph::Graph(given.num_nodes(), copy(given.graph.offsets()), copy(given.graph.sources()), std::move(weights));
  graph::Order order;
  for (NodeId v = 199; v >= 0; --v) order.push_back(v);
  data::permute(order, 2, &given);
  const minibatch::OriginalOrder by_id(given.graph, given.orig_id, 2);
  const TieredEdges tiered(by_id.in_edges(), rows_by_reads(given.graph, some_reads(200), 0.3), 3, 2);
  for (const minibatch::SamplerOptions& options : kinds(true)) {
    const minibatch::Sampler<NodeId> expected(by_id.in_edges(), options);
    const minibatch::Sampler<NodeId> got(tiered.in_edges(), options);
    minibatch::Slab a;
    minibatch::Slab b;
    const std::vector<NodeId> seeds = {1, 100, 42};
    expected.sample({1, 2, 3}, seeds, expected.make_workspace().get(), &a);
    got.sample({1, 2, 3}, seeds, got.make_workspace().get(), &b);
    expect_equal(b, a, got.describe());
  }
}

TEST(TieredEdges, CountsAreThoseOfAPlainWalk) {
  const data::Dataset dataset = data::load("dcsbm:nodes=300,classes=3", {});
  const auto offsets = dataset.graph.offsets();
  const std::vector<GraphRow> hot = rows_by_reads(dataset.graph, some_reads(300), 0.4);
  const TieredEdges tiered(minibatch::in_edges(dataset.graph), hot, 3, 1);
  std::map<NodeId, std::int64_t> device;
  for (std::size_t i = 0; i < hot.size(); ++i) device[hot[i].node] = static_cast<std::int64_t>(i % 3);
  for (const minibatch::SamplerOptions& options : kinds(false)) {
    if (options.replace || options.labor) continue;  // how many a row draws is plain for the others
    const minibatch::Sampler<NodeId> sampler(tiered.in_edges(), options);
    minibatch::Slab slab;
    sampler.sample({3, 1, 0}, std::vector<NodeId>{9, 10, 250}, sampler.make_workspace().get(), &slab);
    const minibatch::MiniBatch<NodeId> batch(slab);
    TierTraffic expected;
    std::int64_t before = 0;
    for (int hop = 0; hop < batch.hops(); ++hop) {
      const std::int64_t fanout = options.fanout[static_cast<std::size_t>(hop)];
      const bool once = options.semantics == minibatch::Semantics::kSubgraph;
      for (std::int64_t i = once ? before : 0; i < batch.hop(hop).num_dst; ++i) {
        const auto v = static_cast<std::size_t>(batch.nodes()[static_cast<std::size_t>(i)]);
        const std::int64_t degree = offsets[v + 1] - offsets[v];
        const std::int64_t drawn = fanout < 0 ? degree : std::min(fanout, degree);
        const bool is_hot = device.contains(static_cast<NodeId>(v)) && degree > 0;
        TierCount& count = expected.tier[static_cast<std::size_t>(is_hot ? Tier::kPooled : Tier::kHost)];
        if (!is_hot && device.contains(static_cast<NodeId>(v))) continue;  // an empty row lies anywhere
        ++count.rows;
        count.bytes += 8 + 4 * drawn;
        count.pieces_32 += 1 + std::min(drawn, (degree + 7) / 8);
        count.pieces_128 += 1 + std::min(drawn, (degree + 31) / 32);
        if (!is_hot) continue;
        const auto owner = static_cast<std::size_t>(device[static_cast<NodeId>(v)]);
        if (expected.pooled_bytes.size() <= owner) expected.pooled_bytes.resize(owner + 1);
        expected.pooled_bytes[owner] += 8 + 4 * drawn;
      }
      before = batch.hop(hop).num_dst;
    }
    TierTraffic traffic;
    tiered.count(batch, options.semantics, &traffic);
    EXPECT_EQ(traffic, expected) << sampler.describe();
    EXPECT_GT(traffic.of(Tier::kPooled).rows, 0);
    EXPECT_GT(traffic.of(Tier::kHost).rows, 0);
  }
}

/// Reads are those that the counters count, batch by batch, for any number of threads.
TEST(TieredEdges, ReadsForetellWhatIsCounted) {
  const data::Dataset dataset = data::load("dcsbm:nodes=300,classes=3", {});
  const std::vector<NodeId> seeds = {1, 2, 3, 50, 60, 70, 200, 299};
  for (const minibatch::SamplerOptions& options : kinds(false)) {
    const minibatch::Sampler<NodeId> sampler(minibatch::in_edges(dataset.graph), options);
    const std::vector<double> reads = graph_reads({sampler, seeds, 3}, 9, 2, 1);
    EXPECT_EQ(reads, graph_reads({sampler, seeds, 3}, 9, 2, 3));
    const TieredEdges tiered(minibatch::in_edges(dataset.graph), {}, 1, 1);
    const minibatch::SeedOrder<NodeId> order(seeds, 300, {}, {3, 9, true});
    TierTraffic traffic;
    minibatch::Slab slab;
    const auto workspace = sampler.make_workspace();
    for (std::int64_t epoch = 1; epoch <= 2; ++epoch) {
      const auto shuffled = order.epoch(epoch);
      for (std::int64_t index = 0; index < order.batches_per_epoch(); ++index) {
        sampler.sample({9, epoch, index}, order.batch(shuffled, index), workspace.get(), &slab);
        tiered.count(minibatch::MiniBatch<NodeId>(slab), options.semantics, &traffic);
      }
    }
    double sum = 0;
    for (const double of_row : reads) sum += of_row;
    EXPECT_NEAR(sum * 6, static_cast<double>(traffic.of(Tier::kHost).pieces_128), 1e-9) << sampler.describe();
  }
}

TEST(TieredEdges, DevicesHoldWhatWasDealtToThem) {
  const data::Dataset dataset = data::load("dcsbm:nodes=300,classes=3", {});
  const std::vector<GraphRow> hot = rows_by_reads(dataset.graph, some_reads(300), 1);
  const TieredEdges tiered(minibatch::in_edges(dataset.graph), hot, 4, 1);
  std::int64_t bytes = 0;
  for (std::int64_t d = 0; d < 4; ++d) {
    std::int64_t mine = 0;
    for (std::size_t i = static_cast<std::size_t>(d); i < hot.size(); i += 4) mine += hot[i].bytes;
    EXPECT_EQ(tiered.device_bytes(d), mine);
    bytes += mine;
  }
  EXPECT_GT(bytes, 0);
  EXPECT_EQ(tiered.place_of(hot[1].node).device, 1);
}

TEST(TieredEdges, RefusesRowsThatAreNone) {
  const data::Dataset dataset = data::load("karate", {});
  const minibatch::InEdges<NodeId> edges = minibatch::in_edges(dataset.graph);
  const std::vector<GraphRow> twice = {{3, 8, 1}, {3, 8, 1}};
  EXPECT_THAT(error_of([&] { TieredEdges(edges, twice, 1, 1); }).what(),
              HasSubstr("row 3 of the graph is to lie in two"));
  const std::vector<GraphRow> none = {{34, 8, 1}};
  EXPECT_THAT(error_of([&] { TieredEdges(edges, none, 1, 1); }).what(), HasSubstr("no row 34; its nodes are 0 to 33"));
}

}  // namespace
}  // namespace gneiss::tiers
