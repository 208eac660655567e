// Run files and safetensors with random damage: an error or a result, never a crash. Seeded: the same cases every time.
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"
#include "jobs/run_facts.h"
#include "runs/safetensors.h"
#include "settings/config.h"
#include "support/data_fixtures.h"

namespace gneiss {
namespace {

constexpr int kCases = 4000;

/// Changes, inserts, removes and doubles a few pieces of a text.
std::string damaged(std::string text, RandomStream* random) {
  static const std::string kTricky = "{}[]:,&*\"'|>-#!%@`\n\t \\0199e.\x7f\xff\x80";
  const auto edits = 1 + random->below(6);
  for (std::uint64_t i = 0; i < edits && !text.empty(); ++i) {
    const std::size_t at = random->below(text.size());
    switch (random->below(4)) {
      case 0:
        text[at] = static_cast<char>(random->below(256));
        break;
      case 1:
        text.insert(at, 1, kTricky[random->below(kTricky.size())]);
        break;
      case 2:
        text.erase(at, 1 + random->below(8));
        break;
      default:
        text.insert(at, text.substr(random->below(text.size()), 1 + random->below(20)));
    }
  }
  return text;
}

TEST(Fuzz, RunFilesNeverCrash) {
  const std::string seed =
      "data: {name: karate, split: public}\nmodel:\n  name: gat\n  heads: 8\n  args: {a: 1, b: \"x\"}\noptim:\n  lr: "
      "0.01\n  betas: [0.9, 0.99]\n"
      "loss: {class_weights: balanced}\npasses: {off: [cse]}\ntrain: {epochs: 20}\n";
  RandomStream random(1, 0);
  int refused = 0;
  for (int i = 0; i < kCases; ++i) {
    settings::Config config;
    try {
      config.parse_yaml(damaged(seed, &random), "run.yaml");
      config.to_yaml();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::kUsage) << e.what();
      EXPECT_EQ(e.where().rfind("run.yaml", 0), 0U) << e.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, kCases / 2);
}

TEST(Fuzz, SafeTensorsNeverCrash) {
  runs::SafeTensors content;
  content.tensors.push_back(runs::f32_tensor("convs.0.lin.weight", {2, 3}, std::vector<float>(6, 1.5F)));
  content.tensors.push_back(runs::i64_scalar("norms.0.module.num_batches_tracked", 4));
  content.metadata["gneiss.model"] = "gcn";
  const std::string seed = runs::encode_safetensors(content);
  RandomStream random(2, 0);
  int refused = 0;
  for (int i = 0; i < kCases; ++i) {
    try {
      const runs::SafeTensors back = runs::decode_safetensors(damaged(seed, &random), "w");
      for (const runs::Tensor& tensor : back.tensors) {
        if (tensor.dtype == "F32") to_f32(tensor);
      }
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::kBadData) << e.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, kCases / 2);
}

jobs::RunFacts some_facts() {
  jobs::RunFacts facts;
  facts.label_kind = "single";
  facts.class_names = {"ant", "bee \"b\"", "c\xC3\xA9"};
  facts.metric = "accuracy";
  facts.features_file = "x.csv";
  facts.feature_names = {"age", "hours"};
  facts.statistics = {.norm = "standard", .binary_first = true, .least = -0.1, .mean = {0.1, 1e-300}, .scale = {3, 0}};
  facts.symmetric = true;
  facts.fingerprint = "nodes 3 edges 2 features 2 classes 1,1,1";
  return facts;
}

TEST(RunFacts, ReadBackAsTheyWereWritten) {
  const testing::TempFolder folder;
  const jobs::RunFacts facts = some_facts();
  folder.write("data.json", jobs::to_json(facts));
  const jobs::RunFacts back = jobs::read_facts(folder.path());
  EXPECT_TRUE(back.known);
  EXPECT_EQ(back.class_names, facts.class_names);
  EXPECT_EQ(back.statistics.mean, facts.statistics.mean);
  EXPECT_EQ(back.statistics.scale, facts.statistics.scale);
  EXPECT_EQ(back.statistics.least, facts.statistics.least);
  EXPECT_EQ(back.feature_names, facts.feature_names);
  EXPECT_EQ(back.fingerprint, facts.fingerprint);
  EXPECT_EQ(jobs::to_json(back), jobs::to_json(facts));
}

TEST(Fuzz, RunFactsNeverCrash) {
  const testing::TempFolder folder;
  EXPECT_FALSE(jobs::read_facts(folder.path()).known) << "folders of 0.1.0 have no such file";
  const std::string seed = jobs::to_json(some_facts());
  RandomStream random(3, 0);
  int refused = 0;
  for (int i = 0; i < kCases; ++i) {
    folder.write("data.json", damaged(seed, &random));
    try {
      jobs::to_json(jobs::read_facts(folder.path()));
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::kBadData) << e.what();
      EXPECT_NE(e.where().find("data.json"), std::string::npos) << e.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, kCases / 4);
}

}  // namespace
}  // namespace gneiss
