// Drawn splits.
#include "data/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "support/data_fixtures.h"

namespace gneiss::data {
namespace {

using ::gneiss::testing::error_of;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// `sizes[c]` nodes of class c, then `unlabelled` without.
Labels labels_of(const std::vector<int>& sizes, int unlabelled = 0) {
  std::vector<std::int32_t> classes;
  for (std::size_t c = 0; c < sizes.size(); ++c)
    classes.insert(classes.end(), static_cast<std::size_t>(sizes[c]), static_cast<std::int32_t>(c));
  classes.insert(classes.end(), static_cast<std::size_t>(unlabelled), -1);
  Labels labels;
  labels.kind = LabelKind::kSingle;
  labels.num_classes = static_cast<std::int64_t>(sizes.size());
  labels.classes = Buffer<std::int32_t>::copy_of(classes);
  return labels;
}

void expect_disjoint(const Split& s) {
  std::set<NodeId> all;
  for (const auto* part : {&s.train, &s.val, &s.test}) {
    EXPECT_TRUE(std::is_sorted(part->begin(), part->end()));
    for (const NodeId v : *part) EXPECT_TRUE(all.insert(v).second) << v;
  }
}

std::int64_t nodes(const Labels& labels) { return static_cast<std::int64_t>(labels.classes.size()); }

TEST(SplitTest, ShchurTakesTwentyAndThirtyOfEachClass) {
  const Labels labels = labels_of({100, 200, 60}, 7);
  const Split s = draw_split(labels, nodes(labels), "shchur", 0);
  expect_disjoint(s);
  EXPECT_THAT(s.val, SizeIs(30 + 30 + 24));  // 2/5 of 60
  EXPECT_THAT(s.train, SizeIs(60));
  EXPECT_EQ(s.train.size() + s.val.size() + s.test.size(), 360U);  // unlabelled nodes are in no part
  for (int c = 0; c < 3; ++c) {
    EXPECT_EQ(std::count_if(s.train.begin(), s.train.end(),
                            [&](NodeId v) { return labels.classes[static_cast<std::size_t>(v)] == c; }),
              20);
  }
}

TEST(SplitTest, RandomIsPlanetoidsRandomSplit) {
  const Labels labels = labels_of({1500, 1500});
  const Split s = draw_split(labels, nodes(labels), "random", 1);
  expect_disjoint(s);
  EXPECT_THAT(s.train, SizeIs(40));
  EXPECT_THAT(s.val, SizeIs(500));
  EXPECT_THAT(s.test, SizeIs(1000));
}

TEST(SplitTest, RatioSharesTheLabelledNodes) {
  const Labels labels = labels_of({60, 40}, 30);
  const Split s = draw_split(labels, nodes(labels), "ratio:60/20/20", 1);
  expect_disjoint(s);
  EXPECT_THAT(s.train, SizeIs(60));
  EXPECT_THAT(s.val, SizeIs(20));
  EXPECT_THAT(s.test, SizeIs(20));
  EXPECT_THAT(draw_split(labels, nodes(labels), "ratio:1/0/1", 1).val, SizeIs(0));
  EXPECT_THAT(draw_split(labels, nodes(labels), "none", 1).train, SizeIs(0));
}

TEST(SplitTest, TinyClassesStillTrain) {
  const Labels labels = labels_of({1, 3, 50});
  const Split s = draw_split(labels, nodes(labels), "shchur", 5);
  expect_disjoint(s);
  EXPECT_TRUE(std::find(s.train.begin(), s.train.end(), 0) != s.train.end());
}

TEST(SplitTest, IsAFunctionOfTheSeed) {
  const Labels labels = labels_of({100, 100});
  EXPECT_EQ(draw_split(labels, 200, "shchur", 4).train, draw_split(labels, 200, "shchur", 4).train);
  EXPECT_NE(draw_split(labels, 200, "shchur", 4).train, draw_split(labels, 200, "shchur", 5).train);
}

TEST(SplitTest, RefusesWhatItCannotDraw) {
  const Labels labels = labels_of({10, 10});
  const auto fails = [&](const std::string& spec, const Labels& of) {
    return error_of([&] { draw_split(of, 20, spec, 0); });
  };
  EXPECT_THAT(fails("shcur", labels).hint(), HasSubstr("did you mean 'shchur'?"));
  for (const char* spec : {"ratio:", "ratio:60/20", "ratio:60/20/20/1", "ratio:a/b/c", "ratio:0/1/1", "ratio:-1/1/1",
                           "ratio:60/20/20x", "ratio:1/2/"}) {
    EXPECT_THAT(fails(spec, labels).message(), HasSubstr("expected ratio:TRAIN/VAL/TEST")) << spec;
  }
  EXPECT_THAT(fails("random", Labels()).message(), HasSubstr("no labels to split"));
  Labels multi;
  multi.kind = LabelKind::kMulti;
  multi.num_classes = 1;
  multi.targets = Buffer<float>::zeros(20);
  EXPECT_THAT(fails("shchur", multi).message(), HasSubstr("one class per node"));
}

}  // namespace
}  // namespace gneiss::data
