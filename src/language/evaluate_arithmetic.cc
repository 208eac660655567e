// Operators on two values: exact integers, finite fractions, texts, truths, lists, and tensors through the Emitter.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "language/evaluator.h"

namespace gneiss::language {
namespace {

constexpr std::size_t kMaxText = 4096;
constexpr std::size_t kMaxList = 4096;

Value truth(bool value) { return {value}; }

bool is_comparison(const std::string& op) {
  return op == "==" || op == "!=" || op == "<" || op == "<=" || op == ">" || op == ">=";
}

template <typename T>
bool compare(const std::string& op, const T& a, const T& b) {
  if (op == "==") return a == b;
  if (op == "!=") return a != b;
  if (op == "<") return a < b;
  if (op == "<=") return a <= b;
  if (op == ">") return a > b;
  return a >= b;
}

/// Exact integer arithmetic; false on overflow, division by zero.
bool integer_arithmetic(const std::string& op, std::int64_t a, std::int64_t b, std::int64_t* result) {
  if (op == "+") return !__builtin_add_overflow(a, b, result);
  if (op == "-") return !__builtin_sub_overflow(a, b, result);
  if (op == "*") return !__builtin_mul_overflow(a, b, result);
  if (b == 0 || b == -1) return b == -1 && op == "/" && !__builtin_sub_overflow(std::int64_t{0}, a, result);
  *result = op == "/" ? a / b : a % b;
  return true;
}

double real_arithmetic(const std::string& op, double a, double b) {
  if (op == "+") return a + b;
  if (op == "-") return a - b;
  if (op == "*") return a * b;
  if (op == "%") return std::fmod(a, b);
  return a / b;
}

ir::OpKind elementwise_kind(const std::string& op) {
  if (op == "+") return ir::OpKind::add;
  if (op == "-") return ir::OpKind::sub;
  if (op == "*") return ir::OpKind::mul;
  return ir::OpKind::div;
}

}  // namespace

Value Evaluator::binary(const std::string& op, const Value& left, const Value& right, const Expr& expr) {
  const Tensor* a = left.tensor();
  const Tensor* b = right.tensor();
  const bool arithmetic = !is_comparison(op) && op != "%";
  if (arithmetic && a != nullptr && b != nullptr) {
    if (op == "*") return {emitter_.multiply(*a, *b, expr.span)};
    return {emitter_.elementwise(elementwise_kind(op), *a, *b, expr.span)};
  }
  const bool with_number = (a != nullptr && right.is_number()) || (b != nullptr && left.is_number());
  if (arithmetic && with_number) return tensor_and_number(op, left, right, expr);
  if (left.integer() != nullptr && right.integer() != nullptr)
    return integers(op, *left.integer(), *right.integer(), expr);
  if (left.is_number() && right.is_number()) return numbers(op, left.number(), right.number(), expr);
  if (left.text() != nullptr && right.text() != nullptr) {
    if (is_comparison(op)) return truth(compare(op, *left.text(), *right.text()));
    if (op == "+" && left.text()->size() + right.text()->size() <= kMaxText) return {*left.text() + *right.text()};
  }
  if (left.boolean() != nullptr && right.boolean() != nullptr && (op == "==" || op == "!=")) {
    return truth(compare(op, *left.boolean(), *right.boolean()));
  }
  if (left.list() != nullptr && op == "+") return joined(*left.list(), right, expr);
  emitter_.fail(Code::E0401, expr.span, fmt::format("'{}' of {} and {}", op, describe(left), describe(right)));
}

Value Evaluator::integers(const std::string& op, std::int64_t a, std::int64_t b, const Expr& expr) {
  if (is_comparison(op)) return truth(compare(op, a, b));
  std::int64_t result = 0;
  if (!integer_arithmetic(op, a, b, &result)) {
    const bool zero = b == 0 && (op == "/" || op == "%");
    emitter_.fail(Code::E0502, expr.span,
                  fmt::format("{} {} {} {}", a, op, b, zero ? "divides by zero" : "does not fit into 64 bits"));
  }
  if (op == "/" && result * b != a) {
    emitter_.fail(
        Code::E0503, expr.span, fmt::format("{} / {} is not a whole number", a, b),
        fmt::format("a width must come out even, e.g. {} / {}; for a fraction make one of them a float: {}.0 / {}",
                    std::max(b, a / b * b), b, a, b));
  }
  return {result};
}

Value Evaluator::numbers(const std::string& op, double a, double b, const Expr& expr) {
  if (is_comparison(op)) return truth(compare(op, a, b));
  const double result = real_arithmetic(op, a, b);
  if (!std::isfinite(result)) {
    emitter_.fail(Code::E0502, expr.span, fmt::format("{} {} {} is not a finite number", a, op, b));
  }
  return {result};
}

/// A list with one value more, or with those of another list.
Value Evaluator::joined(const List& list, const Value& more, const Expr& expr) {
  auto made = std::make_shared<List>(list);
  if (more.list() != nullptr) {
    made->insert(made->end(), more.list()->begin(), more.list()->end());
  } else {
    made->push_back(more);
  }
  if (made->size() > kMaxList) {
    emitter_.fail(Code::E0501, expr.span, fmt::format("a list of more than {} values", kMaxList));
  }
  return {std::shared_ptr<const List>(std::move(made))};
}

Value Evaluator::tensor_and_number(const std::string& op, const Value& left, const Value& right, const Expr& expr) {
  const bool tensor_left = left.tensor() != nullptr;
  const Tensor& x = tensor_left ? *left.tensor() : *right.tensor();
  const double c = tensor_left ? right.number() : left.number();
  if (op == "+") return {emitter_.affine(x, 1, c, expr.span)};
  if (op == "*") return {emitter_.affine(x, c, 0, expr.span)};
  if (op == "-") return {tensor_left ? emitter_.affine(x, 1, -c, expr.span) : emitter_.affine(x, -1, c, expr.span)};
  if (!tensor_left) return {emitter_.reciprocal(c, x, expr.span)};
  if (!std::isfinite(1 / c)) emitter_.fail(Code::E0502, expr.span, fmt::format("division of a tensor by {}", c));
  return {emitter_.affine(x, 1 / c, 0, expr.span)};
}

}  // namespace gneiss::language
