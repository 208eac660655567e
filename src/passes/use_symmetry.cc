// A product along out-edges becomes one along in-edges if the graph is its own transpose and the edge's weight is equal
// both ways. That is so if the factors of the weight, with source and destination exchanged, are the same multiset. On
// a rank such a product goes from own rows to sources, ghosts among them, whose rows then go back to their owners. The
// other way round every rank fetches the rows of its ghosts, which are the same nodes, and sums along in-edges: as many
// bytes, no rows of ghosts to be made and added, and no transposed structure.
//
// Of another graph a rank may have its nodes' out-edges turned round. Then the same is done along those, with weights
// that are made on them as they were made on the in-edges: a gather from one end is one from the other.
//
// Of maxima and minima the place of the edge that won says nothing to other ranks. Beside the gradient they fetch who
// won, by the ids of nodes: as many bytes again.
#include "passes/use_symmetry.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
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

/// On a rank: rows of ghosts that go back to their owners, where these can make the whole sum themselves. What made the
/// rows of ghosts is dead code then.
class Puller {
 public:
  Puller(const ir::Program& program, bool ids_fit)
      : from_(program),
        ids_fit_(ids_fit),
        makers_(ir::producers(program)),
        rewriter_(program),
        reversed_values_(program.values.size(), ir::kNoValue) {
    for (std::size_t g = 0; g < program.graphs.size(); ++g) {
      const ir::GraphDef& graph = program.graphs[g];
      const auto number = static_cast<std::int32_t>(g);
      if (graph.src_set == graph.dst_set) continue;
      if (graph.symmetric) reversed_[number] = number;
      if (graph.origin == ir::GraphOrigin::kReversed) reversed_[graph.base] = number;
    }
    const auto exchange = std::find_if(program.ops.begin(), program.ops.end(), [](const Op& op) {
      return op.kind == OpKind::halo || op.kind == OpKind::halo_add;
    });
    if (exchange != program.ops.end()) packed_ = exchange->attrs.integer("packed", 0);
  }

  ir::Program run() {
    for (const Op& op : from_.ops) {
      if (op.kind == OpKind::halo_add && can_pull(op, op.inputs[0])) {
        rewriter_.set(op.results[0], pull(op, op.inputs[0]));
        continue;
      }
      rewriter_.copy(op);
      reverse(op);
    }
    return rewriter_.finish();
  }

 private:
  static std::int32_t graph_of(const Op& op) { return static_cast<std::int32_t>(op.attrs.integer("graph", 0)); }
  const ir::GraphDef& def(std::int32_t graph) const { return from_.graphs[static_cast<std::size_t>(graph)]; }
  const Op& maker(ValueId value) const {
    return from_.ops[static_cast<std::size_t>(makers_[static_cast<std::size_t>(value)])];
  }

  /// Can an owner make its rows of what `back` gives back to it, of values that own rows have?
  bool can_pull(const Op& back, ValueId value) const {
    const Op& op = maker(value);
    if (op.phase != back.phase) return false;
    switch (op.kind) {
      case OpKind::add:
        return from_.type(op.inputs[0]) == from_.type(op.inputs[1]) && can_pull(back, op.inputs[0]) &&
               can_pull(back, op.inputs[1]);
      case OpKind::spmm:
        return can_pull_sum(op);
      case OpKind::attention_grad:
        return can_pull_attention(op);
      case OpKind::spmm_arg_grad:
        return ids_fit_ && reversed_.contains(graph_of(op)) &&
               (op.inputs.size() < 3 || from_.type(op.inputs[2]).cols == 1);
      default:
        return false;
    }
  }

  /// Operands of attention_grad.
  enum : std::size_t { kZ, kSourceScores, kDestinationScores, kLse, kDots, kDy, kGate };

  /// A gate can be drawn anew.
  bool can_pull_attention(const Op& op) const {
    const auto fetched = [&](std::size_t i) { return maker(op.inputs[i]).kind == OpKind::halo; };
    const auto drawn = [&](const Op& gate) {
      return gate.kind == OpKind::dropout && maker(gate.inputs[0]).kind == OpKind::constant;
    };
    return op.attrs.integer("transpose", 0) != 0 && reversed_.contains(graph_of(op)) && fetched(kZ) &&
           fetched(kSourceScores) && (op.inputs.size() <= kGate || drawn(maker(op.inputs[kGate])));
  }

