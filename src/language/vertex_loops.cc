// StarPlat's loops over vertices, read as what they compute:
//
//   forall (v in g.nodes()) {
//     forall (u in g.neighbors(v)) { v.y += u.x * e.w; }     y = sum(x@src * edge_weight) over in_edges
//     v.y = v.y / 2;                                         y = y / 2
//   }
//
// Messages run along the edges, from u to v, whichever of neighbors, in_neighbors and nodes_to names them. Anything
// that is not such a reduction is refused: it could not be differentiated or run in parallel as it stands.
#include <fmt/format.h>

#include "language/evaluator.h"

namespace gneiss::language {
namespace {

constexpr std::string_view kForm =
    "the form is: forall (v in g.nodes()) { forall (u in g.neighbors(v)) { v.y += u.x * e.w; } }";

bool is_role(const Frame& frame, const Expr& expr, Role role) {
  if (expr.kind != ExprKind::kName) return false;
  const auto found = frame.roles.find(expr.text);
  return found != frame.roles.end() && found->second == role;
}

}  // namespace

void Evaluator::for_each(const Stmt& stmt) {
  const Expr& over = *stmt.exprs[0];
  const bool method = over.kind == ExprKind::kCall && over.operands[0]->kind == ExprKind::kMember;
  const std::string name = method ? over.operands[0]->text : std::string();
  if (frame().definition->kind == DefinitionKind::kFunction) {
    emitter_.fail(Code::E0208, stmt.span, "loops over vertices are not supported in a training script",
                  "put them into a layer, and use it in gnn.forwardPass");
  }
  const std::string* vertex = vertex_with(Role::kVertex);
  if (name == "nodes" && vertex == nullptr && over.arguments.empty()) {
    frame().roles[stmt.name] = Role::kVertex;
    execute(stmt.body);
    frame().roles.clear();
    return;
  }
  const bool neighbours = name == "neighbors" || name == "in_neighbors" || name == "nodes_to";
  if (!neighbours || vertex == nullptr || over.arguments.size() != 1 ||
      !is_role(frame(), *over.arguments[0].value, Role::kVertex)) {
    emitter_.fail(Code::E0610, over.span, "this loop does not run over the vertices or the neighbours of one",
                  std::string(kForm));
  }
  const auto outer = frame().roles;
  frame().roles[*vertex] = Role::kTarget;
  frame().roles[stmt.name] = Role::kSource;
  execute(stmt.body);
  frame().roles = outer;
}

const std::string* Evaluator::vertex_with(Role role) const {
  for (const auto& [name, known] : frames_.back()->roles) {
    if (known == role) return &name;
  }
  return nullptr;
}

/// u.x, v.x, e.w inside a loop over vertices.
Value Evaluator::evaluate_property(const Expr& expr) {
  const Expr& object = *expr.operands[0];
  const auto found = object.kind == ExprKind::kName ? frame().roles.find(object.text) : frame().roles.end();
  if (found == frame().roles.end()) {
    const bool edge = vertex_with(Role::kSource) != nullptr && object.kind == ExprKind::kName && object.text == "e";
    if (edge && (expr.text == "w" || expr.text == "weight")) return {emitter_.edge_weight(current_graph(), expr.span)};
    emitter_.fail(Code::E0301, expr.span, fmt::format("'.{}' of something that is no vertex", expr.text));
  }
  if (found->second == Role::kEdge) {
    if (expr.text == "w" || expr.text == "weight") return {emitter_.edge_weight(current_graph(), expr.span)};
    emitter_.fail(Code::E0301, expr.text_span, fmt::format("unknown edge property '{}'", expr.text),
                  "an edge has a weight: e.weight");
  }
  Expr name;
  name.kind = ExprKind::kName;
  name.span = expr.text_span;
  name.text = expr.text;
  Value value = evaluate(name);
  const Tensor* tensor = value.tensor();
  if (found->second == Role::kVertex || tensor == nullptr || tensor->domain == ir::Domain::kGlobal) return value;
  return {emitter_.gather(*tensor, found->second == Role::kSource, current_graph(), expr.span)};
}

/// v.y = … for every vertex, v.y += … for every neighbour. False outside of such loops.
bool Evaluator::assign_in_vertex_loop(const Stmt& stmt) {
  const Expr& target = *stmt.exprs[0];
  const bool inner = vertex_with(Role::kSource) != nullptr;
  if (!inner && vertex_with(Role::kVertex) == nullptr) return false;
  if (!is_role(frame(), *target.operands[0], inner ? Role::kTarget : Role::kVertex)) {
    emitter_.fail(Code::E0610, target.span, "only the vertex of the outer loop may be written", std::string(kForm));
  }
  if (inner && stmt.text != "+=") {
    emitter_.fail(Code::E0610, stmt.span, fmt::format("'{}' for every neighbour keeps only one of them", stmt.text),
                  "sum them with '+=', or write max(x@src) over in_edges");
  }
  Value value = evaluate(*stmt.exprs[1]);
  const auto old = frame().variables.find(target.text);
  if (!inner) {
    if (stmt.text != "=") value = binary(stmt.text.substr(0, 1), evaluate(target), value, *stmt.exprs[1]);
    assign_name(target.text, std::move(value), target.span);
    return true;
  }
  if (value.is_number()) {  // v.y += 1 counts
    const Tensor count = emitter_.degree(current_graph(), true, stmt.span);
    value = binary("*", {count}, value, *stmt.exprs[1]);
  } else {
    const Tensor* tensor = value.tensor();
    if (tensor == nullptr)
      emitter_.fail(Code::E0401, stmt.exprs[1]->span, fmt::format("'+=' of {}: expected a tensor", describe(value)));
    value = {emitter_.reduce("sum", *tensor, "in_edges", stmt.span)};
  }
  const bool starts = old == frame().variables.end() || (old->second.is_number() && old->second.number() == 0);
  if (!starts) value = binary("+", old->second, value, *stmt.exprs[1]);
  assign_name(target.text, std::move(value), target.span);
  return true;
}

}  // namespace gneiss::language
