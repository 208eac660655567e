// Scores against dense matrices in f64, the order that they give, and the chance of a node to be in a batch against
// batches of the real sampler.
#include "tiers/scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "graph/reorder.h"
#include "minibatch/seeds.h"
#include "minibatch/workspace.h"
#include "support/data_fixtures.h"
#include "tiers/accesses.h"
#include "tiers/scorer.h"

namespace gneiss::tiers {
namespace {

using ::gneiss::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Edges = std::vector<std::pair<NodeId, NodeId>>;
using Matrix = std::vector<std::vector<double>>;

graph::Graph make_graph(std::int64_t nodes, const Edges& edges) {
  graph::EdgeList list{Buffer<NodeId>(edges.size()), Buffer<NodeId>(edges.size()), {}};
  for (std::size_t e = 0; e < edges.size(); ++e) {
    list.src[e] = edges[e].first;
    list.dst[e] = edges[e].second;
  }
  return graph::build_graph(list, nodes);
}

/// Directed and asymmetric, with hubs in both directions, parallel edges, self loops and isolated nodes.
Edges wild_edges(NodeId nodes) {
  RandomStream random(21, 4);
  const auto any = [&] { return static_cast<NodeId>(random.below(static_cast<std::uint64_t>(nodes))); };
  Edges edges;
  for (NodeId v = 0; v < nodes; ++v) {
    if (v % 11 == 7) continue;
    for (std::uint64_t k = random.below(6); k > 0; --k) {
      const NodeId u = random.below(3) == 0 ? 0 : any();
      if (u % 11 == 7) continue;
      edges.emplace_back(u, v);
      if (random.below(5) == 0) edges.emplace_back(u, v);
    }
    if (v % 4 == 0) edges.emplace_back(v, NodeId{1});
    if (v % 9 == 0) edges.emplace_back(v, v);
  }
  return edges;
}

struct Case {
  std::string name;
  std::int64_t nodes;
  Edges edges;
  std::vector<NodeId> train;
};

std::vector<Case> cases() {
  Edges both_ways;
  for (const auto& [u, v] : wild_edges(40)) {
    if (u == v) continue;
    both_ways.emplace_back(u, v);
    both_ways.emplace_back(v, u);
  }
  return {{"one node", 1, {}, {0}},
          {"no edges", 5, {}, {1, 3}},
          {"a loop", 1, {{0, 0}}, {0}},
          {"a chain", 4, {{3, 2}, {2, 1}, {1, 0}}, {0}},
          {"parallel", 3, {{1, 0}, {1, 0}, {1, 0}, {2, 0}, {2, 1}}, {0, 1}},
          {"wild", 60, wild_edges(60), {0, 1, 7, 12, 13, 14, 20, 33, 58}},
          {"both ways", 40, both_ways, {2, 3, 5}}};
}

/// [u][v]: how many edges u -> v there are.
Matrix edge_counts(const Case& c) {
  Matrix counts(static_cast<std::size_t>(c.nodes), std::vector<double>(static_cast<std::size_t>(c.nodes), 0));
  for (const auto& [u, v] : c.edges) counts[static_cast<std::size_t>(u)][static_cast<std::size_t>(v)] += 1;
  return counts;
}

std::vector<double> in_degrees(const Matrix& counts) {
  std::vector<double> degrees(counts.size(), 0);
  for (const auto& row : counts)
    for (std::size_t v = 0; v < row.size(); ++v) degrees[v] += row[v];
  return degrees;
}

/// [u][v]: the part of v's score that u gets.
Matrix parts(const Case& c) {
  Matrix made = edge_counts(c);
  const std::vector<double> degrees = in_degrees(made);
  for (auto& row : made)
    for (std::size_t v = 0; v < row.size(); ++v) row[v] = degrees[v] == 0 ? 0 : row[v] / degrees[v];
  return made;
}

/// Solves (I - d P) s = (1 - d)/n by elimination with pivots.
std::vector<double> settled(const Case& c, double damping) {
  Matrix a = parts(c);
  const std::size_t n = a.size();
  std::vector<double> s(n, (1 - damping) / static_cast<double>(n));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) a[i][j] = (i == j ? 1.0 : 0.0) - damping * a[i][j];
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k; i < n; ++i)
      if (std::abs(a[i][k]) > std::abs(a[pivot][k])) pivot = i;
    std::swap(a[k], a[pivot]);
    std::swap(s[k], s[pivot]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = a[i][k] / a[k][k];
      for (std::size_t j = k; j < n; ++j) a[i][j] -= factor * a[k][j];
      s[i] -= factor * s[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) s[k] -= a[k][j] * s[j];
    s[k] /= a[k][k];
  }
  return s;
}

