// Follows the logits backwards through ops that work row by row, and through aggregations into a row, as long as
// nothing else reads the other rows. These ops are written again on a node set of the loss's rows, aggregations on a
// bipartite graph of the edges into them; what enters is selected by row. If such graphs would be large, nothing is
// rewritten and sums are marked with the attributes that let the planner keep these edges by themselves.
#include "passes/loss_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/ids.h"
#include "passes/constant_values.h"
#include "passes/rewriter.h"

namespace gneiss::passes {
namespace {

using ir::Domain;
using ir::Op;
using ir::OpKind;
using ir::ValueId;

class Restrictor {
 public:
  Restrictor(const ir::Program& program, const LossRows& rows, std::int64_t feature_bytes,
             std::vector<std::string>* decisions)
      : from_(program),
        rows_(rows),
        feature_bytes_(feature_bytes),
        decisions_(decisions),
        makers_(ir::producers(program)),
        constant_(constant_values(program)),
        rewriter_(program) {}

  ir::Program run() {
    const ValueId logits = from_.output("train_logits");
    if (rows_.count < 0 || logits == ir::kNoValue || !on_nodes(logits)) return from_;
    find_restricted(logits);
    leave_narrow_ends();
    if (graphs_.empty()) return from_;
    if (!pays()) return rows_.marks ? mark() : from_;
    add_spaces();
    for (const Op& op : from_.ops) {
      if (restricted(op)) {
        emit(op);
      } else {
        rewriter_.copy(op);
      }
    }
    // Outputs are mapped by their old values: that of the logits is dead now.
    rewriter_.set(logits, narrow_.at(logits));
    return rewriter_.finish();
  }

 private:
  bool on_nodes(ValueId value) const { return from_.type(value).domain == Domain::kNode; }
  const Op* maker(ValueId value) const {
    const std::int32_t index = makers_[static_cast<std::size_t>(value)];
    return index < 0 ? nullptr : &from_.ops[static_cast<std::size_t>(index)];
  }
  bool restricted(const Op& op) const { return !op.results.empty() && restricted_.count(op.results[0]) > 0; }
  static std::int32_t graph_of(const Op& op) { return static_cast<std::int32_t>(op.attrs.integer("graph", 0)); }

  bool aggregates(const Op& op) const {
    return (op.kind == OpKind::spmm && op.attrs.integer("transpose", 0) == 0) ||
           (op.kind == OpKind::attention && !ir::has_gate(from_, op));
  }

  /// Is operand k of an aggregation needed on the row of the result only?
  static bool own_row(const Op& op, std::size_t k) { return op.kind == OpKind::attention && k == 2; }

  /// Can the value of edges be made for some of the edges alone?
  bool edges_alone(ValueId value) const {
    const Op* op = maker(value);
    if (op == nullptr) return false;
    const bool leaf = op->kind == OpKind::edge_weight || op->kind == OpKind::constant ||
                      op->kind == OpKind::gather_src || op->kind == OpKind::gather_dst;
    if (leaf) return true;
    return ir::is_row_by_row(*op) && std::all_of(op->inputs.begin(), op->inputs.end(), [&](ValueId v) {
             return from_.type(v).domain == Domain::kGlobal ||
                    (from_.type(v).domain == Domain::kEdge && edges_alone(v));
           });
  }

  /// Constants stay: evaluation keeps all rows of them, and a copy of some rows would be kept beside.
  bool keeps_constants(const Op& op) const {
    if (constant_[static_cast<std::size_t>(op.results[0])]) return false;
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      const ValueId input = op.inputs[k];
      const bool by_row = on_nodes(input) && (!aggregates(op) || own_row(op, k));
      if (by_row && constant_[static_cast<std::size_t>(input)] && from_.type(input).cols > 1) return false;
    }
    return true;
  }

  bool can_be_restricted(const Op& op) const {
    if (op.phase != ir::Phase::kForward || op.results.empty() || !on_nodes(op.results[0]) || !keeps_constants(op))
      return false;
    if (aggregates(op)) return op.kind == OpKind::attention || op.inputs.size() < 2 || edges_alone(op.inputs[1]);
    return ir::is_row_by_row(op) && std::all_of(op.inputs.begin(), op.inputs.end(), [&](ValueId v) {
             return on_nodes(v) || from_.type(v).domain == Domain::kGlobal;
           });
  }

