// Run folders on other data: what belongs to the model stays with it, and what is missing is refused by name.
//
// data/new_nodes: 24 nodes of three kinds (ant, bee, cat), their features near the unit vectors; three new nodes, all
// bees; far_x.csv is x.csv + 50.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "e2e/command.h"

namespace gneiss::testing {
namespace {

using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<std::string> words(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), {}};
}

class NewData : public ::testing::Test {
 protected:
  NewData() {
    const std::filesystem::path inputs = std::filesystem::path(GNEISS_SOURCE_DIR) / "tests/e2e/data";
    for (const auto& file : std::filesystem::directory_iterator(inputs / "new_nodes"))
      std::filesystem::copy(file.path(), place.path(file.path().filename().string()));
  }

  void train(const std::string& more = "") {
    const CommandResult result = place.gneiss(words(
        "train e.csv --features x.csv --labels y.csv --epochs 60 --hidden 8 --split ratio:60/20/20 --out run -q " +
        more));
    ASSERT_EQ(result.code, 0) << result.err;
  }
  CommandResult run(const std::string& line) const { return place.gneiss(words(line)); }

  Workplace place;
};

TEST_F(NewData, PredictsNewNodesAndNothingElse) {
  train();
  const CommandResult result = run("predict run --data new_e.csv --features new_x.csv");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "node,class,name\n0,1,bee\n1,1,bee\n2,1,bee\n");
  const CommandResult embedding = run("embed run --data new_e.csv --features new_x.csv");
  EXPECT_EQ(std::count(embedding.out.begin(), embedding.out.end(), '\n'), 4);
  const CommandResult named = run("predict run --data new_e.csv --features new_x.csv --probabilities");
  EXPECT_THAT(named.out, StartsWith("node,class,name,p_ant,p_bee,p_cat\n"));
}

TEST_F(NewData, RefusesNewNodesWithoutFeatures) {
  train();
  for (const char* command : {"predict", "embed", "eval"}) {
    const CommandResult result = run(std::string(command) + " run --data new_e.csv");
    EXPECT_EQ(result.code, 3) << command;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, AllOf(HasSubstr("no features: the model takes 3 a node"), HasSubstr("--features FILE"),
                                  HasSubstr("x.csv")));
  }
  place.write("wide.csv", "1,2,3,4\n1,2,3,4\n1,2,3,4\n");
  EXPECT_THAT(run("predict run --data new_e.csv --features wide.csv").err, HasSubstr("takes 3 features"));
}

TEST_F(NewData, RefusesFeaturesInAnotherOrder) {
  std::string named = "long,wide,high\n" + place.read("x.csv");
  place.write("x.csv", named);
  train();
  const std::string rows = place.read("new_x.csv");
  place.write("new_x.csv", "long,wide,high\n" + rows);
  EXPECT_EQ(run("predict run --data new_e.csv --features new_x.csv").code, 0);
  place.write("new_x.csv", "long,high,wide\n" + rows);
  const CommandResult moved = run("predict run --data new_e.csv --features new_x.csv");
  EXPECT_EQ(moved.code, 3);
  EXPECT_THAT(moved.err, AllOf(HasSubstr("in another order"), HasSubstr("the 2nd of them is 'high' here and 'wide'"),
                               HasSubstr("same order: long, wide, high")));
  place.write("new_x.csv", "long,wide,deep\n" + rows);
  EXPECT_THAT(run("predict run --data new_e.csv --features new_x.csv").err, HasSubstr("'deep' here and 'high'"));
  place.write("new_x.csv", rows);
  EXPECT_EQ(run("predict run --data new_e.csv --features new_x.csv").code, 0) << "without names nothing is known";
}

TEST_F(NewData, RefusesToScoreWithoutLabels) {
  train();
  const CommandResult result = run("eval run --data new_e.csv --features new_x.csv");
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, AllOf(HasSubstr("no labels"), HasSubstr("--labels FILE")));
}

TEST_F(NewData, MatchesClassesByNameAndScoresAllLabelledNodes) {
  train();
  place.write("bees.csv", "bee\nbee\nbee\n");
  const CommandResult right = run("eval run --data new_e.csv --features new_x.csv --labels bees.csv --json");
  ASSERT_EQ(right.code, 0) << right.err;
  EXPECT_EQ(Json::parse(right.out)["test"]["accuracy"], 1.0);
  EXPECT_TRUE(Json::parse(right.out)["train"]["accuracy"].is_null()) << right.out;
  place.write("two.csv", "cat\nbee\nant\n");  // sorted, ant is class 0, bee 1 and cat 2, as in training
  const Json third = Json::parse(run("eval run --data new_e.csv --features new_x.csv --labels two.csv --json").out);
  EXPECT_NEAR(third["test"]["accuracy"].get<double>(), 1.0 / 3, 1e-12);
  place.write("dogs.csv", "bee\ndog\nbee\n");
  const CommandResult dog = run("eval run --data new_e.csv --features new_x.csv --labels dogs.csv");
  EXPECT_EQ(dog.code, 3);
  EXPECT_THAT(dog.err, AllOf(HasSubstr("'dog'"), HasSubstr("knows ant, bee, cat"), HasSubstr("node 1")));
  EXPECT_EQ(run("predict run --data new_e.csv --features new_x.csv --labels dogs.csv").code, 0)
      << "labels do not matter to a prediction";
}