/// The printed loops over a full matrix.
std::vector<double> iterated(const Case& c, double damping, int iterations) {
  const Matrix p = parts(c);
  const std::size_t n = p.size();
  std::vector<double> score(n, 1 / static_cast<double>(n));
  const double weight = static_cast<double>(n) / static_cast<double>(c.train.size());
  for (const NodeId v : c.train) score[static_cast<std::size_t>(v)] *= weight;
  for (int i = 0; i < iterations; ++i) {
    std::vector<double> next(n, 0);
    for (std::size_t u = 0; u < n; ++u) {
      next[u] = (1 - damping) / static_cast<double>(n);
      for (std::size_t v = 0; v < n; ++v) next[u] += damping * p[u][v] * score[v];
    }
    score = next;
  }
  return score;
}

/// Products of what does not happen, over a full matrix, by logarithms; a chance for each hop at which a node was first
/// seen, rather than a running one.
std::vector<double> included(const Case& c, std::int64_t batch_size, const minibatch::SamplerOptions& sampler) {
  const Matrix counts = edge_counts(c);
  const std::vector<double> degrees = in_degrees(counts);
  const std::size_t n = counts.size();
  const auto q = [&](std::size_t v, std::int64_t fanout) {
    if (degrees[v] == 0) return 0.0;
    if (fanout < 0) return 1.0;
    const auto f = static_cast<double>(fanout);
    return sampler.replace ? 1 - std::pow(1 - 1 / degrees[v], f) : std::min(1.0, f / degrees[v]);
  };
  std::vector<double> seed(n, 0);
  for (const NodeId v : c.train)
    seed[static_cast<std::size_t>(v)] =
        std::min(1.0, static_cast<double>(batch_size) / static_cast<double>(c.train.size()));
  Matrix new_at = {seed};  // [hop][node]: first seen then
  std::vector<double> seen = seed;
  for (std::size_t h = 0; h < sampler.fanout.size(); ++h) {
    std::vector<double> after(n);
    for (std::size_t u = 0; u < n; ++u) {
      double log_not = std::log1p(-seed[u]);
      for (std::size_t v = 0; v < n; ++v) {
        if (counts[u][v] == 0) continue;
        double drawn = 0;
        for (std::size_t j = 0; j <= h; ++j) {
          double never = 1;
          for (std::size_t k = j; k <= h; ++k) {
            if (sampler.semantics == minibatch::Semantics::kSubgraph && k > j) break;
            never *= 1 - q(v, sampler.fanout[k]);
          }
          drawn += new_at[j][v] * (1 - never);
        }
        log_not += counts[u][v] * std::log1p(-std::min(1.0, drawn));
      }
      after[u] = -std::expm1(log_not);
    }
    new_at.emplace_back(n);
    for (std::size_t u = 0; u < n; ++u) new_at.back()[u] = after[u] - seen[u];
    seen = after;
  }
  return seen;
}

void expect_near(const std::vector<double>& got, const std::vector<double>& expected, const std::string& where) {
  ASSERT_EQ(got.size(), expected.size()) << where;
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-12) << where << ", node " << i;
}

TEST(Scores, DegreeCountsOutEdges) {
  const graph::Graph graph = make_graph(4, {{0, 1}, {0, 2}, {0, 2}, {3, 3}, {2, 0}});
  EXPECT_THAT(degree_score(BothEnds(graph, 1)), ElementsAre(3, 0, 1, 1));
}

