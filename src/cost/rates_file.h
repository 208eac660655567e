// The rates of this machine, measured by `gneiss doctor --calibrate` and kept in the user's cache folder.
//
// One small JSON file for each machine: processor, vector instructions, threads that the process may use, version of
// Gneiss. The threads are those of the machine and not those of a run, so that a plan, and with it every bit of a
// result, does not depend on --threads.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "comm/communicator.h"
#include "cost/cost.h"
#include "cost/network.h"

namespace gneiss::cost {

inline constexpr const char* kOfDevice = "cuda";

/// What rates are valid for.
struct MachineKey {
  std::string processor;  ///< its name in /proc/cpuinfo, or a device's
  std::string vectors;    ///< the best vector instructions; kOfDevice for a device
  int threads = 1;        ///< that the process may use
  std::string version;    ///< of Gneiss
  int ranks = 1;          ///< that share the machine; `threads` are those of one

  bool operator==(const MachineKey&) const = default;
};
MachineKey this_machine();
/// Of a device, by the name that it has for people.
MachineKey of_device(const std::string& name);
/// A rank's share of a machine: its part of the threads, at least one.
MachineKey shared(const MachineKey& whole, int ranks);

/// Where the rates of a machine lie: $XDG_CACHE_HOME/gneiss (an absolute path), else ~/.cache/gneiss. Empty if neither
/// is set.
std::filesystem::path rates_path(const MachineKey& machine);

/// Rates to plan with.
struct RatesInUse {
  Rates rates = default_rates();
  bool measured = false;
  std::optional<Network> network;  ///< that was measured with them
  std::filesystem::path path;      ///< where the file lies or would lie
  std::string warning;             ///< why a file that is there is not used
};
/// The measured rates, or the defaults where there is no file or none that can be used. Throws nothing.
RatesInUse load_rates(const MachineKey& machine);
/// Those of one of `ranks` ranks that share the machine, as they were measured; where they were not, the whole
/// machine's, of which each rank has its part. Throws nothing.
RatesInUse load_shared_rates(const MachineKey& whole, int ranks);

/// Those of rank 0, on all ranks: what they choose by. Warnings and paths stay each rank's own. All ranks call it.
/// Errors: kPeerLost
void share_rates(comm::Communicator& communicator, RatesInUse* use);

/// Makes the folder of the file and returns the file's path: what can go wrong shows before anything is measured.
/// Errors: kDisk.
std::filesystem::path make_rates_folder(const MachineKey& machine);

/// Writes the file, all or nothing, and returns its path. Errors: kDisk.
std::filesystem::path save_rates(const MachineKey& machine, const Rates& rates,
                                 const std::optional<Network>& network = {});

}  // namespace gneiss::cost
