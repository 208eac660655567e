// Run files and safetensors with random damage: an error or a result, never a crash. Seeded: the same cases every time.
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"
#include "runs/safetensors.h"
#include "settings/config.h"

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

}  // namespace
}  // namespace gneiss
