#include "passes/stream_features.h"

#include <fmt/format.h>

#include <algorithm>

#include "passes/memory.h"

namespace gneiss::passes {
namespace {

using ir::Op;
using ir::Phase;

/// Seconds for each byte that is mapped and given back. Two threads sweeping over a file of 0.98 GB in the page cache took 52 ms with it
/// and 17 ms without, 2 to 8 MiB at a time; smaller parts cost more.
constexpr double kMapSeconds = 36e-12;

ir::ValueId features_of(const ir::Plan& plan) {
  const auto& ops = plan.program.ops;
  const auto input = std::find_if(ops.begin(), ops.end(), [](const Op& op) { return op.kind == ir::OpKind::input; });
  return input == ops.end() ? ir::kNoValue : input->results[0];
}

/// What the steps take besides features, without the graph.
std::int64_t bytes_beside(ir::Plan plan) {
  plan_memory(&plan);
  return plan.constant_bytes + plan.lasting_arena_bytes;
}

}  // namespace

bool reads_features(const ir::Plan& plan, const ir::Op& op) {
  return std::count(op.inputs.begin(), op.inputs.end(), features_of(plan)) > 0;
}

void stream_features(ir::Plan* plan, const Rates& rates, const StreamLimits& limits, std::vector<std::string>* decisions) {
  const ir::ValueId features = features_of(*plan);
  if (features == ir::kNoValue || plan->program.type(features).layout == ir::Layout::kSparse) return;
  const std::int64_t bytes = plan->program.elements(features) * ir::scalar_bytes(plan->program.type(features).scalar, plan->value_bytes);
  if (bytes < limits.least_bytes) return;
  double step = 0;
  double sweeps = 0;
  for (const ir::Step& at : plan->steps) {
    const Op& op = plan->program.ops[static_cast<std::size_t>(at.op)];
    const bool trains = op.phase == Phase::kForward || op.phase == Phase::kBackward;
    if (trains) step += step_seconds(rates, *plan, at);
    if (op.phase == Phase::kSetup) continue;
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      if (op.inputs[k] != features) continue;
      if (ir::reads_whole(op, k) || at.band_rows == 0) return;
      sweeps += trains ? 1 : 0;
    }
  }
  const double seconds = sweeps * static_cast<double>(bytes) * kMapSeconds;
  if (sweeps == 0) return;
  const double share = static_cast<double>(bytes) / static_cast<double>(bytes + bytes_beside(*plan));
  plan->features_streamed = seconds <= limits.most_time * share * step;
  decisions->push_back(fmt::format("features {} their file: {:.1f} MiB less for {:.3g} s a step",
                                   plan->features_streamed ? "stay in" : "would stay in", static_cast<double>(bytes) / (1 << 20), seconds));
}

}  // namespace gneiss::passes
