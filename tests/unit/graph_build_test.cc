// Building, transposing and looping the immutable graph.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "graph/graph.h"
#include "graph/source_tiles.h"
#include "graph/symmetry.h"
#include "support/data_fixtures.h"

namespace gneiss::graph {
namespace {

using ::gneiss::testing::error_of;
using ::gneiss::testing::list;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

EdgeList edges(const std::vector<NodeId>& src, const std::vector<NodeId>& dst, const std::vector<float>& weight = {}) {
  return {Buffer<NodeId>::copy_of(src), Buffer<NodeId>::copy_of(dst), Buffer<float>::copy_of(weight)};
}

TEST(BuildTest, SortsByDestinationThenSourceAndKeepsParallelEdgesInOrder) {
  const Graph g = build_graph(edges({2, 0, 2, 1, 2}, {1, 1, 0, 1, 1}, {1, 2, 3, 4, 5}), 3);
  EXPECT_THAT(list(g.offsets()), ElementsAre(0, 1, 5, 5));
  EXPECT_THAT(list(g.sources()), ElementsAre(2, 0, 1, 2, 2));
  EXPECT_THAT(list(g.weights()), ElementsAre(3, 2, 4, 1, 5));
  EXPECT_FALSE(g.symmetric());
}

TEST(BuildTest, CoalesceSumsWeights) {
  const Graph g = build_graph(edges({0, 0, 1}, {1, 1, 0}, {1, 2, 4}), 2, {.coalesce = true});
  EXPECT_THAT(list(g.sources()), ElementsAre(1, 0));
  EXPECT_THAT(list(g.weights()), ElementsAre(4, 3));
}

TEST(BuildTest, SortsAndMergesLikeAStableSortOnAnyNumberOfThreads) {
  // More destinations than a bucket holds, a hub, empty rows, many parallel edges, rows that ascend and rows that fall.
  constexpr NodeId kNodes = 150000;
  RandomStream random(11, 1);
  std::vector<NodeId> src, dst;
  std::vector<float> weight;
  for (int e = 0; e < 90000; ++e) {
    src.push_back(static_cast<NodeId>(random.below(e % 2 == 0 ? 30 : kNodes)));
    dst.push_back(e % 3 == 0 ? 70000 : static_cast<NodeId>(random.below(e % 2 == 0 ? 40 : kNodes)));
    weight.push_back(static_cast<float>(random.below(1000)) + 0.1F);
  }
  std::vector<std::size_t> order(src.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return std::pair(dst[a], src[a]) < std::pair(dst[b], src[b]); });
  std::vector<NodeId> sources, merged;
  std::vector<float> weights, sums;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t e = order[i];
    sources.push_back(src[e]);
    weights.push_back(weight[e]);
    const bool again = i > 0 && src[order[i - 1]] == src[e] && dst[order[i - 1]] == dst[e];
    if (again) {
      sums.back() += weight[e];
    } else {
      merged.push_back(src[e]);
      sums.push_back(weight[e]);
    }
  }
  ASSERT_LT(merged.size(), sources.size());
  for (const int threads : {1, 2, 5}) {
    const Graph whole = build_graph(edges(src, dst, weight), kNodes, {.threads = threads});
    EXPECT_EQ(list(whole.sources()), sources);
    EXPECT_EQ(list(whole.weights()), weights);
    for (const NodeId v : {0, 5, 69999, 70000, 70001, kNodes - 1}) {
      const auto before = std::count_if(dst.begin(), dst.end(), [&](NodeId d) { return d < v; });
      EXPECT_EQ(whole.offsets()[static_cast<std::size_t>(v)], before) << v;
    }
    EXPECT_EQ(list(build_graph(edges(src, dst), kNodes, {.threads = threads}).sources()), sources);
    const Graph once = build_graph(edges(src, dst, weight), kNodes, {.coalesce = true, .threads = threads});
    EXPECT_EQ(list(once.sources()), merged);
    EXPECT_EQ(list(once.weights()), sums);
    EXPECT_EQ(once.offsets().back(), static_cast<EdgeId>(merged.size()));
  }
}

