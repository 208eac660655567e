// What stands behind the handles of the public API.
#pragma once

#include "data/dataset.h"
#include "gneiss/config.h"
#include "gneiss/dataset.h"
#include "settings/config.h"

namespace gneiss {

struct RunConfig::Impl {
  settings::Config config;
};

struct Dataset::Impl {
  data::Dataset dataset;
};

}  // namespace gneiss
