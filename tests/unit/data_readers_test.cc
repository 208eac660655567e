// Planetoid, gnn-benchmark, heterophilous and Geom-GCN on tiny hand-made files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "data/info.h"
#include "data/load.h"
#include "support/data_fixtures.h"

namespace gneiss::data {
namespace {

using ::gneiss::testing::error_of;
using ::gneiss::testing::gnn_benchmark_members;
using ::gneiss::testing::heterophilous_members;
using ::gneiss::testing::list;
using ::gneiss::testing::npz;
using ::gneiss::testing::TempFolder;
using ::gneiss::testing::write_planetoid;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Dense copy of the features.
std::vector<std::vector<float>> rows_of(const Features& f) {
  std::vector<std::vector<float>> rows(static_cast<std::size_t>(f.rows),
                                       std::vector<float>(static_cast<std::size_t>(f.cols), 0));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (!f.sparse) {
      for (std::size_t c = 0; c < rows[r].size(); ++c) rows[r][c] = f.dense[r * rows[r].size() + c];
      continue;
    }
    for (auto k = static_cast<std::size_t>(f.offsets[r]); k < static_cast<std::size_t>(f.offsets[r + 1]); ++k) {
      rows[r][static_cast<std::size_t>(f.indices[k])] += f.values[k];
    }
  }
  return rows;
}

/// "u>v" of every edge, in canonical order.
std::vector<std::string> edges_of(const graph::Graph& graph) {
  std::vector<std::string> edges;
  for (std::size_t v = 0; v + 1 < graph.offsets().size(); ++v) {
    for (auto k = static_cast<std::size_t>(graph.offsets()[v]); k < static_cast<std::size_t>(graph.offsets()[v + 1]);
         ++k) {
      edges.push_back(std::to_string(graph.sources()[k]) + ">" + std::to_string(v));
    }
  }
  return edges;
}

TEST(PlanetoidTest, FollowsTheRules) {
  const TempFolder folder;
  const Dataset d = load(write_planetoid(folder).string());
  EXPECT_EQ(d.name, "tiny");
  EXPECT_EQ(d.num_nodes(), 8);
  // The double edge is merged, the self loop 2-2 is gone.
  EXPECT_THAT(edges_of(d.graph), ElementsAre("1>0", "0>1", "2>1", "1>2", "4>3", "3>4", "7>5", "5>7"));
  const auto rows = rows_of(d.features);
  EXPECT_THAT(rows[4], ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(rows[7], ElementsAre(0, 7, 0, 0));  // first line of test.index, first row of tx
  EXPECT_THAT(rows[5], ElementsAre(0, 0, 8, 0));
  EXPECT_THAT(rows[6], ElementsAre(0, 0, 0, 0));  // missing from test.index
  EXPECT_THAT(list(d.labels.classes), ElementsAre(0, 1, 2, 0, 1, 1, -1, 2));
  EXPECT_EQ(d.labels.num_classes, 3);
  EXPECT_THAT(d.split.train, ElementsAre(0, 1));
  EXPECT_THAT(d.split.val, ElementsAre(2, 3, 4));
  EXPECT_THAT(d.split.test, ElementsAre(5, 7));
}

TEST(PlanetoidTest, IsFoundByFolderPrefixAndFile) {
  const TempFolder folder;
  const auto set = write_planetoid(folder);
  for (const char* name : {"", "ind.tiny", "ind.tiny.allx", "ind.tiny.test.index"}) {
    EXPECT_EQ(load((set / name).string()).num_nodes(), 8) << name;
  }
}

TEST(PlanetoidTest, GivesRelationNodesOfNellAnIdentityColumn) {
  const TempFolder folder;
  const Dataset d = load(write_planetoid(folder, "nell.0.001").string());
  EXPECT_EQ(d.features.cols, 5);
  EXPECT_THAT(rows_of(d.features)[6], ElementsAre(0, 0, 0, 0, 1));
}

TEST(PlanetoidTest, ReadsGeomGcnSplits) {
  const TempFolder folder;
  const auto set = write_planetoid(folder);
  const auto mask = [](std::vector<std::uint8_t> bits) { return testing::npy_bool("(8,)", bits); };
  folder.write("set/geom_gcn_splits/tiny_split_0.6_0.2_0.npz", npz({{"train_mask", mask({0, 0, 0, 1, 0, 0, 0, 0})},
                                                                    {"val_mask", mask({1, 0, 0, 0, 0, 0, 0, 0})},
                                                                    {"test_mask", mask({0, 1, 1, 0, 0, 0, 0, 0})}}));
  LoadOptions options;
  options.split = "0";
  const Dataset d = load(set.string(), options);
  EXPECT_THAT(d.split.train, ElementsAre(3));
  EXPECT_THAT(d.split.test, ElementsAre(1, 2));
  options.split = "1";
  EXPECT_THAT(error_of([&] { load(set.string(), options); }).message(),
              HasSubstr("--split 1: the data offer 1 splits, 0..0"));
}

TEST(PlanetoidTest, NamesWhatIsMissing) {
  const TempFolder folder;
  const auto set = write_planetoid(folder);
  std::filesystem::remove(set / "ind.tiny.allx");
  std::filesystem::remove(set / "ind.tiny.ty");
  const Error error = error_of([&] { load(set.string()); });
  EXPECT_EQ(error.code(), ErrorCode::kBadData);
  EXPECT_THAT(error.message(), HasSubstr("ind.tiny.allx, ind.tiny.ty missing"));
}

TEST(GnnBenchmarkTest, FollowsPyg) {
  const TempFolder folder;
  const auto path = folder.write("small.npz", npz(gnn_benchmark_members(), true));
  const Dataset d = load(path.string());
  EXPECT_EQ(d.format, "gnn-benchmark");
  EXPECT_THAT(edges_of(d.graph), ElementsAre("1>0", "0>1", "2>1", "1>2"));
  EXPECT_FALSE(d.graph.weighted());
  EXPECT_THAT(rows_of(d.features)[1], ElementsAre(0, 1));  // 3 became 1
  EXPECT_THAT(list(d.labels.classes), ElementsAre(0, 1, 1));
}

TEST(GnnBenchmarkTest, LeavesThingsAsTheyAreOnRequest) {
  const TempFolder folder;
  const auto path = folder.write("small.npz", npz(gnn_benchmark_members()));
  LoadOptions options;
  options.to_undirected = false;
  options.remove_self_loops = false;
  options.binarize = false;
  const Dataset d = load(path.string(), options);
  EXPECT_THAT(edges_of(d.graph), ElementsAre("0>1", "1>2", "2>2"));
  EXPECT_THAT(rows_of(d.features)[1], ElementsAre(0, 3));
}

TEST(GnnBenchmarkTest, NeedsNoFeaturesAndRenumbersLabels) {
  const TempFolder folder;
  auto members = gnn_benchmark_members();
  members.erase(members.begin() + 4, members.begin() + 8);
  members.back().second = testing::npy_i4("(3,)", {1, 2, 4});
  const Dataset d = load(folder.write("small.npz", npz(members)).string());
  EXPECT_TRUE(d.features.empty());
  EXPECT_EQ(d.labels.num_classes, 3);
  EXPECT_THAT(list(d.labels.classes), ElementsAre(0, 1, 2));
  EXPECT_THAT(d.class_names, ElementsAre("1", "2", "4"));
}

TEST(HeterophilousTest, MirrorsEdgesAndPicksASplit) {
  const TempFolder folder;
  const auto path = folder.write("h.npz", npz(heterophilous_members(), true));
  LoadOptions options;
  EXPECT_THAT(load(path.string(), options).split.train, ElementsAre(0));
  options.split = "1";
  const Dataset d = load(path.string(), options);
  EXPECT_THAT(edges_of(d.graph), ElementsAre("1>0", "0>1", "2>1", "1>2", "3>2", "2>3"));
  EXPECT_THAT(d.split.train, ElementsAre(1));
  EXPECT_THAT(d.split.test, ElementsAre(0, 3));
  EXPECT_EQ(d.num_splits, 2);
  EXPECT_EQ(d.suggested_metric, "rocauc");
  EXPECT_THAT(rows_of(d.features)[3], ElementsAre(7, 8));
}

TEST(HeterophilousTest, KeepsDirectionWhereTheNameSaysSo) {
  const TempFolder folder;
  const Dataset d = load(folder.write("h_directed.npz", npz(heterophilous_members())).string());
  EXPECT_THAT(edges_of(d.graph), ElementsAre("0>1", "1>2", "2>3"));
}

TEST(GeomGcnTest, ReadsBothFeatureForms) {
  const TempFolder folder;
  folder.write("a/out1_graph_edges.txt", "node_id\tnode_id\n0\t1\n0\t1\n2\t0\n");
  folder.write("a/out1_node_feature_label.txt", "node_id\tfeature\tlabel\n1\t0,1,1\t0\n0\t1,0,0\t1\n2\t0,0,0\t1\n");
  const Dataset dense = load((folder.path() / "a").string());
  EXPECT_THAT(edges_of(dense.graph), ElementsAre("2>0", "0>1"));
  EXPECT_THAT(rows_of(dense.features)[1], ElementsAre(0, 1, 1));
  EXPECT_THAT(list(dense.labels.classes), ElementsAre(1, 0, 1));

  folder.write("b/out1_graph_edges.txt", "node_id\tnode_id\n0\t1\n");
  folder.write("b/out1_node_feature_label.txt", "node_id\tfeature(feature_amount:4)\tlabel\n0\t3,1\t0\n1\t2\t1\n");
  const Dataset listed = load((folder.path() / "b").string());
  EXPECT_THAT(rows_of(listed.features)[0], ElementsAre(0, 1, 0, 1));
}

TEST(GeomGcnTest, NamesTheLineOfAMistake) {
  const TempFolder folder;
  folder.write("a/out1_graph_edges.txt", "node_id\tnode_id\n0\t1\n0\t9\n");
  folder.write("a/out1_node_feature_label.txt", "node_id\tfeature\tlabel\n0\t1\t0\n1\t0\t1\n");
  const Error error = error_of([&] { load((folder.path() / "a").string()); });
  EXPECT_THAT(error.where(), HasSubstr("out1_graph_edges.txt:3"));
  EXPECT_THAT(error.message(), HasSubstr("node 9 is outside 0..1"));
}

}  // namespace
}  // namespace gneiss::data
