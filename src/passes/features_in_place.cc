// A batch's first layer sums rows that were gathered for it: each row is read, written and read again. The sums can do
// the gathering: their edges then begin at nodes of the full graph, and no copy is made. Kernels, order and places were
// chosen before and stay; only the set of nodes that the features belong to is another one.
#include "passes/features_in_place.h"

#include <algorithm>
#include <set>

#include "ir/verify_plan.h"

namespace gneiss::passes {
namespace {

using ir::Op;
using ir::OpKind;

ir::ValueId features_of(const ir::Program& program) {
  for (const Op& op : program.ops)
    if (op.kind == OpKind::input && op.attrs.text("name", "features") != "constants") return op.results[0];
  return ir::kNoValue;
}

bool reads(const Op& op, ir::ValueId value) {
  return std::find(op.inputs.begin(), op.inputs.end(), value) != op.inputs.end();
}

/// A sum of rows of the features, a row at a time.
bool sums(const Op& op, ir::ValueId features) {
  return op.kind == OpKind::spmm && op.inputs[0] == features && op.attrs.integer("transpose", 0) == 0 &&
         op.attrs.integer("panel", 0) == 0 && std::count(op.inputs.begin(), op.inputs.end(), features) == 1;
}

std::size_t graph_of(const Op& op) { return static_cast<std::size_t>(op.attrs.integer("graph", 0)); }

/// The graphs of all sums of features; none where something stands in the way.
std::set<std::size_t> graphs_of_sums(const ir::Plan& plan, ir::ValueId features) {
  std::set<std::size_t> graphs;
  for (const Op& op : plan.program.ops) {
    if (!reads(op, features)) continue;
    if (!sums(op, features)) return {};
    graphs.insert(graph_of(op));
  }
  for (const Op& op : plan.program.ops) {
    const bool leaf = op.kind == OpKind::edge_weight;
    if (op.attrs.has("graph") && graphs.contains(graph_of(op)) && !leaf && !reads(op, features)) return {};
  }
  for (const std::size_t graph : graphs)
    if (plan.graph_uses[graph].transpose) return {};
  return graphs;
}

/// Is a step modelled to take no longer that way?
bool pays(const ir::Program& program, ir::ValueId features, std::int64_t num_nodes, const cost::Rates& rates) {
  const auto gathered = static_cast<double>(program.rows(features));
  const auto all = static_cast<double>(num_nodes);
  const auto columns = static_cast<double>(program.type(features).cols);
  double copied = cost::gather_seconds(rates, gathered, gathered, all, columns);
  double in_place = 0;
  for (const Op& op : program.ops) {
    if (op.phase != ir::Phase::kForward || !reads(op, features)) continue;
    const auto edges = static_cast<double>(program.graphs[graph_of(op)].num_edges);
    const auto rows = static_cast<double>(program.rows(op.results[0]));
    copied += cost::gather_seconds(rates, edges, rows, gathered, columns);
    in_place += cost::gather_seconds(rates, edges, rows, all, columns);
  }
  return in_place <= copied;
}

}  // namespace

bool read_features_in_place(std::int64_t num_nodes, const cost::Rates* rates, ir::Plan* plan,
                            std::vector<BlockGraph>* graphs) {
  ir::Program& program = plan->program;
  const ir::ValueId features = features_of(program);
  if (features == ir::kNoValue) return false;
  const std::set<std::size_t> summed = graphs_of_sums(*plan, features);
  if (summed.empty() || (rates != nullptr && !pays(program, features, num_nodes, *rates))) return false;
  const auto all = static_cast<std::int32_t>(program.node_sets.size());
  program.node_sets.push_back({"nodes", num_nodes, false});
  program.values[static_cast<std::size_t>(features)].type.set = all;
  for (const std::size_t graph : summed) {
    program.graphs[graph].src_set = all;
    (*graphs)[graph].of_all_nodes = true;
  }
  ir::verify(*plan);
  return true;
}

}  // namespace gneiss::passes
