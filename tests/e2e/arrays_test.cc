// A data set of arrays trains as the same data from a file, through the public API alone but for where the arrays come
// from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/file.h"
#include "gneiss/gneiss.h"
#include "runs/safetensors.h"
#include "support/data_fixtures.h"

namespace gneiss {
namespace {

using ::gneiss::testing::error_of;
using ::gneiss::testing::TempFolder;
using ::testing::HasSubstr;

RunConfig quick(const std::string& model = "gcn") {
  RunConfig config;
  config.set("model.name", model);
  config.set("train.epochs", "8");
  config.set("train.threads", "1");
  config.set("out.save", "false");
  return config;
}

/// karate, from its generator and from the arrays of that.
class ArraysTest : public ::testing::Test {
 protected:
  static Dataset load(const char* name = "karate") {
    RunConfig config;
    config.set("data.name", name);
    return load_dataset(config);
  }
};

TEST_F(ArraysTest, ALoadedDataSetTrainsAsItsName) {
  RunConfig named = quick();
  named.set("data.name", "karate");
  EXPECT_EQ(train_model(load(), quick()).losses, train_model(named).losses);
}

TEST_F(ArraysTest, ArraysTrainAsTheFileTheyCameFrom) {
  for (const char* model : {"gcn", "sage", "gat"}) {
    const Dataset loaded = load("dcsbm:nodes=200,classes=3");
    const Dataset arrays = Dataset::from_arrays(loaded.arrays());
    EXPECT_EQ(train_model(arrays, quick(model)).losses, train_model(loaded, quick(model)).losses) << model;
  }
}

TEST_F(ArraysTest, ADataSetTrainsAgainAndAgain) {
  const Dataset dataset = Dataset::from_arrays(load().arrays());
  const TrainResult first = train_model(dataset, quick());
  RunConfig other = quick();
  other.set("data.normalize_features", "standard");
  other.set("train.reorder", "degree");
  train_model(dataset, other);
  EXPECT_EQ(train_model(dataset, quick()).losses, first.losses);
}

TEST_F(ArraysTest, ARunFolderPredictsForItsArraysAndSaysWhatItLacks) {
  const TempFolder folder;
  const Dataset dataset = Dataset::from_arrays(load().arrays());
  RunConfig config = quick();
  config.set("out.save", "true");
  config.set("out.folder", (folder.path() / "run").string());
  const TrainResult result = train_model(dataset, config);
  const ModelOutputs outputs = model_outputs(result.run_folder, {}, &dataset);
  EXPECT_EQ(outputs.logits.shape, (std::vector<std::int64_t>{34, 2}));
  EXPECT_EQ(outputs.classes.shape, (std::vector<std::int64_t>{34}));
  EXPECT_TRUE(outputs.warnings.empty());
  EXPECT_EQ(evaluate(result.run_folder, {}, &dataset).test, result.test.mean);
  EXPECT_EQ(model_parameters(result.run_folder)[0].name, "convs.0.lin.weight");
  const Error error = error_of([&] { model_outputs(result.run_folder, {}); });
  EXPECT_THAT(error.message(), HasSubstr("made of arrays in memory"));
}

TEST_F(ArraysTest, WeightsOfOtherTypesAreConvertedOrRefused) {
  const TempFolder folder;
  RunConfig config = quick();
  config.set("out.save", "true");
  config.set("out.folder", (folder.path() / "run").string());
  const std::string run = train_model(load(), config).run_folder;
  const std::filesystem::path weights = std::filesystem::path(run) / "model.safetensors";
  const Array before = model_parameters(run)[0].values;
  const auto* narrow = static_cast<const float*>(before.data);
  runs::SafeTensors file = runs::read_safetensors(weights);
  runs::Tensor& first = file.tensors[0];
  const std::vector<double> wide(narrow, narrow + first.elements());
  first.dtype = "F64";
  first.data.assign(reinterpret_cast<const char*>(wide.data()), 8 * wide.size());
  write_file(weights, runs::encode_safetensors(file));
  const Array after = model_parameters(run)[0].values;
  EXPECT_EQ(after.shape, before.shape);
  EXPECT_EQ(std::memcmp(after.data, before.data, 4 * wide.size()), 0);
  first.dtype = "F16";
  first.data.resize(2 * wide.size());
  write_file(weights, runs::encode_safetensors(file));
  const Error error = error_of([&] { model_parameters(run); });
  EXPECT_EQ(error.code(), ErrorCode::kBadData);
  EXPECT_THAT(error.message(), HasSubstr("has type F16, expected F32 or F64"));
  EXPECT_EQ(error.where(), weights.string());
}

TEST_F(ArraysTest, ADataSetInMemoryAndANameAreOneTooMany) {
  RunConfig config = quick();
  config.set("data.name", "karate");
  const Error error = error_of([&] { train_model(load(), config); });
  EXPECT_EQ(error.code(), ErrorCode::kUsage);
  EXPECT_THAT(error.message(), HasSubstr("'karate' is named, and a data set is given in memory"));
}

/// A fork would have this test go on twice.
TEST_F(ArraysTest, AProgramIsRefusedProcesses) {
  RunConfig config = quick();
  config.set("data.name", "karate");
  config.set("batch.size", "8");
  config.set("train.devices", "2");
  config.set("train.processes", "true");
  const Error error = error_of([&] { train_model(config); });
  EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  EXPECT_THAT(error.message(), HasSubstr("a program called this training"));
  EXPECT_THAT(error.hint(), HasSubstr("leave processes out"));
}

TEST_F(ArraysTest, StridesAreFollowed) {
  const std::vector<std::int32_t> pairs = {0, 1, 2, 1, 2, 3};  // an edge a row
  const std::vector<double> columns = {1, 3, 5, 7, 2, 4, 6, 8};
  const std::vector<float> backwards = {4, 3, 2, 1, 0};
  DatasetArrays arrays;
  arrays.edge_index = array_of(pairs.data(), {2, 3});
  arrays.edge_index.strides_bytes = {4, 8};
  arrays.x = array_of(columns.data(), {4, 2});
  arrays.x.strides_bytes = {8, 32};
  arrays.y = array_of(backwards.data() + 3, {4});
  arrays.y.strides_bytes = {-4};
  const DatasetArrays out = Dataset::from_arrays(arrays).arrays();
  const auto* sources = static_cast<const std::int32_t*>(out.csc.indices.data);
  EXPECT_EQ(std::vector<std::int32_t>(sources, sources + 3), (std::vector<std::int32_t>{0, 2, 2}));
  const auto* x = static_cast<const float*>(out.x.data);
  EXPECT_EQ(std::vector<float>(x, x + 4), (std::vector<float>{1, 2, 3, 4}));
  const auto* y = static_cast<const float*>(out.y.data);
  EXPECT_EQ(std::vector<float>(y, y + 4), (std::vector<float>{1, 2, 3, 4}));
}

TEST_F(ArraysTest, ShapesThatCannotBeAreRefused) {
  DatasetArrays arrays;
  const float one = 1;
  arrays.x = array_of(&one, {-1, 2});
  EXPECT_THAT(error_of([&] { Dataset::from_arrays(arrays); }).message(), HasSubstr("negative size -1"));
  arrays.x = array_of(&one, {std::int64_t{1} << 40, std::int64_t{1} << 40});
  EXPECT_THAT(error_of([&] { Dataset::from_arrays(arrays); }).message(), HasSubstr("more elements than memory"));
  arrays.x = array_of(&one, {1, 1});
  arrays.x.strides_bytes = {4};
  EXPECT_THAT(error_of([&] { Dataset::from_arrays(arrays); }).message(), HasSubstr("1 strides for 2 axes"));
  arrays.x = array_of(static_cast<const float*>(nullptr), {3, 1});
  EXPECT_THAT(error_of([&] { Dataset::from_arrays(arrays); }).message(), HasSubstr("no memory behind 3 elements"));
}

}  // namespace
}  // namespace gneiss
