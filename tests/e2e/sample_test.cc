// gneiss sample through the command: files that hold what docs/batches.md says, the same for any number of threads, and
// nothing left behind where it fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "data/load.h"
#include "data/npz.h"
#include "e2e/command.h"
#include "support/data_fixtures.h"

namespace gneiss {
namespace {

using ::gneiss::testing::CommandResult;
using ::gneiss::testing::list;
using ::gneiss::testing::Workplace;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kData = "dcsbm:nodes=600,classes=4,edges=6000";

std::vector<std::int64_t> array(const data::NpzFile& file, const std::string& name) {
  return list(data::to_int64(file.array(name)));
}

std::vector<std::filesystem::path> files_of(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

void expect_batch(const data::NpzFile& file, const graph::Graph& graph, const std::vector<std::int64_t>& fanout) {
  const std::vector<std::int64_t> seeds = array(file, "seeds");
  const std::vector<std::int64_t> nodes = array(file, "nodes");
  EXPECT_TRUE(std::equal(seeds.begin(), seeds.end(), nodes.begin()));
  EXPECT_EQ(std::set<std::int64_t>(nodes.begin(), nodes.end()).size(), nodes.size());
  std::size_t rows = seeds.size();
  for (std::size_t h = 0; h < fanout.size(); ++h) {
    const std::vector<std::int64_t> indptr = array(file, "indptr_" + std::to_string(h));
    const std::vector<std::int64_t> src = array(file, "src_" + std::to_string(h));
    const std::vector<std::int64_t> edge = array(file, "edge_" + std::to_string(h));
    ASSERT_EQ(indptr.size(), rows + 1);
    ASSERT_EQ(src.size(), edge.size());
    for (std::size_t i = 0; i < rows; ++i) {
      const auto v = static_cast<std::size_t>(nodes[i]);
      const std::int64_t degree = graph.offsets()[v + 1] - graph.offsets()[v];
      ASSERT_EQ(indptr[i + 1] - indptr[i], std::min(degree, fanout[h]));
      for (auto e = static_cast<std::size_t>(indptr[i]); e < static_cast<std::size_t>(indptr[i + 1]); ++e) {
        ASSERT_GE(edge[e], graph.offsets()[v]);
        ASSERT_LT(edge[e], graph.offsets()[v + 1]);
        ASSERT_EQ(nodes[static_cast<std::size_t>(src[e])], graph.sources()[static_cast<std::size_t>(edge[e])]);
      }
    }
    for (const std::int64_t s : src) rows = std::max(rows, static_cast<std::size_t>(s) + 1);
  }
  EXPECT_EQ(rows, nodes.size());
}

TEST(SampleCommand, WritesAnEpochOfBatchesWithEverySeedOnce) {
  const Workplace place;
  const data::Dataset dataset = data::load(kData);
  const CommandResult result = place.gneiss({"sample", kData, "--fanout", "5,3", "--batch-size", "32", "--out", "out"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("uniform without replacement, mfg, fanout 5,3"));
  std::vector<std::int64_t> seeds;
  for (const std::filesystem::path& path : files_of(place.path("out"))) {
    const data::NpzFile file(path);
    expect_batch(file, dataset.graph, {5, 3});
    for (const std::int64_t seed : array(file, "seeds")) seeds.push_back(seed);
  }
  std::sort(seeds.begin(), seeds.end());
  EXPECT_EQ(seeds, std::vector<std::int64_t>(dataset.split.train.begin(), dataset.split.train.end()));
}

TEST(SampleCommand, ThreadsChangeNoByteAndEpochsChangeAll) {
  const Workplace place;
  const auto sample = [&](const std::string& name, const std::string& threads, const std::string& epoch) {
    const CommandResult result = place.gneiss({"sample", kData, "--fanout", "4,4", "--batch-size", "20", "--batches",
                                               "3", "--epoch", epoch, "--threads", threads, "--out", name});
    EXPECT_EQ(result.code, 0) << result.err;
    std::vector<std::string> contents;
    for (const std::filesystem::path& path : files_of(place.path(name))) contents.push_back(read_file(path));
    EXPECT_EQ(contents.size(), 3U);
    return contents;
  };
  const std::vector<std::string> one = sample("one", "1", "1");
  EXPECT_TRUE(sample("two", "2", "1") == one);
  EXPECT_TRUE(sample("five", "5", "1") == one);
  EXPECT_FALSE(sample("next", "1", "2") == one);
}

TEST(SampleCommand, SamplesAroundNodesOfAFileInItsOrder) {
  const Workplace place;
  place.write("nodes.txt", "33\n 5 \n\n0\r\n");
  const CommandResult result =
      place.gneiss({"sample", "karate", "--fanout", "-1", "--nodes", "nodes.txt", "--out", "out"});
  ASSERT_EQ(result.code, 0) << result.err;
  const data::NpzFile file(place.path("out/batch_000000.npz"));
  EXPECT_THAT(array(file, "seeds"), ElementsAre(33, 5, 0));
  EXPECT_EQ(array(file, "indptr_0")[1], 17);  // all neighbours of the president
}

TEST(SampleCommand, IdsAreThoseOfTheFileWhateverBecomesOfTheNodes) {
  const Workplace place;
  // Two components; the larger one has the ids 3, 5, 6, 7 and keeps them.
  place.write("edges.txt", "0 1\n3 5\n5 6\n6 7\n7 3\n");
  place.write("nodes.txt", "6\n3\n");
  const CommandResult result = place.gneiss({"sample", "edges.txt", "--to-undirected", "--largest-component",
                                             "--fanout", "-1", "--nodes", "nodes.txt", "--out", "out"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(array(data::NpzFile(place.path("out/batch_000000.npz")), "nodes"), ElementsAre(6, 3, 5, 7));
  place.write("nodes.txt", "6\n1\n");
  const CommandResult gone = place.gneiss(
      {"sample", "edges.txt", "--to-undirected", "--largest-component", "--fanout", "-1", "--nodes", "nodes.txt"});
  EXPECT_EQ(gone.code, 3);
  EXPECT_THAT(gone.err, HasSubstr("nodes.txt:2"));
}

TEST(SampleCommand, AFolderThatHoldsSomethingIsLeftAsItIs) {
  const Workplace place;
  const auto sample = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"sample", "karate", "--fanout", "2", "--out", "out"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return place.gneiss(arguments).code;
  };
  std::filesystem::create_directory(place.path("out"));
  place.write("out/mine.txt", "keep");
  EXPECT_EQ(sample({}), 2);
  EXPECT_EQ(sample({"--force"}), 2);
  EXPECT_EQ(place.read("out/mine.txt"), "keep");
  std::filesystem::remove(place.path("out/mine.txt"));
  EXPECT_EQ(sample({"--batch-size", "2"}), 0);
  EXPECT_GT(files_of(place.path("out")).size(), 1U);
  EXPECT_EQ(sample({}), 2);
  EXPECT_EQ(sample({"--force", "--batches", "1"}), 0);
  EXPECT_EQ(files_of(place.path("out")).size(), 1U) << "old batches do not stay among new ones";
}

TEST(SampleCommand, NothingStaysOfASampleThatFails) {
  const Workplace place;
  place.write("nodes.txt", "1\n2\n3\n4\n5\n5\n");  // the last of three batches has a seed twice
  const CommandResult result =
      place.gneiss({"sample", "karate", "--fanout", "2", "--batch-size", "2", "--nodes", "nodes.txt", "--out", "out"});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, HasSubstr("batch 2 of epoch 1, seed 0"));
  EXPECT_THAT(place.list(), ElementsAre("nodes.txt"));
}

}  // namespace
}  // namespace gneiss
