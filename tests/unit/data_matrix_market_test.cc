// Matrix Market files.
#include "data/matrix_market.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/load.h"
#include "support/data_fixtures.h"

namespace gneiss::data {
namespace {

using ::gneiss::testing::error_of;
using ::gneiss::testing::gzip;
using ::gneiss::testing::list;
using ::gneiss::testing::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class MatrixMarketTest : public ::testing::Test {
 protected:
  MatrixMarket read(const std::string& text) { return parse_matrix_market(folder_.write("m.mtx", text)); }

  TempFolder folder_;
};

TEST_F(MatrixMarketTest, ReadsGeneralEntries) {
  const MatrixMarket m = read("%%MatrixMarket matrix coordinate real general\n% comment\n\n3 2 2\n1 2 .5\n3 1 -1e2\n");
  EXPECT_EQ(m.rows, 3);
  EXPECT_EQ(m.cols, 2);
  EXPECT_THAT(list(m.edges.src), ElementsAre(0, 2));
  EXPECT_THAT(list(m.edges.dst), ElementsAre(1, 0));
  EXPECT_THAT(list(m.edges.weight), ElementsAre(0.5F, -100.0F));
}

TEST_F(MatrixMarketTest, MirrorsTriangles) {
  const MatrixMarket s = read("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n");
  EXPECT_THAT(list(s.edges.src), ElementsAre(0, 1, 0));
  EXPECT_THAT(list(s.edges.dst), ElementsAre(0, 0, 1));
  EXPECT_TRUE(s.edges.weight.empty());
  const MatrixMarket k = read("%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 3\n");
  EXPECT_THAT(list(k.edges.weight), ElementsAre(3, -3));
}

TEST_F(MatrixMarketTest, ReadsArraysByColumn) {
  EXPECT_THAT(list(read("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n").values),
              ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(list(read("%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n").values), ElementsAre(1, 2, 2, 3));
  EXPECT_THAT(list(read("%%MatrixMarket matrix array real skew-symmetric\n2 2\n5\n").values), ElementsAre(0, -5, 5, 0));
}

TEST_F(MatrixMarketTest, BecomesAGraphWithFeatures) {
  LoadOptions options;
  options.features_path = folder_.write("x.mtx", "%%MatrixMarket matrix array real general\n2 1\n7\n8\n");
  options.labels_path = folder_.write("y.csv", "id,class\n2,1\n1,0\n");
  const Dataset d =
      load(folder_.write("g.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n").string(), options);
  EXPECT_THAT(list(d.graph.offsets()), ElementsAre(0, 0, 1));  // 0 -> 1
  EXPECT_THAT(list(d.features.dense), ElementsAre(7, 8));
  EXPECT_THAT(list(d.labels.classes), ElementsAre(0, 1));
}

TEST_F(MatrixMarketTest, ReadsGzip) {
  EXPECT_EQ(read(gzip("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n")).edges.src.size(), 1U);
}

struct BadMatrix {
  const char* name;
  const char* text;
  int line;
  const char* message;
};

class BadMatrixTest : public ::testing::TestWithParam<BadMatrix> {};

TEST_P(BadMatrixTest, IsRefusedAtItsLine) {
  const TempFolder folder;
  const auto path = folder.write("m.mtx", GetParam().text);
  const Error error = error_of([&] { parse_matrix_market(path); });
  EXPECT_EQ(error.code(), ErrorCode::kBadData);
  EXPECT_THAT(error.message(), HasSubstr(GetParam().message));
  EXPECT_EQ(error.where(), path.string() + ":" + std::to_string(GetParam().line));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadMatrixTest,
    ::testing::Values(
        BadMatrix{"Empty", "", 0, "the file is empty"}, BadMatrix{"NoHeader", "3 3 0\n", 1, "expected the header"},
        BadMatrix{"ShortHeader", "%%MatrixMarket matrix coordinate\n", 1, "expected five words"},
        BadMatrix{"Object", "%%MatrixMarket vector coordinate real general\n", 1, "expected 'matrix', got 'vector'"},
        BadMatrix{"Form", "%%MatrixMarket matrix list real general\n", 1, "expected coordinate or array"},
        BadMatrix{"Field", "%%MatrixMarket matrix coordinate quaternion general\n", 1,
                  "expected real, integer or pattern"},
        BadMatrix{"Complex", "%%MatrixMarket matrix coordinate complex general\n", 1, "complex matrices are not read"},
        BadMatrix{"Hermitian", "%%MatrixMarket matrix coordinate real hermitian\n", 1,
                  "hermitian matrices are not read"},
        BadMatrix{"Symmetry", "%%MatrixMarket matrix coordinate real odd\n", 1, "expected general, symmetric"},
        BadMatrix{"PatternArray", "%%MatrixMarket matrix array pattern general\n", 1, "an array cannot be a pattern"},
        BadMatrix{"NoSizes", "%%MatrixMarket matrix coordinate real general\n% only\n", 2,
                  "ends before the line of sizes"},
        BadMatrix{"TwoSizes", "%%MatrixMarket matrix coordinate real general\n3 3\n", 2,
                  "expected rows, columns and entries, got 2"},
        BadMatrix{"NegativeSize", "%%MatrixMarket matrix coordinate real general\n3 -3 1\n", 2,
                  "expected a count, got '-3'"},
        BadMatrix{"HugeRows", "%%MatrixMarket matrix coordinate real general\n9999999999 1 0\n", 2,
                  "outside what 32-bit ids"},
        BadMatrix{"HugeEntries", "%%MatrixMarket matrix coordinate real general\n3 3 999999999999\n1 1 1\n", 2,
                  "cannot be in a file of"},
        BadMatrix{"HugeArray", "%%MatrixMarket matrix array real general\n2000000000 2000000000\n1\n", 2,
                  "cannot be in a file of"},
        BadMatrix{"NotSquare", "%%MatrixMarket matrix coordinate real symmetric\n3 4 0\n", 2, "must be square"},
        BadMatrix{"RowZero", "%%MatrixMarket matrix coordinate real general\n3 3 1\n0 1 1\n", 3,
                  "row 0 is outside 1..3"},
        BadMatrix{"ColumnBeyond", "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 4 1\n", 3,
                  "column 4 is outside 1..3"},
        BadMatrix{"Word", "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 1 pi\n", 3,
                  "expected a number, got 'pi'"},
        BadMatrix{"NoValue", "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 1\n", 3,
                  "expected 3 numbers, got 2"},
        BadMatrix{"Extra", "%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 1 1\n", 3,
                  "expected 2 numbers, got 3"},
        BadMatrix{"Fraction", "%%MatrixMarket matrix coordinate integer general\n3 3 1\n1 1 1.5\n", 3,
                  "an integer matrix holds '1.5'"},
        BadMatrix{"TooFew", "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 1\n", 3,
                  "the file ends after 1 of 2 entries"},
        BadMatrix{"TooMany", "%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 1\n1 2\n", 4,
                  "all entries are read, but '1 2' follows"},
        BadMatrix{"Twice", "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n1 2\n", 4,
                  "entry 1 2 is given twice"},
        BadMatrix{"BothTriangles", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n1 2\n2 1\n", 4,
                  "is given twice"},
        BadMatrix{"SkewDiagonal", "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 1\n1 1 2\n", 3,
                  "zeros on its diagonal"},
        BadMatrix{"Type", "%%MatrixMarket matrix coordinate integer general\n%%GraphBLAS type int8_t\n1 1 1\n1 1 128\n",
                  4, "'128' is no int8_t"},
        BadMatrix{"UnknownType", "%%MatrixMarket matrix coordinate integer general\n%%GraphBLAS type gunk\n", 2,
                  "unknown GraphBLAS type 'gunk'"},
        BadMatrix{"UnsignedSkew", "%%MatrixMarket matrix coordinate integer skew-symmetric\n%%GraphBLAS type uint8_t\n",
                  2, "cannot hold uint8_t"},
        BadMatrix{"ArrayTwo", "%%MatrixMarket matrix array real general\n1 1\n1 2\n", 3, "expected one number"},
        BadMatrix{"ArrayShort", "%%MatrixMarket matrix array real general\n1 2\n1\n", 3,
                  "ends before column 2, row 1"}),
    [](const auto& each) { return std::string(each.param.name); });

TEST_F(MatrixMarketTest, IsNoGraphWhenDenseOrNotSquare) {
  const auto dense = folder_.write("a.mtx", "%%MatrixMarket matrix array real general\n1 1\n1\n");
  EXPECT_THAT(error_of([&] { load(dense.string()); }).message(), HasSubstr("a dense array of 1 x 1 is no graph"));
  const auto wide = folder_.write("b.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 4 0\n");
  EXPECT_THAT(error_of([&] { load(wide.string()); }).message(),
              HasSubstr("a graph needs a square matrix, this is 3 x 4"));
}

}  // namespace
}  // namespace gneiss::data
