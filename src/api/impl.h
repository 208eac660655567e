// What stands behind the handles of the public API.
#pragma once

#include <memory>
#include <vector>

#include "data/dataset.h"
#include "gneiss/config.h"
#include "gneiss/dataset.h"
#include "gneiss/train.h"
#include "jobs/given_data.h"
#include "runs/safetensors.h"
#include "settings/config.h"

namespace gneiss {

struct RunConfig::Impl {
  settings::Config config;
};

struct Dataset::Impl {
  std::shared_ptr<const data::Dataset> dataset;  ///< trainings share its arrays
  bool of_arrays = false;
  settings::Config loaded_by;  ///< the settings that it was loaded by; of arrays there are none
};

/// What a job on a data set of the caller takes.
struct OnDataset {
  settings::Config config;
  jobs::GivenData given;
};
/// Errors: kUsage if the settings name a data set, too.
OnDataset on_dataset(const Dataset& dataset, const settings::Config& config);

/// Weights as the public API has them, and back. `where`: the file they are from, for messages. Errors: kBadData for
/// elements that are no f32, f64 or i64.
std::vector<NamedArray> named_arrays(const std::vector<runs::Tensor>& tensors, const std::string& where = {});
std::vector<runs::Tensor> tensors_of(const std::vector<NamedArray>& arrays);

}  // namespace gneiss