TEST(Scores, ReversePageRankSolvesItsEquations) {
  for (const Case& c : cases()) {
    const graph::Graph graph = make_graph(c.nodes, c.edges);
    for (const double damping : {0.0, 0.5, 0.85}) {
      PageRankOptions options;
      options.damping = damping;
      options.tolerance = 1e-15;
      expect_near(reverse_pagerank(BothEnds(graph, 1), {}, options, 1), settled(c, damping), c.name);
    }
  }
}

TEST(Scores, WeightedReversePageRankIsThePrintedLoopReadingOldScoresOnly) {
  for (const Case& c : cases()) {
    const graph::Graph graph = make_graph(c.nodes, c.edges);
    for (const double damping : {0.5, 0.85, 1.0}) {
      for (const int iterations : {1, 3, 5, 20}) {
        PageRankOptions options;
        options.damping = damping;
        options.iterations = iterations;
        expect_near(reverse_pagerank(BothEnds(graph, 2), c.train, options, 2), iterated(c, damping, iterations),
                    c.name);
      }
    }
  }
}

TEST(Scores, InclusionIsTheProductOverAllWays) {
  for (const Case& c : cases()) {
    const graph::Graph graph = make_graph(c.nodes, c.edges);
    for (const bool replace : {false, true}) {
      for (const auto semantics : {minibatch::Semantics::kMessageFlow, minibatch::Semantics::kSubgraph}) {
        for (const std::vector<std::int64_t>& fanout :
             {std::vector<std::int64_t>{}, {2}, {2, 3}, {-1, 1, 2}, {3, 2, 1, 1}}) {
          minibatch::SamplerOptions sampler;
          sampler.fanout = fanout;
          sampler.replace = replace;
          sampler.semantics = semantics;
          for (const std::int64_t batch : {1, 2})
            expect_near(inclusion_score(BothEnds(graph, 1), c.train, batch, sampler, 1), included(c, batch, sampler),
                        c.name);
        }
      }
    }
  }
}

TEST(Scores, SameBitsForAnyNumberOfThreads) {
  const NodeId n = 20000;
  const graph::Graph graph = make_graph(n, wild_edges(n));
  std::vector<NodeId> train(500);
  std::iota(train.begin(), train.end(), NodeId{100});
  minibatch::SamplerOptions sampler;
  sampler.fanout = {4, 3};
  const BothEnds one(graph, 1);
  const BothEnds four(graph, 4);
  EXPECT_EQ(reverse_pagerank(one, {}, {}, 1), reverse_pagerank(four, {}, {}, 4));
  EXPECT_EQ(reverse_pagerank(one, train, {.iterations = 3}, 1), reverse_pagerank(four, train, {.iterations = 3}, 3));
  EXPECT_EQ(inclusion_score(one, train, 64, sampler, 1), inclusion_score(four, train, 64, sampler, 4));
}

/// In a tree that leads to the training nodes no two ways meet, and the chance is exact: counts over many batches have
/// to lie within five deviations of it.
TEST(Scores, InclusionInATreeIsHowOftenTheSamplerDraws) {
  Edges edges;
  std::vector<NodeId> train;
  NodeId next = 0;
  for (int root = 0; root < 8; ++root) {
    train.push_back(next);
    std::vector<NodeId> level = {next++};
    for (const int children : {4, 3, 3}) {
      std::vector<NodeId> below;
      for (const NodeId v : level) {
        for (int k = 0; k < children; ++k) {
          edges.emplace_back(next, v);
          below.push_back(next++);
        }
      }
      level = below;
    }
  }
  const graph::Graph graph = make_graph(next, edges);
  for (const auto semantics : {minibatch::Semantics::kMessageFlow, minibatch::Semantics::kSubgraph}) {
    minibatch::SamplerOptions options;
    options.fanout = {2, 1, 2};
    options.semantics = semantics;
    const minibatch::Sampler<NodeId> sampler(minibatch::in_edges(graph), options);
    const Accesses counted = count_accesses({sampler, train, 2}, 5, 1, 1000, 2);
    ASSERT_EQ(counted.batches, 4000);
    const std::vector<double> chance = inclusion_score(BothEnds(graph, 1), train, 2, options, 1);
    for (std::size_t v = 0; v < chance.size(); ++v) {
      const double batches = 4000;
      const double deviation = std::sqrt(batches * chance[v] * (1 - chance[v]));
      EXPECT_NEAR(static_cast<double>(counted.counts[v]), batches * chance[v], 5 * deviation) << "node " << v;
    }
  }
}

