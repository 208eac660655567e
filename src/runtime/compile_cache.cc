// A file is made under a temporary name and renamed, so that processes may race. The key is in place first: what stands
// beside it was made from it.
#include "runtime/compile_cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iterator>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"

namespace gneiss::runtime {
namespace {

namespace fs = std::filesystem;

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
    std::size_t name = line.find(text.name + ":");
    if (name == std::string::npos) name = line.find(text.name + "(");  // NVIDIA's way
    if (name == std::string::npos || line.find("error") == std::string::npos) continue;
    return static_cast<std::size_t>(std::strtoul(line.c_str() + name + text.name.size() + 1, nullptr, 10));
  }
  return 0;
}

void move_into_place(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error)
    throw Error(ErrorCode::kDisk, fmt::format("cannot write: {}", error.message()), to.string(),
                "set XDG_CACHE_HOME to a folder with room");
}

}  // namespace

fs::path cache_of(const fs::path& asked) {
  if (!asked.empty()) return asked;
  const fs::path folder = cache_folder();
  if (folder.empty())
    throw Error(ErrorCode::kDisk, "there is no folder for compiled loops: neither XDG_CACHE_HOME nor HOME is set", {},
                "set XDG_CACHE_HOME to a folder");
  return folder / "jit";
}

KeptFile::KeptFile(fs::path cache, std::string key, const std::string& ending)
    : cache_(std::move(cache)), key_(std::move(key)) {
  const std::string name = fmt::format("{:016x}", hash_text(key_));
  path_ = cache_ / (name + ending);
  key_path_ = cache_ / (name + ".cc");
}

bool KeptFile::is_there() const { return fs::exists(path_) && fs::exists(key_path_) && read_file(key_path_) == key_; }

void KeptFile::make(const std::function<void(const fs::path& folder, const fs::path& made)>& compile) const {
  make_folder(cache_);
  const WorkFolder folder(cache_);
  const fs::path made = folder.path() / ("made" + path_.extension().string());
  compile(folder.path(), made);
  write_file(folder.path() / "key", key_);
  move_into_place(folder.path() / "key", key_path_);
  move_into_place(made, path_);
}

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

}  // namespace gneiss::runtime
