// Which setting is to blame when a model does not take what it is given.
#pragma once

#include "settings/config.h"

namespace gneiss::jobs {

/// Compares the arguments that the settings have for their model with those that it declares. Errors: kUsage at the
/// place that gave the first one that it does not take: a flag, or a line of the run file. Does nothing if all fit.
void check_arguments(const settings::Config& config);

}  // namespace gneiss::jobs
