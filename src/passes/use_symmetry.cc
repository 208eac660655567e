// A product along out-edges becomes one along in-edges if the graph is its own transpose and the edge's weight is equal
// both ways. That is so if the factors of the weight, with source and destination exchanged, are the same multiset.
#include "passes/use_symmetry.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace gneiss::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

/// A value's place in a product under the exchange of sources and destinations: what it is and whether it is gathered.
using Factor = std::pair<ValueId, int>;  // (value, 0 own | 1 by source | 2 by destination)

/// Collects the factors of a product of edge values; false if something else than products, gathers and edge weights
/// occurs.
bool collect_factors(const ir::Program& program, const std::vector<std::int32_t>& makers, ValueId value,
                     bool edge_weights_symmetric, std::multiset<Factor>* factors) {
  const Op& op = program.ops[static_cast<std::size_t>(makers[static_cast<std::size_t>(value)])];
  switch (op.kind) {
    case OpKind::mul:
      return std::all_of(op.inputs.begin(), op.inputs.end(), [&](ValueId v) {
        return collect_factors(program, makers, v, edge_weights_symmetric, factors);
      });
    case OpKind::gather_src:
      factors->emplace(op.inputs[0], 1);
      return true;
    case OpKind::gather_dst:
      factors->emplace(op.inputs[0], 2);
      return true;
    case OpKind::edge_weight:
      factors->emplace(value, 0);
      return edge_weights_symmetric;
    default:
      return false;
  }
}

/// Does the edge value have the same number on u -> v as on v -> u?
bool equal_both_ways(const ir::Program& program, const std::vector<std::int32_t>& makers, ValueId value,
                     const ir::GraphDef& graph) {
  std::multiset<Factor> factors;
  if (!collect_factors(program, makers, value, graph.symmetric, &factors)) return false;
  std::multiset<Factor> swapped;
  for (const auto& [v, side] : factors) swapped.emplace(v, side == 0 ? 0 : 3 - side);
  return factors == swapped;
}

}  // namespace

ir::Program use_symmetry(const ir::Program& program) {
  ir::Program out = program;
  const std::vector<std::int32_t> makers = ir::producers(program);
  for (Op& op : out.ops) {
    const auto graph_index = op.attrs.integer("graph", -1);
    if (graph_index < 0) continue;
    const ir::GraphDef& graph = program.graphs[static_cast<std::size_t>(graph_index)];
    if (!graph.symmetric || graph.src_set != graph.dst_set) continue;
    if (op.kind == OpKind::spmm && op.attrs.integer("transpose", 0) == 1 &&
        (op.inputs.size() < 2 || equal_both_ways(program, makers, op.inputs[1], graph))) {
      op.attrs.set("transpose", std::int64_t{0});
    }
    // A gate is kept in the order of the in-edges.
    if (op.kind == OpKind::attention_grad && op.inputs.size() == 6) op.attrs.set("transpose", std::int64_t{0});
  }
  return out;
}

}  // namespace gneiss::passes
