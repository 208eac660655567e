// The cache's key is a hash of the text, the compiler's command and version. The compiler has a time limit.
#include "runtime/host_compiler.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "runtime/compile_cache.h"

namespace gneiss::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kUsualLimit{60};
constexpr const char* kCompilers[] = {"c++", "g++", "clang++"};

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

/// The file that PATH gives for a program; empty if there is none.
fs::path find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? fs::path(name) : fs::path();
  const char* path = environment("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path file = fs::path(folder) / name;
    if (!folder.empty() && access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

/// The compiler's command, its first word a file that exists.
std::vector<std::string> find_compiler(const HostCompiler& wanted) {
  std::string asked = wanted.command;
  for (const char* variable : {"GNEISS_CXX", "CXX"}) {
    if (asked.empty() && environment(variable) != nullptr) asked = environment(variable);
  }
  std::vector<std::string> names = {asked};
  if (asked.empty()) names.assign(std::begin(kCompilers), std::end(kCompilers));
  for (const std::string& name : names) {
    std::vector<std::string> words = words_of(name);
    const fs::path file = words.empty() ? fs::path() : find_program(words[0]);
    if (file.empty()) continue;
    words[0] = file.string();
    return words;
  }
  throw Error(ErrorCode::kUnsupported, fmt::format("there is no C++ compiler (looked for {})", fmt::join(names, ", ")),
              {}, "install g++, or name a compiler in the environment variable GNEISS_CXX");
}

std::chrono::seconds limit_of(const HostCompiler& compiler) {
  if (compiler.time_limit.count() > 0) return compiler.time_limit;
  const char* text = environment("GNEISS_JIT_SECONDS");
  const long seconds = text == nullptr ? 0 : std::strtol(text, nullptr, 10);
  return seconds > 0 ? std::chrono::seconds(seconds) : kUsualLimit;
}

/// Everything that the result depends on.
std::string key_of(const CppText& text, const std::vector<std::string>& compiler) {
  std::string key;
  std::error_code ignored;
  const auto stamp = fs::last_write_time(compiler[0], ignored).time_since_epoch().count();
  for (const std::string& word : compiler) key += "// " + word + "\n";
  key += fmt::format("// {} {}\n// {}\n", fs::file_size(compiler[0], ignored), stamp, text.options);
  for (const auto& [name, content] : text.headers) key += fmt::format("// {}\n{}\n", name, content);
  return key + text.text;
}

void compile(const CppText& text, const std::vector<std::string>& compiler, std::chrono::seconds limit,
             const fs::path& folder, const fs::path& library) {
  write_file(folder / text.name, text.text);
  for (const auto& [name, content] : text.headers) {
    make_folder((folder / name).parent_path());
    write_file(folder / name, content);
  }
  std::vector<std::string> words = compiler;
  for (std::string& word : words_of(text.options)) words.push_back(std::move(word));
  for (const char* word : {"-std=c++20", "-shared", "-fPIC", "-I.", "-o"}) words.emplace_back(word);
  words.push_back(library.filename().string());
  if (text.name.ends_with(".cu")) words.insert(words.end(), {"-x", "c++"});
  words.push_back(text.name);
  const Finished finished = run_command(words, folder, limit);
  const std::string command = fmt::format("{}", fmt::join(compiler, " "));
  if (!finished.started)
    throw Error(ErrorCode::kUnsupported, fmt::format("the compiler '{}' cannot be run", command), {},
                "name another one in GNEISS_CXX");
  if (finished.timed_out) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("the compiler '{}' took longer than {} s and was stopped", command, limit.count()), {},
                "raise the limit with GNEISS_JIT_SECONDS");
  }
  if (finished.code != 0)
    throw Error(ErrorCode::kUnsupported, fmt::format("the compiler '{}' failed with status {}:\n{}", command,
                                                     finished.code, explain(text, finished.output)));
}

}  // namespace

LoadedLibrary::LoadedLibrary(const fs::path& file) : handle_(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr)
    throw Error(ErrorCode::kInternal, fmt::format("cannot load a compiled library: {}", dlerror()), file.string());
}

LoadedLibrary::~LoadedLibrary() {
  if (handle_ != nullptr) dlclose(handle_);
}

void* LoadedLibrary::find(const std::string& name) const {
  void* const found = dlsym(handle_, name.c_str());
  GNEISS_ASSERT(found != nullptr, "a compiled library has no function '{}'", name);
  return found;
}

Compiled compile_text(const CppText& text, const HostCompiler& host) {
  const auto start = std::chrono::steady_clock::now();
  const std::vector<std::string> compiler = find_compiler(host);
  Compiled compiled;
  const KeptFile kept(cache_of(host.cache), key_of(text, compiler), ".so");
  // A library that does not load is made again.
  if (kept.is_there()) {
    try {
      compiled.library = LoadedLibrary(kept.path());
      compiled.was_cached = true;
    } catch (const Error&) {
      compiled.was_cached = false;
    }
  }
  if (!compiled.was_cached) {
    kept.make(
        [&](const fs::path& folder, const fs::path& made) { compile(text, compiler, limit_of(host), folder, made); });
    compiled.library = LoadedLibrary(kept.path());
  }
  compiled.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return compiled;
}

}  // namespace gneiss::runtime
