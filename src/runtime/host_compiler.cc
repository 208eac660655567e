// The cache's key is a hash of the text, the compiler's command and version. A library is compiled under a temporary
// name and renamed, so that processes may race; the compiler has a time limit.
#include "runtime/host_compiler.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/process.h"

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

fs::path cache_of(const HostCompiler& compiler) {
  if (!compiler.cache.empty()) return compiler.cache;
  const fs::path folder = cache_folder();
  if (folder.empty())
    throw Error(ErrorCode::kDisk, "there is no folder for compiled loops: neither XDG_CACHE_HOME nor HOME is set", {},
                "set XDG_CACHE_HOME to a folder");
  return folder / "jit";
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

/// A folder that goes when this does.
class WorkFolder {
 public:
  explicit WorkFolder(const fs::path& parent) {
    static std::atomic<int> count{0};
    path_ = parent / fmt::format("tmp-{}-{}", getpid(), count++);
    make_folder(path_);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  ~WorkFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// The line of the text that the first error of the compiler names, or 0.
std::size_t line_of_error(const CppText& text, const std::string& output) {
  for (const std::string& line : lines_of(output)) {
    const std::size_t name = line.find(text.name + ":");
    if (name == std::string::npos || line.find("error") == std::string::npos) continue;
    return static_cast<std::size_t>(std::strtoul(line.c_str() + name + text.name.size() + 1, nullptr, 10));
  }
  return 0;
}

/// What the compiler says, the line that it is about, and the line of the model above that.
std::string explain(const CppText& text, const std::string& output) {
  std::string message = output;
  while (!message.empty() && message.back() == '\n') message.pop_back();
  const std::vector<std::string> lines = lines_of(text.text);
  const std::size_t wrong = line_of_error(text, output);
  if (wrong == 0 || wrong > lines.size()) return message;
  message += fmt::format("\n{}:{}: {}", text.name, wrong, lines[wrong - 1]);
  const auto names_model = [](const std::string& line) {
    return line.find("// ") == line.find_first_not_of(' ') && line.find(".gneiss:") != std::string::npos;
  };
  // The comment above it, or the first one below where it is what goes before the model's lines.
  const auto at = lines.begin() + static_cast<std::ptrdiff_t>(wrong);
  const auto above = std::find_if(std::make_reverse_iterator(at), lines.rend(), names_model);
  const auto below = std::find_if(at, lines.end(), names_model);
  if (above != lines.rend()) return message + "\nmade from " + above->substr(above->find("// ") + 3);
  return below == lines.end() ? message : message + "\nmade from " + below->substr(below->find("// ") + 3);
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

void move_into_place(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error)
    throw Error(ErrorCode::kDisk, fmt::format("cannot write: {}", error.message()), to.string(),
                "set XDG_CACHE_HOME to a folder with room");
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
  const fs::path cache = cache_of(host);
  const std::string key = key_of(text, compiler);
  const std::string name = fmt::format("{:016x}", hash_text(key));
  const fs::path library = cache / (name + ".so");
  const fs::path key_file = cache / (name + ".cc");
  Compiled compiled;
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  // The key was written first: what stands beside it was made from it. A library that does not load is made again.
  if (fs::exists(library) && fs::exists(key_file) && read_file(key_file) == key) {
    try {
      compiled.library = LoadedLibrary(library);
      compiled.was_cached = true;
    } catch (const Error&) {
      compiled.was_cached = false;
    }
  }
  if (!compiled.was_cached) {
    make_folder(cache);
    const WorkFolder folder(cache);
    const fs::path made = folder.path() / "library.so";
    compile(text, compiler, limit_of(host), folder.path(), made);
    write_file(folder.path() / "key", key);
    move_into_place(folder.path() / "key", key_file);
    move_into_place(made, library);
    compiled.library = LoadedLibrary(library);
  }
  compiled.seconds = seconds();
  return compiled;
}

}  // namespace gneiss::runtime
