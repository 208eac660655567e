// Which Gneiss this is, and what it found on this machine.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gneiss {

/// "0.1.0".
std::string version();

/// One line of the doctor's report.
struct Fact {
  std::string name;
  std::string value;
};
/// Threads, memory, vector instructions and versions of the libraries in use.
std::vector<Fact> machine_facts();

}  // namespace gneiss