TEST_F(NewData, NormalisesByTheTrainingsStatistics) {
  for (const char* norm : {"standard", "train-standard"}) {
    train(std::string("--force --normalize-features ") + norm);
    const std::string own = run("predict run --probabilities").out;
    const std::string again = run("predict run --data e.csv --features x.csv --probabilities").out;
    EXPECT_EQ(again, own) << norm;
    std::filesystem::copy(place.path("e.csv"), place.path("far_e.csv"),
                          std::filesystem::copy_options::overwrite_existing);
    const CommandResult far = run("predict run --data far_e.csv --features far_x.csv --probabilities");
    ASSERT_EQ(far.code, 0) << far.err;
    EXPECT_NE(far.out, own) << norm << ": scaled anew, x + 50 would be x";
  }
}

TEST_F(NewData, KnowsItsDataAtAnotherPlace) {
  train();
  const std::string own = run("eval run --json").out;
  std::filesystem::create_directory(place.path("moved"));
  for (const char* file : {"e.csv", "x.csv", "y.csv"})
    std::filesystem::copy(place.path(file), place.path("moved") / file);
  const CommandResult moved = run("eval run --data moved/e.csv --features moved/x.csv --labels moved/y.csv --json");
  ASSERT_EQ(moved.code, 0) << moved.err;
  EXPECT_EQ(moved.out, own) << "with the split of the training";
}

/// The split of the training comes along, however it was made.
TEST_F(NewData, KnowsItsSplitAtAnotherPlace) {
  std::filesystem::create_directory(place.path("moved"));
  for (const char* file : {"e.csv", "x.csv", "y.csv"})
    std::filesystem::copy(place.path(file), place.path("moved") / file);
  place.write("train.csv", "0\n1\n2\n3\n8\n9\n10\n16\n17\n");
  place.write("val.csv", "4\n11\n18\n");
  place.write("test.csv", "5\n12\n19\n20\n");
  const std::string data = "train e.csv --features x.csv --labels y.csv --epochs 3 --out run --force -q ";
  for (const char* split :
       {"--train-ids train.csv --val-ids val.csv --test-ids test.csv",
        "--split ratio:40/30/30 --split-per-run --runs 3", "--split ratio:40/30/30 --data-seed 7 --largest-component",
        "--split ratio:40/30/30 --batch-size 4 --fanout 3,3"}) {
    ASSERT_EQ(run(data + split).code, 0) << split;
    const std::string own = run("eval run --json").out;
    const CommandResult moved = run("eval run --data moved/e.csv --features moved/x.csv --labels moved/y.csv --json");
    ASSERT_EQ(moved.code, 0) << moved.err;
    EXPECT_EQ(moved.out, own) << split;
  }
}

/// A run with a split of its own is scaled by its own training nodes: those of the run whose weights are kept count.
TEST_F(NewData, KeepsTheStatisticsOfTheRunThatIsKept) {
  train("--normalize-features train-standard --split-per-run --runs 3");
  const auto statistics = Json::parse(place.read("run/data.json"))["normalisation"];
  ASSERT_EQ(statistics["mean"].size(), 3U);
  const std::string own = run("predict run --probabilities").out;
  const std::string again = run("predict run --data e.csv --features x.csv --probabilities").out;
  EXPECT_EQ(again, own);
}

TEST_F(NewData, ManyLabelsAndNumbersKeepTheirKind) {
  std::string many = "flies,crawls\n";
  std::string amounts;
  for (int v = 0; v < 24; ++v) {
    many += v % 3 == 0 ? "0,1\n" : v % 3 == 1 ? "1,1\n" : "0,0\n";
    amounts += std::to_string(v % 3) + ".5\n";
  }
  place.write("y.csv", many);
  train();
  const CommandResult labels = run("predict run --data new_e.csv --features new_x.csv --probabilities");
  EXPECT_THAT(labels.out, StartsWith("node,labels,p_flies,p_crawls\n")) << labels.err;
  place.write("new_y.csv", "flies,crawls\n1,1\n0,1\n1,0\n");
  const CommandResult score = run("eval run --data new_e.csv --features new_x.csv --labels new_y.csv --json");
  ASSERT_EQ(score.code, 0) << score.err;
  place.write("new_y.csv", "crawls,flies\n1,1\n1,0\n0,1\n");
  EXPECT_EQ(run("eval run --data new_e.csv --features new_x.csv --labels new_y.csv --json").out, score.out);
  place.write("three.csv", "flies,crawls,swims\n1,1,0\n1,1,1\n1,0,1\n");
  EXPECT_THAT(run("eval run --data new_e.csv --features new_x.csv --labels three.csv").err,
              HasSubstr("the column 'swims'"));
  place.write("y.csv", amounts);
  train("--force");
  const CommandResult numbers = run("predict run --data new_e.csv --features new_x.csv");
  EXPECT_THAT(numbers.out, StartsWith("node,y0\n")) << numbers.err;
  place.write("new_y.csv", "1.5\n1.5\n1.25\n");
  EXPECT_EQ(run("eval run --data new_e.csv --features new_x.csv --labels new_y.csv").code, 0);
  place.write("bees.csv", "bee\nbee\nbee\n");
  EXPECT_THAT(run("eval run --data new_e.csv --features new_x.csv --labels bees.csv").err,
              HasSubstr("of kind 'regression'"));
}