  bool can_pull_sum(const Op& op) const {
    return op.attrs.integer("transpose", 0) != 0 && op.attrs.text("fn", "sum") == "sum" &&
           reversed_.contains(graph_of(op)) && (op.inputs.size() == 1 || weight_turned_round(op));
  }

  ValueId pull(const Op& back, ValueId value) {
    const Op& op = maker(value);
    if (op.kind == OpKind::add) {
      const ValueId first = pull(back, op.inputs[0]);
      const ValueId second = pull(back, op.inputs[1]);
      return rewriter_.builder_at(op).add(OpKind::add, {first, second});
    }
    if (op.kind == OpKind::attention_grad) return pull_attention(op)[value == op.results[0] ? 0 : 1];
    return op.kind == OpKind::spmm_arg_grad ? pull_winners(op) : pull_sum(op);
  }

  /// Both results, made once. What an edge has at its other end comes of ghosts now, of the narrow operands by one
  /// exchange. Its gate is that of the edge the other way round.
  const std::vector<ValueId>& pull_attention(const Op& op) {
    const auto [at, is_new] = attentions_.try_emplace(&op);
    if (!is_new) return at->second;
    ir::Builder builder = rewriter_.builder_at(op);
    const std::int32_t reversed = reversed_.at(graph_of(op));
    std::vector<ValueId> inputs;
    for (const std::size_t i : {kZ, kSourceScores}) inputs.push_back(rewriter_.map(maker(op.inputs[i]).inputs[0]));
    std::vector<ValueId> narrow;
    for (const std::size_t i : {kDestinationScores, kLse, kDots}) narrow.push_back(rewriter_.map(op.inputs[i]));
    const ValueId together = with_ghosts(op, builder.add(OpKind::concat, narrow), reversed);
    const std::int64_t heads = from_.type(op.inputs[kLse]).cols;
    for (std::int64_t i = 0; i < std::ssize(narrow); ++i)
      inputs.push_back(builder.add(OpKind::slice, {together}, {{"begin", i * heads}, {"cols", heads}}));
    inputs.push_back(with_ghosts(op, rewriter_.map(op.inputs[kDy]), reversed));
    if (op.inputs.size() > kGate) {
      const Op& gate = maker(op.inputs[kGate]);
      ir::Attrs attrs = gate.attrs;
      attrs.set("reversed", std::int64_t{1});
      const ValueId whole = builder.leaf(OpKind::constant, ir::edge_type(reversed, heads), maker(gate.inputs[0]).attrs);
      inputs.push_back(builder.add(OpKind::dropout, {whole}, attrs));
    }
    ir::Attrs attrs = op.attrs;
    attrs.set("graph", std::int64_t{reversed});
    attrs.set("transpose", std::int64_t{0});
    at->second = builder.add_all(OpKind::attention_grad, inputs, attrs);
    return at->second;
  }

  ValueId pull_sum(const Op& op) {
    std::vector<ValueId> inputs = {with_ghosts(op, rewriter_.map(op.inputs[0]), graph_of(op))};
    if (op.inputs.size() > 1) inputs.push_back(*weight_turned_round(op));
    ir::Attrs attrs = op.attrs;
    attrs.set("graph", std::int64_t{reversed_.at(graph_of(op))});
    attrs.set("transpose", std::int64_t{0});
    return rewriter_.builder_at(op).add(OpKind::spmm, inputs, attrs);
  }

  /// The owner of a row says who won its columns and with which gradient, which has the weight of the edge that won;
  /// the sources fetch both and take what is theirs.
  ValueId pull_winners(const Op& op) {
    const std::int32_t graph = graph_of(op);
    std::vector<ValueId> inputs = {rewriter_.map(op.inputs[0])};
    const bool weighted = op.inputs.size() > 2;
    if (weighted) inputs.insert(inputs.end(), {rewriter_.map(op.inputs[1]), rewriter_.map(op.inputs[2])});
    const std::vector<ValueId> won =
        rewriter_.builder_at(op).add_all(OpKind::arg_sources, inputs, {{"graph", std::int64_t{graph}}});
    const ValueId slopes = weighted ? won[1] : rewriter_.map(op.inputs[1]);
    const ValueId winners = with_ghosts(op, won[0], graph);
    const ValueId fetched = with_ghosts(op, slopes, graph);
    return rewriter_.builder_at(op).add(OpKind::spmm_arg_grad, {winners, fetched},
                                        {{"graph", std::int64_t{reversed_.at(graph)}}, {"by_id", std::int64_t{1}}});
  }

