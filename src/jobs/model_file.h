// model.safetensors of a run folder: weights under PyG's keys, and in the metadata what the model was made of, so that
// predict and embed can make it again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "jobs/workload.h"
#include "runs/safetensors.h"
#include "settings/config.h"
#include "train/session.h"

namespace gneiss::jobs {

/// The model's name for people.
std::string model_title(const settings::Config& config);

/// The weights that the session holds, of `run` after `epoch`. `dataset`: the one of that run.
runs::SafeTensors model_file(const settings::Config& config, const Workload& workload, const data::Dataset& dataset,
                             const train::Session<float>& session, std::int64_t run, std::int64_t epoch);

/// What is read back. Errors: kBadData naming the file, for what is not there or is not what it should be.
class ModelFile {
 public:
  explicit ModelFile(const std::filesystem::path& run);

  const std::string& split() const { return text("gneiss.split"); }
  const std::string& data_seed() const { return text("gneiss.data_seed"); }
  std::int64_t features() const { return number("gneiss.features"); }
  std::int64_t classes() const { return number("gneiss.classes"); }
  std::int64_t run() const { return number("gneiss.run"); }
  /// None in files that do not know them.
  std::vector<std::string> class_names() const;
  /// Gives the weights to a session of the same model.
  void load_into(train::Session<float>* session) const;
  const std::filesystem::path& path() const { return path_; }

 private:
  const std::string& text(const std::string& key) const;
  std::int64_t number(const std::string& key) const;

  std::filesystem::path path_;
  runs::SafeTensors model_;
};

}  // namespace gneiss::jobs
