#include "passes/half_features.h"

#include <algorithm>

#include "base/error.h"
#include "passes/rewriter.h"

namespace gneiss::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Phase;
using ir::ValueId;

/// The op once more, its operand `old` (wherever it stands) replaced by `now`.
void copy_with(const Op& op, ValueId old, ValueId now, Rewriter* rewriter) {
  const ValueId kept = rewriter->map(old);
  rewriter->set(old, now);
  rewriter->copy(op);
  rewriter->set(old, kept);
}

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

ir::Program store_features(const ir::Program& program, HalfType type, std::vector<std::string>* decisions) {
  if (type == HalfType::kNone) return program;
  Rewriter rewriter(program);
  ValueId features = ir::kNoValue;
  for (const Op& op : program.ops) {
    const bool is_features = op.kind == OpKind::input && program.type(op.results[0]).layout == ir::Layout::kDense;
    if (is_features) {
      features = op.results[0];
      rewriter.program().values[static_cast<std::size_t>(rewriter.copy(op).results[0])].type.scalar =
          ir::scalar_of(type);
      continue;
    }
    bool needs_floats = false;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      needs_floats = needs_floats || (op.inputs[i] == features && !ir::reads_halves(op.kind, op.attrs, i));
    }
    if (!needs_floats) {
      rewriter.copy(op);
      continue;
    }
    decisions->push_back(fmt::format("line {}: {} needs f32 features", op.location.line, ir::traits(op.kind).name));
    copy_with(op, features, rewriter.builder_at(op).add(OpKind::to_float, {rewriter.map(features)}), &rewriter);
  }
  ir::Program result = rewriter.finish();
  for (ir::Output& out : result.outputs) {
    if (!ir::is_half(result.type(out.value).scalar)) continue;
    ir::Builder builder(&result);
    builder.set_phase(Phase::kInference);
    out.value = builder.add(OpKind::to_float, {out.value});
  }
  return result;
}

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
