// A folder under other node ids that is written from files is the one that is written from memory, byte for byte.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "data/load.h"
#include "data/npy.h"
#include "data/preprocess.h"
#include "data/save_renamed.h"
#include "support/awkward_graph.h"
#include "support/data_fixtures.h"

namespace gneiss::data {
namespace {

namespace fs = std::filesystem;

using ::gneiss::testing::error_of;
using ::gneiss::testing::TempFolder;
using ::testing::HasSubstr;

std::map<std::string, std::string> contents_of(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder))
    files[entry.path().filename().string()] = read_file(entry.path());
  return files;
}

/// Nodes by the remainder of a division, each remainder a run.
std::vector<NodeId> order_by_remainder(std::int64_t nodes, std::int64_t divisor) {
  std::vector<NodeId> order;
  for (std::int64_t r = 0; r < divisor; ++r) {
    for (std::int64_t v = r; v < nodes; v += divisor) order.push_back(static_cast<NodeId>(v));
  }
  return order;
}

/// Saves `dataset`, renames it both ways and compares what is written.
void expect_the_same_folder(const Dataset& dataset, const LoadOptions& kept, std::int64_t divisor) {
  const TempFolder place;
  save(dataset, place.path() / "given");
  Dataset whole = load((place.path() / "given").string(), kept);
  const std::vector<NodeId> order = order_by_remainder(whole.num_nodes(), divisor);
  permute(order, 1, &whole);
  save(whole, place.path() / "from_memory");
  LoadOptions options = kept;
  options.in_files = true;
  Dataset in_files = load((place.path() / "given").string(), options);
  ASSERT_TRUE(in_files.by_parts);
  rename_nodes(order, 1, &in_files);
  save_renamed(in_files, order, 0, place.path() / "from_files", false);
  EXPECT_EQ(contents_of(place.path() / "from_files"), contents_of(place.path() / "from_memory"));
}

TEST(SaveRenamed, WritesWhatPermuteAndSaveWrite) {
  for (const bool sparse : {false, true}) {
    testing::AwkwardOptions options;
    options.nodes = 60;
    options.sparse_features = sparse;
    options.labels = sparse ? LabelKind::kMulti : LabelKind::kSingle;
    for (const std::int64_t divisor : {1, 7, 60})
      expect_the_same_folder(testing::awkward_dataset(options), {}, divisor);
  }
  LoadOptions halves;
  halves.feature_dtype = "bf16";
  expect_the_same_folder(load("dcsbm:nodes=300,classes=3,seed=2", halves), halves, 5);
}

/// Rows longer than a buffer, and buffers that fill several times.
TEST(SaveRenamed, WritesRowsOfAnyLength) {
  expect_the_same_folder(load("dcsbm:nodes=900,edges=60000,classes=3,features=1500,seed=2", {}), {}, 3);
}

TEST(SaveRenamed, LeavesNothingWhereItCannotWrite) {
  const TempFolder place;
  save(load("karate", {}), place.path() / "given");
  LoadOptions options;
  options.in_files = true;
  Dataset dataset = load((place.path() / "given").string(), options);
  const std::vector<NodeId> order = order_by_remainder(dataset.num_nodes(), 1);
  EXPECT_EQ(error_of([&] { save_renamed(dataset, order, 0, place.path() / "given", false); }).code(),
            ErrorCode::kUsage);
  EXPECT_EQ(error_of([&] { save_renamed(dataset, order, 0, "/proc/gneiss", false); }).code(), ErrorCode::kDisk);
}

TEST(InFiles, WhatAsksForAllIsRefused) {
  const TempFolder place;
  save(load("karate", {}), place.path() / "given");
  LoadOptions options;
  options.in_files = true;
  options.feature_norm = "row";
  const Error error = error_of([&] { load((place.path() / "given").string(), options); });
  EXPECT_EQ(error.code(), ErrorCode::kUsage);
  EXPECT_THAT(error.message(), HasSubstr("--normalize-features looks at all edges or features"));
}

/// Numbers of another width would be copied to memory.
TEST(InFiles, ArraysHaveToLieThereAsTheyAreRead) {
  const TempFolder place;
  const fs::path folder = place.path() / "given";
  save(load("dcsbm:nodes=3000,edges=1300000,classes=2,seed=2", {}), folder);
  const Dataset whole = load(folder.string(), {});
  const std::vector<std::int64_t> wide(whole.graph.sources().begin(), whole.graph.sources().end());
  ASSERT_GT(wide.size(), std::size_t{1} << 20);
  write_npy(folder / "in_indices.npy", "<i8", {std::ssize(wide)}, std::as_bytes(std::span(wide)));
  std::string manifest = read_file(folder / "manifest.json");
  const std::size_t files = manifest.find("\"files\"");
  manifest = manifest.substr(0, files) + "\"files\": {}\n}\n";
  write_file(folder / "manifest.json", manifest);
  LoadOptions options;
  options.in_files = true;
  const Error error = error_of([&] { load(folder.string(), options); });
  EXPECT_EQ(error.code(), ErrorCode::kBadData);
  EXPECT_THAT(error.message(), HasSubstr("not stored as they are read"));
  EXPECT_THAT(error.where(), HasSubstr("in_indices.npy"));
}

/// A damaged file is noticed, as when all of it is read.
TEST(InFiles, ChecksumsAreLookedAt) {
  const TempFolder place;
  const fs::path folder = place.path() / "given";
  save(load("karate", {}), folder);
  std::string bytes = read_file(folder / "in_indices.npy");
  bytes.back() ^= 1;
  write_file(folder / "in_indices.npy", bytes);
  LoadOptions options;
  options.in_files = true;
  EXPECT_THAT(error_of([&] { load(folder.string(), options); }).message(), HasSubstr("checksum"));
}

}  // namespace
}  // namespace gneiss::data
