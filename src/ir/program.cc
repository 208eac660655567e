// Attributes, lookups, the builder that infers types, and the table of ops from ops.def.
#include "ir/program.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace gneiss::ir {
namespace {

constexpr auto kTraits = std::to_array<OpTraits>({
#define GNEISS_OP(name, least, most, results, in_place, rule) {#name, least, most, results, in_place},
#include "ir/ops.def"
#undef GNEISS_OP
});

}  // namespace

const OpTraits& traits(OpKind kind) { return kTraits[static_cast<std::size_t>(kind)]; }

const std::vector<OpKind>& all_op_kinds() {
  static const std::vector<OpKind> kinds = [] {
    std::vector<OpKind> list;
    for (std::size_t i = 0; i < kTraits.size(); ++i) list.push_back(static_cast<OpKind>(i));
    return list;
  }();
  return kinds;
}

bool find_op_kind(std::string_view name, OpKind* kind) {
  const auto found = std::find_if(kTraits.begin(), kTraits.end(), [&](const OpTraits& t) { return t.name == name; });
  if (found == kTraits.end()) return false;
  *kind = static_cast<OpKind>(found - kTraits.begin());
  return true;
}

Attrs::Attrs(std::initializer_list<Attr> list) {
  for (const Attr& attr : list) set(attr.name, attr.value);
}

const Attr* Attrs::find(std::string_view name) const {
  const auto found = std::find_if(list_.begin(), list_.end(), [&](const Attr& a) { return a.name == name; });
  return found == list_.end() ? nullptr : &*found;
}

bool Attrs::has(std::string_view name) const { return find(name) != nullptr; }

std::int64_t Attrs::integer(std::string_view name, std::int64_t otherwise) const {
  const Attr* attr = find(name);
  if (attr == nullptr) return otherwise;
  const auto* value = std::get_if<std::int64_t>(&attr->value);
  GNEISS_ASSERT(value != nullptr, "attribute {} is not an integer", name);
  return *value;
}

double Attrs::real(std::string_view name, double otherwise) const {
  const Attr* attr = find(name);
  if (attr == nullptr) return otherwise;
  if (const auto* whole = std::get_if<std::int64_t>(&attr->value)) return static_cast<double>(*whole);
  const auto* value = std::get_if<double>(&attr->value);
  GNEISS_ASSERT(value != nullptr, "attribute {} is not a number", name);
  return *value;
}

std::string Attrs::text(std::string_view name, std::string_view otherwise) const {
  const Attr* attr = find(name);
  if (attr == nullptr) return std::string(otherwise);
  const auto* value = std::get_if<std::string>(&attr->value);
  GNEISS_ASSERT(value != nullptr, "attribute {} is not a text", name);
  return *value;
}

void Attrs::set(std::string_view name, AttrValue value) {
  const auto at =
      std::lower_bound(list_.begin(), list_.end(), name, [](const Attr& a, std::string_view n) { return a.name < n; });
  if (at != list_.end() && at->name == name) {
    at->value = std::move(value);
  } else {
    list_.insert(at, {std::string(name), std::move(value)});
  }
}

bool is_training_loss(const Op& op) { return is_loss(op.kind) && op.attrs.text("nodes", "") != "val"; }

bool is_loss(OpKind kind) {
  return kind == OpKind::cross_entropy || kind == OpKind::bce_with_logits || kind == OpKind::mse;
}

ValueId row_value(const Op& op) {
  const bool sums =
      op.kind == OpKind::sum_rows || is_loss(op.kind) || (op.kind == OpKind::gemm && op.attrs.integer("ta", 0) != 0);
  return sums ? op.inputs[0] : op.results[0];
}

bool is_between_ranks(OpKind kind) {
  switch (kind) {
    case OpKind::halo:
    case OpKind::halo_add:
    case OpKind::halo_start:
    case OpKind::halo_wait:
    case OpKind::halo_add_start:
    case OpKind::halo_add_wait:
    case OpKind::rank_sum:
    case OpKind::rank_range:
      return true;
    default:
      return false;
  }
}

bool is_row_by_row(const Op& op) {
  switch (op.kind) {
    case OpKind::add:
    case OpKind::sub:
    case OpKind::mul:
    case OpKind::div:
    case OpKind::maximum:
    case OpKind::minimum:
    case OpKind::maximum_grad:
    case OpKind::mul_add:
    case OpKind::affine:
    case OpKind::relu:
    case OpKind::leaky_relu:
    case OpKind::elu:
    case OpKind::sigmoid:
    case OpKind::tanh:
    case OpKind::exp:
    case OpKind::log:
    case OpKind::sqrt:
    case OpKind::rsqrt:
    case OpKind::unary_grad:
    case OpKind::sum_groups:
    case OpKind::expand_groups:
    case OpKind::sum_heads:
    case OpKind::tile_heads:
    case OpKind::concat:
    case OpKind::slice:
      return true;
    case OpKind::gemm:
      return op.attrs.integer("ta", 0) == 0;
    default:
      return false;
  }
}

bool reads_whole(const Op& op, std::size_t input) {
  if (op.kind == OpKind::spmm) return input == 0;
  if (op.kind == OpKind::attention) return input < 2;
  return op.kind == OpKind::attention_grad && input >= 2;
}

