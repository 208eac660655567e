// Features kept in 16 bits: rounded in place, moved with their nodes, refused where they do not fit.
#include "data/half_features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "data/load.h"
#include "data/preprocess.h"
#include "support/data_fixtures.h"

namespace gneiss::data {
namespace {

using ::gneiss::testing::error_of;
using ::testing::HasSubstr;

Features features_of(std::vector<float> values, std::int64_t cols) {
  Features f;
  f.cols = cols;
  f.rows = static_cast<std::int64_t>(values.size()) / cols;
  f.dense = Buffer<float>::copy_of(values);
  return f;
}

TEST(HalveFeatures, RoundsEveryValueWhereItLies) {
  constexpr std::size_t kCount = 3 * 700001;  // several blocks and whole pages of tail
  for (const HalfType type : {HalfType::kBf16, HalfType::kF16}) {
    std::vector<float> values(kCount);
    for (std::size_t i = 0; i < kCount; ++i) values[i] = static_cast<float>(std::sin(static_cast<double>(i)) * 300);
    Features f = features_of(values, 3);
    const void* before = f.dense.data();
    halve_features(type, "x", &f);
    EXPECT_EQ(f.dtype, type);
    EXPECT_TRUE(f.dense.empty());
    ASSERT_EQ(f.halves.size(), kCount);
    EXPECT_EQ(static_cast<const void*>(f.halves.data()), before);
    EXPECT_EQ(f.bytes(), static_cast<std::int64_t>(2 * kCount));
    for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(f.halves[i], to_half(type, values[i])) << i;
  }
}

TEST(HalveFeatures, NamesWhatIsBeyondTheRange) {
  Features f = features_of({1, 2, 3, -70000, 5, 6}, 2);
  const Error error = error_of([&] { halve_features(HalfType::kF16, "toy", &f); });
  EXPECT_EQ(error.code(), ErrorCode::kBadData);
  EXPECT_THAT(error.message(), HasSubstr("feature 1 of node 1 is -70000, beyond the range of f16 (65504)"));
  EXPECT_THAT(error.hint(), HasSubstr("bf16"));
  EXPECT_EQ(f.dense[3], -70000);  // nothing was touched
  halve_features(HalfType::kBf16, "toy", &f);
  EXPECT_NEAR(from_bf16(f.halves[3]), -70000, 70000.0 / 256);

  Features large = features_of({std::numeric_limits<float>::max()}, 1);
  EXPECT_THAT(error_of([&] { halve_features(HalfType::kBf16, "toy", &large); }).message(),
              HasSubstr("beyond the range of bf16"));
}

TEST(HalveFeatures, KeepsValuesThatRoundToTheLargestAndThoseThatAreInfinite) {
  Features f = features_of({65519, std::numeric_limits<float>::infinity(), std::nanf("")}, 3);
  halve_features(HalfType::kF16, "toy", &f);
  EXPECT_EQ(from_f16(f.halves[0]), 65504);
  EXPECT_TRUE(std::isinf(from_f16(f.halves[1])));
  EXPECT_TRUE(std::isnan(from_f16(f.halves[2])));
}

TEST(HalveFeatures, RefusesSparseFeatures) {
  LoadOptions options;
  options.feature_form = "sparse";
  options.feature_dtype = "bf16";
  const Error error = error_of([&] { load("karate", options); });
  EXPECT_EQ(error.code(), ErrorCode::kUsage);
  EXPECT_THAT(error.message(), HasSubstr("sparse"));
  EXPECT_THAT(error.hint(), HasSubstr("--feature-form dense"));
  options.feature_dtype = "half";
  EXPECT_EQ(error_of([&] { load("karate", options); }).code(), ErrorCode::kUsage);
}

TEST(HalveFeatures, ComesAfterNormalisation) {
  LoadOptions options;
  options.feature_norm = "row";
  const Dataset floats = load("dcsbm:nodes=50,classes=3,features=7,seed=2", options);
  options.feature_dtype = "f16";
  const Dataset halves = load("dcsbm:nodes=50,classes=3,features=7,seed=2", options);
  ASSERT_EQ(halves.features.halves.size(), floats.features.dense.size());
  for (std::size_t i = 0; i < floats.features.dense.size(); ++i) {
    ASSERT_EQ(halves.features.halves[i], to_f16(floats.features.dense[i])) << i;
  }
  EXPECT_EQ(halves.features.nonzeros(), floats.features.nonzeros());
}

TEST(HalveFeatures, MoveWithTheirNodes) {
  LoadOptions options;
  options.feature_dtype = "bf16";
  Dataset d = load("karate", options);
  std::vector<NodeId> order(34);
  for (NodeId v = 0; v < 34; ++v) order[static_cast<std::size_t>(v)] = 33 - v;
  permute(order, 1, &d);
  for (std::size_t v = 0; v < 34; ++v) EXPECT_EQ(from_bf16(d.features.halves[v * 34 + 33 - v]), 1) << v;
}

}  // namespace
}  // namespace gneiss::data
