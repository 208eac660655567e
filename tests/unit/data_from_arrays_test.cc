// from_arrays(): what is read where it lies, what is converted, what is wrong; and that lent arrays are never written.
#include "data/from_arrays.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "data/given.h"
#include "data/preprocess.h"
#include "support/data_fixtures.h"

namespace gneiss::data {
namespace {

using ::gneiss::testing::error_of;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// An array of four nodes' something, which the test keeps.
template <class T>
GivenArray array(const std::vector<T>& values, std::vector<std::int64_t> shape, DType type, const char* name) {
  GivenArray given;
  given.values.where = name;
  given.values.type = type;
  given.values.item_bytes = sizeof(T);
  given.values.shape = std::move(shape);
  given.values.count = static_cast<std::int64_t>(values.size());
  given.values.data = std::as_bytes(std::span(values));
  given.keeper = std::shared_ptr<const void>(values.data(), [](const void*) {});
  return given;
}

class FromArraysTest : public ::testing::Test {
 protected:
  /// 0 -> 1 <- 2, 2 -> 3, with two features a node and a class each.
  GivenArrays arrays() {
    GivenArrays given;
    given.edge_index = array(edges_, {2, 3}, DType::kI64, "edge_index");
    given.features = array(x_, {4, 2}, DType::kF32, "x");
    given.labels = array(y_, {4}, DType::kI64, "y");
    return given;
  }
  std::string error(GivenArrays given) {
    const Error error = error_of([&] { from_arrays(std::move(given)); });
    EXPECT_FALSE(error.hint().empty()) << error.what();
    return error.where() + ": " + error.message();
  }

