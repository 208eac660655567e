// C++ text to functions: what is kept, what goes wrong, and two at once. Compilers that fail on purpose are scripts.
#include "runtime/host_compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <thread>

#include "base/error.h"
#include "support/data_fixtures.h"

namespace gneiss::runtime {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::TempFolder;
namespace fs = std::filesystem;

const CppText kAnswer = {"loops.cc",
                         "#include \"answer.h\"\nextern \"C\" int answer() { return kAnswer; }\n",
                         {{"answer.h", "inline constexpr int kAnswer = 42;\n"}},
                         "-O1"};

int call(const LoadedLibrary& library) { return reinterpret_cast<int (*)()>(library.find("answer"))(); }

std::size_t count_files(const fs::path& folder, const std::string& ending) {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(folder)) count += entry.path().string().ends_with(ending) ? 1 : 0;
  return count;
}

/// A compiler that is a shell script.
std::string script(const TempFolder& folder, const std::string& body) {
  const fs::path file = folder.write("compiler.sh", "#!/bin/sh\n" + body + "\n");
  chmod(file.c_str(), 0755);
  return file.string();
}

TEST(HostCompiler, CompilesOnceAndKeepsIt) {
  const TempFolder folder;
  const HostCompiler compiler{"", folder.path() / "cache", {}};
  const Compiled first = compile_text(kAnswer, compiler);
  EXPECT_FALSE(first.was_cached);
  EXPECT_EQ(call(first.library), 42);
  const Compiled again = compile_text(kAnswer, compiler);
  EXPECT_TRUE(again.was_cached);
  EXPECT_EQ(call(again.library), 42);
  CppText other = kAnswer;
  other.headers[0].second = "inline constexpr int kAnswer = 43;\n";
  const Compiled changed = compile_text(other, compiler);
  EXPECT_FALSE(changed.was_cached);
  EXPECT_EQ(call(changed.library), 43);
  other.options = "-O2";
  EXPECT_FALSE(compile_text(other, compiler).was_cached);
  EXPECT_EQ(count_files(compiler.cache, ".so"), 3U);
  EXPECT_EQ(count_files(compiler.cache, ""), 6U) << "something is left behind";
}

TEST(HostCompiler, MakesAnewWhatDoesNotLoad) {
  const TempFolder folder;
  const HostCompiler compiler{"", folder.path() / "cache", {}};
  compile_text(kAnswer, compiler);
  for (const auto& entry : fs::directory_iterator(compiler.cache)) {
    if (entry.path().extension() == ".so") fs::resize_file(entry.path(), 100);
  }
  const Compiled again = compile_text(kAnswer, compiler);
  EXPECT_FALSE(again.was_cached);
  EXPECT_EQ(call(again.library), 42);
}

TEST(HostCompiler, SeveralAtOnceShareACache) {
  const TempFolder folder;
  const HostCompiler compiler{"", folder.path() / "cache", {}};
  std::vector<std::thread> threads;
  std::vector<int> answers(6, 0);
  for (std::size_t i = 0; i < answers.size(); ++i)
    threads.emplace_back([&, i] { answers[i] = call(compile_text(kAnswer, compiler).library); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answers, std::vector<int>(6, 42));
  EXPECT_EQ(count_files(compiler.cache, ".so"), 1U);
  EXPECT_EQ(count_files(compiler.cache, ""), 2U) << "something is left behind";
}

TEST(HostCompiler, SaysThatThereIsNone) {
  const TempFolder folder;
  const Error error = error_of([&] { compile_text(kAnswer, {"/nowhere/c++", folder.path(), {}}); });
  EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  EXPECT_THAT(error.what(), HasSubstr("no C++ compiler (looked for /nowhere/c++)"));
  EXPECT_THAT(error.what(), HasSubstr("GNEISS_CXX"));
}

TEST(HostCompiler, ShowsWhatTheCompilerSaysAndWhereItComesFrom) {
  const TempFolder folder;
  CppText text = kAnswer;
  text.text = "// own.gneiss:7  m = relu(x@src);\n\nint broken( {\n";
  const Error error = error_of([&] { compile_text(text, {"", folder.path() / "cache", {}}); });
  EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  EXPECT_THAT(error.what(), HasSubstr("failed with status 1"));
  EXPECT_THAT(error.what(), HasSubstr("error: "));
  EXPECT_THAT(error.what(), HasSubstr("loops.cc:3: int broken( {"));
  EXPECT_THAT(error.what(), HasSubstr("made from own.gneiss:7  m = relu(x@src);"));
  EXPECT_EQ(count_files(folder.path() / "cache", ""), 0U) << "something is left behind";
}

TEST(HostCompiler, PassesOnThatTheCompilerHasNoRoom) {
  const TempFolder folder;
  const std::string compiler =
      script(folder, "echo 'loops.cc: fatal error: error writing to /tmp/x.s: No space left on device' >&2; exit 4");
  const Error error = error_of([&] { compile_text(kAnswer, {compiler, folder.path() / "cache", {}}); });
  EXPECT_THAT(error.what(), HasSubstr("failed with status 4"));
  EXPECT_THAT(error.what(), HasSubstr("No space left on device"));
}

TEST(HostCompiler, StopsACompilerThatTakesTooLong) {
  const TempFolder folder;
  const std::string compiler = script(folder, "sleep 60 & wait");
  const auto start = std::chrono::steady_clock::now();
  const Error error = error_of([&] {
    compile_text(kAnswer, {compiler, folder.path() / "cache", std::chrono::seconds(1)});
  });
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  EXPECT_THAT(error.what(), HasSubstr("longer than 1 s"));
  EXPECT_THAT(error.what(), HasSubstr("GNEISS_JIT_SECONDS"));
}

TEST(HostCompiler, SaysThatTheCacheCannotBeWritten) {
  const Error nowhere = error_of([&] { compile_text(kAnswer, {"", "/proc/gneiss", {}}); });
  EXPECT_EQ(nowhere.code(), ErrorCode::kDisk);
  EXPECT_THAT(nowhere.what(), HasSubstr("/proc/gneiss"));
  // No byte more may be written: what a full disk is like.
  const TempFolder folder;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
  const Error full = error_of([&] { compile_text(kAnswer, {"", folder.path() / "cache", {}}); });
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(full.code(), ErrorCode::kDisk);
  EXPECT_EQ(count_files(folder.path() / "cache", ""), 0U) << "something is left behind";
}

}  // namespace
}  // namespace gneiss::runtime