TEST(Accesses, ARowIsReadOnceByEachBatchThatHoldsItsNode) {
  const NodeId n = 300;
  const graph::Graph graph = make_graph(n, wild_edges(n));
  std::vector<NodeId> train(50);
  std::iota(train.begin(), train.end(), NodeId{20});
  minibatch::SamplerOptions options;
  options.fanout = {3, 2};
  const minibatch::Sampler<NodeId> sampler(minibatch::in_edges(graph), options);
  const Accesses three = count_accesses({sampler, train, 16}, 9, 2, 2, 3);
  EXPECT_EQ(three.batches, 8);
  std::vector<std::int64_t> counts(n, 0);
  std::int64_t rows = 0;
  const minibatch::SeedOrder<NodeId> order(train, n, {}, {16, 9, true});
  const auto workspace = sampler.make_workspace();
  minibatch::Slab slab;
  for (const std::int64_t epoch : {2, 3}) {
    const auto seeds = order.epoch(epoch);
    for (std::int64_t b = 0; b < 4; ++b) {
      sampler.sample({9, epoch, b}, order.batch(seeds, b), workspace.get(), &slab);
      const minibatch::MiniBatch<NodeId> batch(slab);
      for (const NodeId v : batch.nodes()) ++counts[static_cast<std::size_t>(v)];
      rows += std::ssize(batch.nodes());
    }
  }
  EXPECT_EQ(three.counts, counts);
  EXPECT_EQ(three.rows, rows);
}

TEST(HotOrder, FallsByScoreThenRisesByOriginalId) {
  EXPECT_THAT(hot_order(std::vector<double>{0.1, 0.4, 0.2, 0.3}, {}), ElementsAre(1, 3, 2, 0));
  EXPECT_THAT(hot_order(std::vector<double>{1, 2, 1, 2, -1, 0.0, -0.0}, {}), ElementsAre(1, 3, 0, 2, 5, 6, 4));
  const std::vector<std::int64_t> orig_id = {30, 40, 10, 20};
  EXPECT_THAT(hot_order(std::vector<double>{1, 1, 1, 2}, orig_id), ElementsAre(3, 2, 0, 1));
  EXPECT_TRUE(hot_order({}, {}).empty());
  EXPECT_EQ(error_of([&] { hot_order(std::vector<double>{1}, orig_id); }).code(), ErrorCode::kShape);
}

TEST(HotOrder, ARenamedGraphGivesTheRenamedOrder) {
  const NodeId n = 500;
  const graph::Graph graph = make_graph(n, wild_edges(n));
  graph::Order names(n);
  for (NodeId i = 0; i < n; ++i) names[static_cast<std::size_t>(i)] = (i * 7 + 3) % n;
  const graph::Graph renamed = graph::permute(graph, names, 1);
  const std::vector<std::int64_t> orig_id(names.begin(), names.end());
  const graph::Order as_given = hot_order(degree_score(BothEnds(graph, 1)), {});
  graph::Order again = hot_order(degree_score(BothEnds(renamed, 1)), orig_id);
  for (NodeId& v : again) v = names[static_cast<std::size_t>(v)];
  EXPECT_EQ(again, as_given);
}

TEST(HotRows, SharesAreRoundedAndOneRowIsTheLeast) {
  EXPECT_EQ(hot_rows(0, 100), 0);
  EXPECT_EQ(hot_rows(0.1, 34), 3);
  EXPECT_EQ(hot_rows(0.001, 34), 1);
  EXPECT_EQ(hot_rows(1, 34), 34);
  EXPECT_EQ(hot_rows(2, 34), 34);
  EXPECT_EQ(hot_rows(0.5, 0), 0);
}