TEST(BuildTest, OptionsApplyInOrder) {
  const Graph g = build_graph(edges({0, 1, 1}, {1, 1, 2}), 3,
                              {.remove_self_loops = true, .to_undirected = true, .add_self_loops = true});
  EXPECT_THAT(list(g.offsets()), ElementsAre(0, 2, 5, 7));
  EXPECT_THAT(list(g.sources()), ElementsAre(0, 1, 0, 1, 2, 1, 2));
  EXPECT_TRUE(g.symmetric());
}

TEST(BuildTest, EmptyGraphs) {
  EXPECT_EQ(build_graph({}, 0).num_nodes(), 0);
  EXPECT_EQ(build_graph({}, 5).num_edges(), 0);
  EXPECT_EQ(build_graph({}, 5).num_nodes(), 5);
  EXPECT_TRUE(build_graph({}, 5).symmetric());
}

TEST(BuildTest, NamesTheFirstBadRowOfMany) {
  constexpr NodeId kNodes = 10000;  // more than are checked together
  std::vector<EdgeId> offsets(kNodes + 1);
  std::vector<NodeId> sources(2 * kNodes);
  const auto refusal = [&] {
    return error_of(
               [&] { Graph(kNodes, Buffer<EdgeId>::copy_of(offsets), Buffer<NodeId>::copy_of(sources), {}, false); })
        .message();
  };
  const auto reset = [&] {
    for (std::size_t v = 0; v < offsets.size(); ++v) offsets[v] = static_cast<EdgeId>(2 * v);
    for (std::size_t k = 0; k < sources.size(); ++k) sources[k] = static_cast<NodeId>(k % 2);
  };
  reset();
  EXPECT_NO_THROW(Graph(kNodes, Buffer<EdgeId>::copy_of(offsets), Buffer<NodeId>::copy_of(sources), {}, false));
  sources[2 * 9000] = sources[2 * 9500] = kNodes;
  EXPECT_THAT(refusal(), HasSubstr("edge 18000 of node 9000 comes from node 10000, outside 0..9999"));
  reset();
  sources[2 * 9000 + 1] = sources[2 * 9500 + 1] = -1;
  EXPECT_THAT(refusal(), HasSubstr("edge 18001 of node 9000 comes from node -1"));
  reset();
  sources[2 * 9000] = 2;
  EXPECT_THAT(refusal(), HasSubstr("sources of node 9000 are not in ascending order at edge 18001"));
  reset();
  offsets[9001] = 17000;
  EXPECT_THAT(refusal(), HasSubstr("offsets fall at node 9000 (18000 then 17000)"));
  reset();
  offsets[9001] = 30000;
  EXPECT_THAT(refusal(), HasSubstr("offset of node 9001 is 30000, beyond 20000 edges"));
}

TEST(BuildTest, NamesTheFirstBadEdge) {
  EXPECT_THAT(error_of([] {
                build_graph(edges({0, 1}, {1, 7}), 3);
              }).message(),
              HasSubstr("edge 1 (1 -> 7) names node 7, outside 0..2"));
  EXPECT_THAT(error_of([] { build_graph(edges({0, -1}, {1, 0}), 3); }).message(), HasSubstr("names node -1"));
  EXPECT_THAT(error_of([] {
                build_graph(edges({0}, {1, 2}), 3);
              }).message(),
              HasSubstr("1 sources but 2 destinations"));
  EXPECT_THAT(error_of([] { build_graph(edges({0}, {1}, {1, 2}), 3); }).message(), HasSubstr("2 weights for 1 edges"));
  std::vector<NodeId> many(700000, 1);  // more than are looked at together
  many[600000] = 9;
  many[650000] = -1;
  EXPECT_THAT(
      error_of([&] { build_graph(edges(many, std::vector<NodeId>(many.size(), 1)), 3, {.threads = 2}); }).message(),
      HasSubstr("edge 600000 (9 -> 1) names node 9"));
}

/// The list in ids of one type, as a caller holds it, becomes the graph that build_graph makes of it.
template <class Id>
void expect_same_as_built(const std::vector<NodeId>& src, const std::vector<NodeId>& dst,
                          const std::vector<float>& weight, std::int64_t nodes) {
  const std::vector<Id> from(src.begin(), src.end());
  const std::vector<Id> to(dst.begin(), dst.end());
  const Graph expected = build_graph(edges(src, dst, weight), nodes);
  for (const int threads : {1, 3}) {
    const auto graph = graph_of_list(std::span(from), std::span(to), Buffer<float>::copy_of(weight), nodes, threads);
    ASSERT_TRUE(graph.has_value());
    EXPECT_EQ(list(graph->offsets()), list(expected.offsets()));
    EXPECT_EQ(list(graph->sources()), list(expected.sources()));
    EXPECT_EQ(list(graph->weights()), list(expected.weights()));
    EXPECT_EQ(graph->symmetric(), expected.symmetric());
  }
}

