// Edge lists as text, with feature and label files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "data/load.h"
#include "support/data_fixtures.h"

namespace gneiss::data {
namespace {

using ::gneiss::testing::error_of;
using ::gneiss::testing::gzip;
using ::gneiss::testing::list;
using ::gneiss::testing::npy_f4;
using ::gneiss::testing::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

class EdgeListTest : public ::testing::Test {
 protected:
  Dataset read(const std::string& text, const LoadOptions& options = {}) {
    return load(folder_.write("edges.txt", text).string(), options);
  }
  Error error(const std::string& text, const LoadOptions& options = {}) {
    return error_of([&] { read(text, options); });
  }
  std::filesystem::path file(const std::string& name, const std::string& text) { return folder_.write(name, text); }

  TempFolder folder_;
};

TEST_F(EdgeListTest, SkipsCommentsBlankLinesAndCarriageReturns) {
  EXPECT_THAT(edges_of(read("# SNAP\r\n% KONECT\r\n\r\n0\t1\r\n  1   2  \r\n").graph), ElementsAre("0>1", "1>2"));
}

TEST_F(EdgeListTest, ReadsEverySeparatorAndHeaders) {
  for (const char* text : {"0 1\n1 2", "0\t1\n1\t2\n", "0,1\n1,2\n", "0;1\n1;2\n", "id1,id2\n0,1\n1,2\n",
                           "source target\n0 1\n1 2\n", "\"0\",\"1\"\n\"1\",\"2\"\n"}) {
    EXPECT_THAT(edges_of(read(text).graph), ElementsAre("0>1", "1>2")) << text;
  }
}

TEST_F(EdgeListTest, KeepsDirectionDuplicatesAndSelfLoops) {
  EXPECT_THAT(edges_of(read("0 1\n0 1\n1 1\n").graph), ElementsAre("0>1", "0>1", "1>1"));
  LoadOptions options;
  options.to_undirected = true;
  options.remove_self_loops = true;
  EXPECT_THAT(edges_of(read("0 1\n0 1\n1 1\n", options).graph), ElementsAre("1>0", "0>1"));
}

TEST_F(EdgeListTest, RenumbersSparseIdsByValue) {
  const Dataset d = read("900000000000 -5\n7 900000000000\n");
  EXPECT_THAT(d.orig_id, ElementsAre(-5, 7, 900000000000LL));
  EXPECT_THAT(edges_of(d.graph), ElementsAre("2>0", "1>2"));
  EXPECT_THAT(read("0 1\n2 1\n").orig_id, IsEmpty());
}

TEST_F(EdgeListTest, ReadsWordsInOrderOfAppearance) {
  const Dataset d = read("src,dst\nbob,alice\nalice,eve\n");
  EXPECT_THAT(d.node_names, ElementsAre("bob", "alice", "eve"));
  EXPECT_THAT(edges_of(d.graph), ElementsAre("0>1", "1>2"));
}

TEST_F(EdgeListTest, ReadsAndDropsWeights) {
  const Dataset d = read("0 1 0.5\n1 2 -2e1\n");
  EXPECT_THAT(list(d.graph.weights()), ElementsAre(0.5F, -20.0F));
  LoadOptions options;
  options.ignore_weights = true;
  EXPECT_FALSE(read("0 1 0.5\n1 2 x\n", options).graph.weighted());
}

TEST_F(EdgeListTest, ReadsGzipOfSeveralMembers) {
  const auto path = file("e.txt.gz", gzip("0 1\n1 ") + gzip("2\n2 3\n"));
  EXPECT_THAT(edges_of(load(path.string()).graph), ElementsAre("0>1", "1>2", "2>3"));
}

TEST_F(EdgeListTest, TakesPlainFeatureAndLabelRows) {
  LoadOptions options;
  options.features_path = file("f.csv", "1,2\n3,4\n5,6\n");
  options.labels_path = file("l.csv", "7\n9\n7\n");
  const Dataset d = read("0 1\n", options);
  EXPECT_EQ(d.num_nodes(), 3);  // node 2 is isolated
  EXPECT_THAT(list(d.features.dense), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(list(d.labels.classes), ElementsAre(0, 1, 0));
  EXPECT_THAT(d.class_names, ElementsAre("7", "9"));
  EXPECT_FALSE(d.split.train.empty());
}

TEST_F(EdgeListTest, TakesRowsWithIds) {
  LoadOptions options;
  options.features_path = file("f.csv", "id,x\n30,3\n10,1\n");
  options.labels_path = file("l.tsv", "id\tclass\n10\tred\n20\tblue\n30\t\n40\tred\n");
  options.split = "none";
  const Dataset d = read("10 20\n20 30\n", options);
  EXPECT_THAT(d.orig_id, ElementsAre(10, 20, 30, 40));
  EXPECT_THAT(list(d.features.dense), ElementsAre(1, 0, 3, 0));
  EXPECT_THAT(list(d.labels.classes), ElementsAre(1, 0, -1, 1));
  EXPECT_THAT(d.class_names, ElementsAre("blue", "red"));
}

TEST_F(EdgeListTest, TakesArraysRegressionAndManyLabels) {
  LoadOptions options;
  options.features_path = file("f.npy", npy_f4("(2, 1)", {5, 6}));
  options.labels_path = file("l.csv", "0.5\n1.5\n");
  Dataset d = read("0 1\n", options);
  EXPECT_EQ(d.labels.kind, LabelKind::kRegression);
  EXPECT_THAT(list(d.labels.targets), ElementsAre(0.5F, 1.5F));
  options.labels_path = file("m.csv", "0,1,1\n1,,0\n");
  d = read("0 1\n", options);
  EXPECT_EQ(d.labels.kind, LabelKind::kMulti);
  EXPECT_EQ(d.labels.num_classes, 3);
  EXPECT_TRUE(std::isnan(d.labels.targets[4]));
}

TEST_F(EdgeListTest, NamesTheLine) {
  const Error word = error("0 1\n1 x\n");
  EXPECT_THAT(word.where(), HasSubstr("edges.txt:2"));
  EXPECT_THAT(word.message(), HasSubstr("expected a whole number as node id, got 'x'"));
  EXPECT_THAT(error("0 1\n\n5\n").where(), HasSubstr("edges.txt:3"));
  EXPECT_THAT(error("0 1\n5\n").message(), HasSubstr("expected 2 fields as in the first row, got 1"));
  EXPECT_THAT(error("0 1 1\n0 1 z\n").message(), HasSubstr("expected a weight, got 'z'"));
  EXPECT_THAT(error("0 1 1\n0 1\n").message(), HasSubstr("expected 3 fields as in the first row, got 2"));
  EXPECT_THAT(error("0 1 abc\n0 1 1\n").message(), HasSubstr("the third column should be a weight"));
  EXPECT_THAT(error("99999999999999999999 1\n0 1\n1 2\n3 99999999999999999999\n").code(), ErrorCode::kBadData);
  EXPECT_THAT(error("0 1 nan\n").message(), HasSubstr("the weight of edge 0 is NaN or infinite"));
}

TEST_F(EdgeListTest, NamesTheRowOfACompanionFile) {
  LoadOptions options;
  options.features_path = file("f.csv", "1,2\n3\n");
  EXPECT_THAT(error("0 1\n", options).where(), HasSubstr("f.csv:2"));
  options.features_path = file("f.csv", "1,2\n3,x\n");
  EXPECT_THAT(error("0 1\n", options).message(), HasSubstr("expected a number in field 2, got 'x'"));
  options.features_path = file("f.csv", "1,2\n");
  EXPECT_THAT(error("0 1\n", options).message(),
              HasSubstr("node 1 is outside 0..0, the rows of the feature or label file"));
  options.features_path = file("f.csv", "id,x\n0,1\n0,2\n");
  EXPECT_THAT(error("0 1\n", options).message(), HasSubstr("row 2: node '0' has two rows"));
  options.features_path = file("f.csv", "id,x\nbob,1\n");
  EXPECT_THAT(error("0 1\n", options).message(), HasSubstr("'bob' is not a node id"));
  options.features_path = file("f.csv", "");
  EXPECT_THAT(error("0 1\n", options).message(), HasSubstr("the table is empty"));
  options.features_path = file("f.csv", "1\n2\n");
  EXPECT_THAT(error("a b\nb c\n", options).message(), HasSubstr("the edges have words as ids"));
  options.features_path = file("f.csv", "1\nnan\n");
  EXPECT_THAT(error("0 1\n", options).message(), HasSubstr("1 feature values are NaN or infinite, the first in row 1"));
  options.features_path.clear();
  options.labels_path = file("l.csv", "0,1\n0,2\n");
  EXPECT_THAT(error("0 1\n", options).code(), ErrorCode::kBadData);
  options.labels_path = file("l.csv", "0,1,0\n0,2,0\n");
  EXPECT_THAT(error("0 1\n", options).message(),
              HasSubstr("row 2: with several columns labels must be 0 or 1, got '2'"));
  options.labels_path = file("l.csv", "0\n1\n");
  options.label_kind = "klass";
  EXPECT_EQ(error("0 1\n", options).code(), ErrorCode::kUsage);
}

TEST_F(EdgeListTest, ReportsDamagedGzip) {
  const std::string good = gzip("0 1\n1 2\n2 3\n");
  const auto message = [&](const std::string& bytes) {
    return error_of([&] { load(file("e.gz", bytes).string()); }).message();
  };
  EXPECT_THAT(message(good.substr(0, good.size() - 6)), HasSubstr("cut off"));
  EXPECT_THAT(message(good + "garbage"), HasSubstr("something that is not gzip follows"));
  std::string damaged = good;
  damaged[good.size() - 5] = static_cast<char>(damaged[good.size() - 5] ^ 1);
  EXPECT_THAT(message(damaged), HasSubstr("damaged"));
  EXPECT_THAT(edges_of(load(file("e.gz", good + std::string(20, '\0')).string()).graph),
              ElementsAre("0>1", "1>2", "2>3"));
}

TEST_F(EdgeListTest, AListWithoutEdgesNeedsNodes) {
  EXPECT_THAT(error("# nothing\n").message(), HasSubstr("no edge"));
  LoadOptions options;
  options.features_path = file("x.csv", "1,2\n3,4\n");
  const Dataset d = read("# nothing\n", options);
  EXPECT_EQ(d.num_nodes(), 2);
  EXPECT_EQ(d.graph.num_edges(), 0);
}

}  // namespace
}  // namespace gneiss::data
