// gneiss data score through the command: hit rates that no order can pass, the same for any number of threads, and
// words for what cannot be scored.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/json.h"
#include "e2e/command.h"

namespace gneiss {
namespace {

using ::gneiss::testing::CommandResult;
using ::gneiss::testing::Workplace;
using ::testing::HasSubstr;

constexpr const char* kData = "dcsbm:nodes=600,classes=4,edges=6000";

Json scored(const Workplace& place, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"data", "score", kData, "--fanout", "4,3", "--batch-size", "16", "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const CommandResult result = place.gneiss(arguments);
  EXPECT_EQ(result.code, 0) << result.err;
  return Json::parse(result.out, "score");
}

std::string hits(const Json& row) { return row.at("hits").dump(); }

TEST(ScoreCommand, MeasuresEveryScoreBesideTheOracle) {
  const Workplace place;
  const Json report = scored(place, {"--score", "degree,rpr,wrpr,vip,presample"});
  ASSERT_EQ(report.at("scores").elements().size(), 5U);
  const Json::List& oracle = report.at("oracle").at("hits").elements();
  for (const Json& row : report.at("scores").elements()) {
    const Json::List& shares = row.at("hits").elements();
    ASSERT_EQ(shares.size(), 4U);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      EXPECT_GT(shares[i].real(), 0);
      EXPECT_LE(shares[i].real(), oracle[i].real()) << row.at("score").text();
      if (i > 0) {
        EXPECT_GT(shares[i].real(), shares[i - 1].real());
      }
    }
  }
  EXPECT_EQ(report.find("auto"), nullptr);
}

TEST(ScoreCommand, AutoTakesOneOfTheScoresAndSaysWhatItCost) {
  const Workplace place;
  const Json report = scored(place, {});
  const Json::List& chosen = report.at("auto").at("chosen").elements();
  ASSERT_EQ(chosen.size(), 4U);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    bool found = false;
    for (const Json& row : report.at("scores").elements()) {
      if (row.at("score").text() != chosen[i].text()) continue;
      found = true;
      EXPECT_EQ(row.at("hits").elements()[i].real(), report.at("auto").at("hits").elements()[i].real());
    }
    EXPECT_TRUE(found) << chosen[i].text();
  }
  double seconds = 0;
  for (const Json& row : report.at("scores").elements()) seconds += row.at("seconds").real();
  EXPECT_GT(report.at("auto").at("seconds").real(), seconds);
}

TEST(ScoreCommand, ThreadsChangeNothingAndSeedsDo) {
  const Workplace place;
  const auto all = [&](const std::vector<std::string>& more) {
    const Json report = scored(place, more);
    std::string text = report.at("rows").dump() + hits(report.at("oracle")) + report.at("auto").at("chosen").dump();
    for (const Json& row : report.at("scores").elements()) text += hits(row);
    return text;
  };
  const std::string one = all({"--threads", "1"});
  EXPECT_EQ(all({"--threads", "3"}), one);
  EXPECT_NE(all({"--threads", "1", "--seed", "5"}), one);
}

TEST(ScoreCommand, TextNamesTheHotShares) {
  const Workplace place;
  const CommandResult result = place.gneiss({"data", "score", "karate", "--fanout", "3,3", "--batch-size", "2"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("1 %    5 %   10 %   25 %"));
  EXPECT_THAT(result.out, HasSubstr("oracle"));
  EXPECT_THAT(result.out, HasSubstr("auto: best on"));
}

TEST(ScoreCommand, RefusesWhatCannotBeScored) {
  const Workplace place;
  const auto fails = [&](const std::vector<std::string>& more, int code, const char* words) {
    std::vector<std::string> arguments = {"data", "score", "karate"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const CommandResult result = place.gneiss(arguments);
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_THAT(result.err, HasSubstr(words));
  };
  fails({"--score", "vop"}, 2, "unknown score 'vop'");
  fails({"--score", "oracle"}, 2, "knows the batches");
  fails({"--epochs", "0"}, 2, "--epochs: expected a number of at least 1, got 0");
  fails({"--presample-epochs", "0"}, 2, "--presample-epochs");
  fails({"--iterations", "-1"}, 2, "--iterations");
  fails({"--damping", "much"}, 2, "expected a number from 0 to 1, got 'much'");
  fails({"--damping", "1.5"}, 2, "from 0 to 1");
  fails({"--fanout", "0"}, 2, "--fanout");
  place.write("edges.txt", "0 1\n1 2\n");
  const CommandResult none = place.gneiss({"data", "score", "edges.txt"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("no training nodes"));
}

}  // namespace
}  // namespace gneiss
