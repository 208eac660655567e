// Machines with several devices, as their makers describe them: what plans and simulations stand on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gneiss::exchange {

/// One GPU.
struct Gpu {
  std::string name;
  int sms = 0;
  int warps_per_sm = 0;
  int blocks_per_sm = 0;
  std::int64_t shared_per_sm = 0;     ///< bytes
  std::int64_t shared_per_block = 0;  ///< bytes that one block may have
  double clock = 0;                   ///< cycles a second
  double memory_bytes_per_second = 0;
  double cache_bytes_per_second = 0;  ///< of the L2
  std::int64_t cache_bytes = 0;
  double memory_seconds = 0;  ///< from a load to its first byte
};

/// GPUs that read each other's memory; every pair has the same link (NVSwitch), or shares one.
struct Machine {
  std::string name;
  Gpu gpu;
  double bytes_per_second = 0;  ///< that one device receives from the others
  double seconds = 0;           ///< from a request to its first byte
  bool hides = true;            ///< rows come while a device computes; false: its processors bring them
};

/// The machines that are known by name.
const std::vector<Machine>& machines();
/// Errors: kUsage for an unknown name.
const Machine& find_machine(const std::string& name);

}  // namespace gneiss::exchange
