// Copies keep names, phases and locations. Types of results are inferred anew only where an operand's type has changed.
#include "passes/rewriter.h"

#include <cctype>
#include <string_view>

#include "base/error.h"

namespace gneiss::passes {
namespace {

/// A value's name without its number: "h.12" -> "h".
std::string_view stem(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || dot + 1 == name.size()) return name;
  for (std::size_t i = dot + 1; i < name.size(); ++i) {
    if (std::isdigit(static_cast<unsigned char>(name[i])) == 0) return name;
  }
  return name.substr(0, dot);
}

}  // namespace

Rewriter::Rewriter(const ir::Program& from) : from_(from), map_(from.values.size(), ir::kNoValue) {
  to_.name = from.name;
  to_.node_sets = from.node_sets;
  to_.graphs = from.graphs;
}

ir::ValueId Rewriter::new_value(ir::ValueId old, const ir::Type& type) {
  const auto id = static_cast<ir::ValueId>(to_.values.size());
  to_.values.push_back({fmt::format("{}.{}", stem(from_.value_name(old)), id), type});
  return id;
}

ir::Op& Rewriter::copy(const ir::Op& op) {
  std::vector<ir::ValueId> inputs;
  bool changed = false;
  for (const ir::ValueId input : op.inputs) {
    inputs.push_back(map(input));
    GNEISS_ASSERT(inputs.back() != ir::kNoValue, "rewriting uses a value before it is mapped");
    changed = changed || !(to_.type(inputs.back()) == from_.type(input));
  }
  return append(op, inputs, changed);
}

ir::Op& Rewriter::copy_with(const ir::Op& op, const std::vector<ir::ValueId>& inputs) {
  return append(op, inputs, true);
}

ir::Op& Rewriter::append(const ir::Op& op, const std::vector<ir::ValueId>& inputs, bool infer) {
  ir::Op now = op;
  now.inputs = inputs;
  std::vector<ir::Type> inferred;
  if (infer) {
    std::vector<ir::Type> types;
    for (const ir::ValueId input : inputs) types.push_back(to_.type(input));
    const std::string problem = ir::infer_types(to_, now.kind, types, now.attrs, &inferred);
    GNEISS_ASSERT(problem.empty(), "rewriting: {}", problem);
  }
  for (std::size_t i = 0; i < now.results.size(); ++i) {
    const ir::ValueId old = now.results[i];
    if (old == ir::kNoValue) continue;
    now.results[i] = new_value(old, infer ? inferred[i] : from_.type(old));
    set(old, now.results[i]);
  }
  to_.ops.push_back(std::move(now));
  return to_.ops.back();
}

ir::Builder Rewriter::builder_at(const ir::Op& op) {
  ir::Builder builder(&to_);
  builder.set_phase(op.phase);
  builder.set_location(op.location);
  return builder;
}

ir::Program Rewriter::finish() {
  to_.params = from_.params;
  to_.outputs = from_.outputs;
  for (ir::Param& param : to_.params) {
    param.value = map(param.value);
    if (param.grad != ir::kNoValue) param.grad = map(param.grad);
  }
  for (ir::Output& out : to_.outputs) out.value = map(out.value);
  return std::move(to_);
}

}  // namespace gneiss::passes
