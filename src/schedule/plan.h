// What a training with two routes is told to do: who prepares how many batches, and how many may wait where.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/profile.h"

namespace gneiss::schedule {

enum class Mode : std::uint8_t {
  kPaper,     ///< Dual-Buffer Scheduling as printed, with the misprints put right
  kBest,      ///< the best found by simulating whole epochs
  kCpu,       ///< Route 0 alone, as a pipeline
  kDevice,    ///< Route 1 alone
  kCoinFlip,  ///< a route by chance for each batch, nothing prepared on the device ahead of its step
};

/// What was asked for: a mode and, for kCoinFlip, the share of Route 0.
struct Choice {
  Mode mode = Mode::kBest;
  double ratio = 0;
};

/// "paper", "best", "cpu", "device", "coinflip:0.3". Errors: kUsage naming `where`.
Choice parse_choice(std::string_view text, const std::string& where);
std::string_view mode_name(Mode mode);

struct Plan {
  Mode mode = Mode::kBest;
  std::int64_t batches = 0;
  std::int64_t cpu_batches = 0;      ///< of Route 0; the rest are of Route 1
  double x = 0;                      ///< batches of Route 1 for each of Route 0; infinite without Route 0
  std::int64_t cbs = 1;              ///< CPU batches whose presence starts a flush
  std::int64_t gbs = 1;              ///< batches on the device, ready or on the way, that wait for their step
  std::int64_t host_slabs = 2;       ///< batches in main memory, in preparation or ready
  int workers = 1;                   ///< threads that prepare Route 0
  std::int64_t copies = 0;           ///< kBest: of one flush at most; 0: as many as there are
  bool train_while_waiting = false;  ///< kPaper: a step and a new Route 1 batch while the CPU is late
  bool uva_first = false;            ///< kBest: no step begins that would delay a Route 1 batch the link waits for
  bool uva_alone = true;             ///< no copy and no step while a Route 1 batch is prepared
  std::vector<bool> cpu_routes;      ///< kCoinFlip: by step, is it of Route 0?

  std::int64_t device_batches() const { return batches - cpu_batches; }
  /// Of Route 1 to Route 0; infinite without Route 0.
  double ratio() const;
};

struct PlanOptions {
  Choice choice;
  std::int64_t batches = 0;  ///< of the epoch to be planned
  std::int64_t gbs = 10;     ///< batches that device memory is given up for, at most
  std::uint64_t seed = 0;    ///< of kCoinFlip
};

/// A plan and what is known about it.
struct Planned {
  Plan plan;
  Nanoseconds epoch = 0;  ///< simulated
  Nanoseconds bound = 0;  ///< lower_bound
  double first_x = 0;     ///< kPaper: before any feedback
  std::int64_t first_cbs = 0;
  int rounds = 0;   ///< simulated epochs
  std::string why;  ///< one sentence
};

/// Plans an epoch on a machine. Errors: kUsage for fewer than one batch of room on the device.
Planned make_plan(const Profile& profile, const PlanOptions& options);

/// A plan of one of the plain modes with so many batches of Route 0.
Plan plain_plan(const Profile& profile, Mode mode, std::int64_t batches, std::int64_t cpu_batches, std::int64_t gbs);

/// A plan of mode kPaper with these buffers, unasked.
Plan dual_buffer_plan(const Profile& profile, std::int64_t batches, std::int64_t cbs, std::int64_t gbs);

/// argmin over x >= 0 of Eq. 6 with its lost comma put back:
///   C'(x)/n = x T_1/(1+x) + max(T_DMA/(1+x), T_Model, (T_CBT - x T_1)/(1+x)); infinite if it falls for ever
double first_ratio(const StageTimes& times);

/// "paper: 1 batch of the CPU for 0.83 of the device, …": the plan in a line.
std::string describe(const Planned& planned);

}  // namespace gneiss::schedule
