// Texts of written programs: as kept in golden/, as clang-format would lay them out, and the errors of gneiss synth.
//
// With GNEISS_BLESS=1 in the environment the golden texts are written instead of compared.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "synth/cases.h"

namespace gneiss::testing {
namespace {

using ::testing::HasSubstr;

const std::string kSource = GNEISS_SOURCE_DIR;

void emit(const Workplace& place, const SynthCase& item) {
  write_awkward_files(place);
  std::vector<std::string> arguments = {"synth"};
  arguments.insert(arguments.end(), item.arguments.begin(), item.arguments.end());
  arguments.insert(arguments.end(), {"-o", "program"});
  for (const std::string& option : target_options(item)) arguments.push_back(option);
  const CommandResult result = place.gneiss(arguments);
  ASSERT_EQ(result.code, 0) << result.err;
  ASSERT_EQ(result.err, "");
}

/// Files of a program one after the other; the folder that the test ran in reads as FOLDER.
std::string text_of(const Workplace& place, const SynthCase& item) {
  std::vector<std::string> files = {"setup.cc", "forward.cc", "backward.cc", "inference.cc"};
  if (item.whole)
    files = {"CMakeLists.txt", "program.h",   "main.cc",   "data.cc",      "parameters.cc", "setup.cc",
             "forward.cc",     "backward.cc", "update.cc", "inference.cc", "scores.cc"};
  if (item.ranks)  // those of one rank
    files = {"CMakeLists.txt",
             "shared.h",
             "main.cc",
             "data.cc",
             "rank_1/program.h",
             "rank_1/data.cc",
             "rank_1/setup.cc",
             "rank_1/forward.cc",
             "rank_1/backward.cc",
             "rank_1/inference.cc",
             "rank_1/scores.cc",
             "rank_1/epochs.cc"};
  for (const char* loops : {"loops.cc", "loops.cu"}) {
    if (std::filesystem::exists(place.path("program") / loops)) files.emplace_back(loops);
  }
  std::string text;
  for (const std::string& file : files) text += "=== " + file + "\n" + place.read("program/" + file);
  const std::string folder = place.path("").string();
  for (std::size_t at = text.find(folder); at != std::string::npos; at = text.find(folder, at))
    text.replace(at, folder.size(), "FOLDER/");
  return text;
}

class Texts : public ::testing::TestWithParam<SynthCase> {};

TEST_P(Texts, AreAsKept) {
  const Workplace place;
  ASSERT_NO_FATAL_FAILURE(emit(place, GetParam()));
  const std::string path = kSource + "/tests/synth/golden/" + GetParam().name + ".txt";
  const std::string got = text_of(place, GetParam());
  if (std::getenv("GNEISS_BLESS") != nullptr) {
    std::ofstream(path, std::ios::binary) << got;
    return;
  }
  std::ostringstream kept;
  kept << std::ifstream(path, std::ios::binary).rdbuf();
  EXPECT_EQ(got, kept.str()) << path << "\n(GNEISS_BLESS=1 writes what was got)";
}

std::vector<SynthCase> golden_cases() {
  std::vector<SynthCase> cases;
  for (const SynthCase& item : synth_cases()) {
    if (item.golden) cases.push_back(item);
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Cases, Texts, ::testing::ValuesIn(golden_cases()),
                         [](const auto& test) { return test.param.name; });

class Layout : public ::testing::TestWithParam<SynthCase> {};

TEST_P(Layout, LeavesClangFormatNothingToDo) {
  if (std::system("clang-format --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "there is no clang-format";
#ifdef __SANITIZE_ADDRESS__
  const std::vector<std::string>& arguments = GetParam().arguments;
  if (std::find(arguments.begin(), arguments.end(), "--mem") != arguments.end()) {
    GTEST_SKIP() << "memory is not counted under a sanitizer";
  }
#endif
  const Workplace place;
  ASSERT_NO_FATAL_FAILURE(emit(place, GetParam()));
  const std::string folder = place.path("").string();
  const std::string command = "cp " + kSource + "/.clang-format " + folder + " && find " + folder +
                              "program -name '*.h' -o -name '*.c[cu]' | xargs clang-format --dry-run -Werror 2>" +
                              folder + "log";
  EXPECT_EQ(std::system(command.c_str()), 0) << place.read("log");
}

INSTANTIATE_TEST_SUITE_P(Cases, Layout, ::testing::ValuesIn(synth_cases()),
                         [](const auto& test) { return test.param.name; });

TEST(SynthCommand, RefusesAFolderThatHoldsSomethingUnlessForced) {
  const Workplace place;
  ASSERT_EQ(place.gneiss({"synth", "karate", "-o", "program"}).code, 0);
  const std::string before = place.read("program/forward.cc");
  const CommandResult refused = place.gneiss({"synth", "karate", "--model", "sage", "-o", "program"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("not empty"));
  EXPECT_THAT(refused.err, HasSubstr("--force"));
  EXPECT_EQ(place.read("program/forward.cc"), before);
  place.write("program/notes", "mine");
  EXPECT_EQ(place.gneiss({"synth", "karate", "--model", "sage", "-o", "program", "--force"}).code, 0);
  EXPECT_NE(place.read("program/forward.cc"), before);
  EXPECT_EQ(place.read("program/notes"), "mine");
}

TEST(SynthCommand, NamesWhatIsWrong) {
  const Workplace place;
  place.write("taken", "a file");
  struct Wrong {
    std::vector<std::string> arguments;
    int code;
    std::vector<const char*> texts;
  };
  const Wrong list[] = {
      {{"synth", "karate", "-o", "p", "--target", "opencl"}, 2, {"no target 'opencl'", "openmp"}},
      {{"synth", "karate", "-o", "taken"}, 2, {"is a file", "-o"}},
      {{"synth", "karate", "-o", "/proc/gneiss"}, 4, {"/proc/gneiss"}},
      {{"synth", "karate", "-o", "p", "--runs", "3"}, 2, {"one run", "--seed"}},
      {{"synth", "karate", "-o", "p", "--monitor", "objective"}, 2, {"objective", "--monitor"}},
      {{"synth", "karate", "-o", "p", "--model", "nothing.gneiss"}, 3, {"nothing.gneiss"}},
      {{"synth", "--shape", "10,20,x,2", "-o", "p"}, 2, {"four whole numbers", "--shape"}},
      {{"synth", "--shape", "10,20,4", "-o", "p"}, 2, {"four whole numbers"}},
      {{"synth", "--shape", "10,20,4,2,1", "-o", "p"}, 2, {"four whole numbers"}},
      {{"synth", "karate", "--shape", "10,20,4,2", "-o", "p"}, 2, {"both a data set", "--shape"}},
      {{"synth", "karate", "-o", "p", "--ranks", "2"}, 2, {"on one rank", "--target mpi"}},
      {{"synth", "karate", "-o", "p", "--target", "mpi"}, 2, {"several ranks", "--ranks"}},
      {{"synth", "karate", "-o", "p", "--target", "mpi", "--ranks", "2", "--jit"}, 2, {"--jit does not go"}},
      {{"synth", "karate", "-o", "p", "--target", "cuda", "--ranks", "2"}, 2, {"on one rank", "--target mpi"}},
      {{"synth", "karate", "-o", "p", "--target", "cuda", "--devices", "2"}, 2, {"on one device", "--devices"}},
      {{"synth", "karate"}, 2, {"output"}}};
  for (const Wrong& wrong : list) {
    const CommandResult result = place.gneiss(wrong.arguments);
    EXPECT_EQ(result.code, wrong.code) << result.err;
    for (const char* text : wrong.texts) EXPECT_THAT(result.err, HasSubstr(text));
  }
  EXPECT_EQ(place.list(), std::vector<std::string>{"taken"});
}

}  // namespace
}  // namespace gneiss::testing
