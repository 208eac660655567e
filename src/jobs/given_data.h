// A data set that the caller of a job holds in memory.
#pragma once

#include <memory>

#include "data/dataset.h"

namespace gneiss::jobs {

struct GivenData {
  std::shared_ptr<const data::Dataset> dataset;  ///< null: the setting data.name says which
  bool as_loaded = false;  ///< it is what loading by the settings gives; else they are applied to it
};

}  // namespace gneiss::jobs
