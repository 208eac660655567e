// A folder of which ranks read their parts: what stays unread, what makes all of it be read, and what a part's rows may
// not be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/load.h"
#include "data/parts.h"
#include "support/data_fixtures.h"

namespace gneiss::data {
namespace {

using ::gneiss::testing::error_of;
using ::gneiss::testing::list;
using ::gneiss::testing::TempFolder;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kParts = 3;

class PartsTest : public ::testing::Test {
 protected:
  /// Writes what a generator makes, cut into three runs of nodes.
  std::string write(const std::string& spec, const LoadOptions& options = {}) {
    Dataset dataset = load(spec, options);
    const std::int64_t n = dataset.num_nodes();
    dataset.part_starts = {0, n / 4, n / 2, n};
    save(dataset, folder_.path() / "parts", true);
    return (folder_.path() / "parts").string();
  }

  TempFolder folder_;
};

void expect_same(const Dataset& a, const Dataset& b) {
  EXPECT_EQ(list(a.graph.offsets()), list(b.graph.offsets()));
  EXPECT_EQ(list(a.graph.sources()), list(b.graph.sources()));
  EXPECT_EQ(list(a.graph.weights()), list(b.graph.weights()));
  EXPECT_EQ(a.graph.symmetric(), b.graph.symmetric());
  EXPECT_EQ(a.features.cols, b.features.cols);
  EXPECT_EQ(a.features.dtype, b.features.dtype);
  EXPECT_EQ(list(a.features.dense), list(b.features.dense));
  EXPECT_EQ(list(a.features.halves), list(b.features.halves));
  EXPECT_EQ(list(a.features.offsets), list(b.features.offsets));
  EXPECT_EQ(list(a.features.indices), list(b.features.indices));
  EXPECT_EQ(list(a.features.values), list(b.features.values));
  EXPECT_EQ(a.split.train, b.split.train);
  EXPECT_EQ(a.part_starts, b.part_starts);
}

TEST_F(PartsTest, WhatStaysInFilesIsWhatWasWritten) {
  LoadOptions halves;
  halves.feature_dtype = "bf16";
  const std::pair<const char*, LoadOptions> sets[] = {{"dcsbm:nodes=900,classes=3,features=20,seed=2", {}},
                                                      {"dcsbm:nodes=900,classes=3,features=20,seed=2", halves},
                                                      {"nell:scale=0.02", {}}};
  for (const auto& [spec, options] : sets) {
    SCOPED_TRACE(spec);
    const std::string folder = write(spec, options);
    LoadOptions by_parts = options;
    by_parts.parts = kParts;
    const Dataset parts = load(folder, by_parts);
    const Dataset whole = load(folder, options);
    EXPECT_TRUE(parts.by_parts);
    EXPECT_NE(parts.files_hash, 0U);
    EXPECT_FALSE(whole.by_parts);
    expect_same(parts, whole);
    check_in_edges(parts, 0, parts.num_nodes());
    check_feature_rows(parts, 0, parts.num_nodes());
  }
}

TEST_F(PartsTest, OptionsThatLookAtAllReadAllAndSaySo) {
  const std::string folder = write("dcsbm:nodes=900,classes=3,features=20,seed=2,directed=1");
  const std::pair<const char*, std::function<void(LoadOptions*)>> options[] = {
      {"--to-undirected", [](LoadOptions* o) { o->to_undirected = true; }},
      {"--remove-self-loops", [](LoadOptions* o) { o->remove_self_loops = true; }},
      {"--coalesce", [](LoadOptions* o) { o->coalesce = true; }},
      {"--add-self-loops", [](LoadOptions* o) { o->add_self_loops = true; }},
      {"--ignore-weights", [](LoadOptions* o) { o->ignore_weights = true; }},
      {"--largest-component", [](LoadOptions* o) { o->largest_component = true; }},
      {"--binarize", [](LoadOptions* o) { o->binarize = true; }},
      {"--normalize-features", [](LoadOptions* o) { o->feature_norm = "row"; }},
      {"--feature-form", [](LoadOptions* o) { o->feature_form = "sparse"; }},
      {"--feature-dtype", [](LoadOptions* o) { o->feature_dtype = "f16"; }},
  };
  for (const auto& [name, ask] : options) {
    SCOPED_TRACE(name);
    LoadOptions asked;
    asked.parts = kParts;
    ask(&asked);
    const Dataset dataset = load(folder, asked);
    EXPECT_FALSE(dataset.by_parts);
    EXPECT_THAT(dataset.notes, ::testing::Contains(HasSubstr(std::string(name) + " looks at all edges or features")));
  }
}

TEST_F(PartsTest, AnotherNumberOfPartsReadsAll) {
  const std::string folder = write("karate");
  LoadOptions options;
  options.parts = kParts + 1;
  const Dataset dataset = load(folder, options);
  EXPECT_FALSE(dataset.by_parts);
  EXPECT_THAT(dataset.notes, ::testing::Not(::testing::Contains(HasSubstr("looks at all"))));
}

Dataset with_rows(std::vector<EdgeId> offsets, std::vector<NodeId> sources) {
  Dataset dataset;
  dataset.name = "bad";
  const auto nodes = static_cast<std::int64_t>(offsets.size()) - 1;
  dataset.graph = graph::Graph::of_fitting(nodes, Buffer<EdgeId>::copy_of(std::span<const EdgeId>(offsets)),
                                           Buffer<NodeId>::copy_of(std::span<const NodeId>(sources)), {}, false);
  return dataset;
}

TEST(PartChecks, NameWhatIsWrongInThePartAlone) {
  const auto fault = [](const Dataset& dataset, std::int64_t begin, std::int64_t end) {
    const Error error = error_of([&] { check_in_edges(dataset, begin, end); });
    EXPECT_EQ(error.code(), ErrorCode::kBadData);
    EXPECT_THAT(error.hint(), HasSubstr("gneiss data partition"));
    return error.message();
  };
  const Dataset beyond = with_rows({0, 1, 3, 4}, {2, 0, 7, 1});
  EXPECT_THAT(fault(beyond, 1, 3), HasSubstr("of the in-edges of node 1 one is 7, outside 0..2"));
  check_in_edges(beyond, 0, 1);
  check_in_edges(beyond, 2, 3);
  EXPECT_THAT(fault(with_rows({0, 1, 3, 4}, {2, 2, 0, 1}), 0, 2), HasSubstr("the in-edges of node 1 do not ascend"));
  EXPECT_THAT(fault(with_rows({0, 3, 1, 4}, {2, 2, 2, 1}), 1, 2), HasSubstr("of node 1 are entries 3 to 1 of 4"));
  EXPECT_THAT(fault(with_rows({0, 1, 9, 4}, {2, 2, 2, 1}), 1, 2), HasSubstr("of node 1 are entries 1 to 9 of 4"));

  Dataset sparse = with_rows({0, 0, 0}, {});
  sparse.features.sparse = true;
  sparse.features.rows = 2;
  sparse.features.cols = 4;
  sparse.features.offsets = Buffer<EdgeId>::copy_of(std::vector<EdgeId>{0, 1, 2});
  sparse.features.indices = Buffer<NodeId>::copy_of(std::vector<NodeId>{3, 4});
  sparse.features.values = Buffer<float>::copy_of(std::vector<float>{1, 1});
  check_feature_rows(sparse, 0, 1);
  EXPECT_THAT(error_of([&] { check_feature_rows(sparse, 1, 2); }).message(),
              HasSubstr("of the features of node 1 one is 4, outside 0..3"));
}

TEST_F(PartsTest, FilesWhoseSizesDoNotFitAreRefused) {
  const std::string folder = write("karate");
  Dataset other = load("dcsbm:nodes=34,classes=2,features=4,seed=1");
  other.part_starts = {0, 4, 8, 34};
  save(other, folder_.path() / "other");
  std::filesystem::copy_file(folder_.path() / "other" / "in_indptr.npy", folder_.path() / "parts" / "in_indptr.npy",
                             std::filesystem::copy_options::overwrite_existing);
  LoadOptions options;
  options.parts = kParts;
  const Error error = error_of([&] { load(folder, options); });
  EXPECT_EQ(error.code(), ErrorCode::kBadData);
  EXPECT_THAT(error.message(), HasSubstr("entries"));
}

}  // namespace
}  // namespace gneiss::data
