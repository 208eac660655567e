// Gives the input the 16-bit type. Each op that cannot read it gets a to_float of its own right before it, so that no
// wide copy outlives one op.
#include "passes/half_features.h"

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

}  // namespace gneiss::passes