TEST(ListTest, AnyOrderMakesTheSameGraph) {
  // Parallel edges, a hub, empty rows, and more edges than one sweep looks at together; with and without each reverse.
  constexpr NodeId kNodes = 3000;
  for (const bool symmetric : {false, true}) {
    RandomStream random(7, symmetric ? 1 : 0);
    std::vector<NodeId> src, dst;
    for (int e = 0; e < 20000; ++e) {
      src.push_back(static_cast<NodeId>(random.below(kNodes)));
      dst.push_back(e % 3 == 0 ? 7 : static_cast<NodeId>(random.below(kNodes / 2)));
      if (!symmetric) continue;
      src.push_back(dst.back());
      dst.push_back(src[src.size() - 2]);
    }
    std::vector<std::size_t> order(src.size());
    std::iota(order.begin(), order.end(), 0);
    for (const char* by : {"nothing", "source", "target"}) {
      const bool by_source = by == std::string("source");
      const auto& major = by_source ? src : dst;
      const auto& minor = by_source ? dst : src;
      const auto before = [&](std::size_t a, std::size_t b) {
        return std::pair(major[a], minor[a]) < std::pair(major[b], minor[b]);
      };
      if (by != std::string("nothing")) std::stable_sort(order.begin(), order.end(), before);
      std::vector<NodeId> from, to;
      std::vector<float> number, both;  // weights that tell parallel edges apart, and those that both directions have
      for (const std::size_t e : order) {
        from.push_back(src[e]);
        to.push_back(dst[e]);
        number.push_back(static_cast<float>(e));
        both.push_back(static_cast<float>(src[e] + dst[e]));
      }
      for (const std::vector<float>& weight : {std::vector<float>(), number, both}) {
        SCOPED_TRACE(::testing::Message() << by << ", symmetric " << symmetric << ", weights " << weight.size());
        expect_same_as_built<std::int64_t>(from, to, weight, kNodes);
        expect_same_as_built<NodeId>(from, to, weight, kNodes);
      }
    }
  }
}

TEST(ListTest, EdgesOfFewNodes) {
  expect_same_as_built<std::int64_t>({}, {}, {}, 0);
  expect_same_as_built<std::int64_t>({}, {}, {}, 3);
  expect_same_as_built<std::int64_t>({4}, {4}, {2}, 5);
  expect_same_as_built<std::int64_t>({0, 0}, {1, 1}, {2, 1}, 4);
}

TEST(ListTest, IdsOfNoNodeAreForTheCallerToName) {
  const auto graph = [](const std::vector<std::int64_t>& src, const std::vector<std::int64_t>& dst) {
    return graph_of_list(std::span(src), std::span(dst), {}, 3).has_value();
  };
  EXPECT_TRUE(graph({0, 1}, {2, 0}));
  EXPECT_FALSE(graph({0, 3}, {2, 0}));
  EXPECT_FALSE(graph({0, 1}, {2, -1}));
  EXPECT_FALSE(graph({0, std::int64_t{1} << 32}, {2, 0})) << "whose lower half is a node";
}

TEST(GraphTest, ChecksItsArrays) {
  const auto make = [](const std::vector<EdgeId>& offsets, const std::vector<NodeId>& sources,
                       const std::vector<float>& weights = {}) {
    return error_of([&] {
             Graph g(3, Buffer<EdgeId>::copy_of(offsets), Buffer<NodeId>::copy_of(sources),
                     Buffer<float>::copy_of(weights));
           })
        .message();
  };
  EXPECT_THAT(make({}, {}), HasSubstr("must start with 0"));
  EXPECT_THAT(make({1, 1}, {0}), HasSubstr("must start with 0"));
  EXPECT_THAT(make({0, 2}, {0}), HasSubstr("offsets end at 2, but there are 1 edges"));
  EXPECT_THAT(make({0, 2, 1, 2}, {0, 0}), HasSubstr("offsets fall at node 1"));
  EXPECT_THAT(make({0, 9, 1}, {0}), HasSubstr("beyond 1 edges"));
  EXPECT_THAT(make({0, 1}, {3}), HasSubstr("comes from node 3, outside 0..2"));
  EXPECT_THAT(make({0, 2}, {1, 0}), HasSubstr("not in ascending order"));
  EXPECT_THAT(make({0, 1}, {0}, {1, 2}), HasSubstr("2 edge weights for 1 edges"));
}

