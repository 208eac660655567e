// What StarPlat's loops over vertices write: properties, names of the loop, and reductions over neighbours.
//
//   v.y += m;  v.y -= m;                                                sum(m) over in_edges
//   v.y Max= m;  v.y = Max(v.y, m);  <v.y> = <Max(v.y, m)>;             max(m) over in_edges, Min alike
//
// A reduction takes in what v.y was before, unless that is nothing: no value, 0 for a sum, -INF for a maximum, INF for
// a minimum. A vertex without neighbours keeps what it was, and has 0 if that was nothing.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "language/builtins.h"
#include "language/evaluator.h"
#include "language/walk.h"

namespace gneiss::language {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool is_number_type(std::string_view type) {
  return type == "int" || type == "long" || type == "float" || type == "double" || type == "auto";
}

bool same_target(const Expr& a, const Expr& b) {
  if (a.kind != b.kind || a.text != b.text) return false;
  if (a.kind == ExprKind::kName) return true;
  return a.kind == ExprKind::kMember && a.operands[0]->kind == ExprKind::kName &&
         same_target(*a.operands[0], *b.operands[0]);
}

int count_target(const Expr& expr, const Expr& place) {
  int count = 0;
  visit_expr(expr, [&](const Expr& part) { count += same_target(part, place) ? 1 : 0; });
  return count;
}

/// Max(a, b), written with or without a capital, and Sum(a, b).
std::string reduction_called(const Expr& expr) {
  if (expr.kind != ExprKind::kCall || expr.operands[0]->kind != ExprKind::kName) return {};
  const std::string& name = expr.operands[0]->text;
  if (name == "Max" || name == "max") return "max";
  if (name == "Min" || name == "min") return "min";
  return name == "Sum" ? "sum" : std::string();
}

/// The number from which a reduction starts as if from nothing.
double nothing_of(const Update& update) {
  if (update.fn == "sum") return 0;
  return update.fn == "max" ? -kInfinity : kInfinity;
}

}  // namespace

bool VertexLoops::declare(const Stmt& stmt) {
  if (stmt.text == "propNode" || stmt.text == "propEdge") {
    declare_property(stmt);
    return true;
  }
  const bool edge = stmt.text == "edge";
  if (!frame().loop && !edge && stmt.text != "node") return false;
  if (edge) {
    if (stmt.exprs.size() != 1 || role_of(*stmt.exprs[0]) != Role::kEdge) {
      emitter().fail(Code::E0610, stmt.span, "an edge other than the one between a vertex and its neighbour",
                     "in a loop over neighbours: edge e = g.get_edge(u, v);");
    }
    frame().loop->edges.insert(stmt.name);
    return true;
  }
  if (stmt.text == "node") {
    emitter().fail(Code::E0619, stmt.span, "a single vertex by a name of its own; a layer computes all of them alike",
                   "what holds for one vertex only is a feature, 1 there and 0 elsewhere");
  }
  if (!is_number_type(stmt.text)) {
    emitter().fail(Code::E0619, stmt.span,
                   fmt::format("a '{}' for each vertex; values of layers are real numbers", stmt.text),
                   fmt::format("write: float {} = …;", stmt.name));
  }
  VertexLoop& loop = *frame().loop;
  evaluator_.check_name(stmt.name, stmt.name_span);
  const auto known = loop.locals.find(stmt.name);
  const bool variable = stmt.name == loop.vertex || stmt.name == loop.neighbour || loop.edges.count(stmt.name) != 0;
  if (variable || (known != loop.locals.end() && known->second.declared != &stmt))
    emitter().fail(Code::E0303, stmt.name_span, fmt::format("'{}' is a name of this loop already", stmt.name));
  LoopLocal local;
  local.of_edge = loop.inner();
  local.set = !stmt.exprs.empty();
  local.declared = &stmt;
  if (local.set) {
    const std::optional<double> start = infinity(*stmt.exprs[0]);
    local.value = start ? Value{*start} : evaluator_.evaluate(*stmt.exprs[0]);
    check_fits(local.value, local.of_edge, stmt.exprs[0]->span);
  }
  loop.locals[stmt.name] = std::move(local);
  return true;
}

