// Files in the shape of what people have, each of which was once read as another graph or refused without need.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/info.h"
#include "data/load.h"
#include "data/validate.h"
#include "support/data_fixtures.h"

namespace gneiss::data {
namespace {

using ::gneiss::testing::error_of;
using ::gneiss::testing::list;
using ::gneiss::testing::named_edges;
using ::gneiss::testing::test_data;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::string fault(const std::string& name) { return test_data("faults/" + name); }
Dataset read(const std::string& name) { return load(fault(name)); }

LoadOptions with(const std::string& features, const std::string& labels = {}) {
  LoadOptions options;
  if (!features.empty()) options.features_path = fault(features);
  if (!labels.empty()) options.labels_path = fault(labels);
  options.split = "none";
  return options;
}

TEST(FaultsTest, ByteOrderMarksAreLeftOut) {
  EXPECT_THAT(named_edges(read("20_bom/noheader.csv")), ElementsAre("0>1", "1>2", "2>3", "3>0"));
  const Dataset words = load(fault("20_bom/words.csv"), with("", "20_bom/labels.csv"));
  EXPECT_THAT(words.node_names, ElementsAre("Ada", "Bo", "Cy"));
  EXPECT_THAT(named_edges(words), ElementsAre("Ada>Bo", "Bo>Cy", "Cy>Ada"));
  EXPECT_THAT(words.class_names, ElementsAre("blue", "red"));
  EXPECT_THAT(list(words.labels.classes), ElementsAre(1, 0, 1));
  EXPECT_THAT(named_edges(read("20_bom/plain.csv")), ElementsAre("Ada>Bo", "Bo>Cy", "Cy>Ada"));
  const Dataset features = load(fault("20_bom/noheader.csv"), with("20_bom/x.csv"));
  EXPECT_EQ(features.features.rows, 4);
  EXPECT_THAT(list(features.features.dense), ElementsAre(0.5F, 1, 1, 0, 0.25F, 0.75F, 1, 1));
}

TEST(FaultsTest, PandasIndexIsLeftOut) {
  const Dataset plain = read("21_pandas_index/edges.csv");
  EXPECT_THAT(named_edges(plain), ElementsAre("5>7", "5>8", "7>8", "9>5"));
  EXPECT_THAT(plain.notes, Contains(HasSubstr("column 1 (an index)")));
  EXPECT_THAT(plain.notes, Contains(HasSubstr("first edge 5 -> 7")));
  EXPECT_THAT(named_edges(read("21_pandas_index/edges_w.csv")), ElementsAre("5>7 0.5", "5>8 0.25", "7>8 1.5", "9>5 2"));
  const Dataset nodes = load(fault("21_pandas_index/edges.csv"), with("21_pandas_index/nodes.csv"));
  EXPECT_THAT(nodes.orig_id, ElementsAre(5, 7, 8, 9));
  EXPECT_THAT(list(nodes.features.dense), ElementsAre(0.1F, 0.2F, 0.3F, 0.4F, 0.5F, 0.6F, 0.7F, 0.8F));
}

TEST(FaultsTest, HeaderOfStringDb) {
  EXPECT_THAT(named_edges(read("23_string_db/links.txt")),
              ElementsAre("7777.P001>7777.P002 490", "7777.P002>7777.P001 490", "7777.P002>7777.P003 198",
                          "7777.P003>7777.P002 198"));
}

TEST(FaultsTest, DecimalCommas) {
  for (const char* name : {"header.csv", "noheader.csv"})
    EXPECT_THAT(named_edges(read(std::string("24_decimal_comma/") + name)), ElementsAre("0>1 0.5", "1>2 1.25", "2>0 2"))
        << name;
  const Dataset d = load(fault("24_decimal_comma/e.csv"), with("24_decimal_comma/features.csv"));
  EXPECT_THAT(named_edges(d), ElementsAre("0>1", "1>2", "2>0"));
  EXPECT_THAT(list(d.features.dense), ElementsAre(0.5F, 1, 1.25F, 0.75F, 2, 3));
}

TEST(FaultsTest, WholeNumbersWrittenAsReals) {
  const Dataset d = load(fault("26_float_ids/edges.csv"), with("", "26_float_ids/y.csv"));
  EXPECT_THAT(d.orig_id, IsEmpty());
  EXPECT_THAT(named_edges(d), ElementsAre("0>1", "1>2", "2>0"));
  EXPECT_THAT(list(d.labels.classes), ElementsAre(0, 1, 0));
  EXPECT_THAT(read("26_float_ids/sci.csv").orig_id, ElementsAre(99999, 100000, 100001));
  for (const char* name : {"ylabels.csv", "ylabels.npy"}) {
    const Dataset y = load(fault("26_float_ids/e.csv"), with("", std::string("26_float_ids/") + name));
    EXPECT_THAT(list(y.labels.classes), ElementsAre(0, 1, -1, 2, 3, 0)) << name;
    EXPECT_THAT(y.class_names, ElementsAre("0", "1", "2", "10")) << name;
  }
  const Dataset mixed = load(fault("26_float_ids/e.csv"), with("", "26_float_ids/ymixed.csv"));
  EXPECT_THAT(list(mixed.labels.classes), ElementsAre(0, 1, -1, 1, 0, 1));
}

TEST(FaultsTest, MatrixMarketPackedAndTwice) {
  EXPECT_THAT(named_edges(read("28_matrix_market/packed.mtx.gz")), ElementsAre("2>1", "3>1"));
  LoadOptions options;
  EXPECT_THAT(error_of([&] { read("28_matrix_market/twice.mtx"); }).hint(), HasSubstr("--coalesce"));
  options.coalesce = true;
  EXPECT_THAT(named_edges(load(fault("28_matrix_market/twice.mtx"), options)), ElementsAre("1>2 3", "2>3 1", "3>1 1"));
  EXPECT_THAT(named_edges(load(fault("28_matrix_market/both.mtx"), options)), ElementsAre("1>2", "1>3", "2>1", "3>1"));
  EXPECT_THAT(named_edges(read("28_matrix_market/free.mtx")),
              ElementsAre("1>1 1", "1>2 10.5", "2>3 0.015", "3>1 -250"));
  for (const char* name : {"nosize.mtx", "one_percent.mtx", "fortran.mtx"})
    EXPECT_EQ(error_of([&] { read(std::string("28_matrix_market/") + name); }).code(), ErrorCode::kBadData) << name;
}

TEST(FaultsTest, MasksOfOneSplit) {
  const Dataset d = read("30_npz/one_split.npz");
  EXPECT_EQ(d.num_splits, 1);
  EXPECT_FALSE(d.split.train.empty());
  EXPECT_FALSE(d.split.test.empty());
  const Dataset two_rows = read("30_npz/edge_index.npz");  // [2, m], as PyG has edges
  EXPECT_EQ(two_rows.graph.num_edges(), 8);
}

TEST(FaultsTest, PicklesOfEveryProtocol) {
  const Dataset old = read("31_planetoid/p2");
  for (const char* name : {"dd", "p4"}) {
    const Dataset d = read(std::string("31_planetoid/") + name);
    EXPECT_EQ(named_edges(d), named_edges(old)) << name;
    EXPECT_EQ(list(d.labels.classes), list(old.labels.classes)) << name;
    EXPECT_EQ(list(d.features.values), list(old.features.values)) << name;
    EXPECT_EQ(d.split.test, old.split.test) << name;
  }
  EXPECT_EQ(old.num_nodes(), 10);
}

TEST(FaultsTest, Labels) {
  const Dataset minus = load(fault("32_labels/e.txt"), with("", "32_labels/minus100.csv"));
  EXPECT_THAT(list(minus.labels.classes), ElementsAre(0, 1, -1, 1, 0, -1));
  const Dataset hot = load(fault("32_labels/e.txt"), with("", "32_labels/onehot.csv"));
  EXPECT_EQ(hot.labels.kind, LabelKind::kSingle);
  EXPECT_THAT(list(hot.labels.classes), ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_THAT(hot.notes, Contains(HasSubstr("one class a node")));
  LoadOptions many = with("", "32_labels/onehot.csv");
  many.label_kind = "multi";
  EXPECT_EQ(load(fault("32_labels/e.txt"), many).labels.kind, LabelKind::kMulti);
  const Dataset blank = load(fault("32_labels/e.txt"), with("", "32_labels/blank.csv"));
  EXPECT_THAT(list(blank.labels.classes), ElementsAre(0, 1, -1, 1, 0, 1));
  const Dataset gaps = load(fault("32_labels/e.txt"), with("", "32_labels/gaps.csv"));
  EXPECT_THAT(gaps.class_names, ElementsAre("3", "7", "40"));
}

TEST(FaultsTest, SnapAndKonect) {
  const Dataset times = read("34_snap/t.txt");
  EXPECT_THAT(named_edges(times), ElementsAre("1>2", "1>3", "2>3", "3>1"));
  EXPECT_THAT(times.notes, Contains(HasSubstr("looks like times")));
  EXPECT_THAT(validate(times), Contains(::testing::Field(&Finding::message, HasSubstr("looks like times"))));
  EXPECT_THAT(named_edges(read("34_snap/a.txt")).size(), 4U);
  EXPECT_THAT(named_edges(read("34_snap/b.txt")), ElementsAre("1>2 0.5", "2>3 1.5", "3>1 -2"));
  EXPECT_THAT(named_edges(read("34_snap/c.txt.gz")), ElementsAre("0>1", "1>2", "2>3", "3>0"));
  EXPECT_THAT(named_edges(read("34_snap/mac.txt")), ElementsAre("0>1", "1>2", "2>3", "3>0"));
}

}  // namespace
}  // namespace gneiss::data
