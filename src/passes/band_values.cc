#include "passes/band_values.h"

#include <algorithm>
#include <set>

namespace gneiss::passes {
namespace {

using ir::Op;
using ir::ValueId;

const Op& op_of(const ir::Plan& plan, std::int32_t step) {
  return plan.program.ops[static_cast<std::size_t>(plan.steps[static_cast<std::size_t>(step)].op)];
}

double bytes_of(const ir::Plan& plan, ValueId v) {
  return static_cast<double>(plan.program.elements(v)) * static_cast<double>(plan.value_bytes);
}

bool has_rows(const ir::Type& type) {
  return type.domain != ir::Domain::kGlobal && type.layout == ir::Layout::kDense && type.scalar == ir::Scalar::kReal;
}

}  // namespace

std::vector<bool> values_of_bands(const ir::Plan& plan) {
  const ir::Program& program = plan.program;
  std::vector<std::int32_t> band_of(program.ops.size(), -1);
  for (const ir::Step& step : plan.steps) band_of[static_cast<std::size_t>(step.op)] = step.band;
  std::vector<std::int32_t> maker(program.values.size(), -1);  // the band that makes a value
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    for (const ValueId r : op.results) {
      if (r != ir::kNoValue && has_rows(program.type(r))) maker[static_cast<std::size_t>(r)] = band_of[i];
    }
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      std::int32_t& band = maker[static_cast<std::size_t>(op.inputs[k])];
      if (band != band_of[i] || ir::reads_whole(op, k)) band = -1;
    }
  }
  for (const ir::Output& out : program.outputs) maker[static_cast<std::size_t>(out.value)] = -1;
  std::vector<bool> lives_in_band;
  for (const std::int32_t band : maker) lives_in_band.push_back(band >= 0);
  return lives_in_band;
}

void count_cached_bytes(ir::Plan* plan) {
  const std::vector<bool> lives_in_band = values_of_bands(*plan);
  for (const ir::RowBand& band : plan->bands) {
    std::set<ValueId> touched;
    for (std::int32_t i = band.first_step; i <= band.last_step; ++i) {
      const Op& op = op_of(*plan, i);
      double cached = 0;
      for (std::size_t k = 0; k < op.inputs.size(); ++k) {
        const ValueId v = op.inputs[k];
        if (ir::reads_whole(op, k) || !has_rows(plan->program.type(v))) continue;
        if (!touched.insert(v).second) cached += bytes_of(*plan, v);
      }
      for (const ValueId r : op.results) {
        if (r == ir::kNoValue) continue;
        touched.insert(r);
        if (lives_in_band[static_cast<std::size_t>(r)]) cached += bytes_of(*plan, r);
      }
      plan->steps[static_cast<std::size_t>(i)].cached_bytes = cached;
    }
  }
}

}  // namespace gneiss::passes