/// propNode<float> y; its columns are those of what is written to it.
void VertexLoops::declare_property(const Stmt& stmt) {
  if (!is_number_type(stmt.type_argument)) {
    emitter().fail(Code::E0619, stmt.span,
                   fmt::format("a property of type '{}'; values of layers are real numbers", stmt.type_argument),
                   fmt::format("write: {}<float> {};", stmt.text, stmt.name));
  }
  evaluator_.check_name(stmt.name, stmt.name_span);
  const auto known = frame().variables.find(stmt.name);
  if (known != frame().variables.end() && known->second.is_poison()) throw EvaluationAbort{};
  const Stmt*& declared = frame().declared[stmt.name];
  if (declared == &stmt) frame().variables.erase(stmt.name);  // once more, in a loop of compile time
  if (declared != &stmt && (declared != nullptr || known != frame().variables.end())) {
    emitter().fail(Code::E0303, stmt.name_span, fmt::format("'{}' is defined already", stmt.name),
                   "a value of the layer is a property as it is");
  }
  declared = &stmt;
}

/// g.attachNodeProperty(y = 0, z = -INF)
void VertexLoops::attach_properties(const Expr& call) {
  if (frame().loop) {
    emitter().fail(Code::E0418, call.span, "properties are attached to all vertices, not in a loop over them",
                   "move it before the loop");
  }
  for (const Argument& argument : call.arguments) {
    if (argument.name.empty()) {
      emitter().fail(Code::E0305, argument.value->span, "a property needs a value to start from",
                     fmt::format("write: {}(y = 0)", call.operands[0]->text));
    }
    const std::optional<double> start = infinity(*argument.value);
    evaluator_.assign_name(argument.name, start ? Value{*start} : evaluator_.evaluate(*argument.value),
                           argument.name_span);
  }
}

/// INF, +INF and -INF, which stand nowhere but where a property begins.
std::optional<double> VertexLoops::infinity(const Expr& expr) {
  const bool negative = expr.kind == ExprKind::kUnary && expr.text == "-";
  const Expr& name = negative ? *expr.operands[0] : expr;
  if (name.kind != ExprKind::kName || name.text != "INF" || frame().variables.count("INF") != 0) return std::nullopt;
  return negative ? -kInfinity : kInfinity;
}

/// u.y += v.x: StarPlat's push, which the neighbour would have to pull.
void VertexLoops::fail_push(const Stmt& stmt) {
  const VertexLoop& loop = *frame().loop;
  const std::string& name = stmt.exprs[0]->text;
  const std::string fn = stmt.text == "=" ? reduction_called(*stmt.exprs[1]) : std::string();
  const std::string update = fn == "max" ? "Max=" : fn == "min" ? "Min=" : stmt.text == "=" ? "+=" : stmt.text;
  std::string help = fmt::format("pull instead of push: forall ({} in g.nodes_to({})) {{ {}.{} {} … {}.x …; }}",
                                 loop.neighbour, loop.vertex, loop.vertex, name, update, loop.neighbour);
  if (loop.along != "neighbors")
    help = fmt::format("a sum against the edges stands outside of the loops: {} = sum(x@dst) over out_edges;", name);
  emitter().fail(
      Code::E0616, stmt.exprs[0]->span,
      fmt::format("'{}.{}' belongs to a neighbour; a vertex writes its own properties only", loop.neighbour, name),
      std::move(help));
}

