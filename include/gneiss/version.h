// Which Gneiss this is, and what it found on this machine.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gneiss {

/// The version of this build, as "0.2.0".
std::string version();

/// One line of the doctor's report.
struct Fact {
  std::string name;
  std::string value;
};
/// Threads, memory, vector instructions, cards or why none can be used, versions of the libraries in use, and the rates
/// that plans are made by.
std::vector<Fact> machine_facts();

/// Rates of this machine, as measured and written to the user's cache folder.
struct Calibration {
  std::string text;  ///< tables with units
  std::string path;  ///< of the file
};
/// Measures how fast the kernels are here, with all the threads that the process may use, and keeps it for the plans of
/// later runs. Takes some seconds.
///
/// With several `ranks`, threads of this process, or several processes of mpirun or srun: how fast they are on all
/// ranks at the same time, each with its part of the machine's threads, and how fast the ranks talk; kept for plans of
/// as many ranks on a machine. On other ranks than the first, text and path are empty. Errors: kDisk, kOutOfMemory,
/// kUsage for another number of ranks than the launcher's, kPeerLost.
Calibration calibrate(int ranks = 1);
/// Measures how fast the kernels are on a card ("cuda", "cuda:N"), and keeps it for plans of trainings there. Takes
/// some seconds and 2.5 GB of the card's memory. Errors: kUsage for what is no card, kUnsupported where there is none,
/// kDisk, kOutOfMemory.
Calibration calibrate_device(const std::string& device);

}  // namespace gneiss
