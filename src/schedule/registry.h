// Operators by phase and hardware: how a machine that this program does not know joins the planning.
//
// An operator does one phase of a batch on one piece of hardware, "{Phase}_{Hardware}_{Operator}" as MorphGL names
// them: Batching_CPU_sample, Transferring_PCIe_copy, Batching_NPU+PCIe_sample, Training_NPU_step. The four of a machine
// make a Work, which is measured (schedule/profiler.h), planned and run as any other; none of that asks what the
// hardware is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/device.h"

namespace gneiss::schedule {

enum class Phase : std::uint8_t { kBatching, kTransferring, kTraining };
std::string_view phase_name(Phase phase);

/// Does a phase of a batch; `worker` counts those of Batching_CPU. Transferring returns the bytes that it moved, the
/// others anything.
using Operator = std::function<std::int64_t(std::int64_t batch, int worker)>;

class Registry {
 public:
  struct Entry {
    Phase phase = Phase::kBatching;
    std::string hardware;  ///< what it keeps busy, joined by +: "CPU", "PCIe", "GPU+PCIe"
    std::string name;
    Operator run;

    std::string full_name() const;  ///< {Phase}_{Hardware}_{Operator}
  };

  /// Errors: kUsage for an operator of that phase and hardware that is there already, and for names with '_' in them.
  void add(Phase phase, std::string hardware, std::string name, Operator run);
  const std::vector<Entry>& entries() const { return entries_; }

  /// The operators of a machine: Batching_CPU, Transferring_{link}, Batching_{device}+{link}, Training_{device}.
  /// Errors: kUsage naming the phase and hardware that have no operator.
  std::unique_ptr<Work> work(const std::string& device, const std::string& link = "PCIe") const;

 private:
  const Entry& find(Phase phase, const std::string& hardware) const;
  std::vector<Entry> entries_;
};

}  // namespace gneiss::schedule
