// Shape rules: what types an op gives for the types of its operands, or why it cannot take them.
#include <algorithm>

#include "base/error.h"
#include "ir/program.h"

namespace gneiss::ir {
namespace {

struct Call {
  const Program& program;
  OpKind kind;
  const std::vector<Type>& in;
  const Attrs& attrs;
  std::vector<Type>* out;

  std::string_view name() const { return traits(kind).name; }
};

std::string describe(const Type& type) {
  switch (type.domain) {
    case Domain::kGlobal:
      return fmt::format("[{}, {}]", type.rows, type.cols);
    case Domain::kNode:
      return fmt::format("node[{}]", type.cols);
    case Domain::kEdge:
      return fmt::format("edge[{}]", type.cols);
  }
  return "?";
}

/// The op's graph, or nullptr with a problem.
const GraphDef* graph_of(const Call& call, std::string* problem) {
  const std::int64_t graph = call.attrs.integer("graph", -1);
  if (graph < 0 || graph >= static_cast<std::int64_t>(call.program.graphs.size())) {
    *problem = fmt::format("{}: graph {} does not exist", call.name(), graph);
    return nullptr;
  }
  return &call.program.graphs[static_cast<std::size_t>(graph)];
}

std::int32_t graph_index(const Call& call) { return static_cast<std::int32_t>(call.attrs.integer("graph", -1)); }

bool same_rows(const Type& a, const Type& b) {
  return a.domain == b.domain && a.set == b.set && (a.domain != Domain::kGlobal || a.rows == b.rows);
}

Type with_cols(Type type, std::int64_t cols) {
  type.cols = cols;
  type.layout = Layout::kDense;
  type.scalar = Scalar::kReal;
  return type;
}

bool is_extreme(const Attrs& attrs) {
  const std::string fn = attrs.text("fn", "sum");
  return fn == "max" || fn == "min";
}

std::string rule_declared(const Call& call) { return fmt::format("{}: a leaf is declared, not inferred", call.name()); }

std::string rule_edge_scalar(const Call& call) {
  std::string problem;
  if (graph_of(call, &problem) == nullptr) return problem;
  call.out->push_back(edge_type(graph_index(call), 1));
  return {};
}

std::string rule_degree(const Call& call) {
  std::string problem;
  const GraphDef* graph = graph_of(call, &problem);
  if (graph == nullptr) return problem;
  call.out->push_back(node_type(call.attrs.text("side", "dst") == "dst" ? graph->dst_set : graph->src_set, 1));
  return {};
}

std::string rule_gemm(const Call& call) {
  const Type& a = call.in[0];
  const Type& b = call.in[1];
  const bool ta = call.attrs.integer("ta", 0) != 0;
  const bool tb = call.attrs.integer("tb", 0) != 0;
  if (ta) {
    if (call.in.size() == 3) return fmt::format("{}: no addend where the left operand is transposed", call.name());
    if (!same_rows(a, b))
      return fmt::format("{}: {} and {} have different rows", call.name(), describe(a), describe(b));
    if (tb) return fmt::format("{}: both operands transposed", call.name());
    call.out->push_back(global_type(a.cols, b.cols));
    return {};
  }
  if (b.domain != Domain::kGlobal)
    return fmt::format("{}: the right operand {} is not a global matrix", call.name(), describe(b));
  const std::int64_t inner = tb ? b.cols : b.rows;
  if (a.cols != inner) return fmt::format("{}: left has {} columns, right has {} rows", call.name(), a.cols, inner);
  call.out->push_back(with_cols(a, tb ? b.rows : b.cols));
  const Type& result = call.out->back();
  if (call.in.size() == 3 && call.in[2] != result && call.in[2] != global_type(1, result.cols)) {
    return fmt::format("{}: the addend {} does not fit {}", call.name(), describe(call.in[2]), describe(result));
  }
  return {};
}

std::string rule_to_dense(const Call& call) {
  call.out->push_back(with_cols(call.in[0], call.in[0].cols));
  return {};
}

std::string rule_to_float(const Call& call) {
  if (!is_half(call.in[0].scalar)) return "to_float: the operand is not stored in 16 bits";
  call.out->push_back(with_cols(call.in[0], call.in[0].cols));
  return {};
}

/// The type with the 16-bit storage that `dtype` names, or as it is without the attribute.
std::string store_as_half(const Call& call, Type* type) {
  if (!call.attrs.has("dtype")) return {};
  type->scalar = scalar_of(half_type(call.attrs.text("dtype", "")));
  return is_half(type->scalar) ? std::string() : fmt::format("{}: dtype {}", call.name(), call.attrs.text("dtype", ""));
}

std::string rule_to_half(const Call& call) {
  if (call.in[0].layout == Layout::kSparse || !call.attrs.has("dtype"))
    return "to_half: takes dense values and a dtype";
  call.out->push_back(with_cols(call.in[0], call.in[0].cols));
  return store_as_half(call, &call.out->back());
}

std::string rule_same_shape(const Call& call) {
  for (const Type& type : call.in) {
    const bool parameter_row = type.domain == Domain::kGlobal && type.rows == 1 && type.cols == call.in[0].cols;
    const bool fits = same_rows(type, call.in[0]) && type.cols == call.in[0].cols;
    if (!fits && !(call.kind == OpKind::batch_norm_inference && parameter_row)) {
      return fmt::format("{}: {} does not have the shape of {}", call.name(), describe(type), describe(call.in[0]));
    }
  }
  Type type = call.in[0];
  if (call.kind != OpKind::dropout) type.layout = Layout::kDense;
  type.scalar = Scalar::kReal;
  call.out->push_back(type);
  return {};
}

std::string rule_broadcast(const Call& call) {
  const Type& a = call.in[0];
  const Type& b = call.in[1];
  const bool a_row = a.domain == Domain::kGlobal && a.rows == 1;
  const bool b_row = b.domain == Domain::kGlobal && b.rows == 1;
  if (!same_rows(a, b) && !a_row && !b_row) {
    return fmt::format("{}: {} and {} live on different rows", call.name(), describe(a), describe(b));
  }
  const std::int64_t wide = std::max(a.cols, b.cols);
  const std::int64_t narrow = std::min(a.cols, b.cols);
  if (narrow == 0 || wide % narrow != 0) {
    return fmt::format("{}: {} columns do not fit {} columns", call.name(), a.cols, b.cols);
  }
  call.out->push_back(with_cols(a_row && !b_row ? b : a, wide));
  return {};
}

std::string rule_mul_add(const Call& call) {
  std::vector<Type> product;
  const std::string problem = rule_broadcast({call.program, call.kind, {call.in[1], call.in[2]}, call.attrs, &product});
  if (!problem.empty()) return problem;
  const bool row = product[0].domain == Domain::kGlobal && product[0].rows == 1;
  if (call.in[0].cols % product[0].cols != 0 || (!row && !same_rows(call.in[0], product[0]))) {
    return fmt::format("{}: {} and {} do not fit", call.name(), describe(call.in[0]), describe(product[0]));
  }
  call.out->push_back(with_cols(call.in[0], call.in[0].cols));
  return {};
}

std::string rule_sum_rows(const Call& call) {
  call.out->push_back(global_type(1, call.in[0].cols));
  return {};
}

/// Columns cut into `attr` groups; the result has `cols(groups)` of them.
std::string column_rule(const Call& call, std::string_view attr, bool shrinks, bool keeps_groups) {
  const std::int64_t groups = call.attrs.integer(attr, 0);
  const std::int64_t cols = call.in[0].cols;
  if (groups <= 0) return fmt::format("{}: {} = {}", call.name(), attr, groups);
  if (shrinks) {
    if (cols % groups != 0) return fmt::format("{}: {} columns are not a multiple of {}", call.name(), cols, groups);
    call.out->push_back(with_cols(call.in[0], keeps_groups ? groups : cols / groups));
    return {};
  }
  const std::int64_t wide = keeps_groups ? call.attrs.integer("cols", 0) : cols * groups;
  if (keeps_groups && (cols != groups || wide % groups != 0)) {
    return fmt::format("{}: {} columns cannot become {} in {} groups", call.name(), cols, wide, groups);
  }
  call.out->push_back(with_cols(call.in[0], wide));
  return {};
}

std::string rule_sum_groups(const Call& call) { return column_rule(call, "groups", true, true); }
std::string rule_expand_groups(const Call& call) { return column_rule(call, "groups", false, true); }
std::string rule_sum_heads(const Call& call) { return column_rule(call, "heads", true, false); }
std::string rule_tile_heads(const Call& call) { return column_rule(call, "heads", false, false); }

std::string rule_concat(const Call& call) {
  std::int64_t cols = 0;
  for (const Type& type : call.in) {
    if (!same_rows(type, call.in[0])) {
      return fmt::format("concat: {} and {} live on different rows", describe(call.in[0]), describe(type));
    }
    cols += type.cols;
  }
  call.out->push_back(with_cols(call.in[0], cols));
  return {};
}

std::string rule_slice(const Call& call) {
  const std::int64_t begin = call.attrs.integer("begin", 0);
  const std::int64_t cols = call.attrs.integer("cols", 0);
  if (begin < 0 || cols < 0 || begin + cols > call.in[0].cols) {
    return fmt::format("slice: columns {}..{} of {}", begin, begin + cols, call.in[0].cols);
  }
  call.out->push_back(with_cols(call.in[0], cols));
  return {};
}

std::string check_row_params(const Call& call, std::size_t from) {
  for (std::size_t i = from; i < call.in.size(); ++i) {
    if (call.in[i] != global_type(1, call.in[0].cols)) {
      return fmt::format("{}: operand {} is {}, not [1, {}]", call.name(), i, describe(call.in[i]), call.in[0].cols);
    }
  }
  return {};
}

std::string rule_batch_norm(const Call& call) {
  const Type row = global_type(1, call.in[0].cols);
  *call.out = {with_cols(call.in[0], call.in[0].cols), row, row};
  return check_row_params(call, 1);
}

/// x, gamma, mean, var, dy -> dx, dgamma, dbeta.
std::string rule_norm_grad(const Call& call) {
  const Type row = global_type(1, call.in[0].cols);
  if (call.in[4] != with_cols(call.in[0], call.in[0].cols))
    return fmt::format("{}: dy does not have the shape of x", call.name());
  *call.out = {call.in[4], row, row};
  return {};
}

std::string rule_nothing(const Call& /*call*/) { return {}; }

std::string rule_layer_norm(const Call& call) {
  const Type statistic = call.attrs.text("mode", "node") == "graph" ? global_type(1, 1) : with_cols(call.in[0], 1);
  *call.out = {with_cols(call.in[0], call.in[0].cols), statistic, statistic};
  return check_row_params(call, 1);
}

/// Does `type` live on the nodes of `set`?
bool on_set(const Type& type, std::int32_t set) { return type.domain == Domain::kNode && type.set == set; }

std::string rule_gather(const Call& call) {
  std::string problem;
  const GraphDef* graph = graph_of(call, &problem);
  if (graph == nullptr) return problem;
  const std::int32_t set = call.kind == OpKind::gather_src ? graph->src_set : graph->dst_set;
  if (!on_set(call.in[0], set))
    return fmt::format("{}: {} is not a node value of the graph's end", call.name(), describe(call.in[0]));
  call.out->push_back(edge_type(graph_index(call), call.in[0].cols));
  return {};
}

std::string rule_segment_reduce(const Call& call) {
  std::string problem;
  const GraphDef* graph = graph_of(call, &problem);
  if (graph == nullptr) return problem;
  if (call.in[0].domain != Domain::kEdge || call.in[0].set != graph_index(call)) {
    return fmt::format("segment_reduce: {} is not an edge value of graph {}", describe(call.in[0]), graph_index(call));
  }
  const std::int32_t set = call.attrs.text("side", "dst") == "dst" ? graph->dst_set : graph->src_set;
  const Type result = node_type(set, call.in[0].cols);
  call.out->push_back(result);
  call.out->push_back(result);
  call.out->back().scalar = Scalar::kIndex;
  return {};
}

std::string rule_segment_arg_grad(const Call& call) {
  call.out->push_back(edge_type(graph_index(call), call.in[1].cols));
  return {};
}

std::string rule_spmm(const Call& call) {
  std::string problem;
  const GraphDef* graph = graph_of(call, &problem);
  if (graph == nullptr) return problem;
  const bool transpose = call.attrs.integer("transpose", 0) != 0;
  const std::int64_t heads = call.attrs.integer("heads", 1);
  if (!on_set(call.in[0], transpose ? graph->dst_set : graph->src_set)) {
    return fmt::format("spmm: {} is not a value of the nodes that send", describe(call.in[0]));
  }
  if (heads <= 0 || call.in[0].cols % heads != 0)
    return fmt::format("spmm: {} columns in {} heads", call.in[0].cols, heads);
  const std::int32_t receivers = transpose ? graph->src_set : graph->dst_set;
  const bool scaled = call.attrs.integer("scaled", 0) != 0;
  if (scaled && (is_extreme(call.attrs) || call.in.size() < 2 || call.in.back() != node_type(receivers, 1))) {
    return fmt::format("spmm: {} is no factor for rows of a sum or mean", describe(call.in.back()));
  }
  const std::size_t terms = call.in.size() - (scaled ? 1 : 0);
  if (terms > 2) return "spmm: more than values and weights";
  if (terms == 2 && call.in[1] != edge_type(graph_index(call), heads)) {
    return fmt::format("spmm: weights are {}, not edge[{}]", describe(call.in[1]), heads);
  }
  const Type result = node_type(receivers, call.in[0].cols);
  call.out->push_back(result);
  call.out->push_back(result);
  call.out->back().scalar = Scalar::kIndex;
  return store_as_half(call, &call.out->front());
}

Type winners_type(std::int32_t set, std::int64_t cols) {
  Type type = node_type(set, cols);
  type.scalar = Scalar::kIndex;
  return type;
}

/// arg -> winners' ids; arg, dy, w -> winners' ids, weighed dy.
std::string rule_arg_sources(const Call& call) {
  std::string problem;
  const GraphDef* graph = graph_of(call, &problem);
  if (graph == nullptr) return problem;
  const Type winners = winners_type(graph->dst_set, call.in[0].cols);
  if (call.in[0] != winners) return fmt::format("arg_sources: {} does not say who won", describe(call.in[0]));
  call.out->push_back(winners);
  if (call.in.size() == 1) return {};
  const Type rows = node_type(graph->dst_set, winners.cols);
  if (call.in.size() == 2 || call.in[1] != rows || call.in[2] != edge_type(graph_index(call), 1))
    return "arg_sources: takes a gradient of the shape of the winners with one weight an edge";
  call.out->push_back(rows);
  return {};
}

std::string rule_spmm_arg_grad(const Call& call) {
  std::string problem;
  const GraphDef* graph = graph_of(call, &problem);
  if (graph == nullptr) return problem;
  const bool by_id = call.attrs.integer("by_id", 0) != 0;
  const std::int32_t set = by_id ? graph->src_set : graph->dst_set;
  if (call.in[0] != winners_type(set, call.in[1].cols) || call.in[1] != node_type(set, call.in[1].cols))
    return fmt::format("spmm_arg_grad: {} and {} are no winners and gradient of one set of nodes", describe(call.in[0]),
                       describe(call.in[1]));
  if (by_id && call.in.size() > 2) return "spmm_arg_grad: rows that came with ids are weighed already";
  call.out->push_back(node_type(by_id ? graph->dst_set : graph->src_set, call.in[1].cols));
  return {};
}

std::string rule_sddmm(const Call& call) {
  const std::int64_t heads = call.attrs.integer("heads", 1);
  if (call.in[0].cols != call.in[1].cols || heads <= 0 || call.in[0].cols % heads != 0) {
    return fmt::format("sddmm: {} and {} in {} heads", describe(call.in[0]), describe(call.in[1]), heads);
  }
  call.out->push_back(edge_type(graph_index(call), heads));
  return {};
}

/// z, s_src, s_dst, gate or range? -> y, tangent, lse.
std::string rule_attention(const Call& call) {
  std::string problem;
  const GraphDef* graph = graph_of(call, &problem);
  if (graph == nullptr) return problem;
  const std::int64_t heads = call.attrs.integer("heads", 1);
  if (!on_set(call.in[0], graph->src_set))
    return fmt::format("attention: {} is not a value of the nodes that send", describe(call.in[0]));
  if (heads <= 0 || call.in[0].cols % heads != 0)
    return fmt::format("attention: {} columns in {} heads", call.in[0].cols, heads);
  const bool ranged = call.in.size() > 3 && call.in[3].domain == Domain::kGlobal;
  const Type wanted[] = {node_type(graph->src_set, heads), node_type(graph->dst_set, heads),
                         ranged ? global_type(2, heads) : edge_type(graph_index(call), heads)};
  for (std::size_t i = 1; i < call.in.size(); ++i) {
    if (call.in[i] != wanted[i - 1]) {
      return fmt::format("attention: operand {} is {}, not {}", i, describe(call.in[i]), describe(wanted[i - 1]));
    }
  }
  const Type y = node_type(graph->dst_set, call.in[0].cols);
  *call.out = {y, y, node_type(graph->dst_set, heads)};
  return {};
}

/// z, s_src, s_dst, lse, dots, dy, gate? -> dz, ds_src.
std::string rule_attention_grad(const Call& call) {
  *call.out = {call.in[0], call.in[1]};
  if (call.in[3] != call.in[2] || call.in[4] != call.in[2])
    return fmt::format("{}: lse and dots do not have the shape of s_dst", call.name());
  return {};
}

std::string rule_halo(const Call& call) {
  const std::int64_t to = call.attrs.integer("to", -1);
  if (call.in[0].domain != Domain::kNode || to < 0 || to >= std::ssize(call.program.node_sets))
    return fmt::format("{}: {} to node set {}", call.name(), describe(call.in[0]), to);
  call.out->push_back(node_type(static_cast<std::int32_t>(to), call.in[0].cols));
  if (call.in[0].scalar != Scalar::kIndex) return {};
  if (call.kind != OpKind::halo && call.kind != OpKind::halo_start)
    return fmt::format("{}: indices are fetched, not added", call.name());
  call.out->back().scalar = Scalar::kIndex;
  return {};
}

/// x -> own and ghost rows, packed rows.
std::string rule_halo_start(const Call& call) {
  std::string fault = rule_halo(call);
  const std::int64_t packed = call.attrs.integer("packed_set", -1);
  if (fault.empty() && (packed < 0 || packed >= std::ssize(call.program.node_sets)))
    fault = fmt::format("{}: packed rows are node set {}", call.name(), packed);
  if (!fault.empty()) return fault;
  call.out->push_back(call.out->front());
  call.out->back().set = static_cast<std::int32_t>(packed);
  return {};
}

/// Rows that are on their way, packed rows.
std::string rule_halo_wait(const Call& call) {
  if (call.in[0].domain != Domain::kNode || call.in[1].cols != call.in[0].cols ||
      call.in[1].scalar != call.in[0].scalar)
    return fmt::format("{}: {} with packed rows {}", call.name(), describe(call.in[0]), describe(call.in[1]));
  return {};
}

std::string rule_rank_sum(const Call& call) {
  if (call.in[0].domain != Domain::kGlobal)
    return fmt::format("{}: {} is not a global value", call.name(), describe(call.in[0]));
  call.out->push_back(with_cols(call.in[0], call.in[0].cols));
  return {};
}

/// Rows of nodes -> the highest and lowest of each column.
std::string rule_rank_range(const Call& call) {
  if (call.in[0].domain != Domain::kNode)
    return fmt::format("{}: {} is not a value of nodes", call.name(), describe(call.in[0]));
  call.out->push_back(global_type(2, call.in[0].cols));
  return {};
}

std::string rule_loss(const Call& call) {
  if (call.in[0].domain != Domain::kNode)
    return fmt::format("{}: logits are {}, not a node value", call.name(), describe(call.in[0]));
  *call.out = {global_type(1, 1), call.in[0]};
  return {};
}

using Rule = std::string (*)(const Call&);
constexpr Rule kRules[] = {
#define GNEISS_OP(name, least, most, results, in_place, rule) rule_##rule,
#include "ir/ops.def"
#undef GNEISS_OP
};

}  // namespace

bool reads_halves(OpKind kind, const Attrs& attrs, std::size_t index) {
  if (index != 0) return false;
  if (kind == OpKind::spmm) return !is_extreme(attrs) && attrs.integer("heads", 1) == 1;
  return kind == OpKind::gemm || kind == OpKind::to_float;
}

std::string infer_types(const Program& program, OpKind kind, const std::vector<Type>& inputs, const Attrs& attrs,
                        std::vector<Type>* results) {
  const OpTraits& op = traits(kind);
  const auto count = static_cast<int>(inputs.size());
  if (count < op.least_inputs || count > op.most_inputs) {
    return fmt::format("{}: takes {} to {} operands, got {}", op.name, op.least_inputs, op.most_inputs, count);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (is_half(inputs[i].scalar) && !reads_halves(kind, attrs, i)) {
      return fmt::format("{}: operand {} is stored in 16 bits, which this op does not read", op.name, i);
    }
  }
  results->clear();
  std::string problem = kRules[static_cast<std::size_t>(kind)]({program, kind, inputs, attrs, results});
  if (!problem.empty()) return problem;
  const bool reduces = kind == OpKind::spmm || kind == OpKind::segment_reduce;
  if (reduces && !is_extreme(attrs)) results->pop_back();
  return {};
}

}  // namespace gneiss::ir
