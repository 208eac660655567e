// gneiss train --jit as a user meets it: what it says, what it keeps, and what it does without a compiler.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "synth/cases.h"

namespace gneiss::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

class JitCommand : public ::testing::Test {
 protected:
  using Environment = std::vector<std::pair<std::string, std::string>>;

  /// Trains a layer of a user's in a place, with the cache of this one.
  CommandResult train_in(const Workplace& place, const std::string& out, bool jit, Environment environment) const {
    const std::string model = std::string(GNEISS_SOURCE_DIR) + "/tests/synth/models/gated_mean.gneiss";
    std::vector<std::string> arguments = {"train", "karate", "--model", model,    "--epochs",
                                          "3",     "--out",  out,       "--quiet"};
    if (jit) arguments.emplace_back("--jit");
    environment.emplace_back("XDG_CACHE_HOME", place_.path("cache").string());
    return place.gneiss(arguments, environment);
  }
  CommandResult train(const std::string& out, bool jit, const Environment& environment = {}) const {
    return train_in(place_, out, jit, environment);
  }

  std::size_t libraries() const {
    std::size_t count = 0;
    const fs::path cache = place_.path("cache") / "gneiss" / "jit";
    if (!fs::exists(cache)) return 0;
    for (const auto& entry : fs::directory_iterator(cache)) count += entry.path().extension() == ".so" ? 1 : 0;
    return count;
  }

  std::string script(const std::string& body) {
    place_.write("compiler.sh", "#!/bin/sh\n" + body + "\n");
    chmod(place_.path("compiler.sh").c_str(), 0755);
    return place_.path("compiler.sh").string();
  }

  Workplace place_;
};

TEST_F(JitCommand, CompilesOnce) {
  const CommandResult first = train("a", true);
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.err, Not(HasSubstr("warning")));
  EXPECT_EQ(libraries(), 1U);
  // A second run needs no compiler.
  const CommandResult second = train("b", true, {{"PATH", "/nowhere"}, {"GNEISS_CXX", "/usr/bin/c++"}});
  EXPECT_EQ(second.code, 0) << second.err;
  EXPECT_EQ(libraries(), 1U);
  EXPECT_EQ(place_.read("a/model.safetensors"), place_.read("b/model.safetensors"));
}

TEST_F(JitCommand, RunsOnKernelsWhereNothingCanBeCompiled) {
  ASSERT_EQ(train("plain", false).code, 0);
  struct Case {
    std::string compiler;
    std::vector<const char*> texts;
  };
  const Case cases[] = {
      {"/nowhere/c++", {"no C++ compiler (looked for /nowhere/c++)", "GNEISS_CXX"}},
      {script("echo 'loops.cc:30:7: error: all is wrong' >&2; exit 1"),
       {"loops.cc:30:7: error: all is wrong", "loops.cc:30: ", "made from gated_mean.gneiss:"}},
  };
  for (const Case& item : cases) {
    const CommandResult result = train("other", true, {{"GNEISS_CXX", item.compiler}});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("warning: no loops over edges were compiled"));
    for (const char* text : item.texts) EXPECT_THAT(result.err, HasSubstr(text));
    EXPECT_EQ(place_.read("other/model.safetensors"), place_.read("plain/model.safetensors"));
    EXPECT_THAT(place_.read("other/report.json"), HasSubstr("no loops over edges were compiled"));
    EXPECT_EQ(libraries(), 0U);
    fs::remove_all(place_.path("other"));
  }
  const CommandResult slow = train("other", true, {{"GNEISS_CXX", script("sleep 60")}, {"GNEISS_JIT_SECONDS", "1"}});
  EXPECT_EQ(slow.code, 0) << slow.err;
  EXPECT_THAT(slow.err, HasSubstr("longer than 1 s"));
}

/// Clang knows other options and no clones of functions.
TEST_F(JitCommand, CompilesWithClang) {
  if (std::system("clang++ --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "there is no clang++";
  const CommandResult result = train("a", true, {{"GNEISS_CXX", "clang++"}});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, Not(HasSubstr("warning")));
  EXPECT_EQ(libraries(), 1U);
}

TEST_F(JitCommand, SaysThatTheCacheCannotBeWritten) {
  const CommandResult result = place_.gneiss(
      {"train", "karate", "--model", std::string(GNEISS_SOURCE_DIR) + "/tests/synth/models/gated_mean.gneiss",
       "--epochs", "3", "--no-save", "--quiet", "--jit"},
      {{"XDG_CACHE_HOME", "/proc/nowhere"}});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("/proc/nowhere"));
}

TEST_F(JitCommand, TwoAtOnceShareTheCache) {
  const Workplace beside;  // captures its own output
  CommandResult results[2];
  std::thread other([&] { results[1] = train_in(beside, "b", true, {}); });
  results[0] = train("a", true);
  other.join();
  for (const CommandResult& result : results) {
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.err, Not(HasSubstr("warning")));
  }
  EXPECT_EQ(libraries(), 1U);
  EXPECT_EQ(place_.read("a/model.safetensors"), beside.read("b/model.safetensors"));
}

}  // namespace
}  // namespace gneiss::testing
