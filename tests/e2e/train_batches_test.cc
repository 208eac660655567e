// Training on mini-batches through the command: scores beside the full graph's, what a run leaves, what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "e2e/command.h"

namespace gneiss::testing {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* kGraph = "dcsbm:nodes=2000,classes=4,seed=5";

Json train(const Workplace& place, std::vector<std::string> more) {
  std::vector<std::string> arguments = {"train", kGraph, "--json", "--model"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const CommandResult result = place.gneiss(arguments);
  EXPECT_EQ(result.code, 0) << result.err;
  return Json::parse(result.out);
}

class BatchesOf : public ::testing::TestWithParam<const char*> {};

TEST_P(BatchesOf, LearnAsTheFullGraphDoes) {
  const Workplace place;
  const std::string model = GetParam();
  const std::string norm = model == "gin" ? "batch" : "none";
  const Json full = train(place, {model, "--norm", norm, "--epochs", "60", "--no-save"});
  const Json batches =
      train(place, {model, "--norm", norm, "--epochs", "15", "--batch-size", "32", "--fanout", "10,10", "--no-save"});
  const double expected = full["test"]["accuracy"]["mean"];
  EXPECT_GE(batches["test"]["accuracy"]["mean"].get<double>(), expected - 0.03);
}

INSTANTIATE_TEST_SUITE_P(Models, BatchesOf, ::testing::Values("gcn", "sage", "gin", "gat"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Batches, ARunPredictsAsItScored) {
  const Workplace place;
  const Json report = train(place, {"sage", "--epochs", "3", "--batch-size", "64", "--fanout", "5,5", "--out", "run"});
  const CommandResult eval = place.gneiss({"eval", "run", "--json"});
  ASSERT_EQ(eval.code, 0) << eval.err;
  EXPECT_EQ(Json::parse(eval.out)["test"]["accuracy"], report["test"]["accuracy"]["mean"]) << eval.out;
  EXPECT_THAT(place.read("run/config.yaml"), HasSubstr("size: 64"));
}

TEST(Batches, TheSameSeedGivesTheSameRunForAnyNumberOfThreads) {
  const Workplace place;
  for (const char* threads : {"1", "2", "5"}) {
    train(place,
          {"gcn", "--epochs", "2", "--batch-size", "50", "--threads", threads, "--out", std::string("run") + threads});
  }
  EXPECT_EQ(place.read("run1/model.safetensors"), place.read("run2/model.safetensors"));
  EXPECT_EQ(place.read("run1/model.safetensors"), place.read("run5/model.safetensors"));
}

TEST(Batches, WhatCannotBeIsRefused) {
  const Workplace place;
  const auto refused = [&](std::vector<std::string> arguments, int code, const char* what) {
    const CommandResult result = place.gneiss(arguments);
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_THAT(result.err, HasSubstr(what));
  };
  refused({"train", kGraph, "--model", "sage", "--batch-size", "64", "--fanout", "5,5,5"}, 2, "2 hops");
  refused({"train", kGraph, "--model", "sage", "--batch-size", "64", "--fanout", "5,x"}, 2, "--fanout");
  refused({"train", kGraph, "--model", "sage", "--batch-size", "0"}, 2, "batch");
  refused({"plan", kGraph, "--batch-size", "64"}, 2, "mini-batches");
  refused({"synth", kGraph, "--batch-size", "64", "-o", "program"}, 2, "mini-batches");
  place.write("back.gneiss",
              "layer back(x: node[F], out: int) -> node[out] {\n  param W: [F, out];\n"
              "  return sum((x * W)@dst) over out_edges;\n}\n");
  refused({"train", kGraph, "--model", "back.gneiss", "--batch-size", "64"}, 2, "out-edges");
}

}  // namespace
}  // namespace gneiss::testing
