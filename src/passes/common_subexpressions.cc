// Walks the ops once and keeps a table from what an op computes (its kind, operands and attributes, as text) to the
// values that it made. An op that is in the table already is dropped and its readers get the earlier values. There is
// one table for the setup phase, one for forward and backward together, and one for inference: an op may share with its
// own table and with that of the setup.
#include "passes/common_subexpressions.h"

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "ir/text.h"
#include "passes/rewriter.h"

namespace gneiss::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Phase;
using ir::ValueId;

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

}  // namespace gneiss::passes
