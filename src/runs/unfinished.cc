// A killed training leaves its .partial- folder, an interrupted one its checkpoint in the run folder. Where one was
// continued and killed again there are both.
#include "runs/unfinished.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "runs/metrics_file.h"
#include "runs/run_folder.h"

namespace gneiss::runs {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPartial = ".partial-";

bool has_checkpoint(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / kCheckpointName, ignored);
}

/// The .partial- folders of a run, in the order of their names.
std::vector<fs::path> partials(const fs::path& run) {
  std::vector<fs::path> found;
  std::error_code ignored;
  const std::string start = run.filename().string() + std::string(kPartial);
  for (const auto& entry : fs::directory_iterator(run.parent_path(), ignored)) {
    if (entry.path().filename().string().starts_with(start)) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

[[noreturn]] void fail_without_checkpoint(const fs::path& run, bool is_there) {
  throw Error(ErrorCode::kBadData,
              is_there ? "the training has no checkpoint to go on from" : "there is no training here to go on with",
              run.string(),
              is_there ? "it was stopped before its first one: train anew"
                       : "give the folder that gneiss train was to write, or a .partial- folder that it left");
}

/// The furthest of some folders' checkpoints. Those that cannot be read are left out, unless none can.
Unfinished furthest(const fs::path& run, const std::vector<fs::path>& folders) {
  std::optional<Unfinished> best;
  std::optional<Error> failure;
  for (const fs::path& folder : folders) {
    try {
      LoadedCheckpoint loaded = read_checkpoint(folder / kCheckpointName);
      if (best && loaded.at.training != best->checkpoint.at.training) {
        throw Error(ErrorCode::kUsage,
                    fmt::format("two trainings were to write this folder: checkpoints lie in {} and in {}",
                                best->folder.string(), folder.string()),
                    run.string(), "give the .partial- folder of the one to go on with, or move the other away");
      }
      if (!best || is_further(loaded.at, best->checkpoint.at)) best = Unfinished{run, folder, std::move(loaded)};
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kBadData) throw;
      if (!failure) failure = error;
    }
  }
  if (!best) throw *failure;
  return *std::move(best);
}

}  // namespace

bool is_complete(const fs::path& run) {
  if (!is_run_folder(run)) return false;
  const fs::path report = run / "report.json";
  const Json json = Json::parse(read_file(report), report.string());
  const Json* interrupted = json.find("interrupted");
  return interrupted == nullptr || !interrupted->boolean();
}

bool is_of_training(const fs::path& run, std::uint64_t training) {
  try {
    return has_checkpoint(run) && read_checkpoint(run / kCheckpointName).at.training == training;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kBadData) throw;
    return false;  // a damaged one could be of any
  }
}

std::vector<fs::path> unfinished_beside(const fs::path& run) {
  std::vector<fs::path> found = partials(run.filename().empty() ? run.parent_path() : run);
  std::erase_if(found, [](const fs::path& folder) {
    return !has_checkpoint(folder) || is_being_written(folder / "metrics.jsonl");
  });
  return found;
}

std::optional<Unfinished> find_unfinished(fs::path path) {
  path = fs::absolute(path).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();
  const std::string name = path.filename().string();
  const std::size_t partial = name.rfind(kPartial);
  if (partial != std::string::npos && !is_run_folder(path)) {
    if (!has_checkpoint(path)) fail_without_checkpoint(path, fs::exists(path));
    return furthest(path.parent_path() / name.substr(0, partial), {path});
  }
  if (is_complete(path)) return std::nullopt;
  std::vector<fs::path> folders = partials(path);
  for (const fs::path& folder : folders) {
    if (!is_being_written(folder / "metrics.jsonl")) continue;
    throw Error(ErrorCode::kUsage, "this training is still running in another process", folder.string(),
                "wait for its end, or end it");
  }
  const bool is_there = !folders.empty() || is_run_folder(path);
  folders.push_back(path);
  std::erase_if(folders, [](const fs::path& folder) { return !has_checkpoint(folder); });
  if (folders.empty()) fail_without_checkpoint(path, is_there);
  return furthest(path, folders);
}

}  // namespace gneiss::runs
