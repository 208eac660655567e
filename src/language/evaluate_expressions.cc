// Expressions: compile-time arithmetic, and tensors through the Emitter.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/names.h"
#include "language/builtins.h"
#include "language/evaluator.h"
#include "language/foreign.h"
#include "language/habits.h"

namespace gneiss::language {
namespace {

constexpr std::int64_t kMaxSteps = 1000000;
/// Expressions and statements under evaluation at once, over all layer calls: bounds the stack.
constexpr int kMaxNesting = 800;
constexpr std::size_t kMaxText = 4096;

Value number(double value) { return {value}; }
Value truth(bool value) { return {value}; }

}  // namespace

void Evaluator::count_step(const Span& span) {
  if (++steps_ <= kMaxSteps) return;
  emitter_.diagnostics().error(Code::E0501, span, fmt::format("more than {} steps at compile time", kMaxSteps)).help =
      "is the bound of a loop too large?";
  throw CompilationAbort{};
}

Evaluator::Nesting::Nesting(Evaluator* evaluator, const Span& span) : evaluator_(evaluator) {
  if (++evaluator_->nesting_ <= kMaxNesting) return;
  evaluator_->emitter_.diagnostics().error(Code::E0501, span, "layers and expressions are nested too deeply");
  throw CompilationAbort{};  // the destructor does not run, but nothing is evaluated after this
}

Value Evaluator::evaluate(const Expr& expr) {
  count_step(expr.span);
  const Nesting nesting(this, expr.span);
  Value value = evaluate_inside(expr);
  if (value.is_poison()) throw EvaluationAbort{};
  return value;
}

Value Evaluator::evaluate_inside(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::kInteger:
      return {expr.integer};
    case ExprKind::kReal:
      return number(expr.real);
    case ExprKind::kBool:
      return truth(expr.integer != 0);
    case ExprKind::kString:
      return evaluate_string(expr);
    case ExprKind::kName:
      return evaluate_name(expr);
    case ExprKind::kUnary:
      return evaluate_unary(expr);
    case ExprKind::kBinary:
      return evaluate_binary(expr);
    case ExprKind::kCall:
      return evaluate_call(expr, nullptr);
    case ExprKind::kMember:
      return loops_.property(expr);
    case ExprKind::kAt:
      return evaluate_at(expr);
    case ExprKind::kOver:
      return evaluate_over(expr);
    case ExprKind::kAs: {
      if (expr.operands[0]->kind == ExprKind::kCall) return evaluate_call(*expr.operands[0], expr.operands[1].get());
      emitter_.fail(Code::E0414, expr.text_span, "'as' names the parameters of a layer that is called",
                    "write layer(…) as \"key\"");
    }
    case ExprKind::kList: {
      auto items = std::make_shared<List>();
      for (const ExprPtr& item : expr.operands) items->push_back(evaluate(*item));
      return {std::shared_ptr<const List>(std::move(items))};
    }
    case ExprKind::kIndex:
      return evaluate_index(expr);
  }
  return {};
}

Value Evaluator::evaluate_name(const Expr& expr) {
  const std::string& name = expr.text;
  if (loops_.inside()) {
    if (std::optional<Value> read = loops_.read(expr)) return std::move(*read);
  }
  const auto found = frame().variables.find(name);
  if (found != frame().variables.end()) {
    loops_.check_started(found->second, expr);
    return found->second;
  }
  const bool script = frame().definition->kind == DefinitionKind::kFunction;
  if (!script && name == "edge_weight") return {emitter_.edge_weight(current_graph(), expr.span)};
  if (!script && name == "in_degree") return {emitter_.degree(current_graph(), true, expr.span)};
  if (!script && name == "out_degree") return {emitter_.degree(current_graph(), false, expr.span)};
  if (name == "num_classes") return {inputs_.num_classes};
  if (name == "num_features") return {inputs_.num_features};
  if (frame().definition->kind == DefinitionKind::kModel && name == "features") return {features()};
  if (frame().after_mistake) throw EvaluationAbort{};
  const std::vector<std::string> known = names_in_scope();
  const std::string nearest = nearest_name(name, known);
  std::string help = name_habit(name);
  if (help.empty() && !nearest.empty()) help = fmt::format("did you mean '{}'?", nearest);
  if (frame().declared.count(name) != 0) {
    emitter_.fail(Code::E0618, expr.span, fmt::format("the property '{}' has no value yet", name),
                  "a loop over vertices writes it");
  }
  if (name == "INF") help = "INF starts a Max or Min: v.y = INF; g.attachNodeProperty(y = -INF)";
  if (name == "features") help = "only a model sees the input features; a layer gets its input as an argument";
  emitter_.fail(Code::E0301, expr.span, fmt::format("unknown name '{}'", name), std::move(help));
}

