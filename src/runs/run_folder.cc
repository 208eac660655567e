// Everything is written into a staging folder beside the place. Committing syncs and renames it; the destructor removes
// what was not committed and has no checkpoint.
#include "runs/run_folder.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/remove.h"

namespace gneiss::runs {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMetrics = "metrics.jsonl";

[[noreturn]] void fail_disk(const fs::path& path, const std::string& what, const std::string& reason) {
  throw Error(ErrorCode::kDisk, fmt::format("cannot {}: {}", what, reason), path.string(),
              "choose another --out, or free space");
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

/// A name beside `path` that holds no checkpoint: of a killed process, whose number this one may have, there may be
/// one.
static fs::path staging_for(const fs::path& path) {
  fs::path staging = path;
  staging += fmt::format(".partial-{}", getpid());
  const fs::path first = staging;
  for (int i = 2; fs::exists(staging / kCheckpointName); ++i) staging = first.string() + fmt::format("-{}", i);
  return staging;
}

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
  staging_ = staging_for(path_);
  try {
    begin();
  } catch (...) {
    discard();
    throw;
  }
}

RunFolder::RunFolder(const Unfinished& unfinished, bool force)
    : path_(unfinished.run), force_(true), has_checkpoint_(true) {
  const MetricsEnd& end = unfinished.checkpoint.at.metrics;
  if (unfinished.folder != path_) {
    std::error_code ignored;
    const bool taken = fs::exists(fs::symlink_status(path_, ignored));
    const auto is_other = [&] {
      return is_complete(path_) || !is_of_training(path_, unfinished.checkpoint.at.training);
    };
    if (taken && (!is_run_folder(path_) || (!force && is_other()))) {
      throw Error(ErrorCode::kUsage, "something else stands where the run folder is to be", path_.string(),
                  is_run_folder(path_) ? "move it away, or replace it with --force" : "move it away");
    }
    staging_ = unfinished.folder;
    metrics_.emplace(staging_ / kMetrics, end);
    remove_half_written(staging_);
    return;
  }
  staging_ = staging_for(path_);
  try {
    std::string lines = read_file(path_ / kMetrics);
    lines.resize(std::min<std::size_t>(lines.size(), end.bytes));
    make_folder(staging_);
    write_file(staging_ / kMetrics, lines);
    metrics_.emplace(staging_ / kMetrics, end);
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
  metrics_.emplace(staging_ / kMetrics);
}

RunFolder::~RunFolder() {
  std::error_code ignored;
  if (!committed_ && !fs::exists(staging_ / kCheckpointName, ignored)) discard();
}

void RunFolder::discard() noexcept {
  metrics_.reset();
  remove_quietly(staging_);
  std::error_code ignored;  // a parent stays if something else lies in it by now
  for (const fs::path& parent : made_parents_) fs::remove(parent, ignored);
}

void RunFolder::add_epoch(std::int64_t run, const epochs::EpochRecord& epoch) noexcept { metrics_->add(run, epoch); }

void RunFolder::write(std::string_view name, std::string_view content) { write_file(staging_ / name, content); }

void RunFolder::checkpoint(Checkpoint at, const CheckpointArrays<std::span<const float>>& arrays) {
  at.metrics = metrics_->sync();
  write_checkpoint(staging_ / kCheckpointName, at, arrays);
  has_checkpoint_ = true;
}

void RunFolder::commit(bool complete) {
  metrics_->close();
  put_in_place();
  committed_ = true;
  std::error_code ignored;  // a checkpoint that stays does no harm: the report says that the training is complete
  if (complete) fs::remove(path_ / kCheckpointName, ignored);
}

void RunFolder::put_in_place() {
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
  return fs::is_regular_file(path / "config.yaml", ignored) && fs::is_regular_file(path / kModelFile, ignored);
}

}  // namespace gneiss::runs