  void find_restricted(ValueId logits) {
    std::set<ValueId> wanted = {logits};  // on some rows at least
    std::set<ValueId> whole;              // on all rows
    for (const ir::Output& output : from_.outputs) {
      if (output.name != "train_logits") whole.insert(output.value);
    }
    for (auto op = from_.ops.rbegin(); op != from_.ops.rend(); ++op) {
      if (op->phase == ir::Phase::kInference) continue;
      const bool first = !op->results.empty() && wanted.count(op->results[0]) > 0;
      const bool some =
          first && std::none_of(op->results.begin(), op->results.end(), [&](ValueId r) { return whole.count(r) > 0; });
      if (!some || !can_be_restricted(*op)) {
        whole.insert(op->inputs.begin(), op->inputs.end());
        continue;
      }
      restricted_.insert(op->results[0]);
      if (aggregates(*op)) graphs_[graph_of(*op)] = -1;
      if (op->kind == OpKind::spmm && op->inputs.size() > 1) weighted_.insert(graph_of(*op));
      for (std::size_t k = 0; k < op->inputs.size(); ++k) {
        const bool row = on_nodes(op->inputs[k]) && (!aggregates(*op) || own_row(*op, k));
        (row ? wanted : whole).insert(op->inputs[k]);
      }
    }
  }

  /// Where rows of what a value is made of would be selected and are wider than it, it is the value that is selected,
  /// and made on all rows with what only it takes.
  void leave_narrow_ends() {
    const std::vector<std::int32_t> uses = ir::use_counts(from_);
    for (const Op& op : from_.ops) {
      if (!restricted(op)) continue;
      std::vector<ValueId> made;
      const std::int64_t wide = selected_width(op, uses, &made);
      if (from_.type(op.results[0]).cols >= wide) continue;
      for (const ValueId v : made) restricted_.erase(v);
    }
  }

  /// Columns of which rows are selected to make the rows of an op; 0: it takes rows that an aggregation makes, or
  /// others take too. `made`: its result and those that lead to it.
  std::int64_t selected_width(const Op& op, const std::vector<std::int32_t>& uses, std::vector<ValueId>* made) const {
    if (aggregates(op)) return 0;
    made->push_back(op.results[0]);
    std::int64_t wide = 0;
    for (const ValueId input : op.inputs) {
      if (!on_nodes(input)) continue;
      const bool whole = restricted_.count(input) == 0;
      if (!whole && uses[static_cast<std::size_t>(input)] > 1) return 0;
      const std::int64_t width = whole ? from_.type(input).cols : selected_width(*maker(input), uses, made);
      if (width == 0) return 0;
      wide += width;
    }
    return wide;
  }

  /// Of all ranks, or of this program.
  LossRowsOfAll numbers() const {
    if (rows_.of_all) return *rows_.of_all;
    LossRowsOfAll own{from_.rows(from_.output("train_logits")), rows_.count, rows_.edges, {}};
    for (const ir::GraphDef& graph : from_.graphs) own.graphs.push_back(graph.num_edges);
    return own;
  }

  /// Are the new graphs, forth and back, small?
  bool pays() {
    constexpr std::int64_t kBytesOfEdge = 2 * sizeof(NodeId);
    constexpr std::int64_t kBytesOfWeight = sizeof(float) + sizeof(EdgeId);  // and its slot
    const LossRowsOfAll all = numbers();
    std::int64_t bytes = all.count * (kBytesOfEdge + rows_.label_bytes);
    std::int64_t most = 0;
    for (const auto& [graph, unused] : graphs_) {
      const auto g = static_cast<std::size_t>(graph);
      bytes += all.edges[g] * (kBytesOfEdge + (weighted_.count(graph) > 0 ? kBytesOfWeight : 0));
      most = std::max(most, all.graphs[g]);
    }
    const auto added = static_cast<double>(bytes);
    const auto there = static_cast<double>(most * std::int64_t{sizeof(NodeId)} + feature_bytes_);
    const bool small =
        added <= std::max(rows_.most_share * there, static_cast<double>(rows_.free_bytes)) && all.count < all.nodes;
    decisions_->push_back(fmt::format(
        "{} of {} rows of logits in training{}", small ? all.count : all.nodes, all.nodes,
        small ? fmt::format(" ({} ops on them alone)", restricted_.size())
              : fmt::format(": the edges into the {} of the loss and their labels would take {:.1f} MiB more",
                            all.count, added / (1 << 20))));
    return small;
  }

  /// The whole program, whose restricted sums say so.
  ir::Program mark() const {
    ir::Program out = from_;
    for (Op& op : out.ops) {
      const std::string fn = op.attrs.text("fn", "sum");
      const bool sums = op.kind == OpKind::spmm && op.inputs.size() == 1 && (fn == "sum" || fn == "mean");
      if (!sums || !restricted(op)) continue;
      op.attrs.set("loss", std::string("rows"));
      op.attrs.set("loss_edges", rows_.edges[static_cast<std::size_t>(graph_of(op))]);
    }
    return out;
  }

