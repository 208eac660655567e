// Features in 16 bits give the bits that f32 features of the same values give, whatever the number of threads.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "data/half_features.h"
#include "data/load.h"
#include "support/awkward_graph.h"
#include "train/session.h"

namespace gneiss {
namespace {

using Args = std::vector<std::pair<std::string, language::ArgValue>>;

struct Trace {
  std::vector<double> losses;
  std::vector<float> logits;
  std::vector<float> embedding;
};

Trace trace(const data::Dataset& dataset, const std::string& model, const Args& args, int threads,
            bool half_constants) {
  train::SessionOptions options;
  options.model = model;
  options.model_args = args;
  options.threads = threads;
  options.seed = 3;
  if (!half_constants) options.passes.disabled = {"half_constants"};
  train::Session<float> session(dataset, options);
  Trace result;
  for (std::uint64_t epoch = 1; epoch <= 5; ++epoch) {
    result.losses.push_back(session.forward_backward(epoch));
    session.update(0.01);
  }
  session.evaluate();
  const auto copy = [](MatrixView<const float> m) { return std::vector<float>(m.data, m.data + m.size()); };
  result.logits = copy(session.logits());
  result.embedding = copy(session.embedding());
  return result;
}

/// The data set with its features rounded to `type`, kept as f32 or in 16 bits.
data::Dataset rounded(data::Dataset dataset, HalfType type, bool keep_halves) {
  data::Features& features = dataset.features;
  for (float& x : features.dense) x = from_half(type, to_half(type, x));
  if (keep_halves) data::halve_features(type, dataset.name, &features);
  return dataset;
}

const std::vector<std::pair<std::string, Args>>& models() {
  static const std::vector<std::pair<std::string, Args>> list = {
      {"gcn", {}},
      {"gcn", {{"input_dropout", 0.4}}},
      {"gcn", {{"residual", true}, {"hidden_channels", std::int64_t{5}}}},
      {"sage", {{"aggr", std::string("mean")}}},
      {"sage", {{"aggr", std::string("max")}}},
      {"sage", {{"project", true}}},
      {"gin", {{"train_eps", true}}},
      {"gat", {{"heads", std::int64_t{2}}, {"hidden_channels", std::int64_t{8}}}},
      {"mlp", {{"input_dropout", 0.2}}},
  };
  return list;
}

TEST(HalfFeatures, EqualTheirWidenedCopiesBitForBit) {
  for (const HalfType type : {HalfType::kBf16, HalfType::kF16}) {
    const data::Dataset floats = rounded(testing::awkward_dataset({}), type, false);
    const data::Dataset halves = rounded(testing::awkward_dataset({}), type, true);
    for (const auto& [model, args] : models()) {
      const Trace want = trace(floats, model, args, 1, false);
      const Trace got = trace(halves, model, args, 1, false);
      EXPECT_EQ(got.losses, want.losses) << model;
      EXPECT_EQ(got.logits, want.logits) << model;
      EXPECT_EQ(got.embedding, want.embedding) << model;
    }
  }
}

TEST(HalfFeatures, EqualTheirWidenedCopiesInBandsOfRows) {
  // Many bands and tasks; how sums are cut may differ, since other ops may stand in a band.
  const auto communities = [] { return data::load("dcsbm:nodes=3000,classes=4,features=70,degree=12,seed=4"); };
  for (const HalfType type : {HalfType::kBf16, HalfType::kF16}) {
    const data::Dataset floats = rounded(communities(), type, false);
    const data::Dataset halves = rounded(communities(), type, true);
    for (const auto& [model, args] : models()) {
      const Trace want = trace(floats, model, args, 2, false);
      const Trace got = trace(halves, model, args, 2, false);
      ASSERT_EQ(got.losses.size(), want.losses.size());
      for (std::size_t i = 0; i < want.losses.size(); ++i) {
        EXPECT_NEAR(got.losses[i], want.losses[i], 1e-5 * (1 + std::abs(want.losses[i]))) << model << ", epoch " << i;
      }
    }
  }
}

TEST(HalfFeatures, ThreadsChangeNothing) {
  data::LoadOptions options;
  options.feature_dtype = "bf16";
  const data::Dataset dataset = data::load("dcsbm:nodes=3000,classes=4,features=70,degree=12,seed=4", options);
  for (const auto& [model, args] : models()) {
    const Trace one = trace(dataset, model, args, 1, true);
    for (const int threads : {2, 5}) {
      const Trace many = trace(dataset, model, args, threads, true);
      EXPECT_EQ(many.losses, one.losses) << model;
      EXPECT_EQ(many.logits, one.logits) << model;
    }
  }
}

TEST(HalfFeatures, ConstantsInHalfStayCloseToThoseInFull) {
  for (const HalfType type : {HalfType::kBf16, HalfType::kF16}) {
    const data::Dataset halves = rounded(testing::awkward_dataset({}), type, true);
    const double bound = type == HalfType::kBf16 ? 0x1p-6 : 0x1p-9;
    for (const auto& [model, args] : models()) {
      const Trace full = trace(halves, model, args, 1, false);
      const Trace half = trace(halves, model, args, 1, true);
      for (std::size_t i = 0; i < full.losses.size(); ++i) {
        EXPECT_NEAR(half.losses[i], full.losses[i], bound * (1 + std::abs(full.losses[i]))) << model << ", epoch " << i;
      }
    }
  }
}

TEST(HalfFeatures, ServeGradientChecksToo) {
  const data::Dataset halves = rounded(testing::awkward_dataset({}), HalfType::kBf16, true);
  const data::Dataset floats = rounded(testing::awkward_dataset({}), HalfType::kBf16, false);
  for (const auto& [model, args] : models()) {
    train::SessionOptions options;
    options.model = model;
    options.model_args = args;
    options.passes.disabled = {"half_constants"};
    train::Session<double> from_halves(halves, options);
    train::Session<double> from_floats(floats, options);
    EXPECT_EQ(from_halves.forward_backward(1), from_floats.forward_backward(1)) << model;
  }
}

}  // namespace
}  // namespace gneiss
