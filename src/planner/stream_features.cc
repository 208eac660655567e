// Counts the sweeps of a step over features and over constants with a row for each node. They stay in their file if
// every op reads them row by row in bands, and if mapping the pages anew in each sweep costs little for the memory it
// saves.
#include "planner/stream_features.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/memory.h"

namespace gneiss::planner {
namespace {

using ir::Op;
using ir::Phase;

/// Sweeps of a step over the rows of a value, a row at a time in ops that can run in bands.
struct Sweeps {
  bool by_rows = true;  ///< in all phases,
  bool later = true;    ///< and in those after the setup
  int count = 0;        ///< of forward and backward
};

Sweeps sweeps_over(const ir::Plan& plan, ir::ValueId v) {
  Sweeps sweeps;
  for (const ir::Step& at : plan.steps) {
    const Op& op = plan.program.ops[static_cast<std::size_t>(at.op)];
    const bool makes = std::count(op.results.begin(), op.results.end(), v) > 0;
    bool by_rows = !makes || at.band_rows > 0;
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      if (op.inputs[k] != v) continue;
      by_rows = by_rows && !ir::reads_whole(op, k) && at.band_rows > 0;
      sweeps.count += op.phase == Phase::kForward || op.phase == Phase::kBackward ? 1 : 0;
    }
    sweeps.by_rows = sweeps.by_rows && by_rows;
    sweeps.later = sweeps.later && (by_rows || op.phase == Phase::kSetup);
  }
  return sweeps;
}

ir::ValueId features_of(const ir::Plan& plan) {
  const auto& ops = plan.program.ops;
  const auto input = std::find_if(ops.begin(), ops.end(), [](const Op& op) { return op.kind == ir::OpKind::input; });
  return input == ops.end() ? ir::kNoValue : input->results[0];
}

std::int64_t bytes_of(const ir::Plan& plan, ir::ValueId v) {
  const ir::Type& type = plan.program.type(v);
  return plan.program.rows(type) * plan.stride(v) * ir::scalar_bytes(type.scalar, plan.value_bytes);
}

/// What the steps take besides features, without the graph.
std::int64_t bytes_beside(ir::Plan plan) {
  plan_memory(&plan);
  return plan.constant_bytes + plan.lasting_arena_bytes;
}

/// Dense results of the setup phase with a row for every node that later phases read.
std::vector<ir::ValueId> node_constants(const ir::Plan& plan) {
  std::vector<ir::ValueId> constants;
  std::vector<bool> read_later(plan.program.values.size(), false);
  for (const Op& op : plan.program.ops) {
    for (const ir::ValueId v : op.inputs)
      read_later[static_cast<std::size_t>(v)] = read_later[static_cast<std::size_t>(v)] || op.phase != Phase::kSetup;
  }
  for (const ir::Output& out : plan.program.outputs)
    read_later[static_cast<std::size_t>(out.value)] = false;  // whoever asks for it wants it in memory
  for (const Op& op : plan.program.ops) {
    if (op.phase != Phase::kSetup || op.kind == ir::OpKind::input) continue;
    for (const ir::ValueId v : op.results) {
      if (v == ir::kNoValue || !read_later[static_cast<std::size_t>(v)]) continue;
      const ir::Type& type = plan.program.type(v);
      if (type.domain == ir::Domain::kNode && type.layout == ir::Layout::kDense && type.scalar != ir::Scalar::kIndex)
        constants.push_back(v);
    }
  }
  return constants;
}

}  // namespace

bool works_in_file(const ir::Plan& plan, const ir::Op& op) {
  const auto in_file = [&](ir::ValueId v) {
    return std::count(plan.file_constants.begin(), plan.file_constants.end(), v) > 0;
  };
  if (std::any_of(op.inputs.begin(), op.inputs.end(), in_file) ||
      std::any_of(op.results.begin(), op.results.end(), in_file))
    return true;
  return plan.features_streamed && op.phase != Phase::kSetup &&
         std::count(op.inputs.begin(), op.inputs.end(), features_of(plan)) > 0;
}

void stream_features(ir::Plan* plan, const cost::Rates& rates, const FileRoom& room, const StreamLimits& limits,
                     std::vector<std::string>* decisions) {
  double step = 0;
  for (const ir::Step& at : plan->steps) {
    const Phase phase = plan->program.ops[static_cast<std::size_t>(at.op)].phase;
    if (phase == Phase::kForward || phase == Phase::kBackward) step += cost::step_seconds(rates, *plan, at);
  }
  const ir::ValueId features = features_of(*plan);
  const bool dense = features != ir::kNoValue && plan->program.type(features).layout == ir::Layout::kDense;
  const std::int64_t kept = dense && plan->features_kept ? bytes_of(*plan, features) : 0;
  const double all = static_cast<double>(kept + bytes_beside(*plan));
  const auto suits = [&](const std::string& what, ir::ValueId v, int sweeps) {
    const std::int64_t bytes = bytes_of(*plan, v);
    const double seconds = sweeps * static_cast<double>(bytes) / rates.map;
    const double most_time = bytes >= limits.least_bytes ? limits.most_time : limits.most_time_of_small;
    const bool worth = seconds <= most_time * static_cast<double>(bytes) / all * step;
    decisions->push_back(fmt::format("{} in {}: {:.1f} MiB less for {:.3g} s a step", what,
                                     worth ? "a file" : "memory, not in a file", static_cast<double>(bytes) / (1 << 20),
                                     seconds));
    return worth;
  };
  const bool large = kept >= limits.least_bytes;
  if (room.features && (large || kept >= limits.least_bytes_of_small)) {
    const Sweeps sweeps = sweeps_over(*plan, features);
    const bool by_rows = large ? sweeps.later : sweeps.by_rows;
    plan->features_streamed = by_rows && sweeps.count > 0 && suits("features", features, sweeps.count);
  }
  std::int64_t left = room.scratch_bytes;
  for (const ir::ValueId v : node_constants(*plan)) {
    const Sweeps sweeps = sweeps_over(*plan, v);
    const std::int64_t bytes = bytes_of(*plan, v);
    if (bytes < limits.least_bytes || bytes > left || !sweeps.by_rows ||
        !suits(fmt::format("%{}", plan->program.value_name(v)), v, sweeps.count))
      continue;
    plan->file_constants.push_back(v);
    left -= bytes;
  }
}

}  // namespace gneiss::planner
