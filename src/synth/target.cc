// The table of targets.
#include "synth/target.h"

#include <array>

#include "base/error.h"
#include "base/names.h"

namespace gneiss::synth {
namespace {

constexpr std::array kTargets = {Target{"openmp", "C++ for the processors of one machine", false, false, emit_openmp},
                                 Target{"mpi", "C++ for the ranks of --ranks", true, false, emit_mpi},
                                 Target{"cuda", "C++ for one NVIDIA card", false, true, emit_cuda}};

}  // namespace

std::span<const Target> targets() { return kTargets; }

const Target& find_target(std::string_view name) {
  std::vector<std::string> names;
  for (const Target& target : kTargets) {
    if (target.name == name) return target;
    names.emplace_back(target.name);
  }
  throw Error(ErrorCode::kUsage, fmt::format("there is no target '{}'", name), "--target",
              unknown_name_hint(name, names));
}

}  // namespace gneiss::synth
