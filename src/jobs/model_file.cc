// The only place that knows the keys of the metadata.
#include "jobs/model_file.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "base/error.h"
#include "base/json.h"
#include "base/version.h"
#include "jobs/options.h"
#include "jobs/weights.h"
#include "runs/run_folder.h"

namespace gneiss::jobs {

std::string model_title(const settings::Config& config) {
  const std::string& name = config.text("model.name");
  return name.ends_with(".gneiss") ? std::filesystem::path(name).stem().string() : name;
}

runs::SafeTensors model_file(const settings::Config& config, const Workload& workload, const data::Dataset& dataset,
                             const train::Session<float>& session, std::int64_t run, std::int64_t epoch) {
  runs::SafeTensors made;
  made.tensors = weight_tensors(session, epoch);
  Json args = Json::object();
  for (const auto& [name, value] : config.model_args()) {
    std::visit([&, &key = name](const auto& v) { args[key] = v; }, value);
  }
  const data::LoadOptions load = load_options(config, run, dataset.num_splits);
  made.metadata = {{"format", "pt"},
                   {"gneiss.version", version_text()},
                   {"gneiss.model", model_title(config)},
                   {"gneiss.model_text", workload.source().text},
                   {"gneiss.model_args", args.dump()},
                   {"gneiss.dataset", dataset.name},
                   {"gneiss.features", std::to_string(dataset.features.cols)},
                   {"gneiss.classes", std::to_string(dataset.labels.num_classes)},
                   {"gneiss.class_names", Json(dataset.class_names).dump()},
                   {"gneiss.split", load.split},
                   {"gneiss.data_seed", std::to_string(load.seed)},
                   {"gneiss.run", std::to_string(run)}};
  return made;
}

ModelFile::ModelFile(const std::filesystem::path& run)
    : path_(run / runs::kModelFile), model_(runs::read_safetensors(path_)) {}

const std::string& ModelFile::text(const std::string& key) const {
  const auto found = model_.metadata.find(key);
  if (found == model_.metadata.end()) {
    throw Error(ErrorCode::kBadData, fmt::format("the weights have no '{}' in their metadata", key), path_.string(),
                "it was not written by gneiss train");
  }
  return found->second;
}

std::int64_t ModelFile::number(const std::string& key) const {
  const std::string& digits = text(key);
  long long value = 0;
  if (!settings::parse_integer(digits, &value) || value < 0 || value > (1LL << 31)) {
    throw Error(ErrorCode::kBadData,
                fmt::format("metadata '{}': expected a number, got '{}'", key, digits.substr(0, 40)), path_.string());
  }
  return value;
}

std::vector<std::string> ModelFile::class_names() const {
  const auto found = model_.metadata.find("gneiss.class_names");
  if (found == model_.metadata.end()) return {};
  const Json names = Json::parse(found->second, path_.string() + ": gneiss.class_names");
  std::vector<std::string> texts;
  if (!names.is_list()) return {};
  for (const Json& name : names.elements()) texts.push_back(name.is_text() ? name.text() : name.dump());
  return texts;
}

void ModelFile::load_into(train::Session<float>* session) const {
  load_weights(model_, {path_.string(), "the folder's model.gneiss and model.safetensors do not belong together"},
               session);
}

}  // namespace gneiss::jobs