TEST(RowsTest, EdgesIntoSomeRowsAndTheRowsThemselves) {
  const Graph g = build_graph(edges({2, 0, 2, 1, 2}, {1, 1, 0, 1, 3}, {1, 2, 3, 4, 5}), 4);
  const std::vector<NodeId> rows = {1, 2, 3};
  const Graph into = edges_into(g, rows);
  EXPECT_EQ(into.num_src(), 4);
  EXPECT_EQ(into.num_dst(), 3);
  EXPECT_FALSE(into.symmetric());
  EXPECT_THAT(into.offsets(), ElementsAre(0, 3, 3, 4));
  EXPECT_THAT(into.sources(), ElementsAre(0, 1, 2, 2));
  EXPECT_THAT(into.weights(), ElementsAre(2, 4, 1, 5));
  const Graph one_each = selection(4, rows);
  EXPECT_THAT(one_each.offsets(), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(one_each.sources(), ElementsAre(1, 2, 3));
  EXPECT_FALSE(one_each.weighted());
}

TEST(RowsTest, InTheOrderOfKeysOfTheirSources) {
  Graph g = build_graph(edges({0, 1, 1, 2, 3, 0}, {0, 0, 0, 0, 0, 3}, {1, 2, 3, 4, 5, 6}), 4);
  const std::vector<std::int64_t> keys = {7, 2, 2, 5};
  order_rows(keys, 1, &g);
  EXPECT_THAT(g.offsets(), ElementsAre(0, 5, 5, 5, 6));
  EXPECT_THAT(g.sources(), ElementsAre(1, 1, 2, 3, 0, 0)) << "equal keys in the order in which they were";
  EXPECT_THAT(g.weights(), ElementsAre(2, 3, 4, 5, 1, 6));
  Graph plain = build_graph(edges({0, 1}, {1, 1}), 2);
  order_rows(std::vector<std::int64_t>{1, 0}, 2, &plain);
  EXPECT_THAT(plain.sources(), ElementsAre(1, 0));
}

TEST(SymmetryTest, ComparesStructureMultiplicityAndWeights) {
  EXPECT_TRUE(build_graph(edges({0, 1, 2}, {1, 0, 2}), 3).symmetric());
  EXPECT_FALSE(build_graph(edges({0, 0, 1}, {1, 1, 0}), 2).symmetric());
  EXPECT_TRUE(build_graph(edges({0, 0, 1, 1}, {1, 1, 0, 0}), 2).symmetric());
  EXPECT_FALSE(build_graph(edges({0, 1}, {1, 0}, {1, 2}), 2).symmetric());
  EXPECT_TRUE(build_graph(edges({0, 1}, {1, 0}, {2, 2}), 2).symmetric());
}

TEST(SymmetryTest, LooksIntoEveryTileOfColumns) {
  // Enough columns and entries for several tiles: a ring where everybody knows the twelve on either side.
  constexpr NodeId kNodes = 20000;
  std::vector<NodeId> src, dst;
  for (NodeId v = 0; v < kNodes; ++v) {
    for (NodeId step = 1; step <= 12; ++step) {
      src.push_back((v + step) % kNodes);
      dst.push_back(v);
      src.push_back((v + kNodes - step) % kNodes);
      dst.push_back(v);
    }
  }
  EXPECT_TRUE(build_graph(edges(src, dst), kNodes).symmetric());
  for (const std::size_t changed : {std::size_t{0}, src.size() / 2, src.size() - 1}) {
    std::vector<NodeId> other = src;
    other[changed] = (dst[changed] + 100) % kNodes;
    EXPECT_FALSE(build_graph(edges(other, dst), kNodes).symmetric()) << "edge " << changed;
    std::vector<float> weights(src.size(), 1.0F);
    weights[changed] = 2;
    EXPECT_FALSE(build_graph(edges(src, dst, weights), kNodes).symmetric()) << "weight " << changed;
  }
}

TEST(TransposeTest, ListsOutEdgesWithTheirSlots) {
  const Graph g = build_graph(edges({2, 0, 2, 1}, {1, 1, 0, 1}), 3);  // canonical: 2>0 | 0>1 1>1 2>1
  const Transpose t = transpose(g.in_edges());
  EXPECT_THAT(list(t.offsets), ElementsAre(0, 1, 2, 4));
  EXPECT_THAT(list(t.indices), ElementsAre(1, 1, 0, 1));
  EXPECT_THAT(list(t.slots), ElementsAre(1, 2, 0, 3));
}

TEST(TransposeTest, TwiceIsTheOriginal) {
  RandomStream random(1, 1);
  std::vector<NodeId> src;
  std::vector<NodeId> dst;
  for (int e = 0; e < 500; ++e) {
    src.push_back(static_cast<NodeId>(random.below(40)));
    dst.push_back(static_cast<NodeId>(random.below(40)));
  }
  const Graph g = build_graph(edges(src, dst), 40);
  const Transpose once = transpose(g.in_edges());
  const Transpose twice = transpose(once.pattern());
  EXPECT_EQ(list(twice.offsets), list(g.offsets()));
  EXPECT_EQ(list(twice.indices), list(g.sources()));
  for (std::size_t k = 0; k < twice.slots.size(); ++k) EXPECT_EQ(twice.slots[k], static_cast<EdgeId>(k));
}

TEST(TransposeTest, SortsColumnByColumnInManyBucketsOnAnyNumberOfThreads) {
  // More columns than a bucket holds, a hub among them, empty rows and columns, rows in several ranges.
  constexpr std::int64_t kNodes = 150000;
  RandomStream random(7, 1);
  std::vector<NodeId> src;
  std::vector<NodeId> dst;
  for (int e = 0; e < 60000; ++e) {
    src.push_back(e % 3 == 0 ? 70000 : static_cast<NodeId>(random.below(kNodes)));
    dst.push_back(static_cast<NodeId>(random.below(kNodes)));
  }
  const Graph g = build_graph(edges(src, dst), kNodes);
  const SparsePattern in = g.in_edges();
  std::vector<std::vector<std::array<EdgeId, 2>>> columns(kNodes);  // row and slot of each entry
  for (std::int64_t r = 0; r < in.rows; ++r) {
    for (EdgeId k = in.offsets[static_cast<std::size_t>(r)]; k < in.offsets[static_cast<std::size_t>(r) + 1]; ++k) {
      columns[static_cast<std::size_t>(in.indices[static_cast<std::size_t>(k)])].push_back({r, k});
    }
  }
  for (const int threads : {1, 3}) {
    const Transpose t = transpose(in, true, threads);
    EXPECT_EQ(list(transpose(in, false, threads).indices), list(t.indices));
    std::vector<float> values(src.size());
    for (std::size_t k = 0; k < values.size(); ++k) values[k] = 0.5F + static_cast<float>(k);
    const Transpose with_values = transpose(in, values, threads);
    EXPECT_EQ(list(with_values.offsets), list(t.offsets));
    EXPECT_EQ(list(with_values.indices), list(t.indices));
    EXPECT_THAT(list(with_values.slots), IsEmpty());
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(with_values.values[i], values[static_cast<std::size_t>(t.slots[i])])
          << "entry " << i << ", " << threads << " threads";
    }
    for (std::size_t c = 0; c < columns.size(); ++c) {
      std::vector<std::array<EdgeId, 2>> entries;
      for (auto i = static_cast<std::size_t>(t.offsets[c]); i < static_cast<std::size_t>(t.offsets[c + 1]); ++i) {
        entries.push_back({t.indices[i], t.slots[i]});
      }
      ASSERT_EQ(entries, columns[c]) << "column " << c << ", " << threads << " threads";
    }
  }
}

