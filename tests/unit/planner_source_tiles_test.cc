// Which aggregations run tile by tile of sources, or in panels of columns.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "passes/pipeline.h"
#include "support/awkward_graph.h"
#include "support/plan_model.h"

namespace gneiss {
namespace {

using ir::Op;
using ir::OpKind;
using testing::plan_of;
using testing::small;
using testing::small_for;

TEST(SourceTiles, AreChosenAndCounted) {
  const data::Dataset dataset = testing::awkward_dataset({});
  passes::Options options;
  options.disabled = {"fuse_rows"};  // only whole aggregations join bands, which changes what else is needed
  const ir::Plan whole = plan_of("gcn", dataset, small(), options);
  options.source_tiles = planner::SourceTiling::kOn;
  const ir::Plan cut = plan_of("gcn", dataset, small(), options);
  EXPECT_GT(cut.graph_uses[1].in_tile, 0);
  EXPECT_GT(cut.graph_uses[1].out_tile, 0);
  EXPECT_EQ(whole.graph_uses[1].tile_bytes, 0);
  EXPECT_EQ(cut.total_bytes(1, 1) - whole.total_bytes(1, 1), cut.graph_uses[1].tile_bytes);
  for (const ir::Step& step : cut.steps) {
    const bool aggregates = cut.program.ops[static_cast<std::size_t>(step.op)].kind == OpKind::spmm;
    EXPECT_TRUE(!aggregates || step.variant == "cpu_tiled") << step.variant;
  }
}

TEST(SourceTiles, AttentionRunsTileByTileBothWays) {
  passes::Options options;
  options.source_tiles = planner::SourceTiling::kOn;
  const ir::Plan cut =
      plan_of("gat", testing::awkward_dataset({}), small_for("gat", {{"attention_dropout", 0.0}}), options);
  int attentions = 0;
  for (const ir::Step& step : cut.steps) {
    const OpKind kind = cut.program.ops[static_cast<std::size_t>(step.op)].kind;
    if (kind != OpKind::attention && kind != OpKind::attention_grad) continue;
    ++attentions;
    EXPECT_EQ(step.variant, "cpu_tiled");
    EXPECT_EQ(step.band, -1) << "tiles of sources pass over all rows";
  }
  EXPECT_GE(attentions, 4);
  for (const auto what : {ir::Released::kInEdges, ir::Released::kOutEdges})
    EXPECT_NE(cut.release_of(what, 1), nullptr) << "nothing reads the ids of the edges but in tiles";
}

// The sizes of Reddit: 233 k nodes of 491 edges each.
TEST(SourceTiles, FollowTheMachinesRates) {
  ir::Plan plan = plan_of("gcn", testing::awkward_dataset({}),
                          {{"hidden_channels", std::int64_t{32}}, {"num_layers", std::int64_t{3}}});
  for (ir::NodeSet& set : plan.program.node_sets) set.size = 232'965;
  for (ir::GraphDef& graph : plan.program.graphs) graph.num_edges = 114'615'892;
  std::int64_t columns = 0;
  for (const ir::Op& op : plan.program.ops) {
    if (op.kind == OpKind::spmm && op.phase != ir::Phase::kSetup)
      columns = std::max(columns, plan.program.type(op.inputs[0]).cols);
  }
  const double x_bytes = 232'965.0 * static_cast<double>(columns) * 4;
  /// Of an x that is gathered at these rates where it takes a 32nd, a sixteenth, ... of its bytes, and where it takes
  /// all; -1: left whole.
  const auto tiles = [&](std::vector<double> gather_rates) -> std::int64_t {
    cost::Rates rates = cost::default_rates();
    rates.gather = {{static_cast<double>(columns)},
                    {x_bytes / 32, x_bytes / 16, x_bytes / 8, x_bytes / 4, x_bytes},
                    std::move(gather_rates)};
    rates.tile_gather = rates.gather;
    rates.segments = 32 / 20e-9;
    std::vector<std::string> decisions;
    plan.graph_uses[1].in_tile = 0;
    planner::choose_source_tiles(&plan, planner::SourceTiling::kAuto, rates, &decisions);
    const std::int64_t tile = plan.graph_uses[1].in_tile;
    return tile == 0 ? -1 : (232'965 + tile - 1) / tile;
  };
  EXPECT_EQ(tiles({50e9, 50e9, 50e9, 50e9, 50e9}), -1) << "nothing to gain";
  EXPECT_GE(tiles({90e9, 90e9, 20e9, 15e9, 10e9}), 12) << "only what is small is fast";
  EXPECT_LE(tiles({200e9, 200e9, 200e9, 200e9, 20e9}), 5) << "big tiles begin fewer segments";
  for (ir::GraphDef& graph : plan.program.graphs) graph.num_edges = 232'965;
  EXPECT_EQ(tiles({900e9, 900e9, 900e9, 900e9, 1e9}), -1) << "not more to gather than to write";
}

TEST(SourceTiles, GoByTheRatesOfTilesAndTheLargerOfEquals) {
  cost::Rates rates = cost::default_rates();
  constexpr std::int64_t kNodes = 232'965;
  constexpr std::int64_t kEdges = 114'615'892;
  constexpr double kMiB = 1 << 20;
  const auto tile_mib = [&](std::vector<double> tile_rates) {
    rates.tile_gather = {{32}, {1 * kMiB, 2 * kMiB, 4 * kMiB, 8 * kMiB}, std::move(tile_rates)};
    return static_cast<double>(planner::source_tiles_for(rates, kNodes, kNodes, kEdges, 32).tile) * 32 * sizeof(float) /
           kMiB;
  };
  rates.gather = {{32}, {kMiB}, {100e9}};  // which is not asked for tiles
  rates.segments = 1e15;
  rates.stream.rates.assign(rates.stream.rates.size(), 1e15);
  EXPECT_LT(tile_mib({200e9, 100e9, 50e9, 50e9}), 1.01);
  EXPECT_LT(tile_mib({200e9, 180e9, 100e9, 50e9}), 1.01) << "a tenth is more than about equal";
  EXPECT_GT(tile_mib({200e9, 199e9, 198e9, 197e9}), 6) << "fewer segments for as much time";
}

/// Of a Zen 4 whose shared cache has 32 MiB.
cost::Rates zen4_rates() {
  constexpr double kMiB = 1 << 20;
  cost::Rates rates = cost::default_rates();
  rates.gather = {{32},
                  {1 * kMiB, 2 * kMiB, 4 * kMiB, 8 * kMiB, 24 * kMiB, 64 * kMiB, 256 * kMiB},
                  {160e9, 145e9, 132e9, 126e9, 78e9, 53e9, 40e9}};
  rates.tile_gather = {{32}, {1 * kMiB, 2 * kMiB, 4 * kMiB, 8 * kMiB}, {192e9, 169e9, 147e9, 120e9}};
  rates.segments = 33e9;
  rates.stream = {{1}, {0.75 * kMiB, 6 * kMiB, 24 * kMiB, 192 * kMiB}, {84e9, 126e9, 103e9, 51e9}};
  return rates;
}

// The sizes of AmazonProducts and Reddit, and how near their edges lie as given and in clusters.
TEST(SourceTiles, FollowWhereTheNodesLie) {
  ir::Plan plan = plan_of("gcn", testing::awkward_dataset({}),
                          {{"hidden_channels", std::int64_t{32}}, {"num_layers", std::int64_t{3}}});
  const auto tile_of = [&](std::int64_t nodes, std::int64_t edges, const Near& near) {
    for (ir::NodeSet& set : plan.program.node_sets) set.size = nodes;
    for (ir::GraphDef& graph : plan.program.graphs) graph.num_edges = edges;
    plan.near = near;
    plan.graph_uses[1].in_tile = 0;
    std::vector<std::string> decisions;
    planner::choose_source_tiles(&plan, planner::SourceTiling::kAuto, zen4_rates(), &decisions);
    return plan.graph_uses[1].in_tile;
  };
  constexpr std::int64_t kAmazonNodes = 1'569'960;
  constexpr std::int64_t kAmazonEdges = 264'339'468;
  EXPECT_GT(tile_of(kAmazonNodes, kAmazonEdges, {0.005, 0.042}), 0);
  EXPECT_EQ(tile_of(kAmazonNodes, kAmazonEdges, {0.205, 0.576}), 0)
      << "most rows are near as it is, and 24 passes over 200 MB saved";
  constexpr std::int64_t kRedditNodes = 232'965;
  constexpr std::int64_t kRedditEdges = 114'615'892;
  const std::int64_t given = tile_of(kRedditNodes, kRedditEdges, {0.035, 0.262});
  EXPECT_GT(given, 0);
  EXPECT_GT(tile_of(kRedditNodes, kRedditEdges, {0.566, 0.782}), 3 * given / 2)
      << "rows come from within a region whatever the tile";
}

TEST(SourceTiles, OfAttentionFollowWhereTheNodesLie) {
  ir::Plan plan = plan_of("gat", testing::awkward_dataset({}),
                          {{"hidden_channels", std::int64_t{8}},
                           {"heads", std::int64_t{4}},
                           {"num_layers", std::int64_t{3}},
                           {"attention_dropout", 0.0}});
  for (ir::NodeSet& set : plan.program.node_sets) set.size = 232'965;
  for (ir::GraphDef& graph : plan.program.graphs) graph.num_edges = 114'615'892;
  cost::Rates rates = zen4_rates();
  rates.tile_gather.rates = {192e9, 120e9, 70e9, 40e9};
  rates.attention = rates.attention_grad = 20e9;
  const auto tile_of = [&](const Near& near) {
    plan.near = near;
    std::vector<std::string> decisions;
    planner::choose_source_tiles(&plan, planner::SourceTiling::kOn, rates, &decisions);
    return plan.graph_uses[1].in_tile;
  };
  const std::int64_t given = tile_of({0.035, 0.262});
  EXPECT_GT(tile_of({0.9, 1}), 3 * given / 2) << "rows come from within a cache whatever the tile";
}

// Panels of near nodes come from a cache, wherever whole rows come from.
TEST(SourceTiles, GiveWayToPanelsWhereNodesLieNear) {
  ir::Plan plan = plan_of("gcn", testing::awkward_dataset({}),
                          {{"hidden_channels", std::int64_t{128}}, {"num_layers", std::int64_t{3}}});
  for (ir::NodeSet& set : plan.program.node_sets) set.size = 2'000'000;
  for (ir::GraphDef& graph : plan.program.graphs) graph.num_edges = 100'000'000;
  cost::Rates rates = cost::default_rates();
  rates.gather = {{32, 128}, {1 << 20, 64 << 20}, {200e9, 20e9, 25e9, 25e9}};
  rates.tile_gather = {{32}, {1 << 20}, {40e9}};
  rates.segments = 1e15;
  rates.stream.rates.assign(rates.stream.rates.size(), 1e15);
  const auto tiles_and_panels = [&](const Near& near) {
    ir::Plan chosen = plan;
    chosen.near = near;
    std::vector<std::string> decisions;
    planner::choose_source_tiles(&chosen, planner::SourceTiling::kAuto, rates, &decisions);
    const auto panels = std::count_if(chosen.program.ops.begin(), chosen.program.ops.end(),
                                      [](const Op& op) { return op.attrs.has("panel"); });
    return std::pair(chosen.graph_uses[1].in_tile > 0, panels > 0);
  };
  EXPECT_EQ(tiles_and_panels({}), std::pair(true, false));
  EXPECT_EQ(tiles_and_panels({0.5, 1}), std::pair(false, true));
}

// A sum over edges from within a region meets its row of the result in few tiles.
TEST(SourceTiles, EdgesFromWithinARegionTakeFewSegments) {
  cost::Rates rates = zen4_rates();
  rates.gather.rates.assign(rates.gather.rates.size(), 100e9);
  rates.tile_gather.rates.assign(rates.tile_gather.rates.size(), 100e9);
  const auto seconds = [&](const Near& near) {
    return cost::tiled_gather_seconds(rates, 64e6, 2e6, 2e6, 32, kClusterNodes, near);
  };
  const double gathers = 64e6 * 32 * sizeof(float) / 100e9;
  EXPECT_GT((seconds({}) - gathers) / (seconds({0, 1}) - gathers), 3) << "245 tiles or 8";
  const auto attention = [&](const Near& near) {
    return cost::tiled_attention_seconds(rates, 64e6, 2e6, 2e6, 32, kClusterNodes, 1e-9, near);
  };
  EXPECT_GT((attention({}) - gathers) / (attention({0, 1}) - gathers), 3);
}

TEST(SourceTiles, WideRowsAreSweptInPanels) {
  const cost::Rates& rates = cost::default_rates();
  const auto seconds = [&](double columns) {
    return cost::tiled_gather_seconds(rates, 1e8, 1e5, 1e5, columns, 20'000);
  };
  EXPECT_GT(seconds(256), 4 * seconds(64)) << "copies of rows come on top";
  EXPECT_LT(seconds(256), 4.1 * seconds(64));
}

// Undirected ogbn-arxiv with 128 columns: 22 MB of a panel come from a cache, 87 MB of whole rows from memory.
TEST(SourceTiles, SumsRunInPanelsWhereACacheHoldsThoseAlone) {
  ir::Plan arxiv = plan_of("gcn", testing::awkward_dataset({}),
                           {{"hidden_channels", std::int64_t{128}}, {"num_layers", std::int64_t{3}}});
  for (ir::NodeSet& set : arxiv.program.node_sets) set.size = 169'343;
  for (ir::GraphDef& graph : arxiv.program.graphs) graph.num_edges = 2'484'941;
  cost::Rates rates = cost::default_rates();
  rates.gather = {{32, 128}, {4 << 20, 24 << 20, 64 << 20}, {130e9, 80e9, 40e9, 150e9, 90e9, 40e9}};
  rates.tile_gather = {{32}, {1 << 20, 8 << 20}, {150e9, 120e9}};
  rates.stream = {{1}, {4 << 20, 64 << 20}, {100e9, 38e9}};
  const auto panels = [&](planner::SourceTiling tiling, const Near& near) {
    ir::Plan plan = arxiv;
    std::vector<std::string> decisions;
    plan.near = near;
    planner::choose_source_tiles(&plan, tiling, rates, &decisions);
    int count = 0;
    for (const ir::Op& op : plan.program.ops) {
      if (!op.attrs.has("panel")) continue;
      ++count;
      EXPECT_EQ(op.attrs.integer("panel", 0), planner::kPanelColumns);
      EXPECT_EQ(plan.program.type(op.inputs[0]).cols, 128);
      EXPECT_NE(op.phase, ir::Phase::kSetup);
      EXPECT_THAT(decisions, ::testing::Contains(::testing::HasSubstr("128 columns in panels of 32: %" +
                                                                      plan.program.value_name(op.results[0]))));
    }
    return count;
  };
  EXPECT_EQ(panels(planner::SourceTiling::kAuto, {}), 3) << "forward, backward and inference";
  EXPECT_EQ(panels(planner::SourceTiling::kAuto, {0.6, 0.8}), 0) << "most rows are near as it is";
  EXPECT_EQ(panels(planner::SourceTiling::kOff, {}), 0);
  EXPECT_EQ(panels(planner::SourceTiling::kOn, {}), 0) << "cut";
  rates.gather.rates = {80e9, 80e9, 80e9, 80e9, 80e9, 80e9};
  EXPECT_EQ(panels(planner::SourceTiling::kAuto, {}), 0) << "whole rows are not slower";
}

// Results of panels lie in whole rows: what passes over them meets as many bytes between two visits as there are in
// those.
TEST(SourceTiles, PanelsOfTilesPassOverWholeResults) {
  cost::Rates rates = cost::default_rates();
  rates.stream = {{1}, {4 << 20, 32 << 20, 64 << 20}, {200e9, 200e9, 20e9}};
  const auto seconds = [&](double columns) {
    return cost::tiled_gather_seconds(rates, 2.4e6, 169'343, 169'343, columns, 56'448);
  };
  EXPECT_GT(seconds(128), 6 * seconds(32));
}

// The sizes of ogbn-products: tiles that a cache holds leave half an edge to a row, and pass over a result of 300 MB
// fifty times.
TEST(SourceTiles, LeaveAResultThatComesFromMemoryAlone) {
  cost::Rates rates = cost::default_rates();
  rates.gather = {{32}, {2 << 20, 8 << 20, 24 << 20, 64 << 20, 256 << 20}, {80e9, 80e9, 38e9, 23e9, 17e9}};
  rates.tile_gather = rates.gather;
  rates.stream = {{1}, {6 << 20, 24 << 20, 192 << 20}, {138e9, 92e9, 33e9}};
  constexpr double kEdges = 64'300'000;
  constexpr double kNodes = 2'449'029;
  const double whole = cost::gather_seconds(rates, kEdges, kNodes, kNodes, 32);
  const auto tiled = [&] {
    return planner::source_tiles_for(rates, static_cast<std::int64_t>(kNodes), static_cast<std::int64_t>(kNodes),
                                     static_cast<std::int64_t>(kEdges), 32)
        .seconds;
  };
  EXPECT_GT(tiled(), whole);
  rates.stream.rates = {138e9, 138e9, 138e9};
  EXPECT_LT(tiled(), whole) << "a result that stayed in a cache would be worth it";
}

}  // namespace
}  // namespace gneiss
