// The recipes: each is a run file that plans, and the fast ones reach the literature's score with one seed.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "e2e/command.h"
#include "settings/config.h"

namespace gneiss::testing {
namespace {

namespace fs = std::filesystem;

const fs::path kRecipes = fs::path(GNEISS_SOURCE_DIR) / "recipes";

fs::path data_folder() {
  if (const char* given = std::getenv("GNEISS_DATA")) return given;
  return fs::path(GNEISS_SOURCE_DIR) / ".." / "shared" / "data";
}

struct Reference {
  std::string recipe;
  std::string metric;
  double score = 0;
  double tolerance = 0;
};

std::vector<Reference> references() {
  std::vector<Reference> rows;
  std::ifstream file(kRecipes / "references.tsv");
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream fields(line);
    Reference row;
    std::string score, tolerance;
    std::getline(fields, row.recipe, '\t');
    std::getline(fields, row.metric, '\t');
    std::getline(fields, score, '\t');
    std::getline(fields, tolerance, '\t');
    row.score = std::stod(score);
    row.tolerance = std::stod(tolerance);
    rows.push_back(row);
  }
  return rows;
}

TEST(Recipes, EveryRunFileIsValidAndEveryReferenceHasOne) {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(kRecipes)) {
    if (entry.path().extension() != ".yaml") continue;
    settings::Config config;
    EXPECT_NO_THROW(config.load_yaml(entry.path())) << entry.path();
    EXPECT_TRUE(config.is_set("data.name")) << entry.path();
    EXPECT_TRUE(config.is_set("optim.lr")) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 30);
  for (const Reference& row : references()) EXPECT_TRUE(fs::exists(kRecipes / (row.recipe + ".yaml"))) << row.recipe;
}

class FastRecipe : public ::testing::TestWithParam<const char*> {};

TEST_P(FastRecipe, OneSeedIsNearTheLiterature) {
  const std::string recipe = GetParam();
  if (!fs::exists(data_folder() / "planetoid_cora"))
    GTEST_SKIP() << "no real data: nothing in " << data_folder() << " (GNEISS_DATA says where)";
  const Workplace place;
  const CommandResult result = place.gneiss(
      {"train", (kRecipes / (recipe + ".yaml")).string(), "--data", data_folder().string(), "--json", "--no-save"});
  ASSERT_EQ(result.code, 0) << result.err;
  for (const Reference& row : references()) {
    if (row.recipe != recipe) continue;
    // One seed strays about two points from the mean that the reference is.
    const double score = 100 * nlohmann::json::parse(result.out)["test"][row.metric]["mean"].get<double>();
    EXPECT_NEAR(score, row.score, row.tolerance + 2) << recipe;
    return;
  }
  FAIL() << recipe << " has no reference";
}

INSTANTIATE_TEST_SUITE_P(Planetoid, FastRecipe, ::testing::Values("cora_gcn", "citeseer_gcn", "cora_sage"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Newcomer, ALayerInTenLinesTrains) {
  const Workplace place;
  const std::string model = std::string(GNEISS_SOURCE_DIR) + "/examples/gated_mean.gneiss";
  const CommandResult result =
      place.gneiss({"train", "karate", "--model", model, "--epochs", "100", "--json", "--out", "run"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_GE(nlohmann::json::parse(result.out)["test"]["accuracy"]["mean"], 0.8);
  EXPECT_EQ(place.gneiss({"eval", "run"}).code, 0);
}

TEST(Newcomer, AMorphlingScriptTrainsWithItsOwnSettings) {
  const Workplace place;
  const std::string model = std::string(GNEISS_SOURCE_DIR) + "/examples/morphling_sage.gneiss";
  const CommandResult result =
      place.gneiss({"train", "karate", "--model", model, "--epochs", "40", "--json", "--no-save"});
  ASSERT_EQ(result.code, 0) << result.err;
  const nlohmann::json json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["loss"].size(), 40U);  // the flag wins over the script
  EXPECT_LT(json["loss"].back(), json["loss"].front());
}

TEST(Newcomer, AMistakeInAModelNamesItsPlace) {
  const Workplace place;
  place.write("mine.gneiss",
              "layer mine(x: node[F], out: int) -> node[out] {\n  param W: [F, out] = glorot;\n  return x * V;\n}\n");
  const CommandResult result = place.gneiss({"train", "karate", "--model", "mine.gneiss"});
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.err.find("mine.gneiss:3:14: error["), std::string::npos) << result.err;
  EXPECT_TRUE(place.list() == std::vector<std::string>{"mine.gneiss"});
}

}  // namespace
}  // namespace gneiss::testing
