// Mini-batches prepared by CPU and device together: plans and simulated epochs without data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gneiss/config.h"

namespace gneiss {

/// A machine's stage times for one mini-batch, milliseconds.
struct MachineProfile {
  std::string name;
  std::int64_t batches = 0;  ///< of an epoch where it was measured
  int workers = 1;
  double cpu_batch_ms = 0;     ///< between two batches of the CPU, all workers at work
  double device_batch_ms = 0;  ///< sampling and reading by the device
  double dma_ms = 0;           ///< one batch over the link
  double train_ms = 0;         ///< one step
  double link_share = 1;       ///< of the link, while the device prepares a batch; 1: nothing else can use it
  double device_share = 1;     ///< of the device, likewise; 1: it does not train meanwhile
  std::int64_t dma_bytes = 0;  ///< over the link for a batch of the CPU
  std::int64_t uva_bytes = 0;  ///< and of the device
  double variation = 0;        ///< standard deviation of a stage's time over its mean
};
/// The profiles that come with the program.
std::vector<MachineProfile> machine_profiles();

/// A machine by its rates, for any data: its stage times follow from the batches (train --device sim:NAME).
struct SimulatedMachine {
  std::string name;
  std::string summary;
};
std::vector<SimulatedMachine> simulated_machines();

struct ScheduleRequest {
  std::string profile;  ///< a name or a file
  Worded<BatchSchedule> schedule = BatchSchedule::best();
  std::int64_t batches = 0;          ///< of the epoch; 0: the profile's
  std::int64_t device_batches = 10;  ///< that may wait in the device's memory
  std::uint64_t seed = 0;            ///< of coinflip
  std::string trace;                 ///< file for Perfetto; empty: none is written
};

struct ScheduleResult {
  std::string text;  ///< the plan, the epoch, and how busy CPU, link and device are
  std::string json;
  double epoch_seconds = 0;
  double bound_seconds = 0;  ///< what no schedule can beat
};

/// Plans an epoch and simulates it; no batch is made. Errors: kUsage for an unknown profile or schedule, kBadData for a
/// faulty profile file, kDisk.
ScheduleResult simulate_schedule(const ScheduleRequest& request);

struct ProfileRequest {
  int workers = 0;         ///< threads that prepare batches on the CPU; 0: half of the threads
  bool contended = false;  ///< go by the times that stages take beside each other, in an epoch of both routes
  std::string out;         ///< file of the profile; empty: none is written
};

struct ProfileResult {
  std::string text;  ///< means of the stages and how certain they are
  std::string json;  ///< the profile, as the file has it
};

/// Measures the stages of a training's mini-batches on this machine. Errors: as train_model; kUsage without batch.size.
ProfileResult profile_training(const RunConfig& config, const ProfileRequest& request);

}  // namespace gneiss
