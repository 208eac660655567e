// Rates are published ones where there are any, and named here; a machine's name is what a user writes.
#include "schedule/machine.h"

#include <algorithm>

namespace gneiss::schedule {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

}  // namespace

const std::vector<Machine>& machines() {
  // v100: the machine of [min2022data_tiering], two Xeon Gold 6230 and V100s of 32 GB. PCIe 3 carries 12.61 GB/s in
  // [zhang2026morphgl], and about as much when a device reads whole lines; pages of 64 KB that fault move at half of
  // that. NVLink: three links of 50 GB/s, as printed. A V100's memory, arithmetic and sampling are taken at two thirds
  // of what its makers say, and at the 45 M edges a second that Quiver reports for topology in the device's memory.
  static const std::vector<Machine> list = {{.name = "v100",
                                             .summary = "two Xeon Gold 6230, V100 of 32 GB, PCIe 3",
                                             .workers = 16,
                                             .cpu_edges = 10e6,
                                             .cpu_gather = 2.5e9,
                                             .cpu_memory = 100e9,
                                             .link = 12.61e9,
                                             .link_reads = 12.0e9,
                                             .page_reads = 6.0e9,
                                             .peer_link = 150e9,
                                             .device_memory = 600e9,
                                             .device_edges = 45e6,
                                             .device_flop = 9e12,
                                             .call_seconds = 8e-6,
                                             .memory_bytes = 32 * kGiB}};
  return list;
}

const Machine* find_machine(std::string_view name) {
  for (const Machine& machine : machines())
    if (machine.name == name) return &machine;
  return nullptr;
}

Profile profile_of(const Machine& machine, const BatchSize& batch) {
  const double cold = batch.rows - batch.hot_rows;
  const double cold_bytes = cold * batch.row_bytes;
  const auto workers = static_cast<double>(machine.workers);
  const double by_workers = (batch.edges / machine.cpu_edges + cold_bytes / machine.cpu_gather) / workers;
  const double hot_seconds = batch.hot_rows * batch.row_bytes / machine.device_memory;
  const double uva_bytes = cold * batch.row_read_bytes;
  Profile profile;
  profile.name = machine.name;
  profile.workers = machine.workers;
  profile.times.cpu_batch = from_ms(1e3 * std::max(by_workers, 2 * cold_bytes / machine.cpu_memory));
  profile.times.dma = from_ms(1e3 * (batch.structure_bytes + cold_bytes) / machine.link);
  profile.times.device_batch = from_ms(1e3 * batch.edges / machine.device_edges);
  profile.times.uva = from_ms(1e3 * (uva_bytes / machine.link_reads + hot_seconds));
  profile.times.train =
      from_ms(1e3 * (batch.step_flop / machine.device_flop + hot_seconds + batch.step_bytes / machine.device_memory +
                     batch.step_calls * machine.call_seconds));
  profile.dma_bytes = static_cast<std::int64_t>(batch.structure_bytes + cold_bytes);
  profile.uva_bytes = static_cast<std::int64_t>(uva_bytes);
  return profile;
}

Profile with_hot_rows(const Profile& profile, double hits, double gather_share) {
  const auto scaled = [](Nanoseconds time, double factor) {
    return static_cast<Nanoseconds>(static_cast<double>(time) * factor);
  };
  Profile made = profile;
  made.times.cpu_batch = scaled(profile.times.cpu_batch, 1 - gather_share * hits);
  made.times.dma = scaled(profile.times.dma, 1 - hits);
  made.dma_bytes = scaled(profile.dma_bytes, 1 - hits);
  return made;
}

}  // namespace gneiss::schedule
