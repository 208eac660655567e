// What stands behind the handles of the public API.
#pragma once

#include <memory>

#include "data/dataset.h"
#include "gneiss/config.h"
#include "gneiss/dataset.h"
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

}  // namespace gneiss