  std::vector<std::int64_t> edges_ = {0, 2, 2, 1, 1, 3};
  std::vector<float> x_ = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<std::int64_t> y_ = {0, 1, 0, -1};
};

TEST_F(FromArraysTest, MakesTheGraphTheFeaturesAndTheLabels) {
  const Dataset dataset = from_arrays(arrays());
  EXPECT_THAT(dataset.graph.offsets(), ElementsAre(0, 0, 2, 2, 3));
  EXPECT_THAT(dataset.graph.sources(), ElementsAre(0, 2, 2));
  EXPECT_EQ(dataset.labels.kind, LabelKind::kSingle);
  EXPECT_THAT(dataset.labels.classes.span(), ElementsAre(0, 1, 0, -1));
  EXPECT_THAT(dataset.notes, IsEmpty());
}

TEST_F(FromArraysTest, ReadsFeaturesWhereTheyLie) {
  const Dataset dataset = from_arrays(arrays());
  EXPECT_EQ(dataset.features.dense.data(), x_.data());
  EXPECT_TRUE(is_lent(dataset.features));
}

TEST_F(FromArraysTest, ReadsInEdgesWhereTheyLie) {
  const std::vector<std::int64_t> offsets = {0, 0, 2, 2, 3};
  const std::vector<std::int32_t> sources = {0, 2, 2};
  GivenArrays given;
  given.in_edges = {
      array(offsets, {5}, DType::kI64, "csc.indptr"), array(sources, {3}, DType::kI32, "csc.indices"), {}};
  const Dataset dataset = from_arrays(std::move(given));
  EXPECT_EQ(dataset.graph.offsets().data(), offsets.data());
  EXPECT_EQ(dataset.graph.sources().data(), sources.data());
  EXPECT_THAT(dataset.notes, IsEmpty());
}

TEST_F(FromArraysTest, ConvertsWhatDoesNotLieAsWantedAndSaysSo) {
  const std::vector<double> wide(x_.begin(), x_.end());
  GivenArrays given = arrays();
  given.features = array(wide, {4, 2}, DType::kF64, "x");
  const Dataset dataset = from_arrays(std::move(given));
  EXPECT_THAT(dataset.features.dense.span(), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_FALSE(is_lent(dataset.features));
  EXPECT_THAT(dataset.notes, Contains(HasSubstr("x was copied")));
}

TEST_F(FromArraysTest, UnsortedInEdgesAreSortedInACopy) {
  const std::vector<std::int64_t> offsets = {0, 0, 2, 2, 3};
  const std::vector<std::int32_t> sources = {2, 0, 2};
  GivenArrays given;
  given.in_edges = {
      array(offsets, {5}, DType::kI64, "csc.indptr"), array(sources, {3}, DType::kI32, "csc.indices"), {}};
  const Dataset dataset = from_arrays(std::move(given));
  EXPECT_THAT(dataset.graph.sources(), ElementsAre(0, 2, 2));
  EXPECT_THAT(dataset.notes, Contains(HasSubstr("csc.indices was copied")));
}

TEST_F(FromArraysTest, ANoteNamesTheArrayThatIsTheReason) {
  const std::vector<std::int64_t> offsets = {0, 0, 2, 2, 3};
  const std::vector<std::int32_t> sources = {0, 2, 2};
  const std::vector<double> weights = {0.5, 1, 2};
  GivenArrays given;
  given.in_edges = {array(offsets, {5}, DType::kI64, "csc.indptr"), array(sources, {3}, DType::kI32, "csc.indices"),
                    array(weights, {3}, DType::kF64, "csc.data")};
  const Dataset dataset = from_arrays(std::move(given));
  EXPECT_THAT(dataset.graph.weights(), ElementsAre(0.5, 1, 2));
  EXPECT_THAT(dataset.notes, ElementsAre(HasSubstr("csc.data was copied")));
}

TEST_F(FromArraysTest, OutEdgesAndInEdgesAreTheSameGraphTurned) {
  const std::vector<std::int64_t> offsets = {0, 1, 1, 3, 3};
  const std::vector<std::int32_t> targets = {1, 1, 3};
  GivenArrays given;
  given.out_edges = {
      array(offsets, {5}, DType::kI64, "csr.indptr"), array(targets, {3}, DType::kI32, "csr.indices"), {}};
  const Dataset dataset = from_arrays(std::move(given));
  EXPECT_THAT(dataset.graph.offsets(), ElementsAre(0, 0, 2, 2, 3));
  EXPECT_THAT(dataset.graph.sources(), ElementsAre(0, 2, 2));
}

TEST_F(FromArraysTest, LabelsGoByTypeShapeAndValues) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto kind = [&](const std::vector<float>& y, std::vector<std::int64_t> shape, const char* asked = "auto") {
    GivenArrays given = arrays();
    given.labels = array(y, std::move(shape), DType::kF32, "y");
    given.label_kind = asked;
    return from_arrays(std::move(given)).labels.kind;
  };
  EXPECT_EQ(kind({0.5, 1, 2, nan}, {4}), LabelKind::kRegression);
  EXPECT_EQ(kind({0, 1, 2, nan}, {4}, "class"), LabelKind::kSingle);
  EXPECT_EQ(kind({0, 1, 1, 0, 1, 0, 0, 1}, {4, 2}), LabelKind::kSingle);
  EXPECT_EQ(kind({0, 1, 1, 0, 1, 0, 0, 1}, {4, 2}, "multi"), LabelKind::kMulti);
  EXPECT_EQ(kind({0, 1, 1, 1, nan, 0, 0, 1}, {4, 2}), LabelKind::kMulti);
  EXPECT_EQ(kind({0, 1, 1, 1, nan, 0, 0, 1.5}, {4, 2}), LabelKind::kRegression);
}

TEST_F(FromArraysTest, SplitsAreMasksOrNodes) {
  const std::vector<std::uint8_t> mask = {1, 0, 0, 1};
  const std::vector<std::int32_t> nodes = {2, 1};
  GivenArrays given = arrays();
  given.train = array(mask, {4}, DType::kBool, "train_mask");
  given.val = array(nodes, {2}, DType::kI32, "val_mask");
  const Dataset dataset = from_arrays(std::move(given));
  EXPECT_THAT(dataset.split.train, ElementsAre(0, 3));
  EXPECT_THAT(dataset.split.val, ElementsAre(1, 2));
}

TEST_F(FromArraysTest, WrongEdgesAreNamed) {
  edges_ = {0, 2, -2, 1, 1, 3};
  EXPECT_EQ(error(arrays()), "edge_index: element [0, 2] is -2, outside 0..3");
  edges_ = {0, 2, 2, 1, 1, 4};
  EXPECT_EQ(error(arrays()), "edge_index: element [1, 2] is 4, outside 0..3");
  GivenArrays turned = arrays();
  turned.edge_index = array(edges_, {3, 2}, DType::kI64, "edge_index");
  EXPECT_EQ(error(std::move(turned)), "edge_index: expected shape (2, edges), got (3, 2)");
  GivenArrays unbounded;
  edges_ = {0, std::int64_t{1} << 31, 2, 1, 1, 4};
  unbounded.edge_index = array(edges_, {2, 3}, DType::kI64, "edge_index");
  EXPECT_THAT(error(std::move(unbounded)), HasSubstr("outside what 32-bit ids can number"));
  GivenArrays flat = arrays();
  flat.features = array(x_, {8}, DType::kF32, "x");
  EXPECT_THAT(error(std::move(flat)), HasSubstr("x: expected features [nodes, width]"));
}

TEST_F(FromArraysTest, SizesThatDoNotFitAreNamed) {
  y_.pop_back();
  GivenArrays given = arrays();
  given.labels = array(y_, {3}, DType::kI64, "y");
  EXPECT_EQ(error(std::move(given)), "y: y has 3 rows, x says 4 nodes");
  const std::vector<std::uint8_t> mask = {1, 0, 0};
  given = arrays();
  given.labels.reset();
  given.train = array(mask, {3}, DType::kBool, "train_mask");
  EXPECT_EQ(error(std::move(given)), "train_mask: a mask of 3 for 4 nodes");
}

TEST_F(FromArraysTest, AMaskOfNumbersIsSaidToBeNone) {
  const std::vector<std::int64_t> mask = {1, 0, 0, 1};
  GivenArrays given = arrays();
  given.train = array(mask, {4}, DType::kI64, "train_mask");
  EXPECT_EQ(error(std::move(given)), "train_mask: node 0 is given twice");
}

TEST_F(FromArraysTest, WrongLabelsAreNamed) {
  y_ = {0, 1, -3, 0};
  EXPECT_THAT(error(arrays()), HasSubstr("y: label [2] is -3"));
  const std::vector<float> many = {0, 1, 1, 1, 3, 0, 0, 1};
  GivenArrays given = arrays();
  given.labels = array(many, {4, 2}, DType::kF32, "y");
  given.label_kind = "multi";
  EXPECT_EQ(error(std::move(given)), "y: element [2, 0] is 3; with many labels each is 0, 1 or NaN");
}

TEST_F(FromArraysTest, ArgumentsThatDoNotGoTogetherAreRefused) {
  GivenArrays given = arrays();
  given.out_edges.offsets = array(edges_, {6}, DType::kI64, "csr.indptr");
  EXPECT_THAT(error(std::move(given)), HasSubstr("csr needs offsets (indptr) and indices"));
  EXPECT_THAT(error({}), HasSubstr("nothing says how many nodes there are"));
  given = arrays();
  given.num_nodes = -4;
  EXPECT_EQ(error(std::move(given)), "num_nodes: expected a number of nodes, got -4");
}

TEST_F(FromArraysTest, WhatIsLentIsNeverWritten) {
  const std::vector<float> before = x_;
  const auto given = std::make_shared<const Dataset>(from_arrays(arrays()));
  LoadOptions options;
  options.feature_norm = "row";
  EXPECT_FLOAT_EQ(load_given(given, options).features.dense[2], 0.4F);
  options.feature_norm = "none";
  options.feature_dtype = "bf16";
  EXPECT_EQ(load_given(given, options).features.halves.size(), x_.size());
  options.feature_dtype = "f32";
  Dataset plain = load_given(given, options);
  EXPECT_EQ(plain.features.dense.data(), x_.data());
  permute(std::vector<NodeId>{3, 2, 1, 0}, 1, &plain);
  EXPECT_FLOAT_EQ(plain.features.dense[0], 7);
  EXPECT_EQ(x_, before);
}

TEST_F(FromArraysTest, OptionsForFilesAreRefused) {
  const auto given = std::make_shared<const Dataset>(from_arrays(arrays()));
  LoadOptions options;
  options.labels_path = "labels.csv";
  EXPECT_THAT(error_of([&] { load_given(given, options); }).message(), HasSubstr("a file of labels is for files"));
}

TEST_F(FromArraysTest, EdgeOptionsChangeTheSharedGraphAlone) {
  const auto given = std::make_shared<const Dataset>(from_arrays(arrays()));
  LoadOptions options;
  options.to_undirected = true;
  EXPECT_EQ(load_given(given, options).graph.num_edges(), 6);
  EXPECT_EQ(given->graph.num_edges(), 3);
}

TEST(LoadTest, ADataSetThatWasMadeOfArraysIsNoFile) {
  const Error error = error_of([] { load("arrays:mine"); });
  EXPECT_EQ(error.code(), ErrorCode::kUsage);
  EXPECT_THAT(error.message(), HasSubstr("'mine' was made of arrays in memory"));
}

}  // namespace
}  // namespace gneiss::data
