#include "passes/clean.h"

#include <algorithm>
#include <map>

#include "ir/text.h"
#include "passes/rewriter.h"

namespace gneiss::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Phase;
using ir::ValueId;

/// Ops that must run although nobody reads a result, and leaves that name what a program is about.
bool is_root(const Op& op) { return op.kind == OpKind::batch_norm_update || op.kind == OpKind::param; }

std::vector<bool> needed_values(const ir::Program& program) {
  std::vector<bool> needed(program.values.size(), false);
  for (const ir::Output& out : program.outputs) needed[static_cast<std::size_t>(out.value)] = true;
  for (const ir::Param& param : program.params) {
    if (param.grad != ir::kNoValue) needed[static_cast<std::size_t>(param.grad)] = true;
  }
  for (auto op = program.ops.rbegin(); op != program.ops.rend(); ++op) {
    const bool live = is_root(*op) || std::any_of(op->results.begin(), op->results.end(), [&](ValueId r) {
                        return r != ir::kNoValue && needed[static_cast<std::size_t>(r)];
                      });
    if (!live) continue;
    for (const ValueId input : op->inputs) needed[static_cast<std::size_t>(input)] = true;
  }
  return needed;
}

/// Phases whose ops may share a value.
int sharing_class(Phase phase) { return phase == Phase::kSetup ? 0 : phase == Phase::kInference ? 2 : 1; }

std::string key_of(const Op& op, const std::vector<ValueId>& inputs) {
  std::string key(ir::traits(op.kind).name);
  for (const ValueId input : inputs) key += "," + std::to_string(input);
  for (const ir::Attr& attr : op.attrs.list()) {
    key += "|" + attr.name + "=";
    if (const auto* whole = std::get_if<std::int64_t>(&attr.value)) {
      key += std::to_string(*whole);
    } else if (const auto* real = std::get_if<double>(&attr.value)) {
      char text[40];
      std::snprintf(text, sizeof(text), "%a", *real);
      key += text;
    } else {
      key += std::get<std::string>(attr.value);
    }
  }
  return key;
}

}  // namespace

ir::Program eliminate_dead_code(const ir::Program& program) {
  const std::vector<bool> needed = needed_values(program);
  const std::vector<std::int32_t> uses = ir::use_counts(program);
  Rewriter rewriter(program);
  for (const Op& op : program.ops) {
    const bool live = is_root(op) || std::any_of(op.results.begin(), op.results.end(), [&](ValueId r) {
                        return r != ir::kNoValue && needed[static_cast<std::size_t>(r)];
                      });
    if (!live) continue;
    Op kept = op;
    for (std::size_t i = 1; i < op.results.size(); ++i) {
      const ValueId r = op.results[i];
      if (ir::is_optional_result(op.kind, i) && r != ir::kNoValue && uses[static_cast<std::size_t>(r)] == 0) {
        kept.results[i] = ir::kNoValue;
      }
    }
    rewriter.copy(kept);
  }
  return rewriter.finish();
}

ir::Program eliminate_common_subexpressions(const ir::Program& program) {
  Rewriter rewriter(program);
  std::map<std::string, std::vector<ValueId>> seen[3];
  for (const Op& op : program.ops) {
    // A to_float of a training step dies in the op after it; one for many would live as long as they all do.
    const bool dies_at_once = op.kind == OpKind::to_float && op.phase != Phase::kSetup;
    const bool shareable =
        op.kind != OpKind::param && !dies_at_once && op.kind != OpKind::batch_norm_update && !op.results.empty();
    std::vector<ValueId> inputs;
    for (const ValueId input : op.inputs) inputs.push_back(rewriter.map(input));
    // A leaf of a given type is that type's; everything else has the type its rule says.
    std::string key = key_of(op, inputs);
    if (shareable && op.inputs.empty()) key += ir::print(program.type(op.results[0]));
    const int own = sharing_class(op.phase);
    const auto earlier = seen[0].find(key);
    const auto found = earlier != seen[0].end() ? earlier : seen[own].find(key);
    const bool known = shareable && (earlier != seen[0].end() || found != seen[own].end());
    if (known && found->second.size() == op.results.size()) {
      bool complete = true;
      for (std::size_t i = 0; i < op.results.size(); ++i) {
        complete = complete && (op.results[i] == ir::kNoValue || found->second[i] != ir::kNoValue);
      }
      if (complete) {
        for (std::size_t i = 0; i < op.results.size(); ++i) {
          if (op.results[i] != ir::kNoValue) rewriter.set(op.results[i], found->second[i]);
        }
        continue;
      }
    }
    const std::vector<ValueId> results = rewriter.copy(op).results;
    if (shareable) seen[own].emplace(key, results);
  }
  return rewriter.finish();
}

std::vector<bool> constant_values(const ir::Program& program) {
  std::vector<bool> constant(program.values.size(), false);
  for (const ir::Param& param : program.params) {
    const bool same = param.init.kind == ir::Init::Kind::kZeros || param.init.kind == ir::Init::Kind::kOnes ||
                      param.init.kind == ir::Init::Kind::kConstant;
    constant[static_cast<std::size_t>(param.value)] = !param.trainable && same;
  }
  for (const Op& op : program.ops) {  // running statistics change
    if (op.kind == OpKind::batch_norm || op.kind == OpKind::batch_norm_inference) {
      for (const std::size_t i : {std::size_t{3}, std::size_t{4}})
        constant[static_cast<std::size_t>(op.inputs[i])] = false;
    }
  }
  for (const Op& op : program.ops) {
    if (ir::is_loss(op.kind) || op.kind == OpKind::param || op.kind == OpKind::dropout) continue;
    const bool all = std::all_of(op.inputs.begin(), op.inputs.end(),
                                 [&](ValueId v) { return constant[static_cast<std::size_t>(v)]; });
    for (const ValueId r : op.results) {
      if (r != ir::kNoValue) constant[static_cast<std::size_t>(r)] = all;
    }
  }
  return constant;
}

ir::Program hoist_constants(const ir::Program& program) {
  ir::Program out = program;
  const std::vector<bool> constant = constant_values(program);
  for (Op& op : out.ops) {
    const bool once = !op.results.empty() && constant[static_cast<std::size_t>(op.results[0])];
    if (once && op.kind != OpKind::to_float) op.phase = Phase::kSetup;
  }
  // Widened features are constant, but twice the size of what they are made from: only ops of the setup may want them
  // there.
  std::vector<bool> wanted(program.values.size(), false);
  for (const Op& op : out.ops) {
    for (const ValueId input : op.inputs)
      wanted[static_cast<std::size_t>(input)] = wanted[static_cast<std::size_t>(input)] || op.phase == Phase::kSetup;
  }
  for (Op& op : out.ops) {
    if (op.kind == OpKind::to_float && wanted[static_cast<std::size_t>(op.results[0])]) op.phase = Phase::kSetup;
  }
  // Setup ops come first; their operands are setup values, so the order stays valid.
  std::stable_partition(out.ops.begin(), out.ops.end(), [](const Op& op) { return op.phase == Phase::kSetup; });
  return out;
}

}  // namespace gneiss::passes
