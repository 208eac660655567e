// Symmetrising, self loops, normalisation, densify and sparsify, components.
#include "base/file_pages.h"
#include "data/preprocess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "data/generate.h"
#include "data/load.h"
#include "graph/reorder.h"
#include "support/data_fixtures.h"

namespace gneiss::data {
namespace {

using ::gneiss::testing::error_of;
using ::gneiss::testing::list;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;

constexpr std::int64_t kPlenty = std::int64_t{1} << 30;

template <class T>
Buffer<T> buffer(const std::vector<T>& values) {
  return Buffer<T>::copy_of(values);
}

Features dense(std::int64_t rows, std::int64_t cols, const std::vector<float>& values) {
  Features f;
  f.rows = rows;
  f.cols = cols;
  f.dense = buffer(values);
  return f;
}

graph::Graph graph_of(std::int64_t nodes, const std::vector<NodeId>& src, const std::vector<NodeId>& dst,
                      const std::vector<float>& weight = {}) {
  return graph::build_graph({buffer(src), buffer(dst), buffer(weight)}, nodes);
}

/// PyG's NormalizeFeatures: x - x.min(), then / x.sum(dim=-1).clamp(min=1).
TEST(PreprocessTest, RowNormalisationIsThatOfPyG) {
  Features counts = dense(3, 2, {1, 3, 0, 0, 0, 2});
  normalize_features("row", {}, kPlenty, &counts);
  EXPECT_THAT(list(counts.dense), ElementsAre(0.25F, 0.75F, 0, 0, 0, 1));
  Features small = dense(2, 2, {0.25F, 0.25F, 0, 0.5F});
  normalize_features("row", {}, kPlenty, &small);
  EXPECT_THAT(list(small.dense), ElementsAre(0.25F, 0.25F, 0, 0.5F)) << "sums below 1 stay as they are";
  Features f = dense(3, 2, {1, -2, 0, 0, -1, 2});
  normalize_features("row", {}, kPlenty, &f);
  EXPECT_THAT(list(f.dense), ElementsAre(1, 0, 0.5F, 0.5F, 0.2F, 0.8F));
  Features s = dense(3, 2, {1, -2, 0, 0, -1, 2});
  sparsify(&s);
  normalize_features("row", {}, kPlenty, &s);
  ASSERT_FALSE(s.sparse) << "zeros become 2";
  EXPECT_EQ(list(s.dense), list(f.dense));
  Features positive = dense(1, 3, {2, 3, 5});
  normalize_features("row", {}, kPlenty, &positive);
  EXPECT_THAT(list(positive.dense), ElementsAre(0, 0.25F, 0.75F)) << "the least entry is taken off, zero or not";
}

TEST(PreprocessTest, StatisticsOfOtherDataAreUsed) {
  FeatureStatistics statistics;
  Features f = dense(2, 2, {0, 5, 2, 5});
  normalize_features("standard", {}, kPlenty, &f, &statistics);
  EXPECT_EQ(statistics.norm, "standard");
  EXPECT_THAT(statistics.mean, ElementsAre(1, 5));
  EXPECT_THAT(statistics.scale, ElementsAre(1, 0));
  Features far = dense(2, 2, {50, 55, 52, 56});
  normalize_features("standard", {}, kPlenty, &far, &statistics);
  EXPECT_THAT(list(far.dense), ElementsAre(49, 0, 51, 0));
  Features wide = dense(1, 3, {1, 2, 3});
  EXPECT_THAT(error_of([&] { normalize_features("standard", {}, kPlenty, &wide, &statistics); }).message(),
              HasSubstr("takes 2 features, the data have 3"));
  FeatureStatistics of_training{.norm = "train-standard", .mean = {1, 1}, .scale = {2, 2}};
  Features train = dense(1, 2, {1, 6});
  normalize_features("train-standard", {}, kPlenty, &train, &of_training);
  EXPECT_THAT(list(train.dense), ElementsAre(0, 10)) << "no training nodes are asked for";
  Features rows = dense(1, 2, {1, 3});
  FeatureStatistics least;
  least.norm = "row";
  least.least = -1;
  normalize_features("row", {}, kPlenty, &rows, &least);
  EXPECT_THAT(list(rows.dense), ElementsAre(2.0F / 6, 4.0F / 6));
}

TEST(PreprocessTest, BinaryMakesPositiveValuesOne) {
  Features f = dense(1, 4, {0.2F, 5, 0, -2});
  normalize_features("binary", {}, kPlenty, &f);
  EXPECT_THAT(list(f.dense), ElementsAre(1, 1, 0, -2));
}

TEST(PreprocessTest, StandardUsesAllNodesAndTrainStandardOnlySome) {
  Features f = dense(3, 2, {1, 7, 3, 7, 8, 7});
  normalize_features("standard", {}, kPlenty, &f);
  const float s = std::sqrt((9.0F + 1 + 16) / 3);
  EXPECT_THAT(list(f.dense),
              ElementsAre(FloatNear(-3 / s, 1e-6F), 0, FloatNear(-1 / s, 1e-6F), 0, FloatNear(4 / s, 1e-6F), 0));
  Features t = dense(3, 1, {1, 3, 8});
  const std::vector<NodeId> train = {0, 1};
  normalize_features("train-standard", train, kPlenty, &t);
  EXPECT_THAT(list(t.dense), ElementsAre(-1, 1, 6));
}

TEST(PreprocessTest, RefusesWhatCannotBe) {
  Features f = dense(2, 2, {1, 0, 0, 1});
  EXPECT_THAT(error_of([&] { normalize_features("rows", {}, kPlenty, &f); }).hint(), HasSubstr("did you mean 'row'?"));
  EXPECT_THAT(error_of([&] { normalize_features("train-standard", {}, kPlenty, &f); }).message(),
              HasSubstr("needs training nodes"));
  sparsify(&f);
  const Error error = error_of([&] { normalize_features("standard", {}, 8, &f); });
  EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory);
  EXPECT_THAT(error.message(), HasSubstr("dense features of 2 x 2 take 16 bytes, the limit is 8"));
}

TEST(PreprocessTest, SparsifyAndDensifyAreInverse) {
  const std::vector<float> values = {0, 1, 0, 2, 0, 0, 0, 3, -4};
  Features f = dense(3, 3, values);
  sparsify(&f);
  EXPECT_THAT(list(f.offsets), ElementsAre(0, 1, 2, 4));
  EXPECT_THAT(list(f.indices), ElementsAre(1, 0, 1, 2));
  EXPECT_EQ(f.nonzeros(), 4);
  densify(kPlenty, &f);
  EXPECT_EQ(list(f.dense), values);
}

TEST(PreprocessTest, ToUndirectedMergesAndSumsWeights) {
  const graph::Graph g = to_undirected(graph_of(3, {0, 1, 2}, {1, 0, 2}, {1, 2, 5}));
  EXPECT_TRUE(g.symmetric());
  EXPECT_THAT(list(g.sources()), ElementsAre(1, 0, 2));
  EXPECT_THAT(list(g.weights()), ElementsAre(3, 3, 10));  // as PyG: a loop is its own reverse and counts twice
}

TEST(PreprocessTest, RemoveSelfLoopsKeepsTheRest) {
  EXPECT_THAT(list(remove_self_loops(graph_of(2, {0, 0, 1}, {0, 1, 1})).sources()), ElementsAre(0));
}

TEST(PreprocessTest, LargestComponentIsWeakAndTiesGoToTheSmallestNode) {
  EXPECT_THAT(largest_component(graph_of(6, {3, 5, 0}, {4, 4, 1})), ElementsAre(3, 4, 5));
  EXPECT_THAT(largest_component(graph_of(4, {2, 0}, {3, 1})), ElementsAre(0, 1));
}

TEST(PreprocessTest, InducedCarriesEverythingAlong) {
  Dataset d;
  d.graph = graph_of(4, {0, 1, 3, 3}, {1, 3, 1, 2}, {1, 2, 3, 4});
  d.features = dense(4, 1, {10, 11, 12, 13});
  sparsify(&d.features);
  d.labels.kind = LabelKind::kSingle;
  d.labels.num_classes = 2;
  d.labels.classes = buffer<std::int32_t>({0, 1, 0, 1});
  d.split = {{0, 1}, {2}, {3}};
  d.node_names = {"a", "b", "c", "d"};
  const std::vector<NodeId> nodes = {1, 3};
  const Dataset part = induced(std::move(d), nodes);
  EXPECT_EQ(part.num_nodes(), 2);
  EXPECT_THAT(list(part.graph.offsets()), ElementsAre(0, 1, 2));
  EXPECT_THAT(list(part.graph.sources()), ElementsAre(1, 0));
  EXPECT_THAT(list(part.graph.weights()), ElementsAre(3, 2));
  EXPECT_THAT(list(part.features.values), ElementsAre(11, 13));
  EXPECT_THAT(list(part.labels.classes), ElementsAre(1, 1));
  EXPECT_THAT(part.split.train, ElementsAre(0));
  EXPECT_THAT(part.split.test, ElementsAre(1));
  EXPECT_THAT(part.orig_id, ElementsAre(1, 3));
  EXPECT_THAT(part.node_names, ElementsAre("b", "d"));
}

TEST(PreprocessTest, PermuteMovesAllThatBelongsToANode) {
  const std::vector<NodeId> order = {2, 0, 3, 1};  // node 2 becomes node 0, …
  Dataset d;
  d.graph = graph_of(4, {0, 1, 3, 3}, {1, 1, 3, 0}, {2, 3, 4, 5});
  d.features = dense(4, 2, {0, 10, 1, 11, 2, 12, 3, 13});
  d.labels.kind = LabelKind::kSingle;
  d.labels.num_classes = 3;
  d.labels.classes = buffer<std::int32_t>({0, 1, 2, -1});
  d.split.train = {0, 1};
  d.split.val = {2};
  d.split.test = {3};
  d.node_names = {"a", "b", "c", "d"};
  permute(order, 2, &d);
  EXPECT_THAT(list(d.graph.offsets()), ElementsAre(0, 0, 1, 2, 4));
  EXPECT_THAT(list(d.graph.sources()), ElementsAre(2, 2, 1, 3));
  EXPECT_THAT(list(d.graph.weights()), ElementsAre(5, 4, 2, 3));
  EXPECT_THAT(list(d.features.dense), ElementsAre(2, 12, 0, 10, 3, 13, 1, 11));
  EXPECT_THAT(list(d.labels.classes), ElementsAre(2, 0, -1, 1));
  EXPECT_THAT(d.split.train, ElementsAre(1, 3));
  EXPECT_THAT(d.split.val, ElementsAre(0));
  EXPECT_THAT(d.split.test, ElementsAre(2));
  EXPECT_THAT(d.orig_id, ElementsAre(2, 0, 3, 1));
  EXPECT_THAT(d.node_names, ElementsAre("c", "a", "d", "b"));

  d.labels.kind = LabelKind::kMulti;
  d.labels.num_classes = 2;
  d.labels.classes = {};
  d.labels.targets = buffer<float>({0, 1, 2, 3, 4, 5, 6, 7});
  d.orig_id = {102, 100, 103, 101};
  sparsify(&d.features);
  permute(graph::inverse_order(order), 1, &d);  // and back
  densify(kPlenty, &d.features);
  EXPECT_THAT(list(d.features.dense), ElementsAre(0, 10, 1, 11, 2, 12, 3, 13));
  EXPECT_THAT(list(d.labels.targets), ElementsAre(2, 3, 6, 7, 0, 1, 4, 5));
  EXPECT_THAT(d.orig_id, ElementsAre(100, 101, 102, 103));
  EXPECT_THAT(list(d.graph.weights()), ElementsAre(5, 2, 3, 4));
}

TEST(PreprocessTest, PermuteToAFileMovesTheSameRows) {
  for (const char* dtype : {"f32", "bf16"}) {
    const gneiss::testing::TempFolder place;
    const std::string folder = (place.path() / "graph").string();
    LoadOptions options;
    options.feature_dtype = dtype;
    save(load("ppi:scale=0.2", options), folder);  // 2.3 MB of features, half of that in 16 bits, 5.5 MB of targets
    Dataset in_memory = load(folder, options);
    const graph::Order order = graph::degree_order(in_memory.graph);
    permute(order, 1, &in_memory);
    EXPECT_FALSE(as_in_file(in_memory.features.dense) || as_in_file(in_memory.features.halves));
    for (const Move move : {Move::kToFile, Move::kToFileAtOnce}) {
      Dataset in_file = load(folder, options);
      permute(order, 2, &in_file, {.features = move});
      EXPECT_EQ(list(in_file.features.dense), list(in_memory.features.dense));
      EXPECT_EQ(list(in_file.features.halves), list(in_memory.features.halves));
      EXPECT_EQ(list(in_file.labels.targets), list(in_memory.labels.targets));
      EXPECT_TRUE(as_in_file(in_file.features.dense) || as_in_file(in_file.features.halves));
      EXPECT_TRUE(as_in_file(in_file.labels.targets));
      permute(graph::inverse_order(order), 2, &in_file, {.features = move});
      EXPECT_EQ(list(in_file.features.dense), list(load(folder, options).features.dense));
    }
  }
}

TEST(PreprocessTest, EdgesThatMemoryHoldsOnceMoveAlike) {
  const gneiss::testing::TempFolder place;
  const std::string plain = (place.path() / "graph").string();
  save(load("dcsbm:nodes=9000,degree=40,features=3"), plain);
  Dataset weighted = load(plain);
  weighted.graph = [&] {
    const graph::Graph& g = weighted.graph;
    Buffer<float> weights(g.sources().size());
    for (std::size_t e = 0; e < weights.size(); ++e) weights[e] = static_cast<float>(e % 1000);
    return graph::Graph(g.num_nodes(), Buffer<EdgeId>::copy_of(g.offsets()), Buffer<NodeId>::copy_of(g.sources()),
                        std::move(weights));
  }();
  const std::string with_weights = (place.path() / "weights").string();
  save(weighted, with_weights);
  for (const std::string& folder : {plain, with_weights}) {
    Dataset expected = load(folder);
    const graph::Order order = graph::degree_order(expected.graph);
    permute(order, 1, &expected);
    for (const int threads : {1, 3}) {
      Dataset once = load(folder);
      permute(order, threads, &once, {.edges_once = true});
      EXPECT_EQ(list(once.graph.offsets()), list(expected.graph.offsets()));
      EXPECT_EQ(list(once.graph.sources()), list(expected.graph.sources()));
      EXPECT_EQ(list(once.graph.weights()), list(expected.graph.weights()));
    }
  }
  // A graph in memory is renamed as ever.
  Dataset copy = load("dcsbm:nodes=300");
  Dataset expected = load("dcsbm:nodes=300");
  const graph::Order order = graph::degree_order(copy.graph);
  permute(order, 1, &expected);
  permute(order, 2, &copy, {.edges_once = true});
  EXPECT_EQ(list(copy.graph.sources()), list(expected.graph.sources()));
}

TEST(PreprocessTest, PermuteRefusesWhatIsNoPermutation) {
  Dataset d;
  d.graph = graph_of(2, {0}, {1});
  EXPECT_THAT(error_of([&] {
                permute(std::vector<NodeId>{0, 0}, 1, &d);
              }).message(),
              HasSubstr("names each of them once"));
}

}  // namespace
}  // namespace gneiss::data