LoopTarget VertexLoops::target_of(const Stmt& stmt) {
  const Expr& target = *stmt.exprs[0];
  VertexLoop& loop = *frame().loop;
  evaluator_.check_name(target.text, target.span);
  if (target.text == "graph") emitter().fail(Code::E0401, target.span, "'graph' is no value of the vertices");
  if (target.kind == ExprKind::kMember) {
    const std::optional<Role> role = role_of(*target.operands[0]);
    if (!role)
      emitter().fail(Code::E0610, target.span, fmt::format("'.{}' of something that is no vertex", target.text));
    if (*role == Role::kSource) fail_push(stmt);
    if (*role == Role::kEdge && (target.text == "weight" || target.text == "w")) {
      emitter().fail(Code::E0312, target.span, "the weights of the edges belong to the graph",
                     "write another property: e.a = …;");
    }
    return {target.text, false, *role == Role::kEdge};
  }
  const auto local = loop.locals.find(target.text);
  if (local != loop.locals.end()) return {target.text, true, local->second.of_edge};
  if (target.text == loop.vertex || target.text == loop.neighbour || loop.edges.count(target.text) != 0)
    emitter().fail(Code::E0610, target.span, fmt::format("'{}' is the loop's own", target.text));
  const auto outer = frame().variables.find(target.text);
  if (outer != frame().variables.end() && outer->second.is_poison()) throw EvaluationAbort{};
  if (outer != frame().variables.end() || frame().declared.count(target.text) != 0) {
    emitter().fail(Code::E0610, target.span, fmt::format("'{}' is one value for all vertices", target.text),
                   fmt::format("a value for each is a property: {}.{}", loop.vertex, target.text));
  }
  if (stmt.text != "=") emitter().fail(Code::E0301, target.span, fmt::format("unknown name '{}'", target.text));
  return {target.text, true, loop.inner()};
}

/// What stands there now; nothing if nothing was written.
std::optional<Value> VertexLoops::value_at(const LoopTarget& place) {
  if (place.local) {
    const auto local = frame().loop->locals.find(place.name);
    if (local == frame().loop->locals.end() || !local->second.set) return std::nullopt;
    return local->second.value;
  }
  const auto found = frame().variables.find(place.name);
  if (found == frame().variables.end()) return std::nullopt;
  if (found->second.is_poison()) throw EvaluationAbort{};
  return found->second;
}

void VertexLoops::write(const LoopTarget& place, Value value) {
  if (!place.local) {
    frame().variables[place.name] = std::move(value);
    return;
  }
  LoopLocal& local = frame().loop->locals[place.name];
  local = {std::move(value), true, place.of_edge, local.declared};
}

void VertexLoops::assign(const Stmt& stmt) {
  const LoopTarget place = target_of(stmt);
  if (frame().loop->inner() && !place.of_edge) {
    reduce_into(stmt, place);
  } else {
    write_plainly(stmt, place);
  }
}

/// The m of v.y Max= m, in any of its spellings, where v.y is nothing yet; nullptr where it is something.
const Expr* VertexLoops::operand_of_nothing(const Stmt& stmt, const LoopTarget& place) {
  const Expr& right = *stmt.exprs[1];
  const Expr* operand = &right;
  Update update;
  if (stmt.text == "+=") update.fn = "sum";
  if (stmt.text == "Max=" || stmt.text == "Min=") update.fn = stmt.text == "Max=" ? "max" : "min";
  if (stmt.text == "=" && right.arguments.size() == 2) {
    update.fn = reduction_called(right);
    const bool first = same_target(*right.arguments[0].value, *stmt.exprs[0]);
    if (!first && !same_target(*right.arguments[1].value, *stmt.exprs[0])) return nullptr;
    operand = right.arguments[first ? 1 : 0].value.get();
  }
  if (update.fn.empty()) return nullptr;
  const std::optional<Value> old = value_at(place);
  return !old || (old->is_number() && old->number() == nothing_of(update)) ? operand : nullptr;
}

void VertexLoops::check_fits(const Value& value, bool of_edge, const Span& span) {
  const Tensor* tensor = value.tensor();
  const ir::Domain other = of_edge ? ir::Domain::kNode : ir::Domain::kEdge;
  if (tensor != nullptr ? tensor->domain != other : value.is_number()) return;
  emitter().fail(Code::E0402, span, fmt::format("{} for {}", describe(value), of_edge ? "an edge" : "a vertex"),
                 of_edge ? "" : "bring edge values together in a loop over neighbours: v.y += …");
}

