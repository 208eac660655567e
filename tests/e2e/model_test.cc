// A model that its caller steps has the bits of a training; weights go in and out by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "gneiss/gneiss.h"
#include "support/data_fixtures.h"

namespace gneiss {
namespace {

using ::gneiss::testing::error_of;
using ::gneiss::testing::TempFolder;
using ::testing::HasSubstr;

constexpr int kEpochs = 6;

RunConfig config_of(const std::vector<std::pair<std::string, std::string>>& settings = {}) {
  RunConfig config;
  config.set("train.epochs", std::to_string(kEpochs));
  config.set("train.threads", "1");
  config.set("model.hidden_channels", "8");
  for (const auto& [key, value] : settings) config.set(key, value);
  return config;
}

Dataset load() {
  RunConfig config;
  config.set("data.name", "dcsbm:nodes=200,classes=3,features=12");
  return load_dataset(config);
}

std::vector<float> floats(const Array& array) {
  std::int64_t count = 1;
  for (const std::int64_t size : array.shape) count *= size;
  const auto* values = static_cast<const float*>(array.data);
  return {values, values + count};
}

void expect_same(const std::vector<NamedArray>& a, const std::vector<NamedArray>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_EQ(a[i].values.shape, b[i].values.shape) << a[i].name;
    if (a[i].values.dtype != DType::kF32) continue;
    EXPECT_EQ(floats(a[i].values), floats(b[i].values)) << a[i].name;
  }
}

TEST(ModelTest, StepsHaveTheBitsOfATraining) {
  const Dataset dataset = load();
  const std::vector<std::vector<std::pair<std::string, std::string>>> cases = {
      {{"model.name", "gcn"}},
      {{"model.name", "gat"}, {"train.seed", "7"}, {"schedule.name", "cosine"}, {"schedule.warmup_epochs", "2"}},
      {{"model.name", "gin"}, {"model.norm", "batch"}, {"train.reorder", "degree"}},
      {{"model.name", "sage"}, {"schedule.name", "plateau"}, {"schedule.patience", "0"}, {"schedule.threshold", "0.9"}},
  };
  for (const auto& settings : cases) {
    const TempFolder folder;
    RunConfig config = config_of(settings);
    Model model(dataset, config);
    config.set("out.folder", (folder.path() / "run").string());
    std::vector<EpochProgress> epochs;
    Progress progress;
    progress.on_epoch = [&](const EpochProgress& epoch) { epochs.push_back(epoch); };
    const TrainResult result = train_model(dataset, config, progress);
    for (const EpochProgress& epoch : epochs) {
      EXPECT_EQ(model.step(), epoch.loss) << settings[0].second << " " << epoch.epoch;
      const ModelScores scores = model.evaluate();
      EXPECT_EQ(scores.val_loss, epoch.val_loss);
      EXPECT_EQ(scores.train, epoch.train);
      EXPECT_EQ(scores.test, epoch.test);
      if (epoch.epoch == result.best_epochs[0]) expect_same(model.parameters(), model_parameters(result.run_folder));
    }
    EXPECT_EQ(model.steps(), kEpochs);
    EXPECT_EQ(model.metric(), result.metric);
    model.load_parameters(model_parameters(result.run_folder));
    const ModelOutputs outputs = model_outputs(result.run_folder, {});
    EXPECT_EQ(model.logits().shape, outputs.logits.shape);
    EXPECT_EQ(model.embedding().shape, outputs.embedding.shape);
    const std::vector<float> ours = floats(model.logits());
    const std::vector<float> theirs = floats(outputs.logits);
    for (std::size_t i = 0; i < ours.size(); ++i) EXPECT_NEAR(ours[i], theirs[i], 1e-5) << settings[0].second;
  }
}

TEST(ModelTest, ARateOfTheCallersIsTaken) {
  const Dataset dataset = load();
  Model model(dataset, config_of({{"optim.weight_decay", "0"}}));
  const std::vector<NamedArray> before = model.parameters();
  model.step(0.0);
  expect_same(model.parameters(), before);
  model.step();
  EXPECT_NE(floats(model.parameters()[0].values), floats(before[0].values));
}

TEST(ModelTest, WeightsThatDoNotFitAreRefusedByNameAndChangeNothing) {
  Model model(load(), config_of());
  const std::vector<NamedArray> before = model.parameters();
  const auto message = [&](std::vector<NamedArray> weights) {
    const Error error = error_of([&] { model.load_parameters(weights); });
    EXPECT_EQ(error.code(), ErrorCode::kBadData);
    EXPECT_FALSE(error.hint().empty());
    expect_same(model.parameters(), before);
    return error.message();
  };
  const std::string last = before.back().name;
  std::vector<NamedArray> weights = before;
  weights.pop_back();
  EXPECT_EQ(message(weights), "the weights lack '" + last + "'");
  weights = before;
  weights[0].values = array_from(std::vector<float>(floats(before[0].values).size(), 1.0F));
  weights[1].values = array_from(std::vector<float>(3, 1.0F));
  EXPECT_THAT(message(weights), HasSubstr("'" + before[0].name + "' has shape"));
  weights = before;
  weights.push_back({"convs.9.bias", array_from(std::vector<float>(3, 1.0F))});
  EXPECT_EQ(message(weights), "the model has no 'convs.9.bias'");
  weights = before;
  weights[0].values = array_from(std::vector<std::int32_t>(4, 1));
  EXPECT_THAT(message(weights), HasSubstr("no type that weights have"));
}

TEST(ModelTest, WeightsOfAnyLayoutAreTaken) {
  Model model(load(), config_of());
  std::vector<NamedArray> weights = model.parameters();
  const std::vector<float> row_major = floats(weights[0].values);
  const std::int64_t rows = weights[0].values.shape[0];
  const std::int64_t cols = weights[0].values.shape[1];
  std::vector<double> columns(row_major.size());
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < cols; ++c) columns[c * rows + r] = 2 * row_major[r * cols + c];
  weights[0].values = array_from(std::move(columns), {rows, cols});
  weights[0].values.strides_bytes = {8, 8 * rows};
  model.load_parameters(weights);
  std::vector<float> expected = row_major;
  for (float& value : expected) value *= 2;
  EXPECT_EQ(floats(model.parameters()[0].values), expected);
}

