// StarPlat's loops over vertices, read as what they compute:
//
//   forall (v in g.nodes()) {
//     forall (u in g.neighbors(v)) { v.y += u.x * e.weight; }     y = sum(x@src * edge_weight) over in_edges
//     v.y = v.y / 2;                                              y = y / 2
//   }
//
// A statement holds for all vertices at once, one statement after the other. Messages run along the edges, from u to v,
// whichever of neighbors, in_neighbors and nodes_to names them. Here is what the loops run over and what is read in
// them; vertex_writes.cc has what they write. What is no reduction is refused: it could neither be differentiated nor
// run in parallel as it stands.
#include "language/vertex_loops.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/names.h"
#include "language/evaluator.h"
#include "language/habits.h"
#include "language/walk.h"

namespace gneiss::language {
namespace {

constexpr std::string_view kForm =
    "the form is: forall (v in g.nodes()) { forall (u in g.neighbors(v)) { v.y += u.x * e.weight; } }";

bool is_method(const Expr& expr) { return expr.kind == ExprKind::kCall && expr.operands[0]->kind == ExprKind::kMember; }

const Expr& object_of(const Expr& call) { return *call.operands[0]->operands[0]; }

bool is_source_name(std::string_view name) { return name == "source" || name == "src"; }
bool is_target_name(std::string_view name) { return name == "destination" || name == "dst"; }
bool is_weight_name(std::string_view name) { return name == "weight" || name == "w"; }

}  // namespace

Frame& VertexLoops::frame() { return evaluator_.frame(); }
Emitter& VertexLoops::emitter() { return evaluator_.emitter(); }
bool VertexLoops::inside() { return frame().loop.has_value(); }

/// The graph that a name stands for: `g`, or whatever else means nothing but a graph here.
std::optional<std::int32_t> VertexLoops::graph_named(const Expr& expr) {
  if (expr.kind != ExprKind::kName) return std::nullopt;
  const auto known = frame().variables.find(expr.text);
  if (known != frame().variables.end()) {
    if (known->second.graph() == nullptr) return std::nullopt;
    return known->second.graph()->index;
  }
  if (expr.text == "gnn" || role_of(expr)) return std::nullopt;
  if (frame().loop && frame().loop->locals.count(expr.text) != 0) return std::nullopt;
  return evaluator_.current_graph();
}

void VertexLoops::run(const Stmt& stmt) {
  const Expr& over = *stmt.exprs[0];
  const std::string name = is_method(over) ? over.operands[0]->text : std::string();
  if (frame().definition->kind == DefinitionKind::kFunction) {
    emitter().fail(Code::E0208, stmt.span, "loops over vertices are not supported in a training script",
                   "put them into a layer, and use it in gnn.forwardPass");
  }
  if (name == "filter") {
    emitter().fail(Code::E0615, over.operands[0]->text_span,
                   "'filter' picks single vertices by a condition; a layer computes all of them alike",
                   "loop over all, and weigh with a value that is 0 where nothing is to be added");
  }
  if (over.kind == ExprKind::kName || over.kind == ExprKind::kIndex) {
    emitter().fail(Code::E0619, over.span,
                   "a loop over a collection; loops run over all vertices, or all neighbours of one",
                   std::string(kForm));
  }
  const std::optional<std::int32_t> graph = is_method(over) ? graph_named(object_of(over)) : std::nullopt;
  if (graph && name == "nodes" && over.arguments.empty()) return for_vertices(stmt, *graph);
  if (graph && (name == "neighbors" || name == "in_neighbors" || name == "nodes_to"))
    return for_neighbours(stmt, *graph);
  if (graph && (name == "nodes_from" || name == "out_neighbors")) {
    emitter().fail(Code::E0610, over.span, fmt::format("'{}' runs against the edges", name),
                   "outside of the loops write: y = sum(x@dst) over out_edges;");
  }
  emitter().fail(Code::E0610, over.span, "this loop does not run over the vertices or the neighbours of one",
                 std::string(kForm));
}

void VertexLoops::for_vertices(const Stmt& stmt, std::int32_t graph) {
  if (frame().loop) {
    emitter().fail(Code::E0610, stmt.span,
                   "a loop over all vertices for each vertex; edges are what a layer goes along", std::string(kForm));
  }
  VertexLoop loop;
  loop.graph = graph;
  loop.vertex = stmt.name;
  frame().loop = std::move(loop);
  evaluator_.execute(stmt.body);
  frame().loop.reset();
}

void VertexLoops::for_neighbours(const Stmt& stmt, std::int32_t graph) {
  const Expr& over = *stmt.exprs[0];
  if (!frame().loop || over.arguments.size() != 1 || stmt.name == frame().loop->vertex) {
    emitter().fail(Code::E0610, over.span, "this loop does not run over the vertices or the neighbours of one",
                   std::string(kForm));
  }
  VertexLoop& loop = *frame().loop;
  if (loop.inner()) {
    emitter().fail(Code::E0610, over.span, "a loop over neighbours within a loop over neighbours",
                   "go one step at a time: first all v.y from u.x, then in a second loop all v.z from u.y");
  }
  if (role_of(*over.arguments[0].value) != Role::kVertex) {
    emitter().fail(Code::E0610, over.span, fmt::format("neighbours of something other than '{}'", loop.vertex),
                   std::string(kForm));
  }
  const std::int32_t outer_graph = std::exchange(loop.graph, graph);
  loop.neighbour = stmt.name;
  loop.along = over.operands[0]->text;
  collect_reduced(stmt);
  evaluator_.execute(stmt.body);
  for (auto& [place, reduction] : loop.reductions) write(place, std::move(reduction.value));
  loop.reductions.clear();
  loop.reduced.clear();
  loop.edges.clear();
  loop.neighbour.clear();
  loop.graph = outer_graph;
  for (auto local = loop.locals.begin(); local != loop.locals.end();) {
    local = local->second.of_edge ? loop.locals.erase(local) : std::next(local);
  }
}

/// What the loop over neighbours writes for its vertex: reading it there would depend on the order of neighbours.
void VertexLoops::collect_reduced(const Stmt& stmt) {
  VertexLoop& loop = *frame().loop;
  const auto note = [&](Stmt& inside) {
    evaluator_.count_step(inside.span);
    if (inside.kind != StmtKind::kAssign) return;
    const Expr& target = *inside.exprs[0];
    const bool property = target.kind == ExprKind::kMember && role_of(*target.operands[0]) == Role::kTarget;
    if (property) loop.reduced.insert({target.text, false, false});
    if (target.kind == ExprKind::kName && loop.locals.count(target.text) != 0)
      loop.reduced.insert({target.text, true, false});
  };
  visit_all(stmt.body, note, [&](Expr& expr) { evaluator_.count_step(expr.span); });
}

std::optional<Role> VertexLoops::role_of(const Expr& expr) {
  if (!frame().loop) return std::nullopt;
  const VertexLoop& loop = *frame().loop;
  if (expr.kind == ExprKind::kName) {
    if (expr.text == loop.vertex) return loop.inner() ? Role::kTarget : Role::kVertex;
    if (!loop.inner()) return std::nullopt;
    if (expr.text == loop.neighbour) return Role::kSource;
    const bool usual = expr.text == "e" && loop.locals.count("e") == 0;  // e needs no declaration
    if (usual || loop.edges.count(expr.text) != 0) return Role::kEdge;
    return std::nullopt;
  }
  if (expr.kind == ExprKind::kMember && role_of(*expr.operands[0]) == Role::kEdge) {
    if (is_source_name(expr.text)) return Role::kSource;
    if (is_target_name(expr.text)) return Role::kTarget;
  }
  if (is_method(expr) && expr.operands[0]->text == "get_edge" && joins_loop_variables(expr)) return Role::kEdge;
  return std::nullopt;
}

/// g.get_edge(u, v), or (v, u): the edge that the message runs along.
bool VertexLoops::joins_loop_variables(const Expr& call) {
  if (call.arguments.size() != 2 || graph_named(object_of(call)) != frame().loop->graph) return false;
  const std::optional<Role> a = role_of(*call.arguments[0].value);
  const std::optional<Role> b = role_of(*call.arguments[1].value);
  return (a == Role::kSource && b == Role::kTarget) || (a == Role::kTarget && b == Role::kSource);
}

/// u.x, v.x, e.weight inside of a loop over vertices.
Value VertexLoops::property(const Expr& expr) {
  const Expr& object = *expr.operands[0];
  const std::optional<Role> role = role_of(object);
  if (!role) {
    if (frame().after_mistake) throw EvaluationAbort{};
    const std::string object_name = object.kind == ExprKind::kName ? object.text : std::string();
    std::string help = member_habit(object_name, expr.text);
    if (help.empty() && is_module_habit(object_name)) help = name_habit(object_name);
    emitter().fail(Code::E0301, expr.span, fmt::format("'.{}' of something that is no vertex", expr.text),
                   std::move(help));
  }
  if (*role == Role::kEdge) return edge_property(expr);
  const VertexLoop& loop = *frame().loop;
  if (*role == Role::kTarget && loop.reduced.count({expr.text, false, false}) != 0)
    fail_order(expr.span, fmt::format("{}.{}", loop.vertex, expr.text));
  Value value = property_of_all(expr);
  const Tensor* tensor = value.tensor();
  if (tensor == nullptr || tensor->domain == ir::Domain::kGlobal) return value;
  if (tensor->domain == ir::Domain::kEdge) {
    emitter().fail(Code::E0402, expr.span, fmt::format("'{}' is a value of the edges, not of the vertices", expr.text),
                   fmt::format("in a loop over neighbours: e.{}", expr.text));
  }
  if (*role == Role::kVertex) return value;
  return {emitter().gather(*tensor, *role == Role::kSource, loop.graph, expr.span)};
}

void VertexLoops::fail_order(const Span& span, const std::string& shown) {
  emitter().fail(Code::E0610, span,
                 fmt::format("'{}' is written for every neighbour: what is read here depends on their order", shown),
                 "read it before or after the loop over neighbours, or write another property");
}

/// The property for all vertices, whatever vertex it is asked of.
Value VertexLoops::property_of_all(const Expr& expr) {
  const auto found = frame().variables.find(expr.text);
  if (found == frame().variables.end()) {
    if (expr.text == "in_degree" || expr.text == "out_degree")
      return {emitter().degree(frame().loop->graph, expr.text == "in_degree", expr.span)};
    if (frame().after_mistake) throw EvaluationAbort{};
    const bool pending = frame().loop->reduced.count({expr.text, false, false}) != 0;
    if (pending || frame().declared.count(expr.text) != 0) {
      emitter().fail(Code::E0618, expr.span, fmt::format("the property '{}' has no value yet", expr.text),
                     fmt::format("give it one before: g.attachNodeProperty({} = 0);", expr.text));
    }
    const std::string nearest = nearest_name(expr.text, evaluator_.names_in_scope());
    emitter().fail(Code::E0301, expr.text_span, fmt::format("unknown property '{}'", expr.text),
                   nearest.empty() ? std::string() : fmt::format("did you mean '{}'?", nearest));
  }
  check_started(found->second, expr);
  return found->second;
}

void VertexLoops::check_started(const Value& value, const Expr& expr) {
  if (!value.is_number() || !std::isinf(value.number())) return;
  emitter().fail(Code::E0618, expr.span, fmt::format("'{}' is INF, and nothing was written to it since", expr.text),
                 "take a Max or Min of neighbours first");
}

Value VertexLoops::edge_property(const Expr& expr) {
  const VertexLoop& loop = *frame().loop;
  if (is_weight_name(expr.text)) return {emitter().edge_weight(loop.graph, expr.span)};
  const auto found = frame().variables.find(expr.text);
  if (found != frame().variables.end()) {
    const Tensor* tensor = found->second.tensor();
    if (found->second.is_poison() || found->second.is_number() ||
        (tensor != nullptr && tensor->domain == ir::Domain::kEdge))
      return found->second;
  }
  emitter().fail(Code::E0301, expr.text_span, fmt::format("unknown edge property '{}'", expr.text),
                 "an edge has a weight: e.weight; other properties are written first: e.a = …;");
}

std::optional<Value> VertexLoops::read(const Expr& expr) {
  const VertexLoop& loop = *frame().loop;
  const auto local = loop.locals.find(expr.text);
  if (local != loop.locals.end()) {
    if (loop.inner() && loop.reduced.count({expr.text, true, false}) != 0 && !local->second.of_edge)
      fail_order(expr.span, expr.text);
    if (!local->second.set) {
      emitter().fail(Code::E0618, expr.span, fmt::format("'{}' has no value yet", expr.text),
                     fmt::format("give it one where it is declared: float {} = 0;", expr.text));
    }
    const Value& value = local->second.value;
    check_started(value, expr);
    const Tensor* tensor = value.tensor();
    if (!loop.inner() || tensor == nullptr || tensor->domain != ir::Domain::kNode) return value;
    return Value{emitter().gather(*tensor, false, loop.graph, expr.span)};
  }
  const std::optional<Role> role = role_of(expr);
  const auto found = frame().variables.find(expr.text);
  if (role && found == frame().variables.end()) {
    const bool edge = *role == Role::kEdge;
    emitter().fail(Code::E0401, expr.span,
                   fmt::format("'{}' is {}, not a number", expr.text, edge ? "an edge" : "a vertex"),
                   fmt::format("say which of its properties: {}.{}", expr.text, edge ? "weight" : "x"));
  }
  const Tensor* tensor = found == frame().variables.end() ? nullptr : found->second.tensor();
  if (loop.inner() && tensor != nullptr && tensor->domain == ir::Domain::kNode) {
    emitter().fail(Code::E0402, expr.span, fmt::format("'{}' is a value of every vertex", expr.text),
                   fmt::format("say whose: {}.{} or {}.{}", loop.neighbour, expr.text, loop.vertex, expr.text));
  }
  return std::nullopt;
}

/// g.count_inNbrs(v)
Value VertexLoops::degree_of(const Expr& call, bool in_edges) {
  const std::optional<Role> role =
      call.arguments.size() == 1 ? role_of(*call.arguments[0].value) : std::optional<Role>();
  if (!role || *role == Role::kEdge) {
    emitter().fail(Code::E0401, call.span, fmt::format("'{}' counts for a vertex of a loop", call.operands[0]->text),
                   fmt::format("outside of loops the value of all nodes is {}", in_edges ? "in_degree" : "out_degree"));
  }
  const Tensor degree = emitter().degree(*graph_named(object_of(call)), in_edges, call.span);
  if (*role == Role::kVertex) return {degree};
  return {emitter().gather(degree, *role == Role::kSource, frame().loop->graph, call.span)};
}

Value VertexLoops::call_graph_method(const Expr& call) {
  const Expr& callee = *call.operands[0];
  const Expr& object = *callee.operands[0];
  const bool module =
      object.kind == ExprKind::kName && is_module_habit(object.text) && frame().variables.count(object.text) == 0;
  if (module || !graph_named(object)) {
    emitter().fail(Code::E0302, callee.span, fmt::format("unknown function '{}'", callee.text),
                   evaluator_.method_help(callee));
  }
  if (callee.text == "num_nodes") return {std::max<std::int64_t>(evaluator_.inputs().num_nodes, 0)};
  if (callee.text == "num_edges") return {std::max<std::int64_t>(evaluator_.inputs().num_edges, 0)};
  if (callee.text == "count_inNbrs" || callee.text == "count_outNbrs") return degree_of(call, callee.text[6] == 'i');
  if (callee.text == "attachNodeProperty" || callee.text == "attachEdgeProperty") {
    attach_properties(call);
    return {std::int64_t{0}};
  }
  if (callee.text == "get_edge") {
    emitter().fail(Code::E0401, call.span, "an edge is no number",
                   "in a loop over neighbours: edge e = g.get_edge(u, v); … e.weight");
  }
  static const std::array<std::string, 9> kKnown = {"nodes",     "neighbors",    "nodes_to",
                                                    "get_edge",  "count_inNbrs", "count_outNbrs",
                                                    "num_nodes", "num_edges",    "attachNodeProperty"};
  emitter().fail(Code::E0601, callee.text_span, fmt::format("the graph has no method '{}'", callee.text),
                 unknown_name_hint(callee.text, kKnown));
}

void VertexLoops::refuse_condition(const Expr& condition, std::string_view what) {
  if (!frame().loop) return;
  const Expr* found = nullptr;
  visit_expr(condition, [&](const Expr& part) {
    evaluator_.count_step(part.span);
    const auto local = part.kind == ExprKind::kName ? frame().loop->locals.find(part.text) : frame().loop->locals.end();
    const bool value = local != frame().loop->locals.end() && local->second.value.tensor() != nullptr;
    if (found == nullptr && (value || role_of(part))) found = &part;
  });
  if (found == nullptr) return;
  emitter().fail(
      Code::E0615, condition.span,
      fmt::format("'{}' decides for single vertices or edges; a layer computes all of them alike", what),
      "relu, max, min and sigmoid hold for all; or weigh with a value that is 0 where nothing is to be added");
}

}  // namespace gneiss::language
