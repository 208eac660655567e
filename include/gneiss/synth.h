// Write a training as a program of its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gneiss/config.h"

namespace gneiss {

/// What programs are written for.
enum class ProgramTarget : std::uint8_t { kOpenmp, kMpi, kCuda };
template <>
struct Choices<ProgramTarget> {
  static constexpr std::string_view names[] = {"openmp", "mpi", "cuda"};
};

/// A language that programs are written in.
struct SynthTarget {
  std::string name;
  std::string summary;
};
std::vector<SynthTarget> synth_targets();

struct SynthResult {
  std::string model;
  std::string dataset;
  std::vector<std::string> files;  ///< names in the folder
  std::int64_t steps = 0;          ///< kernel calls of all phases
  std::string defaults;            ///< one line about those chosen for the data; empty if there are none
  std::vector<std::string> warnings;
};

/// Plans the training that train_model would do with these settings and writes it as a small CMake project into
/// `folder`: built against an installed Gneiss (gneiss::kernels), it computes the same losses and weights, bit for bit.
/// With `force` files of the same names are replaced. Errors: kUsage for an unknown target, a folder that holds
/// something, or settings that programs do not follow (several runs, the objective as monitor); kBadData, kOutOfMemory,
/// kDisk.
SynthResult synthesize(const RunConfig& config, const Worded<ProgramTarget>& target, const std::string& folder,
                       bool force = false);

}  // namespace gneiss
