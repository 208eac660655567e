// The languages that programs are written in. A target is one emitter over the instructions of a plan; what operands
// are called and which arguments a kernel takes is the same for all of them (names.h, calls.h).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "synth/specification.h"

namespace gneiss::synth {

struct SourceFile {
  std::string name;
  std::string text;
};

struct Target {
  std::string_view name;
  std::string_view summary;
  bool ranks = false;  ///< it writes programs for several ranks, and for no other number than that of the specification
  bool device = false;  ///< of a plan for devices (planner::Target::kDevice)
  std::vector<SourceFile> (*emit)(const Specification& specification);
};

std::span<const Target> targets();
/// Errors: kUsage for an unknown name, with the names there are.
const Target& find_target(std::string_view name);

/// Plain C++ that calls the OpenMP kernels: CMakeLists.txt and one source a phase (openmp.cc).
std::vector<SourceFile> emit_openmp(const Specification& specification);
/// The same for several ranks: CMakeLists.txt, what all share, and a folder for each rank (mpi.cc).
std::vector<SourceFile> emit_mpi(const Specification& specification);
/// The same for one device: calls of its kernels, on memory of its own (cuda.cc).
std::vector<SourceFile> emit_cuda(const Specification& specification);

}  // namespace gneiss::synth
