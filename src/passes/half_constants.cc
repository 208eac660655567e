// Finds node values of the setup phase that only ops which read 16 bits read. An aggregation of 16-bit values is told
// to write 16 bits itself; any other op is followed by a to_half.
#include "passes/half_constants.h"

#include "base/error.h"
#include "passes/rewriter.h"

namespace gneiss::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Phase;
using ir::ValueId;

/// Values of the setup phase that nobody reads but ops that can read halves.
std::vector<bool> storable_constants(const ir::Program& program) {
  std::vector<bool> storable(program.values.size(), false);
  for (const Op& op : program.ops) {
    if (op.phase != Phase::kSetup || op.kind == OpKind::input || op.results.empty()) continue;
    const ir::Type& type = program.type(op.results[0]);
    storable[static_cast<std::size_t>(op.results[0])] =
        type.domain == ir::Domain::kNode && type.scalar == ir::Scalar::kReal && type.layout == ir::Layout::kDense;
  }
  for (const Op& op : program.ops) {
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (!ir::reads_halves(op.kind, op.attrs, i) || op.kind == OpKind::to_float) {
        storable[static_cast<std::size_t>(op.inputs[i])] = false;
      }
    }
  }
  for (const ir::Output& out : program.outputs) storable[static_cast<std::size_t>(out.value)] = false;
  return storable;
}

std::vector<bool> values_read_after_setup(const ir::Program& program) {
  std::vector<bool> read(program.values.size(), false);
  for (const Op& op : program.ops) {
    if (op.phase == Phase::kSetup) continue;
    for (const ValueId input : op.inputs) read[static_cast<std::size_t>(input)] = true;
  }
  return read;
}

}  // namespace

ir::Program store_constants(const ir::Program& program, HalfType type, std::vector<std::string>* decisions) {
  if (type == HalfType::kNone) return program;
  const std::vector<bool> storable = storable_constants(program);
  const std::vector<bool> read_later = values_read_after_setup(program);
  const ir::AttrValue dtype = std::string(half_name(type));
  Rewriter rewriter(program);
  for (const Op& op : program.ops) {
    if (op.results.empty() || op.results[0] == ir::kNoValue || !storable[static_cast<std::size_t>(op.results[0])]) {
      rewriter.copy(op);
      continue;
    }
    const ValueId old = op.results[0];
    const bool writes_halves =
        op.kind == OpKind::spmm && ir::is_half(rewriter.program().type(rewriter.map(op.inputs[0])).scalar);
    if (!writes_halves) {
      rewriter.copy(op);
      if (!read_later[static_cast<std::size_t>(old)]) continue;
      rewriter.set(old, rewriter.builder_at(op).add(OpKind::to_half, {rewriter.map(old)}, {{"dtype", dtype}}));
    } else {
      std::vector<ValueId> inputs;
      for (const ValueId input : op.inputs) inputs.push_back(rewriter.map(input));
      ir::Attrs attrs = op.attrs;
      attrs.set("dtype", dtype);
      rewriter.set(old, rewriter.builder_at(op).add(OpKind::spmm, inputs, attrs));
    }
    decisions->push_back(fmt::format("line {}: the result of {} is kept as {}", op.location.line,
                                     ir::traits(op.kind).name, half_name(type)));
  }
  return rewriter.finish();
}

}  // namespace gneiss::passes