/// v.y = … for every vertex, e.a = … for every edge.
void VertexLoops::write_plainly(const Stmt& stmt, const LoopTarget& place) {
  const Expr& right = *stmt.exprs[1];
  const std::optional<double> start = stmt.text == "=" ? infinity(right) : std::nullopt;
  const Expr* alone = operand_of_nothing(stmt, place);
  Value value = start ? Value{*start} : evaluator_.evaluate(alone != nullptr ? *alone : right);
  if (alone == nullptr && stmt.text != "=") {
    const Value old = evaluator_.evaluate(*stmt.exprs[0]);
    const bool compares = stmt.text == "Max=" || stmt.text == "Min=";
    value = compares ? extreme(stmt.text == "Max=", old, value, right)
                     : evaluator_.binary(stmt.text.substr(0, 1), old, value, right);
  }
  check_fits(value, place.of_edge, right.span);
  if (place.local) {
    write(place, std::move(value));
  } else {
    evaluator_.assign_name(place.name, std::move(value), stmt.exprs[0]->span);
  }
}

/// v.y += … and its like, for every neighbour.
void VertexLoops::reduce_into(const Stmt& stmt, const LoopTarget& place) {
  const Expr& right = *stmt.exprs[1];
  if (stmt.text == "=") return reduce_assigned(stmt, place);
  if (stmt.text == "+=" || stmt.text == "-=")
    return accumulate(place, {"sum", stmt.text == "-=", stmt.span}, evaluator_.evaluate(right), right);
  if (stmt.text == "Max=" || stmt.text == "Min=")
    return accumulate(place, {stmt.text == "Max=" ? "max" : "min", false, stmt.span}, evaluator_.evaluate(right),
                      right);
  emitter().fail(Code::E0617, stmt.span,
                 fmt::format("'{}' over neighbours: sums, maxima and minima are what layers have", stmt.text),
                 "for positive values sum logarithms: v.y += log(u.x); then v.y = exp(v.y)");
}

/// v.y = v.y + …, v.y = Max(v.y, …): a reduction that is written out.
void VertexLoops::reduce_assigned(const Stmt& stmt, const LoopTarget& place) {
  const Expr& target = *stmt.exprs[0];
  const Expr& right = *stmt.exprs[1];
  visit_expr(right, [&](const Expr& part) { evaluator_.count_step(part.span); });
  const int times = count_target(right, target);
  const std::string fn = reduction_called(right);
  if (times == 0) {
    evaluator_.refuse_foreign_call(right);
    emitter().fail(Code::E0610, stmt.span, "'=' for every neighbour keeps only one of them",
                   "sum them with '+=', or take one of them with 'Max=' or 'Min='");
  }
  if (!fn.empty() && times == 1) {
    const bool direct = std::any_of(right.arguments.begin(), right.arguments.end(),
                                    [&](const Argument& a) { return same_target(*a.value, target); });
    if (!direct || right.arguments.size() < 2)
      fail_order(right.span, place.local ? place.name : frame().loop->vertex + "." + place.name);
    for (const Argument& argument : right.arguments) {
      if (!same_target(*argument.value, target))
        accumulate(place, {fn, false, stmt.span}, evaluator_.evaluate(*argument.value), *argument.value);
    }
    return;
  }
  evaluator_.refuse_foreign_call(right);
  const bool difference =
      right.kind == ExprKind::kBinary && right.text == "-" && same_target(*right.operands[0], target);
  if (difference && times == 1)
    return accumulate(place, {"sum", true, stmt.span}, evaluator_.evaluate(*right.operands[1]), *right.operands[1]);
  const std::optional<Value> rest = rest_of_sum(right, target);
  if (rest) accumulate(place, {"sum", false, stmt.span}, *rest, right);
}

/// A sum without `target`, one of its terms; nothing if there is no other term.
std::optional<Value> VertexLoops::rest_of_sum(const Expr& expr, const Expr& target) {
  if (same_target(expr, target)) return std::nullopt;
  const bool sum = expr.kind == ExprKind::kBinary && (expr.text == "+" || expr.text == "-");
  const int left = sum ? count_target(*expr.operands[0], target) : 0;
  const int right = sum ? count_target(*expr.operands[1], target) : 0;
  if (left + right != 1 || (right == 1 && expr.text == "-")) {
    emitter().fail(Code::E0610, expr.span, "what this leaves depends on the order of the neighbours",
                   "sum them with '+=', or take one of them with 'Max=' or 'Min='");
  }
  const std::optional<Value> rest = rest_of_sum(*expr.operands[left == 1 ? 0 : 1], target);
  const Expr& other_expr = *expr.operands[left == 1 ? 1 : 0];
  const Value other = evaluator_.evaluate(other_expr);
  if (rest)
    return left == 1 ? evaluator_.binary(expr.text, *rest, other, expr) : evaluator_.binary("+", other, *rest, expr);
  return expr.text == "-" ? evaluator_.binary("-", {std::int64_t{0}}, other, other_expr) : other;
}

