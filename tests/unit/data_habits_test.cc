// What other tools write, one file for each row of the table in docs/data.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/file.h"
#include "data/load.h"
#include "data/validate.h"
#include "support/data_fixtures.h"

namespace gneiss::data {
namespace {

using ::gneiss::testing::error_of;
using ::gneiss::testing::list;
using ::gneiss::testing::named_edges;
using ::gneiss::testing::test_data;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string habit(const std::string& name) { return test_data("habits/" + name); }
Dataset read(const std::string& name, const LoadOptions& options = {}) { return load(habit(name), options); }
LoadOptions no_split() {
  LoadOptions options;
  options.split = "none";
  return options;
}

TEST(HabitsTest, Pandas) {
  LoadOptions options = no_split();
  options.features_path = habit("pandas_nodes.csv");
  options.labels_path = options.features_path;
  const Dataset d = read("pandas.csv", options);
  EXPECT_THAT(named_edges(d), ElementsAre("5>7 0.5", "7>8 1.5", "8>5 2"));
  EXPECT_THAT(list(d.features.dense), ElementsAre(31, 40, 54));
  EXPECT_THAT(d.class_names, ElementsAre("blue", "red"));
  EXPECT_THAT(d.notes, Contains(HasSubstr("'label' (a label)")));
}

TEST(HabitsTest, R) {
  EXPECT_THAT(named_edges(read("r_write_csv.csv")), ElementsAre("1>2", "2>3", "3>1"));
  EXPECT_THAT(named_edges(read("r_write_table.txt")), ElementsAre("Ada>Bo 0.5", "Bo>Cy 2"));
}

TEST(HabitsTest, Gephi) {
  LoadOptions options = no_split();
  options.labels_path = habit("gephi_nodes.csv");
  const Dataset d = read("gephi_edges.csv", options);
  EXPECT_THAT(named_edges(d), ElementsAre("1>2 1", "2>3 4", "3>4 1"));
  EXPECT_THAT(d.doubts, Contains(HasSubstr("--to-undirected")));
  EXPECT_THAT(list(d.labels.classes), ElementsAre(0, 0, 1, 1));
}

TEST(HabitsTest, NetworkX) {
  EXPECT_THAT(named_edges(read("networkx_edgelist.txt")), ElementsAre("0>1", "1>2", "2>0"));
  EXPECT_THAT(named_edges(read("networkx_weighted.txt")), ElementsAre("0>1 0.5", "1>2 2"));
  const Error error = error_of([] { read("networkx_adjlist.txt"); });
  EXPECT_THAT(error.message(), HasSubstr("adjacency list"));
  EXPECT_EQ(error.code(), ErrorCode::kBadData);
}

TEST(HabitsTest, Igraph) {
  EXPECT_THAT(named_edges(read("igraph_edgelist.txt")), ElementsAre("0>1", "1>2", "2>0"));
  EXPECT_THAT(named_edges(read("igraph.ncol")), ElementsAre("Ada>Bo 0.5", "Bo>Cy 2"));
  EXPECT_THAT(error_of([] { read("igraph.lgl"); }).message(), HasSubstr("LGL"));
}

TEST(HabitsTest, StringDb) {
  EXPECT_THAT(named_edges(read("string.txt")),
              ElementsAre("9606.ENSP001>9606.ENSP002 490", "9606.ENSP002>9606.ENSP003 198"));
}

TEST(HabitsTest, Snap) {
  const Dataset d = read("snap.txt");
  EXPECT_THAT(named_edges(d), ElementsAre("30>1412", "30>3352", "3352>5254"));
  EXPECT_THAT(d.notes, Contains(HasSubstr("'FromNodeId' is the source")));
  EXPECT_THAT(named_edges(read("snap_temporal.txt")), ElementsAre("13>1", "1>1", "9>8"));
}

TEST(HabitsTest, Konect) {
  EXPECT_THAT(named_edges(read("konect/out.made-up")), ElementsAre("1>2 1", "2>3 2", "3>1 1"));
  EXPECT_THAT(error_of([] { read("konect_bipartite.txt"); }).message(), HasSubstr("bipartite"));
}

TEST(HabitsTest, OgbFilesWithTheirSplit) {
  LoadOptions options;
  options.features_path = habit("ogb/raw/node-feat.csv.gz");
  options.labels_path = habit("ogb/raw/node-label.csv.gz");
  options.train_ids = habit("ogb/split/time/train.csv.gz");
  options.val_ids = habit("ogb/split/time/valid.csv.gz");
  options.test_ids = habit("ogb/split/time/test.csv.gz");
  for (const char* name : {"ogb/raw", "ogb/raw/edge.csv.gz"}) {
    const Dataset d = read(name, options);
    EXPECT_THAT(named_edges(d), ElementsAre("0>1", "1>2", "2>3", "3>4", "4>0")) << name;
    EXPECT_EQ(d.features.rows, 5);
    EXPECT_THAT(d.class_names, ElementsAre("0", "1", "4"));
    EXPECT_THAT(d.split.train, ElementsAre(0, 1, 3));
    EXPECT_THAT(d.split.val, ElementsAre(2));
    EXPECT_THAT(d.split.test, ElementsAre(4));
  }
}

TEST(HabitsTest, Dgl) {
  LoadOptions options = no_split();
  options.labels_path = habit("dgl/nodes.csv");
  const Dataset d = read("dgl/edges.csv", options);
  EXPECT_THAT(named_edges(d), ElementsAre("0>1", "1>2", "2>0"));
  EXPECT_THAT(list(d.labels.classes), ElementsAre(1, 0, 1));
  options.features_path = options.labels_path;
  EXPECT_THAT(list(read("dgl/edges.csv", options).features.dense),
              ElementsAre(0.1F, 0.2F, 0.3F, 0.4F, 0.5F, 0.6F, 0.7F, 0.8F, 0.9F));
}

TEST(HabitsTest, Neo4j) { EXPECT_THAT(named_edges(read("neo4j.csv")), ElementsAre("p1>p2", "p2>p3")); }

TEST(HabitsTest, SuiteSparse) {
  EXPECT_THAT(named_edges(read("suitesparse.mtx")), ElementsAre("1>2", "1>3", "2>1", "3>1", "3>4", "4>3"));
}

TEST(HabitsTest, MetisDimacsAndGap) {
  EXPECT_THAT(named_edges(read("metis.graph")), ElementsAre("1>2", "1>3", "2>1", "3>1", "3>4", "4>3"));
  EXPECT_EQ(read("metis.graph").format, "metis");
  EXPECT_THAT(named_edges(read("dimacs.gr")), ElementsAre("1>2 5", "2>3 7", "3>1 2"));
  EXPECT_EQ(read("dimacs.gr").format, "dimacs");
  EXPECT_THAT(named_edges(read("gap.wel")), ElementsAre("0>13 92", "0>9 152", "9>0 110"));
}

TEST(HabitsTest, CoraAsItWasPublished) {
  LoadOptions options = no_split();
  options.features_path = habit("cora.content");
  options.labels_path = options.features_path;
  EXPECT_THAT(error_of([&] { read("cora.cites", options); }).hint(), HasSubstr("--label-column 5"));
  options.tables.id_column = "1";
  options.tables.label_column = "5";
  const Dataset d = read("cora.cites", options);
  EXPECT_EQ(d.features.cols, 3);
  EXPECT_THAT(list(d.features.dense), ElementsAre(0, 1, 1, 1, 0, 0, 0, 0, 1));
  EXPECT_THAT(d.class_names, ElementsAre("Genetic_Algorithms", "Neural_Networks"));
}

/// Each row of the table is here: its file is named there, and every file is named by a row.
TEST(HabitsTest, ThePageNamesEveryFile) {
  const std::string page = read_file(GNEISS_SOURCE_DIR "/docs/data.md");
  for (const auto& entry : std::filesystem::directory_iterator(habit("."))) {
    const std::string name = entry.path().filename().string();
    EXPECT_THAT(page, HasSubstr("`" + name)) << name;
  }
}

}  // namespace
}  // namespace gneiss::data
