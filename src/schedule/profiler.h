// Measures the stages of batches: what a plan goes by where no profile was given.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "schedule/device.h"
#include "schedule/profile.h"
#include "schedule/run.h"

namespace gneiss::schedule {

struct ProfilerOptions {
  int workers = 1;
  std::int64_t least_rounds = 5;  ///< a round: a batch of each worker, and one of Route 1
  std::int64_t most_rounds = 50;
  bool contended = false;  ///< measure the stages beside each other too, and profile by that
  double interval = 0.02;  ///< enough when each mean's 95 % interval is no wider than this part of it
};

/// One stage, alone on its resource.
struct MeasuredStage {
  double mean_ms = 0;
  double deviation_ms = 0;
  double interval = 0;  ///< half width of the 95 % interval over the mean
  std::int64_t count = 0;
};

/// By Action: CPU batch, copy, Route 1 batch, step.
using MeasuredStages = std::array<MeasuredStage, 4>;

struct Measured {
  Profile profile;
  MeasuredStages stages;
  bool converged = false;      ///< each interval is narrow enough
  MeasuredStages contended{};  ///< while the other stages ran too, if that was asked for; a count of 0: it did not run
};

/// Runs batches 0, 1, … through both routes, a stage at a time, until the means are known. The first round warms up and
/// is not counted. `batches`: how many there are; they are taken in turn. Errors: the work's.
Measured measure(Work& work, std::int64_t batches, const ProfilerOptions& options);

/// Times of the stages of an epoch that ran on threads, beside each other.
MeasuredStages contended_stages(const Record& record, const Plan& plan);
/// Has the profile go by them where a stage ran often enough.
void take_contended(const MeasuredStages& contended, Measured* measured);

/// "CPU batch 12.31 ms ± 1.2 % (34), …": lines for people.
std::string describe(const Measured& measured);

}  // namespace gneiss::schedule