TEST(ModelTest, WhatALoopOfTheCallersDoesNotDoIsRefused) {
  const std::vector<std::pair<std::string, std::string>> refused = {
      {"batch.size", "16"}, {"train.ranks", "2"},        {"train.devices", "2"},
      {"train.runs", "3"},  {"device.name", "emulated"}, {"out.checkpoint_every", "5"}};
  for (const auto& setting : refused) {
    const Error error = error_of([&] { Model(load(), config_of({setting})); });
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported) << setting.first;
    EXPECT_THAT(error.message(), HasSubstr("stepped by its caller")) << setting.first;
  }
}

TEST(ModelTest, ATrainingBeginsWithGivenWeights) {
  const Dataset dataset = load();
  const TempFolder folder;
  const std::vector<std::pair<std::string, std::string>> plain = {{"train.defaults", "plain"}, {"model.dropout", "0"}};
  const auto with = [&](const std::vector<std::pair<std::string, std::string>>& settings) {
    RunConfig config = config_of(plain);
    for (const auto& [key, value] : settings) config.set(key, value);
    return config;
  };
  const std::string first = train_model(dataset, with({{"out.folder", (folder.path() / "first").string()}})).run_folder;
  Model model(dataset, with({}));
  model.load_parameters(model_parameters(first));
  const double loss = model.step();
  EXPECT_EQ(train_model(dataset, with({{"train.init", first}, {"out.save", "false"}})).losses[0][0], loss);
  EXPECT_EQ(Model(dataset, with({{"train.init", first}})).step(), loss);
  const std::string file = (folder.path() / "weights.safetensors").string();
  save_parameters(model_parameters(first), file);
  RunConfig other = with({{"train.init", file}, {"out.save", "false"}, {"train.ranks", "2"}});
  EXPECT_NEAR(train_model(dataset, other).losses[0][0], loss, 1e-5);
  other = with({{"train.init", file}, {"out.save", "false"}, {"batch.size", "200"}, {"batch.fanout", "-1,-1"}});
  EXPECT_NEAR(train_model(dataset, other).losses[0][0], loss, 1e-5);
  const Error error = error_of([&] {
    train_model(dataset, with({{"train.init", file}, {"model.hidden_channels", "4"}, {"out.save", "false"}}));
  });
  EXPECT_EQ(error.code(), ErrorCode::kBadData);
  EXPECT_EQ(error.message(), "'convs.0.lin.weight' has shape [8, 12], the model needs [4, 12]");
  EXPECT_EQ(error.where(), file);
}

TEST(ModelTest, AnInterruptedTrainingKeepsTheWeightsThatItsRunsBeginWith) {
  const Dataset dataset = load();
  const TempFolder folder;
  const std::string file = (folder.path() / "weights.safetensors").string();
  const std::string text = (folder.path() / "own.gneiss").string();
  std::filesystem::copy_file(std::string(GNEISS_SOURCE_DIR) + "/models/gcn.gneiss", text);
  save_parameters(Model(dataset, config_of({{"train.seed", "5"}, {"model.name", text}})).parameters(), file);
  RunConfig config = config_of({{"train.init", file}, {"train.runs", "2"}, {"model.name", text}});
  const std::vector<std::vector<double>> expected = train_model(dataset,
                                                                [&] {
                                                                  RunConfig quiet = config;
                                                                  quiet.set("out.save", "false");
                                                                  return quiet;
                                                                }())
                                                        .losses;
  EXPECT_EQ(expected[0].size(), expected[1].size());
  config.set("out.folder", (folder.path() / "run").string());
  int steps = 0;
  Progress progress;
  progress.should_stop = [&] { return ++steps == 3; };
  const TrainResult stopped = train_model(dataset, config, progress);
  ASSERT_TRUE(stopped.can_go_on);
  std::filesystem::remove(file);
  std::filesystem::remove(text);
  EXPECT_EQ(resume_training(stopped.run_folder, {}).losses, expected);
}

}  // namespace
}  // namespace gneiss