TEST_F(NewData, OldFoldersOpenWithAWarning) {
  train("--normalize-features standard");
  const std::string own = run("predict run").out;
  std::filesystem::remove(place.path("run/data.json"));
  EXPECT_EQ(run("predict run").out, own);
  const CommandResult other = run("predict run --data new_e.csv --features new_x.csv");
  EXPECT_EQ(other.code, 0);
  EXPECT_THAT(other.err, HasSubstr("keeps no statistics"));
  place.write("run/data.json", "{\"label_kind\": 3}");
  const CommandResult damaged = run("predict run");
  EXPECT_EQ(damaged.code, 3);
  EXPECT_THAT(damaged.err, HasSubstr("data.json"));
}

TEST_F(NewData, SaysWhatIsUnlikeTheTraining) {
  train("--to-undirected");
  place.write("one_way.csv", "0 1 5\n1 2 5\n");
  const CommandResult result = run("predict run --data one_way.csv --features new_x.csv --no-to-undirected");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("--to-undirected"), HasSubstr("--ignore-weights")));
}

TEST(Numbers, NegativeWeightsAreWarnedOfWhereTheyAreNormalised) {
  const Workplace place;
  std::filesystem::copy(std::filesystem::path(GNEISS_SOURCE_DIR) / "tests/e2e/data/corr.csv", place.path("corr.csv"));
  place.write("x.csv", "0.5,1\n1,-0.5\n0.25,0.75\n1,1\n");
  place.write("y.csv", "0\n1\n0\n1\n");
  const std::string data = "corr.csv --features x.csv --labels y.csv --split ratio:50/25/25";
  const auto expected = HasSubstr("6 of 8 edges have negative weights (the least is -1), and 3 of 4 nodes");
  EXPECT_THAT(place.gneiss(words("data validate " + data)).out, expected);
  EXPECT_THAT(place.gneiss(words("train " + data + " --epochs 2 --no-save")).err, expected);
  EXPECT_THAT(place.gneiss(words("train " + data + " --epochs 2 --no-save --model mlp")).err,
              Not(HasSubstr("negative weights")));
  EXPECT_THAT(place.gneiss(words("train " + data + " --epochs 2 --no-save --ignore-weights")).err,
              Not(HasSubstr("negative weights")));
}

TEST(Numbers, SignedRowsAreSaid) {
  const Workplace place;
  place.write("e.csv", "0,1\n1,2\n2,3\n3,0\n");
  place.write("x.csv", "-1,0.5,0.4999\n1,-2,0.5\n0,0,0\n1,1,1\n");
  place.write("y.csv", "0\n1\n0\n1\n");
  const std::string data = "e.csv --features x.csv --labels y.csv --split ratio:50/25/25 --normalize-features ";
  const auto expected = HasSubstr("negative values, down to -2");
  EXPECT_THAT(place.gneiss(words("data validate " + data + "row")).out, expected);
  EXPECT_THAT(place.gneiss(words("train " + data + "row --epochs 2 --no-save")).err, expected);
  EXPECT_THAT(place.gneiss(words("train " + data + "standard --epochs 2 --no-save")).err, Not(expected));
}

TEST(Numbers, LargeOnesAreSaid) {
  const Workplace place;
  place.write("e.csv", "0,1,2000000000.5\n1,2,1.5\n2,3,2.5\n3,0,1.5\n");
  place.write("x.csv", "1000000,1\n2,3\n4,5\n6,7\n");
  place.write("y.csv", "0\n1\n0\n1\n");
  const std::string data = "e.csv --features x.csv --labels y.csv --split ratio:50/25/25";
  const auto expected = AllOf(HasSubstr("features reach 1e+06"), HasSubstr("edge weights reach 2e+09"));
  EXPECT_THAT(place.gneiss(words("data validate " + data)).out, expected);
  EXPECT_THAT(place.gneiss(words("train " + data + " --epochs 2 --no-save")).err, expected);
  EXPECT_THAT(place.gneiss(words("train " + data + " --epochs 2 --no-save --normalize-features standard")).err,
              Not(HasSubstr("features reach")));
}

TEST(Advice, IsGivenWhenNothingWasLearnt) {
  const Workplace place;
  const CommandResult still = place.gneiss(words("train karate --epochs 20 --lr 1e-9 --no-save -q"));
  EXPECT_EQ(still.code, 0);
  EXPECT_THAT(still.err, AllOf(HasSubstr("hardly learnt"), HasSubstr("try first --")));
  EXPECT_EQ(place.gneiss(words("train karate --epochs 60 --no-save -q")).err, "");
}

}  // namespace
}  // namespace gneiss::testing
