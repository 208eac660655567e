// Defaults as a newcomer meets them: training works, one line says what was chosen, flags overrule it, and the run
// folder repeats it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "e2e/command.h"

namespace gneiss::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kGraph = "dcsbm:nodes=600,classes=4,seed=5";

fs::path data_folder() {
  if (const char* given = std::getenv("GNEISS_DATA")) return given;
  return fs::path(GNEISS_SOURCE_DIR) / ".." / "shared" / "data";
}

Json json_of(const CommandResult& result) {
  EXPECT_EQ(result.code, 0) << result.err;
  return Json::parse(result.out);
}

class DefaultsTrain : public ::testing::TestWithParam<const char*> {
 protected:
  double accuracy(const std::string& data, const std::string& runs) const {
    const Workplace place;
    const Json json =
        json_of(place.gneiss({"train", data, "--model", GetParam(), "--runs", runs, "--json", "--no-save"}));
    return json["test"]["accuracy"]["mean"];
  }
};

// Chance is a half on karate, a quarter on the planted communities.
TEST_P(DefaultsTrain, GeneratedGraphs) {
  EXPECT_GE(accuracy("karate", "3"), 0.75);
  EXPECT_GE(accuracy(kGraph, "1"), 0.75);
}

// Chance is a seventh. GIN without a norm and a readout of both layers strays around 0.65 here.
TEST_P(DefaultsTrain, Cora) {
  const fs::path cora = data_folder() / "planetoid_cora";
  if (!fs::exists(cora)) GTEST_SKIP() << "no data sets in " << data_folder() << " (GNEISS_DATA says where)";
  EXPECT_GE(accuracy(cora.string(), "1"), 0.74);
}

INSTANTIATE_TEST_SUITE_P(Models, DefaultsTrain, ::testing::Values("gcn", "sage", "gin", "gat"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Defaults, OneLineSaysWhatWasChosenAndFlagsOverruleIt) {
  const Workplace place;
  const CommandResult result = place.gneiss({"train", kGraph, "--epochs", "2", "--hidden", "8", "--out", "run"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("defaults for enough labels (360 training nodes, 64 features): "),
                                HasSubstr("dropout "), HasSubstr("gneiss help defaults")));
  EXPECT_THAT(result.err, AllOf(Not(HasSubstr("hidden_channels")), Not(HasSubstr("epochs"))));
  EXPECT_THAT(place.read("run/config.yaml"), AllOf(HasSubstr("hidden_channels: 8\n"), HasSubstr("epochs: 2\n")));
  EXPECT_EQ(place.gneiss({"train", kGraph, "--epochs", "2", "--no-save", "--quiet"}).err, "");
}

TEST(Defaults, PlainTakesEachSettingsOwn) {
  const Workplace place;
  const Json json =
      json_of(place.gneiss({"train", kGraph, "--defaults", "plain", "--epochs", "2", "--json", "--no-save"}));
  EXPECT_EQ(json["defaults"], "");
  EXPECT_EQ(json["config"].count("model.hidden_channels"), 0U);
  EXPECT_EQ(json["config"]["train.patience"], 0);
}

TEST(Defaults, TheRunFolderRepeatsThem) {
  const Workplace place;
  const Json first =
      json_of(place.gneiss({"train", kGraph, "--model", "gin", "--epochs", "30", "--json", "--out", "first"}));
  const Json second = json_of(place.gneiss({"train", "first/config.yaml", "--json", "--out", "second"}));
  EXPECT_NE(first["defaults"], "");
  EXPECT_EQ(second["defaults"], "") << "everything is in the file";
  EXPECT_EQ(first["loss"], second["loss"]);
  EXPECT_TRUE(place.read("first/model.safetensors") == place.read("second/model.safetensors"));
  // A model's argument that was chosen is there for predictions, too.
  EXPECT_EQ(place.gneiss({"eval", "first"}).code, 0);
}

TEST(Defaults, PlanAndSynthSeeThem) {
  const Workplace place;
  const Json trained = json_of(place.gneiss({"train", kGraph, "--epochs", "2", "--json", "--no-save"}));
  const Json planned = json_of(place.gneiss({"plan", kGraph, "--epochs", "2", "--json"}));
  EXPECT_EQ(planned["defaults"], trained["defaults"]);
  EXPECT_EQ(planned["parameters"], trained["parameters"]);
  EXPECT_THAT(place.gneiss({"plan", kGraph}).out, HasSubstr("defaults for enough labels"));
  const CommandResult written = place.gneiss({"synth", kGraph, "--epochs", "2", "-o", "program"});
  ASSERT_EQ(written.code, 0) << written.err;
  EXPECT_THAT(written.out, HasSubstr("defaults for enough labels"));
}

TEST(Defaults, HelpHasTheRule) {
  const Workplace place;
  const CommandResult help = place.gneiss({"help", "defaults"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, AllOf(HasSubstr("| gin | scarce |"), HasSubstr("`model.norm: layer`")));
}

}  // namespace
}  // namespace gneiss::testing