TEST(SourceTilesTest, CutsRowsAtTheBordersOfTiles) {
  // Row 0 has sources 0, 1, 4; row 1 has 2, 3; row 2 none; row 3 has 4 twice.
  const Graph g = build_graph(edges({0, 1, 4, 2, 3, 4, 4}, {0, 0, 0, 1, 1, 3, 3}), 5);
  const SourceTiles tiles = tile_sources(g.in_edges(), 2, 2);
  EXPECT_THAT(list(tiles.ids), ElementsAre(0, 1, 0, 1, 0, 0, 0));
  std::vector<std::array<EdgeId, 3>> segments;
  for (const RowSegment& s : tiles.segments) segments.push_back({s.first, s.row, s.length});
  // The first tile names every row, the second only row 1, the third rows 0 and 3.
  EXPECT_THAT(segments, ElementsAre(std::array<EdgeId, 3>{0, 0, 2}, std::array<EdgeId, 3>{3, 1, 0},
                                    std::array<EdgeId, 3>{5, 2, 0}, std::array<EdgeId, 3>{5, 3, 0},
                                    std::array<EdgeId, 3>{7, 4, 0}, std::array<EdgeId, 3>{3, 1, 2},
                                    std::array<EdgeId, 3>{2, 0, 1}, std::array<EdgeId, 3>{5, 3, 2}));
  EXPECT_THAT(list(tiles.tile_chunks), ElementsAre(0, 1, 2, 3));
}

