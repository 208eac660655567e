// One graph written in many ways is read as one graph: lines shuffled, ids shifted, other separators, gzip, Matrix
// Market.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"
#include "data/load.h"
#include "support/data_fixtures.h"

namespace gneiss::data {
namespace {

using ::gneiss::testing::gzip;
using ::gneiss::testing::list;
using ::gneiss::testing::TempFolder;

struct Line {
  int u;
  int v;
  int weight;
};

/// 300 distinct weighted edges among 60 nodes, every node touched.
std::vector<Line> some_edges() {
  std::vector<Line> edges;
  RandomStream random(7, 0);
  for (int v = 0; v < 60; ++v) {
    for (int k = 1; k <= 5; ++k) edges.push_back({(v + k * k) % 60, v, static_cast<int>(random.below(100)) + 1});
  }
  return edges;
}

std::string text_of(const std::vector<Line>& edges, const std::string& separator, std::int64_t shift) {
  std::string text;
  for (const Line& e : edges) {
    text += std::to_string(e.u + shift) + separator + std::to_string(e.v + shift) + separator +
            std::to_string(e.weight) + "\n";
  }
  return text;
}

class SameGraphTest : public ::testing::Test {
 protected:
  void expect_same(const std::string& name, const std::string& content) {
    const Dataset other = load(folder_.write(name, content).string());
    EXPECT_EQ(list(other.graph.offsets()), list(reference_.graph.offsets())) << name;
    EXPECT_EQ(list(other.graph.sources()), list(reference_.graph.sources())) << name;
    EXPECT_EQ(list(other.graph.weights()), list(reference_.graph.weights())) << name;
  }

  TempFolder folder_;
  std::vector<Line> edges_ = some_edges();
  Dataset reference_ = load(folder_.write("reference.txt", text_of(edges_, " ", 0)).string());
};

TEST_F(SameGraphTest, TheReferenceIsNotTrivial) {
  EXPECT_EQ(reference_.num_nodes(), 60);
  EXPECT_EQ(reference_.graph.num_edges(), 300);
  EXPECT_FALSE(reference_.graph.symmetric());
}

TEST_F(SameGraphTest, WhateverTheOrderOfLines) {
  std::vector<Line> shuffled = edges_;
  RandomStream random(1, 1);
  for (std::size_t i = shuffled.size(); i > 1; --i) std::swap(shuffled[i - 1], shuffled[random.below(i)]);
  expect_same("shuffled.txt", text_of(shuffled, " ", 0));
  std::reverse(shuffled.begin(), shuffled.end());
  expect_same("reversed.txt", text_of(shuffled, " ", 0));
}

TEST_F(SameGraphTest, WhateverTheSeparatorAndPacking) {
  expect_same("a.tsv", text_of(edges_, "\t", 0));
  expect_same("a.csv", "source,target,weight\n" + text_of(edges_, ",", 0));
  expect_same("a.txt.gz", gzip(text_of(edges_, " ", 0)));
}

TEST_F(SameGraphTest, WhateverTheIds) {
  expect_same("negative.txt", text_of(edges_, " ", -1000));
  expect_same("one.txt", text_of(edges_, " ", 1));
  expect_same("large.txt", text_of(edges_, " ", std::int64_t{1} << 40));
}

TEST_F(SameGraphTest, AsAMatrix) {
  expect_same("a.mtx", "%%MatrixMarket matrix coordinate integer general\n60 60 300\n" + text_of(edges_, " ", 1));
}

TEST_F(SameGraphTest, AsOurFolder) {
  save(reference_, folder_.path() / "ours");
  const Dataset again = load((folder_.path() / "ours").string());
  EXPECT_EQ(list(again.graph.sources()), list(reference_.graph.sources()));
  EXPECT_EQ(list(again.graph.weights()), list(reference_.graph.weights()));
}

}  // namespace
}  // namespace gneiss::data
