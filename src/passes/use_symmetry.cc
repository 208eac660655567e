// A product along out-edges becomes one along in-edges if the graph is its own transpose and the edge's weight is equal
// both ways. That is so if the factors of the weight, with source and destination exchanged, are the same multiset. On
// a rank such a product goes from own rows to sources, ghosts among them, whose rows then go back to their owners. The
// other way round every rank fetches the rows of its ghosts, which are the same nodes, and sums along in-edges: as many
// bytes, no rows of ghosts to be made and added, and no transposed structure.
#include "passes/use_symmetry.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "passes/rewriter.h"

namespace gneiss::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

/// A value's place in a product under the exchange of sources and destinations: what it is and whether it is gathered.
using Factor = std::pair<ValueId, int>;  // (value, 0 own | 1 by source | 2 by destination)

/// Of a value with the rows of ghosts, the value that they were fetched of.
ValueId own_rows(const ir::Program& program, const std::vector<std::int32_t>& makers, ValueId value) {
  const Op& op = program.ops[static_cast<std::size_t>(makers[static_cast<std::size_t>(value)])];
  return op.kind == OpKind::halo ? op.inputs[0] : value;
}

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
      factors->emplace(own_rows(program, makers, op.inputs[0]), 1);
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

/// On a rank: sums along out-edges whose rows of ghosts go back to their owners.
class Puller {
 public:
  explicit Puller(const ir::Program& program)
      : from_(program), makers_(ir::producers(program)), rewriter_(program), readers_(program.values.size()) {
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      for (const ValueId v : program.ops[i].inputs) readers_[static_cast<std::size_t>(v)].push_back(i);
    }
  }

  ir::Program run() {
    std::set<std::size_t> through;
    for (std::size_t i = 0; i < from_.ops.size(); ++i) {
      const Op& op = from_.ops[i];
      if (through.contains(i)) continue;
      if (!can_pull(op)) {
        rewriter_.copy(op);
        continue;
      }
      const std::size_t back = readers_[static_cast<std::size_t>(op.results[0])][0];
      pull(op, from_.ops[back]);
      through.insert(back);
    }
    return rewriter_.finish();
  }

 private:
  bool can_pull(const Op& op) const {
    if (op.kind != OpKind::spmm || op.attrs.integer("transpose", 0) == 0 || op.attrs.text("fn", "sum") != "sum")
      return false;
    const ir::GraphDef& graph = from_.graphs[static_cast<std::size_t>(op.attrs.integer("graph", 0))];
    if (!graph.symmetric || graph.src_set == graph.dst_set) return false;
    if (op.inputs.size() > 1 && !equal_both_ways(from_, makers_, op.inputs[1], graph)) return false;
    const std::vector<std::size_t>& readers = readers_[static_cast<std::size_t>(op.results[0])];
    return readers.size() == 1 && from_.ops[readers[0]].kind == OpKind::halo_add &&
           from_.ops[readers[0]].phase == op.phase;
  }

  void pull(const Op& op, const Op& back) {
    const ir::GraphDef& graph = from_.graphs[static_cast<std::size_t>(op.attrs.integer("graph", 0))];
    std::vector<ValueId> inputs;
    for (const ValueId v : op.inputs) inputs.push_back(rewriter_.map(v));
    ir::Attrs halo = back.attrs;
    halo.set("to", std::int64_t{graph.src_set});
    inputs[0] = rewriter_.builder_at(op).add(OpKind::halo, {inputs[0]}, halo);
    Op& made = rewriter_.copy_with(along_in_edges(op), inputs);
    rewriter_.set(back.results[0], made.results[0]);
  }

  static Op along_in_edges(const Op& op) {
    Op made = op;
    made.attrs.set("transpose", std::int64_t{0});
    return made;
  }

  const ir::Program& from_;
  std::vector<std::int32_t> makers_;
  Rewriter rewriter_;
  std::vector<std::vector<std::size_t>> readers_;  ///< of each value, the ops
};

}  // namespace

ir::Program use_symmetry(const ir::Program& program) {
  const bool of_a_rank = std::any_of(program.graphs.begin(), program.graphs.end(), [](const ir::GraphDef& graph) {
    return graph.symmetric && graph.src_set != graph.dst_set;
  });
  if (of_a_rank) return Puller(program).run();
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
