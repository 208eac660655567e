// What a machine takes for the stages of a mini-batch: the one thing that plans and simulated devices go by.
//
// A batch reaches training on one of two routes. Route 0: the CPU samples it and gathers its rows, and the link carries
// it to the device. Route 1: the device samples it and reads the rows from main memory through the link (UVA). A
// profile holds the mean time of each stage alone on its resource, and what share of link and device a Route 1 batch
// takes.
//
// Profiles are files (JSON, the fields below) or come with the program: thirty of them repeat the settings of
// [zhang2026morphgl]. Their times are worked out from its tables: T_CBT is an epoch of the CPU-only system over its
// batches, T_GBT + T_Model one of the device-only system, T_DMA the bytes of a batch over 12.61 GB/s, and T_GBT is what
// makes the printed first ratios of its Table 6 come out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gneiss::schedule {

/// Virtual and measured time alike.
using Nanoseconds = std::int64_t;

Nanoseconds from_ms(double milliseconds);
double to_ms(Nanoseconds time);
double to_seconds(Nanoseconds time);

/// Means for one batch.
struct StageTimes {
  Nanoseconds cpu_batch = 0;     ///< T_CBT: between two batches of the CPU with all workers at work
  Nanoseconds device_batch = 0;  ///< T_GBT: sampling on the device
  Nanoseconds dma = 0;           ///< T_DMA: a batch over the link
  Nanoseconds uva = 0;           ///< T_UVA: reading rows through the link, at the same time as device_batch
  Nanoseconds train = 0;         ///< T_Model: forward, backward, update

  /// Of the device's part of Route 1.
  Nanoseconds route1() const { return device_batch > uva ? device_batch : uva; }
};

struct Profile {
  std::string name;
  std::int64_t batches = 0;  ///< of an epoch where it was measured
  int workers = 1;           ///< threads that prepare batches; each takes workers * cpu_batch for one
  StageTimes times;
  double uva_link_share = 1;     ///< of the link, while the device reads through it; 1: nothing else can use it
  double uva_device_share = 1;   ///< of the device, while it samples; 1: it does not train meanwhile
  std::int64_t dma_bytes = 0;    ///< over the link for a batch of Route 0
  std::int64_t uva_bytes = 0;    ///< and of Route 1
  double variation = 0;          ///< standard deviation of a stage's time over its mean
  double published_seconds = 0;  ///< the epoch that the paper measured; 0: none
};

/// The profiles that come with the program.
const std::vector<Profile>& named_profiles();
/// One of them, or what the file of that path holds. Errors: kUsage with the nearest name; kBadData as parse_profile.
Profile find_profile(const std::string& name_or_path);

/// Reads a profile file. Errors: kBadData at `where` naming the field: missing, unknown, no number, negative or beyond
/// its range.
Profile parse_profile(std::string_view text, const std::string& where);
std::string to_json(const Profile& profile);

/// What no schedule of `batches` batches can beat: the least over all splits of the busiest resource's time.
///   min over c + g = n of max(c T_CBT, c T_DMA + g s_l T_1, g s_d T_1 + n T_Model, g T_1), T_1 = max(T_GBT, T_UVA)
/// `cpu_batches` receives the c of the least.
Nanoseconds lower_bound(const Profile& profile, std::int64_t batches, std::int64_t* cpu_batches = nullptr);

}  // namespace gneiss::schedule