std::vector<std::string> Evaluator::names_in_scope() {
  std::vector<std::string> known = {"edge_weight", "in_degree", "out_degree", "num_classes", "num_features"};
  if (frame().definition->kind == DefinitionKind::kModel) known.emplace_back("features");
  for (const auto& [name, value] : frame().variables) known.push_back(name);
  return known;
}

Value Evaluator::evaluate_string(const Expr& expr) {
  if (expr.operands.empty()) return {expr.text};
  std::string text;
  for (const ExprPtr& piece : expr.operands) {
    const Value value = evaluate(*piece);
    if (value.text() == nullptr && !value.is_number() && value.boolean() == nullptr) {
      emitter_.fail(Code::E0401, piece->span, fmt::format("a {} cannot stand in a string", describe(value)));
    }
    text += value.text() != nullptr ? *value.text() : show(value);
    if (text.size() > kMaxText)
      emitter_.fail(Code::E0501, expr.span, fmt::format("a string of more than {} bytes", kMaxText));
  }
  return {text};
}

Value Evaluator::evaluate_unary(const Expr& expr) {
  const Value value = evaluate(*expr.operands[0]);
  if (expr.text == "!") {
    if (const bool* is = value.boolean()) return truth(!*is);
    emitter_.fail(Code::E0401, expr.span, fmt::format("'!' of {}: expected a bool", describe(value)));
  }
  if (const Tensor* tensor = value.tensor()) return {emitter_.affine(*tensor, -1, 0, expr.span)};
  if (const std::int64_t* whole = value.integer()) return integers("-", 0, *whole, expr);
  if (!value.is_number())
    emitter_.fail(Code::E0401, expr.span, fmt::format("'-' of {}: expected a number or tensor", describe(value)));
  return number(-value.number());
}

Value Evaluator::evaluate_binary(const Expr& expr) {
  if (expr.text == "&&" || expr.text == "||") {
    const bool left = evaluate_bool(*expr.operands[0], "an operand of '" + expr.text + "'");
    if (left == (expr.text == "||")) return truth(left);
    return truth(evaluate_bool(*expr.operands[1], "an operand of '" + expr.text + "'"));
  }
  if (expr.text == "*") return evaluate_product(expr);
  const Value left = evaluate(*expr.operands[0]);
  const Value right = evaluate(*expr.operands[1]);
  return binary(expr.text, left, right, expr);
}

/// a * b * c: when every factor is elementwise, narrow ones combine first, so that nothing wide is made needlessly:
/// s@src * w * s@dst * z@src has one wide product, not three.
Value Evaluator::evaluate_product(const Expr& expr) {
  std::vector<const Expr*> factors;
  const Expr* left = &expr;
  for (; left->kind == ExprKind::kBinary && left->text == "*"; left = left->operands[0].get()) {
    factors.push_back(left->operands[1].get());
  }
  factors.push_back(left);
  std::reverse(factors.begin(), factors.end());
  std::vector<Value> values;
  bool elementwise = factors.size() > 2;
  for (const Expr* factor : factors) {
    values.push_back(evaluate(*factor));
    const Tensor* tensor = values.back().tensor();
    if (tensor == nullptr && !values.back().is_number()) elementwise = false;
    if (tensor != nullptr && tensor->domain == ir::Domain::kGlobal && tensor->dims.size() > 1) elementwise = false;
  }
  if (elementwise) {
    const auto width = [](const Value& value) { return value.tensor() == nullptr ? 0 : value.tensor()->size(); };
    std::stable_sort(values.begin(), values.end(), [&](const Value& a, const Value& b) { return width(a) < width(b); });
  } else if (values.size() == 2 && values[0].tensor() != nullptr && values[1].tensor() != nullptr) {
    const Tensor& a = *values[0].tensor();
    const Tensor& b = *values[1].tensor();
    const bool rows = a.domain != ir::Domain::kGlobal && b.domain != ir::Domain::kGlobal;
    if (rows && a.size() > b.size()) std::swap(values[0], values[1]);
  }
  Value result = values[0];
  for (std::size_t i = 1; i < values.size(); ++i) result = binary("*", result, values[i], expr);
  return result;
}

