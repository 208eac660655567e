// The depth of a value is over how many hops it reaches down to the features. Values that gather_src reads are results
// of the part of their depth: the hop that reads them has depth + 1, so every part finds what it gathers among what it
// is given.
#include "passes/cut_by_layers.h"

#include <algorithm>
#include <map>

namespace gneiss::passes {
namespace {

using ir::Domain;
using ir::Op;
using ir::OpKind;
using ir::ValueId;

std::vector<std::int32_t> depths(const ir::Program& model) {
  std::vector<std::int32_t> depth(model.values.size(), 0);
  for (const Op& op : model.ops) {
    std::int32_t deepest = 0;
    for (const ValueId input : op.inputs) deepest = std::max(deepest, depth[static_cast<std::size_t>(input)]);
    if (op.kind == OpKind::gather_src) ++deepest;
    for (const ValueId result : op.results) {
      if (result != ir::kNoValue) depth[static_cast<std::size_t>(result)] = deepest;
    }
  }
  return depth;
}

}  // namespace

std::vector<BlockPart> cut_by_layers(const ir::Program& model) {
  const std::vector<bool> of_graph = decided_by_graph(model);
  const std::vector<std::int32_t> depth = depths(model);
  std::vector<bool> is_input(model.values.size(), false);
  std::map<std::int32_t, std::vector<ValueId>> gathered;  // by depth
  for (const Op& op : model.ops) {
    if (op.kind == OpKind::input) is_input[static_cast<std::size_t>(op.results[0])] = true;
    if (op.kind != OpKind::gather_src) continue;
    const ValueId value = op.inputs[0];
    const auto v = static_cast<std::size_t>(value);
    if (of_graph[v] || is_input[v]) continue;
    std::vector<ValueId>& same_depth = gathered[depth[v]];
    if (std::find(same_depth.begin(), same_depth.end(), value) == same_depth.end()) same_depth.push_back(value);
  }
  std::vector<BlockPart> parts;
  std::vector<ValueId> known;
  for (const auto& [at, values] : gathered) {
    parts.push_back({known, values});
    known.insert(known.end(), values.begin(), values.end());
  }
  parts.push_back({known, {model.output("logits")}});
  const ValueId embedding = model.output("embedding");
  const bool is_result = std::find(known.begin(), known.end(), embedding) != known.end();
  if (embedding != ir::kNoValue && embedding != model.output("logits") && !is_result)
    parts.back().results.push_back(embedding);
  for (const BlockPart& part : parts) count_hops(model, part);
  return parts;
}

}  // namespace gneiss::passes
