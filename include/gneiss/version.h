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
/// later runs. Takes some seconds. Errors: kDisk, kOutOfMemory.
Calibration calibrate();

}  // namespace gneiss
