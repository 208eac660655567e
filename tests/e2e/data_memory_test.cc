// gneiss data generate and data score within --mem: the same folder and the same scores, in less memory than either
// takes without, and words for a limit that is too small.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "e2e/command.h"
#include "support/allocation_counter.h"

namespace gneiss {
namespace {

using ::gneiss::testing::CommandResult;
using ::gneiss::testing::Workplace;
using ::testing::HasSubstr;

constexpr bool kSanitized =
    !::gneiss::testing::kAllocationsAreCounted;  // a sanitizer has an allocator and memory of its own

CommandResult generate(const Workplace& place, const std::string& spec, const std::string& out,
                       std::vector<std::string> more) {
  more.insert(more.begin(), {"data", "generate", spec, "--threads", "2", "--out", out});
  return place.gneiss(more);
}

void expect_same_folder(const Workplace& place, const std::string& a, const std::string& b) {
  std::int64_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(place.path(a))) {
    const std::string name = entry.path().filename().string();
    ++files;
    EXPECT_TRUE(place.read(b + "/" + name) == place.read(a + "/" + name)) << b << "/" << name;
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(place.path(b)), {}), files);
}

/// The number behind `before` in a message.
std::string number_after(const std::string& text, const std::string& before) {
  const std::size_t at = text.find(before);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + before.size();
  return text.substr(begin, text.find(' ', begin) - begin);
}

TEST(DataWithinMemory, TheSameFolderIsWrittenWhateverTheForm) {
  const Workplace place;
  struct Form {
    const char* spec;
    std::vector<std::string> more;
  };
  const Form forms[] = {{"dcsbm:nodes=3000,edges=20001,classes=7,features=33,train=0.1,spread=0.5", {}},
                        {"dcsbm:nodes=3000,degree=4,features=65,directed=true", {"--feature-dtype", "bf16"}},
                        {"dcsbm:nodes=3000,degree=4,features=300,density=0.03", {"--split", "random"}},
                        {"dcsbm:nodes=500,classes=20,multilabel=true,features=0", {}},
                        {"rmat:scale=10", {"--feature-dtype", "f16", "--data-seed", "5"}},
                        {"karate", {"--feature-dtype", "f16"}}};
  for (const Form& form : forms) {
    const CommandResult whole = generate(place, form.spec, "whole", form.more);
    ASSERT_EQ(whole.code, 0) << form.spec << whole.err;
    std::vector<std::string> more = form.more;
    more.insert(more.end(), {"--mem", "1G"});
    const CommandResult part = generate(place, form.spec, "part", more);
    ASSERT_EQ(part.code, 0) << form.spec << part.err;
    EXPECT_EQ(part.out.substr(part.out.find(':')), whole.out.substr(whole.out.find(':')));
    expect_same_folder(place, "whole", "part");
    std::filesystem::remove_all(place.path("whole"));
    std::filesystem::remove_all(place.path("part"));
  }
}

/// Edges take 48 MB and features 200 MB; the limit holds less than the edges.
TEST(DataWithinMemory, GenerateStreamsFeaturesAndKeepsEdgesInAFile) {
  constexpr std::int64_t kLimit = std::int64_t{80} << 20;
  const std::string spec = "dcsbm:nodes=50000,edges=12000001,classes=20,features=1000,seed=3";
  const Workplace place;
  ASSERT_EQ(generate(place, spec, "whole", {}).code, 0);
  const CommandResult part = generate(place, spec, "part", {"--mem", std::to_string(kLimit)});
  ASSERT_EQ(part.code, 0) << part.err;
  if (!kSanitized) {
    EXPECT_LE(part.peak_bytes, kLimit);
  }
  expect_same_folder(place, "whole", "part");
}

TEST(DataWithinMemory, GenerateSaysHowMuchIsEnough) {
  const std::string spec = "dcsbm:nodes=400000,degree=6,classes=20,features=16";
  const Workplace place;
  const CommandResult little = generate(place, spec, "graph", {"--mem", "20M"});
  EXPECT_EQ(little.code, 4) << little.err;
  EXPECT_THAT(little.err, HasSubstr("--mem 20971520: to write dcsbm takes "));
  EXPECT_FALSE(std::filesystem::exists(place.path("graph")));
  const std::string enough = number_after(little.err, "takes ");
  const CommandResult again = generate(place, spec, "graph", {"--mem", enough});
  EXPECT_EQ(again.code, 0) << again.err;
  if (!kSanitized) {
    EXPECT_LE(again.peak_bytes, std::stoll(enough));
  }
}

TEST(DataWithinMemory, GenerateRefusesWhatLooksAtEverything) {
  const Workplace place;
  const auto fails = [&](const std::string& spec, const std::vector<std::string>& more, const char* words) {
    std::vector<std::string> all = more;
    all.insert(all.end(), {"--mem", "1G"});
    const CommandResult result = generate(place, spec, "graph", all);
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_THAT(result.err, HasSubstr(words));
  };
  fails("dcsbm", {"--normalize-features", "row"}, "--normalize-features looks at all edges or features");
  fails("dcsbm", {"--to-undirected"}, "--to-undirected looks at all");
  fails("nowhere", {}, "'nowhere' is no generator");
  EXPECT_FALSE(std::filesystem::exists(place.path("graph")));
}

Json scored(const CommandResult& result) {
  EXPECT_EQ(result.code, 0) << result.err;
  Json report = Json::parse(result.out, "score");
  std::string text = report.at("rows").dump() + report.at("oracle").at("hits").dump();
  for (const Json& row : report.at("scores").elements()) text += row.at("hits").dump();
  Json same;
  same["hits"] = text + report.at("auto").at("hits").dump() + report.at("auto").at("chosen").dump();
  return same;
}

/// Features take 200 MB, which scores do not look at.
TEST(DataWithinMemory, ScoresLeaveFeaturesInTheirFile) {
  const Workplace place;
  for (const char* directed : {"false", "true"}) {
    const std::string spec =
        std::string("dcsbm:nodes=50000,degree=20,classes=20,features=2000,train=0.02,directed=") + directed;
    ASSERT_EQ(generate(place, spec, "graph", {"--force", "--feature-dtype", "f16"}).code, 0);
    const std::vector<std::string> words = {"data", "score",     "graph", "--fanout", "5,5", "--batch-size",
                                            "64",   "--threads", "2",     "--epochs", "1",   "--json"};
    const auto score = [&](const std::vector<std::string>& more) {
      std::vector<std::string> all = words;
      all.insert(all.end(), more.begin(), more.end());
      return place.gneiss(all);
    };
    const CommandResult whole = score({});
    const CommandResult little = score({"--mem", "20M"});
    EXPECT_EQ(little.code, 4) << little.err;
    EXPECT_THAT(little.err, HasSubstr("--mem 20971520: to score 50000 nodes with "));
    const std::string enough = number_after(little.err, "takes ");
    const CommandResult part = score({"--mem", enough});
    EXPECT_EQ(scored(part).dump(), scored(whole).dump());
    if (kSanitized) continue;
    EXPECT_LE(part.peak_bytes, std::stoll(enough));
    EXPECT_GT(whole.peak_bytes, std::stoll(enough)) << "the limit is none";
  }
}

}  // namespace
}  // namespace gneiss