  void add_spaces() {
    ir::Program& program = rewriter_.program();
    space_ = static_cast<std::int32_t>(program.node_sets.size());
    program.node_sets.push_back({"loss_rows", rows_.count});
    const auto add = [&](ir::GraphDef def) {
      program.graphs.push_back(std::move(def));
      return static_cast<std::int32_t>(program.graphs.size()) - 1;
    };
    for (auto& [base, restricted] : graphs_) {
      const ir::GraphDef& from = from_.graphs[static_cast<std::size_t>(base)];
      const auto at = static_cast<std::size_t>(base);
      ir::GraphDef into = {from.name + "+into_loss_rows",
                           ir::GraphOrigin::kIntoLossRows,
                           base,
                           from.src_set,
                           space_,
                           rows_.edges[at],
                           from.weighted,
                           false};
      if (rows_.of_all) into.part_of = {rows_.of_all->count, rows_.of_all->nodes, rows_.of_all->edges[at]};
      restricted = add(std::move(into));
    }
    const std::int32_t nodes = from_.type(from_.output("train_logits")).set;
    selection_ = add({"loss_rows", ir::GraphOrigin::kLossRows, 0, nodes, space_, rows_.count, false, false});
  }

  void emit(const Op& op) {
    ir::Builder builder = rewriter_.builder_at(op);
    ir::Attrs attrs = op.attrs;
    if (aggregates(op)) attrs.set("graph", std::int64_t{graphs_.at(graph_of(op))});
    std::vector<ValueId> inputs;
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      const ValueId input = op.inputs[k];
      if (from_.type(input).domain == Domain::kEdge) {
        inputs.push_back(on_edges(builder, input, graph_of(op)));
      } else if (on_nodes(input) && (!aggregates(op) || own_row(op, k))) {
        inputs.push_back(on_rows(builder, input));
      } else {
        inputs.push_back(rewriter_.map(input));
      }
    }
    narrow_[op.results[0]] = builder.add(op.kind, inputs, attrs);
  }

  /// The rows of the loss of a value of nodes.
  ValueId on_rows(ir::Builder& builder, ValueId value) {
    const auto found = narrow_.find(value);
    if (found != narrow_.end()) return found->second;
    const ValueId selected = builder.add(OpKind::spmm, {rewriter_.map(value)},
                                         {{"fn", std::string("sum")},
                                          {"graph", std::int64_t{selection_}},
                                          {"heads", std::int64_t{1}},
                                          {"transpose", std::int64_t{0}}});
    narrow_[value] = selected;
    return selected;
  }

  /// A value of edges, for those into the rows of the loss.
  ValueId on_edges(ir::Builder& builder, ValueId value, std::int32_t base) {
    const auto found = narrow_.find(value);
    if (found != narrow_.end()) return found->second;
    const Op& op = *maker(value);
    const std::int32_t graph = graphs_.at(base);
    ir::Attrs attrs = op.attrs;
    if (attrs.has("graph")) attrs.set("graph", std::int64_t{graph});
    ValueId made = ir::kNoValue;
    if (op.kind == OpKind::constant) {
      made = builder.leaf(OpKind::constant, ir::edge_type(graph, from_.type(value).cols), attrs);
    } else {
      std::vector<ValueId> inputs;
      for (const ValueId input : op.inputs) {
        const Domain domain = from_.type(input).domain;
        inputs.push_back(domain == Domain::kEdge         ? on_edges(builder, input, base)
                         : op.kind == OpKind::gather_dst ? on_rows(builder, input)
                                                         : rewriter_.map(input));
      }
      made = builder.add(op.kind, inputs, attrs);
    }
    narrow_[value] = made;
    return made;
  }

  const ir::Program& from_;
  const LossRows& rows_;
  std::int64_t feature_bytes_;
  std::vector<std::string>* decisions_;
  std::vector<std::int32_t> makers_;
  std::vector<bool> constant_;
  Rewriter rewriter_;
  std::set<ValueId> restricted_;                 ///< results that are made for the rows of the loss only
  std::map<std::int32_t, std::int32_t> graphs_;  ///< graphs that are walked for them -> those of the edges into them
  std::set<std::int32_t> weighted_;              ///< of these, the ones walked with weights
  std::int32_t space_ = 0;
  std::int32_t selection_ = 0;
  std::map<ValueId, ValueId> narrow_;  ///< value -> its rows of the loss, or its edges into them
};

}  // namespace

ir::Program restrict_to_loss_rows(const ir::Program& program, const LossRows& rows, std::int64_t feature_bytes,
                                  std::vector<std::string>* decisions) {
  return Restrictor(program, rows, feature_bytes, decisions).run();
}

}  // namespace gneiss::passes
