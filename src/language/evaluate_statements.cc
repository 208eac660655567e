// Statements. A mistake inside one ends that statement only: what it should have made becomes Poison.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/names.h"
#include "language/builtins.h"
#include "language/evaluator.h"
#include "language/habits.h"

namespace gneiss::language {
namespace {

bool is_kept_name(std::string_view name) {
  return name == "features" || name == "edge_weight" || name == "in_degree" || name == "out_degree" ||
         name == "num_classes" || name == "num_features";
}

/// g.attachNodeProperty(…): a call for its effect.
bool is_attachment(const Expr& expr) {
  if (expr.kind != ExprKind::kCall || expr.operands[0]->kind != ExprKind::kMember) return false;
  const std::string& name = expr.operands[0]->text;
  return name == "attachNodeProperty" || name == "attachEdgeProperty";
}

std::vector<std::int64_t> sizes(const std::vector<std::vector<std::int64_t>>& shape) {
  std::vector<std::int64_t> list;
  for (const auto& factors : shape) list.push_back(product(factors));
  return list;
}

}  // namespace

void Evaluator::execute(const std::vector<StmtPtr>& statements) {
  for (const StmtPtr& stmt : statements) {
    if (frame().returned) return;
    execute(*stmt);
  }
}

void Evaluator::execute(const Stmt& stmt) {
  count_step(stmt.span);
  const Nesting nesting(this, stmt.span);
  try {
    execute_inside(stmt);
  } catch (const EvaluationAbort&) {
    const bool skipped = stmt.kind == StmtKind::kIf || stmt.kind == StmtKind::kForRange ||
                         stmt.kind == StmtKind::kForC || stmt.kind == StmtKind::kWhile ||
                         stmt.kind == StmtKind::kForEach;
    if (skipped) frame().after_mistake = true;
    if (stmt.kind == StmtKind::kAssign || stmt.kind == StmtKind::kParam || stmt.kind == StmtKind::kDeclare)
      frame().variables[stmt.name] = {};
    if (stmt.kind == StmtKind::kReturn || stmt.kind == StmtKind::kRequire) frame().returned = true;
  }
}

void Evaluator::execute_inside(const Stmt& stmt) {
  const bool script = frame().definition->kind == DefinitionKind::kFunction;
  switch (stmt.kind) {
    case StmtKind::kAssign:
      return assign(stmt);
    case StmtKind::kParam:
      return declare_param(stmt);
    case StmtKind::kReturn:
      return return_value(stmt);
    case StmtKind::kIf:
      return branch(stmt);
    case StmtKind::kForRange:
      return for_range(stmt);
    case StmtKind::kForC:
      return for_c(stmt);
    case StmtKind::kWhile:
      loops_.refuse_condition(*stmt.exprs[0], "while");
      return iterate(
          stmt, [&] { return evaluate_bool(*stmt.exprs[0], "the condition"); }, [] {});
    case StmtKind::kForEach:
      return loops_.run(stmt);
    case StmtKind::kOutput:
      return output(stmt);
    case StmtKind::kRequire:
      return require(stmt);
    case StmtKind::kDeclare:
      return declare(stmt);
    case StmtKind::kBlock:
      return execute(stmt.body);
    case StmtKind::kExpr:
      if (script || is_attachment(*stmt.exprs[0])) {
        evaluate(*stmt.exprs[0]);
        return;
      }
      refuse_foreign_call(*stmt.exprs[0]);
      refuse_habit_call(*stmt.exprs[0]);
      misplaced(stmt, "an expression whose value is not used", "assign it to a name, or return it");
  }
}

/// print(x); loss.backward(); and other calls for an effect that nothing here has.
void Evaluator::refuse_habit_call(const Expr& expr) {
  if (expr.kind != ExprKind::kCall) return;
  const Expr& callee = *expr.operands[0];
  const bool known = find_builtin(callee.text) != nullptr || layers_.count(callee.text) != 0;
  const std::string habit = known ? std::string() : call_habit(callee.text);
  if (habit.empty()) return;
  emitter_.fail(Code::E0302, callee.span, fmt::format("unknown function '{}'", callee.text), habit);
}

void Evaluator::misplaced(const Stmt& stmt, std::string_view what, std::string help) {
  emitter_.fail(Code::E0418, stmt.span, std::string(what), std::move(help));
}

void Evaluator::assign(const Stmt& stmt) {
  const Expr& target = *stmt.exprs[0];
  if (stmt.text == "|=" || stmt.text == "&=") {
    emitter_.fail(Code::E0617, stmt.span, fmt::format("'{}' joins bits or truths; values are real numbers", stmt.text),
                  "of zeros and ones 'Max=' says whether there is any, 'Min=' whether all are");
  }
  if (loops_.inside()) return loops_.assign(stmt);
  if (target.kind == ExprKind::kMember) emitter_.fail(Code::E0205, target.span, "only a name can be assigned to");
  if (stmt.text == "Max=" || stmt.text == "Min=") {
    const std::string fn = stmt.text == "Max=" ? "max" : "min";
    emitter_.fail(Code::E0610, stmt.span, fmt::format("'{}' outside of a loop over neighbours", stmt.text),
                  fmt::format("write {} = {}({}, …);", target.text, fn, target.text));
  }
  Value value = evaluate(*stmt.exprs[1]);
  if (stmt.text != "=") value = binary(stmt.text.substr(0, 1), evaluate(target), value, *stmt.exprs[1]);
  assign_name(target.text, std::move(value), target.span);
}

void Evaluator::check_name(const std::string& name, const Span& span) {
  if (is_kept_name(name))
    emitter_.fail(Code::E0312, span, fmt::format("'{}' is a name of the language", name), "choose another name");
}

void Evaluator::assign_name(const std::string& name, Value value, const Span& span) {
  check_name(name, span);
  if (name == "graph" && value.graph() == nullptr) {
    emitter_.fail(Code::E0401, span, fmt::format("'graph' is given {}: expected a graph", describe(value)),
                  "write graph = add_self_loops(graph)");
  }
  frame().variables[name] = std::move(value);
}

/// Declarations of scripts: a number, or a list of sizes. Layers know those of StarPlat besides.
void Evaluator::declare(const Stmt& stmt) {
  if (frame().definition->kind != DefinitionKind::kFunction && loops_.declare(stmt)) return;
  if (stmt.text == "container" || stmt.text == "list") {
    auto items = std::make_shared<List>();
    for (const ExprPtr& item : stmt.exprs) items->push_back(evaluate(*item));
    const bool filled = items->size() == 2 && stmt.text == "container" && (*items)[0].integer() != nullptr;
    if (filled) {  // container<int> sizes(count, value)
      const std::int64_t count = std::clamp<std::int64_t>(*(*items)[0].integer(), 0, 1000);
      items->assign(static_cast<std::size_t>(count), Value((*items)[1]));
    }
    assign_name(stmt.name, {std::shared_ptr<const List>(std::move(items))}, stmt.name_span);
    return;
  }
  Value value = {std::int64_t{0}};
  if (!stmt.exprs.empty()) value = evaluate(*stmt.exprs[0]);
  if ((stmt.text == "float" || stmt.text == "double") && value.is_number()) value = {value.number()};
  assign_name(stmt.name, std::move(value), stmt.name_span);
}

/// Factors of one dimension: heads * out stays [heads, out] for views.
std::vector<std::int64_t> Evaluator::dimension_factors(const Expr& expr) {
  std::vector<const Expr*> parts;
  collect_factors(expr, &parts);
  std::vector<std::int64_t> factors;
  std::int64_t all = 1;
  for (const Expr* part : parts) {
    factors.push_back(evaluate_int(*part, "a dimension"));
    if (factors.back() <= 0 || !multiply_sizes(all, factors.back(), &all)) {
      emitter_.fail(Code::E0410, expr.span,
                    fmt::format("a dimension has the size {}: expected 1 to {}", factors.back(), kMaxSize));
    }
  }
  return factors;
}

void Evaluator::collect_factors(const Expr& expr, std::vector<const Expr*>* factors) {
  if (expr.kind == ExprKind::kBinary && expr.text == "*") {
    collect_factors(*expr.operands[0], factors);
    collect_factors(*expr.operands[1], factors);
  } else {
    factors->push_back(&expr);
  }
}

void Evaluator::declare_param(const Stmt& stmt) {
  const ParamDecl& param = *stmt.param;
  if (frame().definition->kind == DefinitionKind::kFunction)
    misplaced(stmt, "a parameter in a training script", "declare it in a layer");
  std::vector<std::vector<std::int64_t>> shape;
  std::int64_t all = 1;
  for (const ExprPtr& dim : param.shape) {
    shape.push_back(dimension_factors(*dim));
    if (!multiply_sizes(all, product(shape.back()), &all)) {
      emitter_.fail(Code::E0410, dim->span,
                    fmt::format("parameter '{}' has more than {} elements", stmt.name, kMaxSize));
    }
  }
  if (shape.empty()) shape.push_back({1});
  const std::string key = param.key == nullptr ? stmt.name : evaluate_text(*param.key, "a key");
  const std::vector<std::int64_t> stored = stored_shape(param, sizes(shape));
  const ir::Init init = evaluate_init(param, sizes(shape));
  const Tensor made = make_param(key, shape, init, false, param.trainable, stmt.name_span);
  ir::Param& entry = emitter_.program().params.back();
  entry.stored_shape = stored;
  entry.stored_transposed = param.transposed;
  assign_name(stmt.name, {made}, stmt.name_span);
}

std::vector<std::int64_t> Evaluator::stored_shape(const ParamDecl& param, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> stored = shape;
  if (param.transposed && shape.size() != 2) {
    emitter_.fail(Code::E0415, param.stored_span,
                  fmt::format("'.T' of a parameter with {} dimensions: expected 2", shape.size()));
  }
  if (param.transposed) std::reverse(stored.begin(), stored.end());
  if (param.stored_shape.empty()) return stored;
  stored.clear();
  std::int64_t all = 1;
  for (const ExprPtr& dim : param.stored_shape) {
    stored.push_back(product(dimension_factors(*dim)));
    if (!multiply_sizes(all, stored.back(), &all)) all = -1;
    if (all < 0) break;
  }
  if (all != product(shape)) {
    emitter_.fail(Code::E0415, param.stored_span,
                  fmt::format("the stored shape does not hold the {} elements of the parameter", product(shape)));
  }
  return stored;
}

ir::Init Evaluator::evaluate_init(const ParamDecl& param, const std::vector<std::int64_t>& shape) {
  using Kind = ir::Init::Kind;
  static const std::vector<std::string> kKnown = {"zeros",  "ones", "constant", "uniform",
                                                  "glorot", "he",   "normal",   "linear"};
  const bool vector = shape.size() == 1;
  const std::int64_t fan_in = vector ? shape[0] : shape[shape.size() - 2];
  const std::int64_t fan_out = vector ? 1 : shape.back();
  const std::string name = !param.init.empty() ? param.init : vector ? "zeros" : "glorot";
  const std::size_t given = param.init_arguments.size();
  const auto argument = [&]() -> double {
    const Value value = evaluate(*param.init_arguments[0]);
    if (value.is_number() && std::isfinite(value.number())) return value.number();
    emitter_.fail(Code::E0401, param.init_arguments[0]->span,
                  fmt::format("'{}({})': expected a number", name, describe(value)));
  };
  const auto takes = [&](std::size_t least, std::size_t most) {
    if (given < least)
      emitter_.fail(Code::E0305, param.init_span, fmt::format("'{}' needs a number: {}(…)", name, name));
    if (given > most)
      emitter_.fail(Code::E0306, param.init_span, fmt::format("'{}' takes {} arguments, got {}", name, most, given));
  };
  if (std::find(kKnown.begin(), kKnown.end(), name) == kKnown.end()) {
    const std::string habit = init_habit(name);
    emitter_.fail(Code::E0309, param.init_span, fmt::format("unknown initialiser '{}'", name),
                  habit.empty() ? unknown_name_hint(name, kKnown) : habit + "; known: " + gneiss::join(kKnown, ", "));
  }
  const bool number = name == "constant" || name == "uniform" || name == "normal";
  takes(number ? 1 : 0, number || name == "linear" ? 1 : 0);
  if (name == "zeros") return {Kind::kZeros, 0, fan_in, fan_out};
  if (name == "ones") return {Kind::kOnes, 0, fan_in, fan_out};
  if (name == "constant") return {Kind::kConstant, argument(), fan_in, fan_out};
  if (name == "uniform") return {Kind::kUniform, argument(), fan_in, fan_out};
  if (name == "normal") return {Kind::kNormal, argument(), fan_in, fan_out};
  if (name == "glorot") return {Kind::kGlorot, 0, fan_in, fan_out};
  if (name == "he") return {Kind::kHe, 0, fan_in, fan_out};
  const double inputs = given == 1 ? argument() : static_cast<double>(fan_in);
  if (!(inputs >= 1))
    emitter_.fail(Code::E0413, param.init_span, fmt::format("'linear({})': expected the number of inputs", inputs));
  return {Kind::kUniform, 1 / std::sqrt(inputs), fan_in, fan_out};
}

void Evaluator::branch(const Stmt& stmt) {
  loops_.refuse_condition(*stmt.exprs[0], "if");
  if (evaluate_bool(*stmt.exprs[0], "the condition")) {
    execute(stmt.body);
  } else {
    execute(stmt.otherwise);
  }
}

void Evaluator::iterate(const Stmt& loop, const std::function<bool()>& more, const std::function<void()>& step) {
  while (!frame().returned && more()) {
    count_step(loop.span);
    execute(loop.body);
    step();
  }
}

void Evaluator::for_range(const Stmt& stmt) {
  std::int64_t at = evaluate_int(*stmt.exprs[0], "the begin of the range");
  std::int64_t end = evaluate_int(*stmt.exprs[1], "the end of the range");
  const std::int64_t by = stmt.exprs.size() > 2 ? evaluate_int(*stmt.exprs[2], "the step") : 1;
  if (by <= 0)
    emitter_.fail(Code::E0413, stmt.exprs.back()->span, fmt::format("the step is {}: expected a positive one", by));
  const bool inclusive = stmt.text == "to";
  const auto more = [&] {
    if (inclusive ? at > end : at >= end) return false;
    assign_name(stmt.name, {at}, stmt.name_span);
    return true;
  };
  iterate(stmt, more, [&] {
    if (__builtin_add_overflow(at, by, &at)) end = std::numeric_limits<std::int64_t>::min();
  });
}

void Evaluator::for_c(const Stmt& stmt) {
  if (frame().definition->kind != DefinitionKind::kFunction) {
    misplaced(stmt, "a C-style loop in a layer or model", "write: for l in 0..n { … }");
  }
  execute_inside(*stmt.head[0]);
  iterate(
      stmt, [&] { return evaluate_bool(*stmt.exprs[0], "the condition"); }, [&] { execute_inside(*stmt.head[1]); });
}

void Evaluator::return_value(const Stmt& stmt) {
  const Definition& definition = *frame().definition;
  if (definition.kind == DefinitionKind::kFunction) misplaced(stmt, "'return' in a training script", {});
  if (loops_.inside()) {
    misplaced(stmt, "'return' in a loop over vertices: a layer returns the values of all of them at once",
              "write properties in the loop, and return one after it: return y;");
  }
  frame().returned = true;
  Value value = evaluate(*stmt.exprs[0]);
  if (definition.kind == DefinitionKind::kModel) {
    finish(value, stmt.span);
    frame().result = std::move(value);
    return;
  }
  check_declared(stmt, &value);
  frame().result = std::move(value);
}

/// Compares what a layer returns with its declared type, and gives it the declared dimensions.
void Evaluator::check_declared(const Stmt& stmt, Value* value) {
  const Definition& layer = *frame().definition;
  const TypeExpr& declared = layer.result;
  if (declared.name.empty() || declared.name == "unknown") return;
  Tensor wanted;
  wanted.domain = declared.name == "node" ? ir::Domain::kNode : ir::Domain::kEdge;
  for (const ExprPtr& dim : declared.shape) {
    const std::vector<std::int64_t> factors = dimension_factors(*dim);
    wanted.dims.insert(wanted.dims.end(), factors.begin(), factors.end());
  }
  std::int64_t size = 1;
  for (const std::int64_t dim : wanted.dims) {
    if (!multiply_sizes(size, dim, &size)) emitter_.fail(Code::E0410, declared.span, "the declared result is too wide");
  }
  const Tensor* tensor = value->tensor();
  const bool rows = declared.name == "node" || declared.name == "edge";
  bool fits = declared.name == describe(*value);
  if (rows)
    fits = tensor != nullptr && tensor->domain == wanted.domain && (wanted.dims.empty() || size == tensor->size());
  if (!fits) {
    emitter_.fail(Code::E0406, stmt.exprs[0]->span,
                  fmt::format("layer '{}' returns {}: expected {}", layer.name, describe(*value),
                              wanted.dims.empty() ? declared.name : describe(wanted)),
                  {}, {{"declared here", locate(declared.span)}});
  }
  if (rows && !wanted.dims.empty()) std::get<Tensor>(value->data).dims = wanted.dims;
}

void Evaluator::output(const Stmt& stmt) {
  if (frame().definition->kind != DefinitionKind::kModel)
    misplaced(stmt, "'output' outside of a model", "a layer has one result, its return");
  if (stmt.name != "embedding") {
    emitter_.fail(Code::E0312, stmt.name_span, fmt::format("unknown output '{}'", stmt.name),
                  "the outputs are 'embedding' and, by return, the logits");
  }
  const Value value = evaluate(*stmt.exprs[0]);
  const Tensor* tensor = value.tensor();
  if (tensor == nullptr || tensor->domain != ir::Domain::kNode) {
    emitter_.fail(Code::E0401, stmt.exprs[0]->span,
                  fmt::format("the embedding is {}: expected a node value", describe(value)));
  }
  auto& outputs = emitter_.program().outputs;
  outputs.clear();
  outputs.push_back({"embedding", emitter_.dense(*tensor).id});
}

void Evaluator::require(const Stmt& stmt) {
  if (evaluate_bool(*stmt.exprs[0], "the requirement")) return;
  emitter_.fail(Code::E0420, stmt.exprs[0]->span, evaluate_text(*stmt.exprs[1], "the message"));
}

}  // namespace gneiss::language
