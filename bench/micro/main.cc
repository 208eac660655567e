// Runs a benchmark program, on request with fewer instructions than the machine has: `spmm_bench --best_target=AVX2`
// shows on an AVX-512 machine what the kernels for AVX2 do. oneDNN takes its own variable, ONEDNN_MAX_CPU_ISA=AVX2.
#include <benchmark/benchmark.h>
#include <hwy/targets.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "kernels/kernel.h"

namespace {

/// Leaves `name` and what is below it; ends the program where this machine does not run it.
void allow_at_most(std::string_view name) {
  std::string known;
  // The better a target, the lower its bit.
  for (std::int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
    const std::int64_t target = left & -left;
    if (name == hwy::TargetName(target)) return hwy::DisableTargets(target - 1);
    known += std::string(" ") + hwy::TargetName(target);
  }
  std::fprintf(stderr, "--best_target=%s: this machine runs%s\n", std::string(name).c_str(), known.c_str());
  std::exit(2);
}

/// Takes --best_target out of the arguments.
void read_best_target(int& count, char** arguments) {
  constexpr std::string_view kFlag = "--best_target=";
  int kept = 0;
  for (int i = 0; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument.starts_with(kFlag)) {
      allow_at_most(argument.substr(kFlag.size()));
    } else {
      arguments[kept++] = arguments[i];
    }
  }
  count = kept;
}

}  // namespace

int main(int argc, char** argv) {
  read_best_target(argc, argv);
  benchmark::AddCustomContext("vector_target", gneiss::kernels::vector_target());
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