/// Row and column of each entry, tile after tile.
std::vector<std::array<std::int64_t, 2>> entries(const SourceTiles& tiles) {
  std::vector<std::array<std::int64_t, 2>> list;
  for (std::size_t b = 0; b + 1 < tiles.tile_chunks.size(); ++b) {
    std::int64_t id = tiles.chunks[static_cast<std::size_t>(tiles.tile_chunks[b])].id;
    const std::int64_t end = tiles.chunks[static_cast<std::size_t>(tiles.tile_chunks[b + 1])].segment;
    for (std::int64_t s = tiles.chunks[static_cast<std::size_t>(tiles.tile_chunks[b])].segment; s < end; ++s) {
      const RowSegment& segment = tiles.segments[static_cast<std::size_t>(s)];
      for (std::int32_t i = 0; i < segment.length; ++i) {
        list.push_back(
            {segment.row, static_cast<std::int64_t>(b) * tiles.tile_cols + tiles.ids[static_cast<std::size_t>(id++)]});
      }
    }
  }
  return list;
}

TEST(SourceTilesTest, PartsKeepWhatIsMarked) {
  // Enough entries for several chunks of a tile.
  constexpr NodeId kNodes = 3000;
  std::vector<NodeId> sources;
  std::vector<NodeId> targets;
  for (NodeId v = 0; v < kNodes; ++v) {
    for (NodeId k = 0; k < v % 40; ++k) {
      sources.push_back((v * 7 + k * k * 131) % kNodes);
      targets.push_back(v);
    }
  }
  const SourceTiles whole = tile_sources(build_graph(edges(sources, targets), kNodes).in_edges(), 1100, 2);
  ASSERT_GT(whole.tile_chunks[1], 1) << "one chunk shows nothing of their order";
  std::vector<NodeId> rows;
  for (NodeId v = 0; v < kNodes; ++v) {
    if (v % 3 == 0 && v / 300 != 4) rows.push_back(v);
  }
  const std::vector<std::uint8_t> marked = marks(kNodes, rows);
  for (const EntryEnd end : {EntryEnd::kRow, EntryEnd::kColumn}) {
    std::vector<std::array<std::int64_t, 2>> expected = entries(whole);
    std::erase_if(expected, [&](const auto& entry) {
      return marked[static_cast<std::size_t>(entry[end == EntryEnd::kRow ? 0 : 1])] == 0;
    });
    for (const int threads : {1, 3}) {
      SourceTiles part = room_for_part(whole);
      fill_part(whole, end, marked, threads, &part);
      EXPECT_EQ(entries(part), expected);
      for (NodeId v = 0; v < kNodes; ++v)
        EXPECT_EQ(part.segments[static_cast<std::size_t>(v)].row, v) << "the first tile names every row";
    }
  }
}

TEST(SourceTilesTest, NeedsSortedRows) {
  const std::vector<EdgeId> offsets = {0, 3};
  const std::vector<NodeId> indices = {0, 3, 1};
  EXPECT_THROW(tile_sources({1, 4, offsets, indices, {}}, 2, 1), Error);
}