/// The message of every neighbour, brought together.
Value VertexLoops::reduce_message(const Update& update, const Value& message, const Expr& expr) {
  const Tensor* tensor = message.tensor();
  if (tensor != nullptr && tensor->domain == ir::Domain::kEdge)
    return {emitter().reduce(update.fn, *tensor, "in_edges", update.span)};
  if (tensor == nullptr && !message.is_number())
    emitter().fail(Code::E0401, expr.span, fmt::format("{} for every neighbour: expected a tensor", describe(message)));
  if (update.fn != "sum") {
    emitter().fail(Code::E0617, expr.span, fmt::format("the {}imum of what is the same for all neighbours", update.fn),
                   "outside of the loop over neighbours: v.y = max(v.y, …)");
  }
  const Tensor count = emitter().degree(frame().loop->graph, true, update.span);  // v.y += 1 counts
  return evaluator_.binary("*", {count}, message, expr);
}

void VertexLoops::accumulate(const LoopTarget& place, const Update& update, const Value& message, const Expr& expr) {
  VertexLoop& loop = *frame().loop;
  const auto before = loop.reductions.find(place);
  if (before != loop.reductions.end() && before->second.fn != update.fn) {
    emitter().fail(Code::E0617, expr.span,
                   fmt::format("a {} and a {} of neighbours in one: the result depends on their order",
                               before->second.fn, update.fn),
                   "give each a loop over neighbours of its own");
  }
  std::optional<Value> start = before == loop.reductions.end() ? value_at(place) : before->second.value;
  if (start && start->is_number() && start->number() == nothing_of(update)) start.reset();
  if (start && start->is_number() && std::isinf(start->number())) {
    emitter().fail(Code::E0618, expr.span,
                   fmt::format("'{}' is INF: {} neighbours leaves it there", place.name,
                               update.fn == "sum" ? "adding" : "comparing with"),
                   "start a maximum from -INF, a minimum from INF, a sum from 0");
  }
  const Value reduced = reduce_message(update, message, expr);
  const bool plain = before != loop.reductions.end() && before->second.starts && update.fn != "sum";
  Value result;
  if (plain) {
    result = extreme(update.fn == "max", *start, reduced, expr);
  } else if (!start) {
    result = update.negative ? evaluator_.binary("-", {std::int64_t{0}}, reduced, expr) : reduced;
  } else if (update.fn == "sum") {
    result = evaluator_.binary(update.negative ? "-" : "+", *start, reduced, expr);
  } else {
    result = combine(update, *start, *reduced.tensor(), expr);
  }
  loop.reductions[place] = {update.fn, std::move(result), plain || !start};
}

/// max(start, maximum of the neighbours). The reduction is 0 at a vertex without neighbours, which is not to count
/// there.
Value VertexLoops::combine(const Update& update, const Value& start, const Tensor& reduced, const Expr& expr) {
  const bool maximum = update.fn == "max";
  if (start.is_number() && (maximum ? start.number() >= 0 : start.number() <= 0))
    return extreme(maximum, {reduced}, start, expr);
  const Tensor degree = emitter().degree(frame().loop->graph, true, expr.span);
  const Tensor isolated = emitter().unary(ir::OpKind::relu, emitter().affine(degree, -1, 1, expr.span), expr.span);
  const Value kept = evaluator_.binary("*", {isolated}, start, expr);
  return extreme(maximum, start, evaluator_.binary("+", {reduced}, kept, expr), expr);
}

Value VertexLoops::extreme(bool maximum, const Value& left, const Value& right, const Expr& expr) {
  return call_builtin(evaluator_, *find_builtin(maximum ? "max" : "min"),
                      {{{}, {}, left, expr.span}, {{}, {}, right, expr.span}}, nullptr, expr.span);
}

}  // namespace gneiss::language