Value Evaluator::evaluate_at(const Expr& expr) {
  if (expr.text != "src" && expr.text != "dst") {
    const bool known = frame().variables.count(expr.text) != 0 || end_habit(expr.text).empty();
    emitter_.fail(
        Code::E0301, expr.text_span, fmt::format("unknown end '@{}'", expr.text),
        known ? fmt::format("the product with a matrix is x * {}; the ends of an edge are @src and @dst", expr.text)
              : end_habit(expr.text));
  }
  const Value value = evaluate(*expr.operands[0]);
  const Tensor* tensor = value.tensor();
  if (tensor == nullptr)
    emitter_.fail(Code::E0408, expr.span,
                  fmt::format("'@{}' of {}: only a node value has ends", expr.text, describe(value)));
  return {emitter_.gather(*tensor, expr.text == "src", current_graph(), expr.span)};
}

Value Evaluator::evaluate_over(const Expr& expr) {
  const Expr& call = *expr.operands[0];
  const bool named = call.kind == ExprKind::kCall && call.operands[0]->kind == ExprKind::kName;
  const std::string name = named ? call.operands[0]->text : std::string();
  static const std::array<std::string, 5> kReductions = {"sum", "mean", "max", "min", "softmax"};
  if (!named || !is_reduction(name)) {
    emitter_.fail(Code::E0419, call.span,
                  named ? fmt::format("'{}' is not a reduction", name) : "'over' follows a reduction",
                  unknown_name_hint(name, kReductions));
  }
  if (expr.text != "in_edges" && expr.text != "out_edges") {
    const std::string habit = edges_habit(expr.text);
    emitter_.fail(Code::E0419, expr.text_span, fmt::format("unknown edges '{}'", expr.text),
                  habit.empty() ? "a reduction runs over in_edges or out_edges" : habit);
  }
  if (call.arguments.size() != 1) {
    emitter_.fail(call.arguments.empty() ? Code::E0305 : Code::E0306, call.span,
                  fmt::format("'{}(…) over {}' takes one edge value, got {}", name, expr.text, call.arguments.size()));
  }
  const Value value = evaluate(*call.arguments[0].value);
  const Tensor* tensor = value.tensor();
  if (tensor == nullptr) {
    emitter_.fail(Code::E0405, call.span,
                  fmt::format("'{}(…) over {}' reduces edge values, got {}", name, expr.text, describe(value)),
                  "in_degree counts the edges of a node");
  }
  if (name == "softmax") return {emitter_.edge_softmax(*tensor, expr.text, expr.span)};
  return {emitter_.reduce(name, *tensor, expr.text, expr.span)};
}

Value Evaluator::evaluate_index(const Expr& expr) {
  const Value value = evaluate(*expr.operands[0]);
  const List* list = value.list();
  if (list == nullptr)
    emitter_.fail(Code::E0401, expr.span, fmt::format("'[…]' of {}: expected a list", describe(value)),
                  value.tensor() == nullptr ? "" : "columns are not cut apart; write a linear(x, out) for each part");
  const std::int64_t index = evaluate_int(*expr.operands[1], "an index");
  if (index < 0 || index >= static_cast<std::int64_t>(list->size())) {
    emitter_.fail(Code::E0413, expr.operands[1]->span, fmt::format("index {} of a list of {}", index, list->size()));
  }
  return (*list)[static_cast<std::size_t>(index)];
}

std::int64_t Evaluator::evaluate_int(const Expr& expr, std::string_view what) {
  const Value value = evaluate(expr);
  if (value.integer() == nullptr)
    emitter_.fail(Code::E0401, expr.span, fmt::format("{} is {}: expected an int", what, describe(value)));
  return *value.integer();
}

bool Evaluator::evaluate_bool(const Expr& expr, std::string_view what) {
  const Value value = evaluate(expr);
  if (value.boolean() == nullptr) {
    emitter_.fail(Code::E0401, expr.span, fmt::format("{} is {}: expected a bool", what, describe(value)),
                  "compare it: x > 0");
  }
  return *value.boolean();
}

std::string Evaluator::evaluate_text(const Expr& expr, std::string_view what) {
  const Value value = evaluate(expr);
  if (value.text() == nullptr)
    emitter_.fail(Code::E0401, expr.span, fmt::format("{} is {}: expected a string", what, describe(value)));
  return *value.text();
}

/// A layer has no objects but its graph.
Value Evaluator::call_method(const Expr& call) {
  refuse_foreign_call(call);
  return loops_.call_graph_method(call);
}

/// What StarPlat calls and no layer can.
void Evaluator::refuse_foreign_call(const Expr& expr) {
  if (expr.kind != ExprKind::kCall) return;
  const Expr& callee = *expr.operands[0];
  const Foreign* foreign = foreign_call(callee.text);
  if (foreign == nullptr) return;
  const Span& span = callee.kind == ExprKind::kMember ? callee.text_span : callee.span;
  emitter_.fail(foreign->code, span, fmt::format("'{}' {}", callee.text, foreign->message), std::string(foreign->help));
}

}  // namespace gneiss::language