/// Enough nodes for several chunks of each loop over them.
TEST(GraphTest, ThreadsChangeNothing) {
  constexpr NodeId kNodes = 20000;
  RandomStream random(11, 1);
  std::vector<NodeId> src;
  std::vector<NodeId> dst;
  std::vector<float> weight;
  for (int e = 0; e < 60000; ++e) {
    src.push_back(static_cast<NodeId>(random.below(kNodes)));
    dst.push_back(e % 50 == 0 ? src.back() : static_cast<NodeId>(random.below(kNodes)));
    weight.push_back(static_cast<float>(1 + random.below(9)));
  }
  std::vector<NodeId> rows;
  for (NodeId v = 1; v < kNodes; v += 2) rows.push_back(v);
  const auto made = [&](int threads) {
    std::vector<Graph> graphs;
    graphs.push_back(build_graph(edges(src, dst, weight), kNodes, {.to_undirected = true, .threads = threads}));
    graphs.push_back(build_graph(edges(src, dst, weight), kNodes, {.add_self_loops = true, .threads = threads}));
    graphs.push_back(add_remaining_self_loops(graphs[0], threads));
    graphs.push_back(replace_self_loops(graphs[0], threads));
    graphs.push_back(edges_into(graphs[0], rows, threads));
    return graphs;
  };
  const std::vector<Graph> alone = made(1);
  const std::vector<Graph> shared = made(3);
  for (std::size_t g = 0; g < alone.size(); ++g) {
    EXPECT_EQ(list(shared[g].offsets()), list(alone[g].offsets())) << g;
    EXPECT_EQ(list(shared[g].sources()), list(alone[g].sources())) << g;
    EXPECT_EQ(list(shared[g].weights()), list(alone[g].weights())) << g;
    EXPECT_EQ(shared[g].symmetric(), alone[g].symmetric()) << g;
    EXPECT_EQ(num_self_loops(shared[g], 3), num_self_loops(alone[g])) << g;
  }
  EXPECT_TRUE(shared[0].symmetric());
  EXPECT_FALSE(shared[1].symmetric());
  EXPECT_GT(num_self_loops(shared[0], 3), 0);
}

TEST(GraphTest, SeveralThreadsFindWhatIsWrong) {
  constexpr std::int64_t kNodes = 20000;
  const auto graph_with = [&](NodeId last) {
    Buffer<EdgeId> offsets(kNodes + 1);
    Buffer<NodeId> sources(kNodes);
    for (std::size_t v = 0; v <= kNodes; ++v) offsets[v] = static_cast<EdgeId>(v);
    for (std::size_t v = 0; v < kNodes; ++v) sources[v] = static_cast<NodeId>(v);
    sources[kNodes - 1] = last;
    return Graph(kNodes, std::move(offsets), std::move(sources), {}, {}, 3);
  };
  EXPECT_TRUE(graph_with(kNodes - 1).symmetric());
  EXPECT_FALSE(graph_with(0).symmetric());
  EXPECT_THAT(error_of([&] { graph_with(kNodes); }).message(),
              HasSubstr("edge 19999 of node 19999 comes from node 20000"));
}

TEST(SelfLoopTest, EachIsCounted) {
  EXPECT_EQ(num_self_loops(build_graph(edges({0, 0, 1, 0, 2, 1}, {0, 0, 0, 1, 2, 2}), 4)), 3);
  EXPECT_EQ(num_self_loops(build_graph(edges({0, 1}, {1, 0}), 2)), 0);
}

TEST(SelfLoopTest, AddRemainingKeepsTheLastLoopsWeight) {
  const Graph g = add_remaining_self_loops(build_graph(edges({0, 0, 1, 0}, {0, 0, 0, 1}, {5, 6, 2, 3}), 3), 1, 9);
  EXPECT_THAT(list(g.sources()), ElementsAre(0, 1, 0, 1, 2));
  EXPECT_THAT(list(g.weights()), ElementsAre(6, 2, 3, 9, 9));
}

TEST(SelfLoopTest, ReplaceGivesEveryLoopTheSameWeight) {
  const Graph g = replace_self_loops(build_graph(edges({0, 1}, {0, 0}, {5, 2}), 2), 1, 1);
  EXPECT_THAT(list(g.sources()), ElementsAre(0, 1, 1));
  EXPECT_THAT(list(g.weights()), ElementsAre(1, 2, 1));
  EXPECT_THAT(list(add_remaining_self_loops(build_graph(edges({0, 0}, {0, 0}), 1)).weights()), IsEmpty());
}

}  // namespace
}  // namespace gneiss::graph
