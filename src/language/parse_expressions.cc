// Expressions, by operator precedence:
//
//   expression := prefix { operator expression }      || < && < == != < <= > >= < + - < * / %
//   prefix     := ("-" | "!") prefix | postfix
//   postfix    := primary { call | "@" NAME | "." NAME | "over" NAME | "as" STRING | "[" expression "]" }
//   primary    := NUMBER | STRING | "true" | "false" | NAME | "(" expression ")" | "[" [expression {","}] "]"
#include <fmt/format.h>

#include <algorithm>

#include "language/parser_impl.h"

namespace gneiss::language {
namespace {

struct Operator {
  std::string_view text;
  int power;
  std::string_view means;  ///< the operator it stands for
};

constexpr Operator kOperators[] = {
    {"||", 1, "||"}, {"or", 1, "||"}, {"&&", 2, "&&"}, {"and", 2, "&&"}, {"==", 3, "=="},
    {"!=", 3, "!="}, {"<", 4, "<"},   {"<=", 4, "<="}, {">", 4, ">"},    {">=", 4, ">="},
    {"+", 5, "+"},   {"-", 5, "-"},   {"*", 6, "*"},   {"/", 6, "/"},    {"%", 6, "%"},
};
constexpr int kUnaryPower = 7;

const Operator* find_operator(const Token& token) {
  if (token.kind != TokenKind::kSymbol && token.kind != TokenKind::kName) return nullptr;
  const auto* found = std::find_if(std::begin(kOperators), std::end(kOperators),
                                   [&](const Operator& o) { return o.text == token.text; });
  return found == std::end(kOperators) ? nullptr : found;
}

}  // namespace

ExprPtr Parser::make(ExprKind kind, const Span& span) {
  auto made = std::make_unique<Expr>();
  made->kind = kind;
  made->span = span;
  made->text_span = span;
  return made;
}

/// Chains such as a + b + c + … grow a tree without nesting the parser; their height counts all the same.
void Parser::set_depth_of(Expr* expr) {
  for (const ExprPtr& operand : expr->operands) expr->depth = std::max(expr->depth, operand->depth + 1);
  for (const Argument& argument : expr->arguments) expr->depth = std::max(expr->depth, argument.value->depth + 1);
  if (expr->depth <= kMaxDepth) return;
  diagnostics_.error(Code::E0203, expr->text_span, fmt::format("an expression of more than {} steps", kMaxDepth)).help =
      "give parts of it names";
  throw SyntaxAbort{};
}

ExprPtr Parser::expression(int least_power) {
  const Deeper deeper(this);
  ExprPtr left = prefix();
  for (;;) {
    if (at("**") || at("^")) {
      left = refuse_power(std::move(left));
      continue;
    }
    const Operator* found = find_operator(peek());
    if (found == nullptr || found->power <= least_power) return left;
    const Span operator_span = take().span;
    ExprPtr right = expression(found->power);
    ExprPtr made = make(ExprKind::kBinary, join(left->span, right->span));
    made->text = found->means;
    made->text_span = operator_span;
    made->operands.push_back(std::move(left));
    made->operands.push_back(std::move(right));
    set_depth_of(made.get());
    left = std::move(made);
  }
}

ExprPtr Parser::prefix() {
  if (at("+") && at("INF", 1)) take();  // StarPlat's other way to write INF
  if (!at("-") && !at("!") && !at("not")) return postfix(primary());
  const Deeper deeper(this);
  const Token& token = take();
  ExprPtr operand = at("-") || at("!") || at("not") ? prefix() : expression(kUnaryPower);
  ExprPtr made = make(ExprKind::kUnary, join(token.span, operand->span));
  made->text = token.text == "-" ? "-" : "!";
  made->text_span = token.span;
  made->operands.push_back(std::move(operand));
  set_depth_of(made.get());
  return made;
}

ExprPtr Parser::primary() {
  const Token& token = peek();
  switch (token.kind) {
    case TokenKind::kInteger:
    case TokenKind::kReal:
      return number(take());
    case TokenKind::kString:
      return string(take());
    case TokenKind::kName: {
      take();
      ExprPtr made = make(token.text == "true" || token.text == "false" || token.text == "True" || token.text == "False"
                              ? ExprKind::kBool
                              : ExprKind::kName,
                          token.span);
      made->text = token.text;
      made->integer = token.text == "true" || token.text == "True" ? 1 : 0;
      return made;
    }
    default:
      break;
  }
  if (at("[")) return list();
  if (at("(")) {
    const Token& opened = take();
    ExprPtr inside = expression();
    close(")", opened);
    inside->span = join(opened.span, last_span());
    return inside;
  }
  const std::string got = token.kind == TokenKind::kEnd ? "the end of the file" : fmt::format("'{}'", token.text);
  const std::string habit = at(":") ? "values have no slices; write a linear(x, out) for each part" : habit_of_next();
  diagnostics_.error(Code::E0202, token.span, fmt::format("expected an expression, got {}", got)).help = habit;
  throw SyntaxAbort{};
}

ExprPtr Parser::number(const Token& token) {
  ExprPtr made = make(token.kind == TokenKind::kInteger ? ExprKind::kInteger : ExprKind::kReal, token.span);
  made->integer = token.integer;
  made->real = token.real;
  return made;
}

ExprPtr Parser::list() {
  const Span begin = peek().span;
  ExprPtr made = make(ExprKind::kList, begin);
  made->operands = bracketed_list();
  made->span = join(begin, last_span());
  set_depth_of(made.get());
  return made;
}

std::vector<ExprPtr> Parser::bracketed_list() {
  const Token& opened = expect("[");
  std::vector<ExprPtr> items;
  while (!at("]") && !at_end()) {
    items.push_back(expression());
    if (!accept(",")) break;
  }
  close("]", opened);
  return items;
}

ExprPtr Parser::postfix(ExprPtr left) {
  for (;;) {
    ExprPtr made;
    if (at("(")) {
      left = call(std::move(left));
      continue;
    }
    const Span symbol = peek().span;
    if (at("@") && at_name(1)) {
      take();
      made = make(ExprKind::kAt, left->span);
      const Token& end = take();
      made->text = end.text;
      made->text_span = join(symbol, end.span);
    } else if (at("@")) {
      take();
      diagnostics_.error(Code::E0201, peek().span, fmt::format("expected 'src' or 'dst', got '{}'", peek().text)).help =
          "the product with a matrix is x * W; the ends of an edge are x@src and x@dst";
      throw SyntaxAbort{};
    } else if (at(".") && at_name(1)) {
      take();
      made = make(ExprKind::kMember, left->span);
      made->text_span = peek().span;
      made->text = take().text;
    } else if (at("over") && at_name(1)) {
      take();
      made = make(ExprKind::kOver, left->span);
      made->text_span = peek().span;
      made->text = take().text;
    } else if (at("as")) {
      take();
      if (peek().kind != TokenKind::kString) unexpected("a string, the key of the parameters");
      made = make(ExprKind::kAs, left->span);
      made->operands.push_back(nullptr);
      made->operands.push_back(string(take()));
      made->text_span = last_span();
    } else if (at("[")) {
      const Token& opened = take();
      made = make(ExprKind::kIndex, left->span);
      made->operands.push_back(nullptr);
      made->operands.push_back(expression());
      close("]", opened);
    } else {
      return left;
    }
    if (made->operands.empty()) made->operands.push_back(nullptr);
    made->operands[0] = std::move(left);
    made->span = join(made->span, last_span());
    set_depth_of(made.get());
    left = std::move(made);
  }
}

ExprPtr Parser::call(ExprPtr callee) {
  const Deeper deeper(this);
  ExprPtr made = make(ExprKind::kCall, callee->span);
  made->text_span = callee->span;
  const Token& opened = expect("(");
  bool named = false;
  while (!at(")") && !at_end()) {
    Argument argument;
    if (at_name() && at("=", 1)) {
      argument.name_span = peek().span;
      argument.name = take().text;
      take();
      named = true;
    } else if (named) {
      diagnostics_.error(Code::E0206, peek().span, "a positional argument cannot follow a named one").help =
          "name it too, or move it before the named arguments";
    }
    argument.value = expression();
    made->arguments.push_back(std::move(argument));
    if (!accept(",")) break;
  }
  close(")", opened);
  made->span = join(made->span, last_span());
  made->operands.push_back(std::move(callee));
  set_depth_of(made.get());
  return made;
}

ExprPtr Parser::string(const Token& token) {
  if (token.text.find('{') != std::string::npos) return interpolated(token);
  ExprPtr made = make(ExprKind::kString, token.span);
  for (std::size_t i = 0; i < token.text.size(); ++i) {
    char c = token.text[i];
    if (c == '\\' && i + 1 < token.text.size()) {
      c = token.text[++i];
      if (c == 'n') c = '\n';
      if (c == 't') c = '\t';
    }
    made->text += c;
  }
  return made;
}

/// "convs.{l}": the text between braces is an expression of its own, read at its place in the source.
ExprPtr Parser::interpolated(const Token& token) {
  const Deeper deeper(this);
  ExprPtr made = make(ExprKind::kString, token.span);
  const std::uint32_t base = token.span.begin + 1;
  std::size_t cursor = 0;
  while (cursor < token.text.size()) {
    const std::size_t open = std::min(token.text.find('{', cursor), token.text.size());
    if (open > cursor) {
      made->operands.push_back(make(ExprKind::kString, token.span));
      made->operands.back()->text = token.text.substr(cursor, open - cursor);
    }
    if (open == token.text.size()) break;
    const std::size_t end = std::min(token.text.find('}', open), token.text.size());
    const Span hole = {&source_, base + static_cast<std::uint32_t>(open) + 1, base + static_cast<std::uint32_t>(end)};
    if (end == token.text.size()) {
      diagnostics_.error(Code::E0204, {&source_, hole.begin - 1, hole.begin}, "'{' in a string is never closed");
      throw SyntaxAbort{};
    }
    Parser inside(source_, tokenize(source_, hole.begin, hole.end, &diagnostics_), &diagnostics_);
    inside.set_depth(depth_);
    made->operands.push_back(inside.expression());
    if (!inside.at_end()) inside.unexpected("'}'");
    cursor = end + 1;
  }
  set_depth_of(made.get());
  return made;
}

}  // namespace gneiss::language
