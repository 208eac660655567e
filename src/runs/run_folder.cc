// Everything is written into a staging folder beside the place. Committing syncs and renames it; the destructor removes
// what was not committed.
#include "runs/run_folder.h"

#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/remove.h"

namespace gneiss::runs {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_disk(const fs::path& path, const std::string& what, const std::string& reason) {
  throw Error(ErrorCode::kDisk, fmt::format("cannot {}: {}", what, reason), path.string(),
              "choose another --out, or free space");
}

/// `,"name":value`, null for NaN.
void print_number(std::FILE* file, const char* name, double value) {
  if (std::isfinite(value)) {
    std::fprintf(file, ",\"%s\":%.17g", name, value);
  } else {
    std::fprintf(file, ",\"%s\":null", name);
  }
}

std::string file_name_part(std::string_view text) {
  std::string name;
  for (const char c : text.substr(0, 60)) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    name += plain ? c : '_';
  }
  return name.empty() || name[0] == '.' ? "run" + name : name;
}

}  // namespace

RunFolder::RunFolder(fs::path path, bool force) : path_(fs::absolute(path).lexically_normal()), force_(force) {
  if (path_.filename().empty()) path_ = path_.parent_path();
  std::error_code error;
  if (fs::exists(fs::symlink_status(path_, error))) {
    const bool replaceable = is_run_folder(path_);
    if (!force || !replaceable) {
      throw Error(ErrorCode::kUsage,
                  replaceable ? "there is a run folder already" : "there is something else than a run folder already",
                  path_.string(),
                  replaceable ? "choose another --out, or replace it with --force" : "choose another --out");
    }
  }
  staging_ = path_;
  staging_ += fmt::format(".partial-{}", getpid());
  try {
    begin();
  } catch (...) {
    discard();
    throw;
  }
}

void RunFolder::begin() {
  std::error_code error;
  for (fs::path parent = path_.parent_path(); !fs::exists(parent, error); parent = parent.parent_path())
    made_parents_.push_back(parent);
  make_folder(path_.parent_path());
  fs::remove_all(staging_, error);
  make_folder(staging_);
  metrics_ = std::fopen((staging_ / "metrics.jsonl").c_str(), "w");
  if (metrics_ == nullptr) fail_disk(path_, "write metrics.jsonl", std::strerror(errno));
}

RunFolder::~RunFolder() {
  if (!committed_) discard();
}

void RunFolder::discard() noexcept {
  if (metrics_ != nullptr) std::fclose(std::exchange(metrics_, nullptr));
  remove_quietly(staging_);
  std::error_code ignored;  // a parent stays if something else lies in it by now
  for (const fs::path& parent : made_parents_) fs::remove(parent, ignored);
}

void RunFolder::add_epoch(std::int64_t run, const epochs::EpochRecord& epoch) noexcept {
  std::fprintf(metrics_, "{\"run\":%lld,\"epoch\":%lld", static_cast<long long>(run),
               static_cast<long long>(epoch.epoch));
  print_number(metrics_, "loss", epoch.loss);
  print_number(metrics_, "lr", epoch.lr);
  print_number(metrics_, "seconds", epoch.seconds);
  if (epoch.evaluated) {
    print_number(metrics_, "eval_seconds", epoch.eval_seconds);
    print_number(metrics_, "val_loss", epoch.val_loss);
    print_number(metrics_, "train", epoch.scores.train);
    print_number(metrics_, "val", epoch.scores.val);
    print_number(metrics_, "test", epoch.scores.test);
  }
  std::fputs("}\n", metrics_);
}

void RunFolder::write(std::string_view name, std::string_view content) { write_file(staging_ / name, content); }

void RunFolder::commit() {
  const bool failed = std::ferror(metrics_) != 0 || std::fflush(metrics_) != 0 || fsync(fileno(metrics_)) != 0;
  const std::string reason = std::strerror(errno);
  std::fclose(std::exchange(metrics_, nullptr));
  if (failed) fail_disk(path_, "write metrics.jsonl", reason);
  std::error_code error;
  fs::path old;
  if (force_ && fs::exists(path_, error)) {
    old = path_;
    old += fmt::format(".old-{}", getpid());
    fs::rename(path_, old, error);
    if (error) fail_disk(path_, "replace the run folder", error.message());
  }
  fs::rename(staging_, path_, error);
  if (error) {
    const std::string why = error.message();
    if (!old.empty()) fs::rename(old, path_, error);
    fail_disk(path_, "put the run folder in its place", why);
  }
  committed_ = true;
  if (!old.empty()) remove_quietly(old);
}

fs::path default_run_folder(std::string_view dataset, std::string_view model) {
  const std::string stem = file_name_part(dataset) + "_" + file_name_part(model);
  fs::path path = fs::path("runs") / stem;
  for (int i = 2; fs::exists(path); ++i) path = fs::path("runs") / fmt::format("{}_{}", stem, i);
  return path;
}

bool is_run_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path / "config.yaml", ignored) && fs::is_regular_file(path / "model.safetensors", ignored);
}

}  // namespace gneiss::runs
