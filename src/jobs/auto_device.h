// What --device auto decides by: modelled seconds of the run on a card and on the CPU.
#pragma once

#include <cstdint>
#include <string>

#include "data/dataset.h"
#include "runtime/device.h"
#include "train/session.h"

namespace gneiss::jobs {

/// How often the phases of a run are gone through.
struct RunLength {
  std::int64_t epochs = 0;
  std::int64_t evaluations = 0;
};

struct AutoChoice {
  bool device = false;
  std::string note;  ///< why, with the numbers
};

/// Weighs the training that `host` describes on the CPU against the same on `device`, whose start and copies count. The
/// device is taken where the plan fits into its free memory and the run is modelled to be shorter, or the CPU has too
/// little memory. Plans are made for that, and nothing else is taken. Errors: those of make_blueprint, but for a plan
/// that one of the two cannot run.
AutoChoice weigh_device(runtime::Device* device, const data::Dataset& dataset, const train::SessionOptions& host,
                        const RunLength& length);

}  // namespace gneiss::jobs
