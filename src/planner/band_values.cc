// A value belongs to a band if one op of the band makes it, only ops of the same band read it, and it has rows. For
// reuse, each step of a band is told which operands an earlier step of the band had in the cache, and how much passed
// since.
#include "planner/band_values.h"

#include <algorithm>
#include <set>

namespace gneiss::planner {
namespace {

using ir::Op;
using ir::OpKind;
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

/// Ops whose rates were measured with operands in memory.
bool counts_its_reads(OpKind kind) {
  return kind == OpKind::gemm || kind == OpKind::spmm || kind == OpKind::attention || kind == OpKind::attention_grad;
}

/// Values whose rows such an op of the band reads, before or after others.
std::set<ValueId> read_by_others_anyway(const ir::Plan& plan, const ir::RowBand& band) {
  std::set<ValueId> values;
  for (std::int32_t i = band.first_step; i <= band.last_step; ++i) {
    const Op& op = op_of(plan, i);
    for (std::size_t k = 0; counts_its_reads(op.kind) && k < op.inputs.size(); ++k) {
      if (!ir::reads_whole(op, k) && has_rows(plan.program.type(op.inputs[k]))) values.insert(op.inputs[k]);
    }
  }
  return values;
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

void count_reuse(ir::Plan* plan) {
  const std::vector<bool> lives_in_band = values_of_bands(*plan);
  std::vector<double> left_at(plan->program.values.size(), 0);  // the traffic before a value was last made or read
  double traffic = 0;
  std::set<ValueId> touched;  // by the band at hand
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(plan->steps.size()); ++i) {
    ir::Step& step = plan->steps[static_cast<std::size_t>(i)];
    const bool in_band = step.band >= 0;
    if (!in_band) {
      touched.clear();
    } else if (const ir::RowBand& band = plan->bands[static_cast<std::size_t>(step.band)]; band.first_step == i) {
      touched = read_by_others_anyway(*plan, band);
    }
    const Op& op = op_of(*plan, i);
    step.cached_bytes = 0;
    step.away_bytes = 0;
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      const ValueId v = op.inputs[k];
      if (!has_rows(plan->program.type(v))) continue;
      if (in_band && !ir::reads_whole(op, k) && !touched.insert(v).second) {
        step.cached_bytes += bytes_of(*plan, v);
      } else {
        step.away_bytes = std::max(step.away_bytes, traffic - left_at[static_cast<std::size_t>(v)]);
      }
    }
    for (const ValueId r : op.results) {
      if (r == ir::kNoValue) continue;
      touched.insert(r);
      if (lives_in_band[static_cast<std::size_t>(r)]) step.cached_bytes += bytes_of(*plan, r);
    }
    traffic += std::max(0.0, step.bytes - step.cached_bytes);
    for (const ValueId v : op.inputs) left_at[static_cast<std::size_t>(v)] = traffic;
    for (const ValueId r : op.results) {
      if (r != ir::kNoValue) left_at[static_cast<std::size_t>(r)] = traffic;
    }
  }
}

}  // namespace gneiss::planner