bool weighs_edges(const Op& spmm) { return spmm.inputs.size() - (spmm.attrs.integer("scaled", 0) != 0 ? 1 : 0) > 1; }

bool has_gate(const Program& program, const Op& attention) {
  return attention.inputs.size() > 3 && program.type(attention.inputs[3]).domain == Domain::kEdge;
}

ValueId Program::output(std::string_view output_name) const {
  for (const Output& out : outputs) {
    if (out.name == output_name) return out.value;
  }
  return kNoValue;
}

std::int64_t Program::rows(const Type& type) const {
  switch (type.domain) {
    case Domain::kGlobal:
      return type.rows;
    case Domain::kNode:
      return node_sets[static_cast<std::size_t>(type.set)].size;
    case Domain::kEdge:
      return graphs[static_cast<std::size_t>(type.set)].num_edges;
  }
  return kUnknown;
}

std::int64_t Sizes::rows(const Type& type) const {
  switch (type.domain) {
    case Domain::kGlobal:
      return type.rows;
    case Domain::kNode:
      return nodes[static_cast<std::size_t>(type.set)];
    case Domain::kEdge:
      return edges[static_cast<std::size_t>(type.set)];
  }
  return kUnknown;
}

Sizes capacity(const Program& program) {
  Sizes sizes;
  for (const NodeSet& set : program.node_sets) sizes.nodes.push_back(set.size);
  for (const GraphDef& graph : program.graphs) sizes.edges.push_back(graph.num_edges);
  return sizes;
}

bool changes(const Program& program, const Type& type) {
  if (type.domain == Domain::kNode) return program.node_sets[static_cast<std::size_t>(type.set)].changes;
  return type.domain == Domain::kEdge && program.graphs[static_cast<std::size_t>(type.set)].changes;
}

std::vector<std::int32_t> producers(const Program& program) {
  std::vector<std::int32_t> maker(program.values.size(), -1);
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    for (const ValueId result : program.ops[i].results) {
      if (result != kNoValue) maker[static_cast<std::size_t>(result)] = static_cast<std::int32_t>(i);
    }
  }
  return maker;
}

std::vector<std::int32_t> use_counts(const Program& program) {
  std::vector<std::int32_t> uses(program.values.size(), 0);
  for (const Op& op : program.ops) {
    for (const ValueId input : op.inputs) ++uses[static_cast<std::size_t>(input)];
  }
  for (const Output& out : program.outputs) ++uses[static_cast<std::size_t>(out.value)];
  for (const Param& param : program.params) {
    if (param.grad != kNoValue) ++uses[static_cast<std::size_t>(param.grad)];
  }
  return uses;
}

ValueId Builder::new_value(const Type& type, std::string_view stem) {
  const auto id = static_cast<ValueId>(program_->values.size());
  program_->values.push_back({fmt::format("{}.{}", stem, id), type});
  return id;
}

std::vector<ValueId> Builder::add_all(OpKind kind, std::vector<ValueId> inputs, Attrs attrs) {
  std::vector<Type> types;
  types.reserve(inputs.size());
  for (const ValueId input : inputs) types.push_back(program_->type(input));
  std::vector<Type> results;
  const std::string problem = infer_types(*program_, kind, types, attrs, &results);
  GNEISS_ASSERT(problem.empty(), "{}", problem);
  Op op{kind, std::move(inputs), {}, std::move(attrs), phase_, location_};
  for (const Type& type : results) op.results.push_back(new_value(type, traits(kind).name));
  program_->ops.push_back(op);
  return op.results;
}

ValueId Builder::add(OpKind kind, std::vector<ValueId> inputs, Attrs attrs, bool all_results) {
  const auto results = add_all(kind, std::move(inputs), std::move(attrs));
  if (!all_results) {
    Op& op = program_->ops.back();
    for (std::size_t i = op.results.size(); i-- > 1 && is_optional_result(kind, i);) {
      program_->values.pop_back();
      op.results[i] = kNoValue;
    }
  }
  return results.empty() ? kNoValue : results[0];
}

bool is_optional_result(OpKind kind, std::size_t index) {
  // Which edge won a maximum; what the backward of attention needs; the gradient of a loss.
  return index > 0 &&
         (kind == OpKind::spmm || kind == OpKind::segment_reduce || kind == OpKind::attention || is_loss(kind));
}

ValueId Builder::leaf(OpKind kind, const Type& type, Attrs attrs, std::string name) {
  const ValueId value = new_value(type, name.empty() ? traits(kind).name : std::string_view(name));
  program_->ops.push_back({kind, {}, {value}, std::move(attrs), phase_, location_});
  return value;
}

ValueId Builder::param(Param param) {
  param.value = leaf(OpKind::param, global_type(param.rows, param.cols), {{"name", param.name}}, param.name);
  program_->params.push_back(std::move(param));
  return program_->params.back().value;
}

void Builder::name_last(std::string name) {
  const ValueId value = program_->ops.back().results[0];
  program_->values[static_cast<std::size_t>(value)].name = fmt::format("{}.{}", name, value);
}

}  // namespace gneiss::ir
