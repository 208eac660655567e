// resume: finds the checkpoint, refuses settings that would change the result, and lets the trainer go on.
#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "comm/launch.h"
#include "jobs/go_on.h"
#include "jobs/job.h"

namespace gneiss::jobs {
namespace {

/// Where the data lie now (they are held against a hash), and what no result depends on.
constexpr std::string_view kMayChange[] = {"data.name", "train.threads", "out.checkpoint_every", "out.force"};

[[noreturn]] void refuse(const std::string& option, const std::string& where, const std::filesystem::path& run) {
  throw Error(ErrorCode::kUsage, fmt::format("a resumed training keeps its settings, {} cannot be given", option),
              where,
              fmt::format("leave it out; with other settings train anew: gneiss train {} {} …",
                          (run / "config.yaml").string(), option));
}

void check_overrides(const settings::Config& overrides, const std::filesystem::path& run) {
  for (const settings::Setting& setting : settings::settings()) {
    const bool may = std::find(std::begin(kMayChange), std::end(kMayChange), setting.key) != std::end(kMayChange);
    if (!may && overrides.is_set(setting.key)) refuse("--" + setting.flag, overrides.where(setting.key), run);
  }
  if (!overrides.model_args().empty()) refuse("--model-arg", "--model-arg", run);
}

/// A text that lies no longer where it was, as one that was given in memory, is taken from the training's folder.
void find_model(const runs::Unfinished& from, settings::Config* config) {
  const std::filesystem::path model = config->text("model.name");
  const std::filesystem::path copy = from.folder / "model.gneiss";
  if (model.extension() != ".gneiss" || std::filesystem::exists(model) || !std::filesystem::exists(copy)) return;
  config->set("model.name", copy.string(), config->origin("model.name"), config->where("model.name"));
}

}  // namespace

std::optional<runs::Report> resume(const std::filesystem::path& run, const settings::Config& overrides,
                                   const JobWatcher& watcher, GivenData given) {
  check_overrides(overrides, run);
  std::optional<runs::Unfinished> from = runs::find_unfinished(run);
  if (!from) {
    for (const std::filesystem::path& other :
         runs::unfinished_beside(std::filesystem::absolute(run).lexically_normal()))
      if (watcher.on_warning && comm::find_launch().rank == 0) {
        watcher.on_warning(
            fmt::format("an unfinished training lies beside this one, which is complete; gneiss resume {} "
                        "goes on with it",
                        other.string()));
      }
    return std::nullopt;
  }
  settings::Config config;
  config.parse_yaml(from->checkpoint.at.settings, (from->folder / runs::kCheckpointName).string());
  config.merge(overrides);
  find_model(*from, &config);
  return go_on(std::move(config), watcher, std::move(given), *std::move(from));
}

}  // namespace gneiss::jobs
