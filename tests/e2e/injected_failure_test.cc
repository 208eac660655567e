// The command without memory or disk at every point of a run: it ends with exit code 4 and a message, leaves nothing
// behind, and what stood there before is as it was.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "e2e/command.h"
#include "support/allocation_counter.h"

namespace gneiss::testing {
namespace {

namespace fs = std::filesystem;

using Contents = std::map<std::string, std::string>;

/// Every file and folder of a workplace but the captured output, with its content.
Contents contents_of(const Workplace& place) {
  Contents contents;
  for (const auto& entry : fs::recursive_directory_iterator(place.path(""))) {
    const std::string name = fs::relative(entry.path(), place.path("")).string();
    if (name == ".stdout" || name == ".stderr" || name == "report") continue;
    contents[name] = entry.is_regular_file() ? place.read(name) : "";
  }
  return contents;
}

std::set<std::string> names_of(const Contents& contents) {
  std::set<std::string> names;
  for (const auto& [name, content] : contents) names.insert(name);
  return names;
}

/// A command and what stands in its folder before.
struct Job {
  std::string name;
  std::vector<std::string> arguments;
  std::function<void(const Workplace&)> prepare;
  std::string makes;             ///< the folder that it writes or replaces
  std::string proof;             ///< a file in it that is another one afterwards
  bool has_another_way = false;  ///< without some memory: evaluation layer by layer
};

void PrintTo(const Job& job, std::ostream* out) { *out << job.name; }

const std::vector<std::string> kTrain = {"train",    "karate", "--model",   "gcn", "--epochs", "2",
                                         "--hidden", "4",      "--threads", "2",   "--out",    "runs/run"};
constexpr const char* kEdges = "0 1\n1 2\n2 0\n3 1\n";

std::vector<std::string> with(std::vector<std::string> words, std::initializer_list<std::string> more) {
  words.insert(words.end(), more);
  return words;
}

std::vector<Job> jobs() {
  const auto nothing = [](const Workplace&) {};
  const auto edges = [](const Workplace& place) { place.write("edges.txt", kEdges); };
  return {
      {"training", kTrain, nothing, "runs", "runs/run/model.safetensors"},
      {"training_again", with(kTrain, {"--force"}),
       [](const Workplace& place) {
         EXPECT_EQ(place.gneiss(with(kTrain, {"--seed", "7"})).code, 0);
       },
       "runs", "runs/run/model.safetensors"},
      {"hot_rows", with(kTrain, {"--batch-size", "8", "--device", "sim:v100", "--hot", "20%", "--hot-edges", "20%"}),
       nothing, "runs", "runs/run/model.safetensors", true},
      {"devices", with(kTrain, {"--batch-size", "8", "--devices", "2", "--hot", "3", "--hot-edges", "5"}), nothing,
       "runs", "runs/run/model.safetensors", true},
      {"conversion", {"data", "convert", "edges.txt", "graph"}, edges, "graph", "graph/manifest.json"},
      {"generation",
       {"data", "generate", "dcsbm:nodes=60,classes=3,features=5", "--threads", "2", "--mem", "200M", "--out", "graph"},
       nothing,
       "graph",
       "graph/manifest.json"},
      {"conversion_again",
       {"data", "convert", "edges.txt", "graph", "--force"},
       [=](const Workplace& place) {
         edges(place);
         EXPECT_EQ(place.gneiss({"data", "generate", "karate", "--out", "graph"}).code, 0);
       },
       "graph",
       "graph/manifest.json"},
  };
}

class InjectedFailure : public ::testing::TestWithParam<Job> {
 protected:
  void SetUp() override {
    if (!kAllocationsAreCounted) GTEST_SKIP() << "no library is preloaded under a sanitizer";
    GetParam().prepare(place_);
    before_ = contents_of(place_);
  }

  CommandResult run(const std::string& name, long n) const {
    return place_.gneiss(GetParam().arguments, {{"LD_PRELOAD", GNEISS_FAIL_NTH},
                                                {"TMPDIR", place_.path("").string()},
                                                {name, std::to_string(n)},
                                                {"FAIL_REPORT", place_.path("report").string()}});
  }

  /// How many calls there are in a run that succeeds, for buffers or towards files.
  long calls(const std::string& name) {
    const CommandResult result = run(name, 0);
    EXPECT_EQ(result.code, 0) << result.err;
    whole_ = names_of(contents_of(place_));
    std::istringstream report(place_.read("report"));
    long allocations = 0;
    long disk = 0;
    EXPECT_TRUE(report >> allocations >> disk) << "the library was not loaded";
    put_back();
    return name == "FAIL_DISK" ? disk : allocations;
  }

  std::string proof_before() const {
    const auto found = before_.find(GetParam().proof);
    return found == before_.end() ? "" : found->second;
  }

  /// The folder as before the run.
  void put_back() {
    fs::remove_all(place_.path(GetParam().makes));
    GetParam().prepare(place_);
    before_ = contents_of(place_);
  }

  void expect_clean_failure(const std::string& name, long n, long of) {
    SCOPED_TRACE(name + " " + std::to_string(n) + " of " + std::to_string(of));
    const CommandResult result = run(name, n);
    if (GetParam().has_another_way && name == "FAIL_ALLOCATION" && result.code == 0) {
      EXPECT_EQ(names_of(contents_of(place_)), whole_);
      return put_back();
    }
    EXPECT_EQ(result.code, 4) << result.err;
    EXPECT_NE(("\n" + result.err).find("\nerror: "), std::string::npos) << result.err;
    // What goes wrong when all is written, a message say, takes nothing back.
    const Contents after = contents_of(place_);
    if (after == before_) return;
    EXPECT_NE(after.count(GetParam().proof) > 0 ? after.at(GetParam().proof) : "", proof_before());
    EXPECT_EQ(names_of(after), whole_);
    put_back();
  }

  Workplace place_;
  Contents before_;
  std::set<std::string> whole_;  ///< what is there when a run has succeeded
};

TEST_P(InjectedFailure, OfAnyStepTowardsAFile) {
  const long count = calls("FAIL_DISK");
  ASSERT_GE(count, 10);
  for (long n = 1; n <= count; ++n) expect_clean_failure("FAIL_DISK", n, count);
}

TEST_P(InjectedFailure, OfAnyBuffer) {
  const long count = calls("FAIL_ALLOCATION");
  ASSERT_GE(count, 3);
  const long step = 1 + count / 60;
  for (long n = 1; n <= count; n += step) expect_clean_failure("FAIL_ALLOCATION", n, count);
}

INSTANTIATE_TEST_SUITE_P(Jobs, InjectedFailure, ::testing::ValuesIn(jobs()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace gneiss::testing