  /// The weights of a sum along out-edges, on the edges turned round.
  std::optional<ValueId> weight_turned_round(const Op& op) const {
    const ir::GraphDef& graph = def(graph_of(op));
    if (graph.symmetric && equal_both_ways(from_, makers_, op.inputs[1], graph)) return rewriter_.map(op.inputs[1]);
    const ValueId made = reversed_values_[static_cast<std::size_t>(op.inputs[1])];
    return made == ir::kNoValue ? std::nullopt : std::optional(made);
  }

  /// Own rows and those of ghosts, for an op on edges of `graph`.
  ValueId with_ghosts(const Op& reader, ValueId own, std::int32_t graph) {
    return rewriter_.builder_at(reader).add(OpKind::halo, {own},
                                            {{"to", std::int64_t{def(graph).src_set}}, {"packed", packed_}});
  }

  /// Makes a value of edges on the same edges turned round besides, if their graph is there and the op is one of those
  /// that weights are made by. What nobody reads of it goes with dead code.
  void reverse(const Op& op) {
    if (op.results.size() != 1 || from_.type(op.results[0]).domain != ir::Domain::kEdge) return;
    const auto reversed = reversed_.find(from_.type(op.results[0]).set);
    if (reversed == reversed_.end()) return;
    const ir::Attrs on_reversed = {{"graph", std::int64_t{reversed->second}}};
    ir::Builder builder = rewriter_.builder_at(op);
    ValueId made = ir::kNoValue;
    switch (op.kind) {
      case OpKind::edge_weight:
        made = builder.add(OpKind::edge_weight, {}, on_reversed);
        break;
      case OpKind::gather_src: {
        const ValueId own = own_rows(from_, makers_, op.inputs[0]);
        if (own == op.inputs[0]) return;
        made = builder.add(OpKind::gather_dst, {rewriter_.map(own)}, on_reversed);
        break;
      }
      case OpKind::gather_dst:
        made = builder.add(OpKind::gather_src, {with_ghosts(op, rewriter_.map(op.inputs[0]), reversed->second)},
                           on_reversed);
        break;
      case OpKind::mul: {
        std::vector<ValueId> factors;
        for (const ValueId v : op.inputs) {
          const bool of_edges = from_.type(v).domain == ir::Domain::kEdge;
          factors.push_back(of_edges ? reversed_values_[static_cast<std::size_t>(v)] : rewriter_.map(v));
          if (factors.back() == ir::kNoValue) return;
        }
        made = builder.add(OpKind::mul, factors);
        break;
      }
      default:
        return;
    }
    reversed_values_[static_cast<std::size_t>(op.results[0])] = made;
  }

  const ir::Program& from_;
  bool ids_fit_;
  std::vector<std::int32_t> makers_;
  Rewriter rewriter_;
  /// Graphs -> those whose in-edges are the out-edges of their nodes.
  std::map<std::int32_t, std::int32_t> reversed_;
  std::vector<ValueId> reversed_values_;  ///< of old values of edges -> new ones on the edges turned round
  std::int64_t packed_ = 0;               ///< rows that an exchange packs
  std::map<const Op*, std::vector<ValueId>> attentions_;  ///< old ones -> the results of new ones
};

}  // namespace

ir::Program use_symmetry(const ir::Program& program, bool ids_fit) {
  const bool of_a_rank = std::any_of(program.graphs.begin(), program.graphs.end(), [](const ir::GraphDef& graph) {
    return graph.origin == ir::GraphOrigin::kReversed || (graph.symmetric && graph.src_set != graph.dst_set);
  });
  if (of_a_rank) return Puller(program, ids_fit).run();
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