TEST(HitRate, CountsWhatTheFirstRowsServe) {
  Accesses accesses;
  accesses.counts = {5, 0, 3, 2};
  accesses.rows = 10;
  const graph::Order order = {2, 0, 1, 3};
  EXPECT_DOUBLE_EQ(hit_rate(accesses, order, 0), 0);
  EXPECT_DOUBLE_EQ(hit_rate(accesses, order, 1), 0.3);
  EXPECT_DOUBLE_EQ(hit_rate(accesses, order, 2), 0.8);
  EXPECT_DOUBLE_EQ(hit_rate(accesses, order, 9), 1);
  EXPECT_DOUBLE_EQ(hit_rate({}, order, 2), 0);
}

TEST(Scorer, NoOrderBeatsTheReplay) {
  const NodeId n = 800;
  const graph::Graph graph = make_graph(n, wild_edges(n));
  std::vector<NodeId> train(80);
  std::iota(train.begin(), train.end(), NodeId{40});
  minibatch::SamplerOptions options;
  options.fanout = {3, 3};
  const minibatch::Sampler<NodeId> sampler(minibatch::in_edges(graph), options);
  Scorer scorer(graph, {sampler, train, 16}, {}, 2);
  const Accesses held_out = scorer.held_out(1, 2);
  const Ranking oracle = scorer.replay(held_out);
  std::vector<Ranking> rankings;
  for (const Score score : candidate_scores()) rankings.push_back(scorer.rank(score));
  for (const std::int64_t hot : {1, 8, 80, 200, 799}) {
    const double best = hit_rate(held_out, oracle.order, hot);
    for (const Ranking& ranking : rankings)
      EXPECT_LE(hit_rate(held_out, ranking.order, hot), best) << score_name(ranking.score);
    const Ranking& chosen = best_ranking(rankings, scorer.to_choose_by(), hot);
    for (const Ranking& ranking : rankings)
      EXPECT_LE(hit_rate(scorer.to_choose_by(), ranking.order, hot),
                hit_rate(scorer.to_choose_by(), chosen.order, hot));
  }
  EXPECT_NE(scorer.to_choose_by().counts, held_out.counts);
}

TEST(Scorer, NamesAreUnderstoodOrRefused) {
  EXPECT_THAT(parse_scores("wrpr,degree", "--score"), ElementsAre(Score::kWeightedReversePageRank, Score::kDegree));
  EXPECT_EQ(parse_scores("auto", "--score").size(), 5U);
  EXPECT_THAT(error_of([] { parse_scores("vip,vop", "--score"); }).what(), HasSubstr("unknown score 'vop'"));
  EXPECT_THAT(error_of([] { parse_scores("vip,vip", "--score"); }).what(), HasSubstr("stands twice"));
  EXPECT_THAT(error_of([] { parse_scores("oracle", "--score"); }).what(), HasSubstr("knows the batches"));
  EXPECT_THAT(error_of([] { parse_scores("", "--score"); }).what(), HasSubstr("unknown score ''"));
}

TEST(Scores, WhatCannotBeScoredIsSaid) {
  const graph::Graph graph = make_graph(3, {{0, 1}});
  const BothEnds ends(graph, 1);
  minibatch::SamplerOptions sampler;
  sampler.fanout = {2};
  const std::vector<NodeId> train = {1};
  EXPECT_THAT(error_of([&] { inclusion_score(ends, {}, 2, sampler, 1); }).what(), HasSubstr("training nodes"));
  sampler.weighted = true;
  EXPECT_EQ(error_of([&] { inclusion_score(ends, train, 2, sampler, 1); }).code(), ErrorCode::kUnsupported);
  EXPECT_THAT(error_of([&] { reverse_pagerank(ends, {}, {.damping = 1.5}, 1); }).what(), HasSubstr("from 0 to 1"));
  EXPECT_THAT(error_of([&] { reverse_pagerank(ends, {}, {.damping = 1}, 1); }).what(), HasSubstr("never settle"));
}

}  // namespace
}  // namespace gneiss::tiers
