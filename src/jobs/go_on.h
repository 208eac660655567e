// What resume asks of the trainer.
#pragma once

#include "jobs/job.h"
#include "runs/unfinished.h"

namespace gneiss::jobs {

/// As train, from a checkpoint on; `config` has the settings that the checkpoint holds, but for those that no result
/// depends on.
runs::Report go_on(settings::Config config, const JobWatcher& watcher, GivenData given, runs::Unfinished from);

}  // namespace gneiss::jobs
