// Help for texts that are written as in Python, C or mathematics: what the parser sees where it expected something
// else, and constructs that are read only to be refused with what stands for them here.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "language/habits.h"
#include "language/parser_impl.h"

namespace gneiss::language {
namespace {

constexpr std::size_t kShortText = 40;
constexpr std::string_view kComparison = "'=' gives a value to a name; compare with '=='";
constexpr std::string_view kBraces = "a block stands between braces: { … }";

bool is_one_of(std::initializer_list<std::string_view> list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

/// The text of a span if it is short and on one line, else `otherwise`.
std::string text_of(const Span& span, std::string_view otherwise) {
  const std::string_view text = std::string_view(span.source->text).substr(span.begin, span.end - span.begin);
  const bool plain = text.size() <= kShortText && text.find('\n') == std::string_view::npos;
  return std::string(plain ? text : otherwise);
}

/// base ** exponent in other words.
std::string power_text(const Expr& base, const Expr& exponent) {
  const std::string x = text_of(base.span, "x");
  const bool simple = base.kind == ExprKind::kName || base.kind == ExprKind::kCall || base.kind == ExprKind::kInteger;
  const std::string factor = simple || (x.size() > 1 && x.front() == '(') ? x : "(" + x + ")";
  const bool negative = exponent.kind == ExprKind::kUnary && exponent.text == "-";
  const Expr& size = negative ? *exponent.operands[0] : exponent;
  double power = size.kind == ExprKind::kInteger ? static_cast<double>(size.integer) : size.real;
  if (size.kind != ExprKind::kInteger && size.kind != ExprKind::kReal) power = 0;
  const std::string argument = x.size() > 1 && x.front() == '(' && x.back() == ')' ? x.substr(1, x.size() - 2) : x;
  std::string text;
  if (power == 0.5) return fmt::format("write {}({})", negative ? "rsqrt" : "sqrt", argument);
  if (power == 1) text = factor;
  if (power == 2) text = fmt::format("{0} * {0}", factor);
  if (power == 3) text = fmt::format("{0} * {0} * {0}", factor);
  if (!text.empty()) return "write " + (negative ? power == 1 ? "1 / " + text : "1 / (" + text + ")" : text);
  return fmt::format("for positive values write exp({} * log({}))", text_of(exponent.span, "p"), argument);
}

}  // namespace

/// What `hidden // heads` makes of the rest of its line, if such a comment stands before the next token.
std::string Parser::comment_for_division() const {
  const Span& last = last_span();
  const auto next = first_comment_from(last.end);
  if (next == tokens_.comments.end() || next->span.begin >= peek().span.begin) return {};
  const std::string_view text = source_.text;
  const std::string_view between = text.substr(last.end, next->span.begin - last.end);
  const bool slashes = text.substr(next->span.begin, 2) == "//";
  const auto count = [&](char c) { return std::count(next->text.begin(), next->text.end(), c); };
  const bool program = next->text.ends_with(';') || count(')') > count('(');
  if (!slashes || !program || between.find('\n') != std::string_view::npos) return {};
  return "'//' begins a comment; whole numbers are divided by '/'";
}

/// What the next tokens mean elsewhere, for a message that says they were not expected; "" if nothing.
std::string Parser::habit_of_next() const {
  const bool after_equals = position_ > 0 && is_one_of({"==", "!=", "="}, tokens_.list[position_ - 1].text);
  if (at("=") && after_equals) return "compare with '==' or '!='";
  if (at("=") && at(">", 1)) return "write '->' before the type of a result";
  if (at(":") && at("=", 1)) return "a value is given with '=': name = …;";
  if (at("?") || at("if")) return "a choice is a statement: if … { h = a; } else { h = b; }";
  if (at("for")) return "a list is filled by a loop: hs = []; for l in 0..n { hs += …; }";
  if (at("is") || at("in")) return "compare with '=='";
  if (at("**") || at("^")) return "powers are written x * x, sqrt(x) or rsqrt(x)";
  if (at("@")) return "the product with a matrix is x * W; the ends of an edge are x@src and x@dst";
  if (at("&") || at("|")) return "truths are joined with && and ||";
  const bool prefixed = at_name() && peek(1).kind == TokenKind::kString;
  if (prefixed) return "every string fills in what is in braces: \"convs.{l}\"";
  return comment_for_division();
}

std::string Parser::habit_of_definition() const {
  if (peek().kind == TokenKind::kString) return "comments are written // … or /* … */";
  if (at("@")) return "there are no decorators; remove it";
  if (at("{") || at("}")) return "a bracket too many, or the word 'layer' or 'model' is missing before";
  if (!at_name()) return {};
  const std::string habit = definition_habit(peek().text);
  if (!habit.empty()) return habit;
  if (at("=", 1) || at(":", 1)) return definition_habit("return");
  return at("(", 1) ? definition_habit("net") : std::string();
}

/// Past `if` or `for` on the line of the last token, which begins no statement there.
void Parser::skip_word_within_line() {
  if (!at("if") && !at("for")) return;
  if (!next_is_on_another_line()) take();
}

bool Parser::next_is_on_another_line() const {
  const std::uint32_t end = last_span().end;
  const std::string_view between = std::string_view(source_.text).substr(end, peek().span.begin - end);
  return between.find('\n') != std::string_view::npos;
}

/// Where a block should begin and something else stands.
void Parser::require_block() {
  if (at("{")) return;
  if (!at(":") && !at("=")) return unexpected("'{'");
  Diagnostic& made = diagnostics_.error(Code::E0201, peek().span, fmt::format("expected '{{', got '{}'", peek().text));
  made.help = at(":") && !at("=", 1) ? kBraces : kComparison;
  throw SyntaxAbort{};
}

/// x ** 2 or x ^ 2: reported, and read as x.
ExprPtr Parser::refuse_power(ExprPtr base) {
  const Token& token = take();
  const ExprPtr exponent = prefix();
  diagnostics_.error(Code::E0208, token.span, fmt::format("'{}' is no operator of the language", token.text)).help =
      power_text(*base, *exponent);
  base->span = join(base->span, exponent->span);
  return base;
}

/// for l in range(n): reported, and read on.
void Parser::check_loop_bounds(const Expr& over) {
  if (over.kind != ExprKind::kCall || over.operands[0]->kind != ExprKind::kName) return;
  const std::string& name = over.operands[0]->text;
  if (!is_one_of({"range", "arange", "enumerate", "zip", "reversed"}, name)) return;
  const auto argument = [&](std::size_t i) { return text_of(over.arguments[i].value->span, "n"); };
  std::string bounds = "0..n";
  if (name == "range" && over.arguments.size() == 1) bounds = "0.." + argument(0);
  if (name == "range" && over.arguments.size() > 1) bounds = argument(0) + ".." + argument(1);
  diagnostics_.error(Code::E0208, over.span, fmt::format("'{}' is no function of the language", name)).help =
      fmt::format("write: for l in {} {{ … }}", bounds);
}

/// A statement that begins with a word of another language.
void Parser::refuse_statement_habit() {
  if (!at_name()) return;
  const Token& next = peek(1);
  const bool used = next.kind == TokenKind::kSymbol && next.text != "}" && next.text != ";" && next.text != ":";
  const std::string habit = used ? std::string() : statement_habit(peek().text);
  if (habit.empty()) return;
  diagnostics_.error(Code::E0208, peek().span, fmt::format("'{}' begins no statement here", peek().text)).help = habit;
  throw SyntaxAbort{};
}

/// What stands after a statement where its ';' should be.
std::string Parser::habit_after_statement() const {
  if (at(":") && !at("=", 1)) return at_name(1) ? "names are given without a type: h = …;" : std::string(kBraces);
  if (at(",")) return "a name gets one value, and a layer gives back one; concat(a, b) joins columns";
  const bool next_line = next_is_on_another_line();
  const std::string habit = next_line ? comment_for_division() : habit_of_next();
  if (!habit.empty()) return habit;
  return next_line
             ? std::string(kForgotten)
             : fmt::format("the next thing is {}", at_end() ? "the end of the file" : fmt::format("'{}'", peek().text));
}

/// `name = …`, `name: int = …` without the colon, or no type at all, in the parameters of a layer or model.
void Parser::check_parameter_form(const Token& name, DefinitionKind kind) {
  if (at(":")) return;
  const bool is_type = at_name() && !at("as");
  std::string help = fmt::format("a parameter has a type: {}: int", name.text);
  if (at("=")) help = fmt::format("a parameter has a type: {}: int = …", name.text);
  if (is_type) help = fmt::format("the name stands first: {}: {}", peek().text, name.text);
  const bool input = kind == DefinitionKind::kModel && !name_habit(name.text).empty() && !at("=") && !is_type;
  if (input) help = fmt::format("a model has no '{}': its input is called features, and the graph is known", name.text);
  if (kind == DefinitionKind::kLayer && !at("=") && !is_type)
    help = fmt::format("the values of nodes are {}: node[F]", name.text);
  diagnostics_.error(Code::E0201, peek().span, fmt::format("expected ':' and a type, got '{}'", peek().text)).help =
      help;
  throw SyntaxAbort{};
}

}  // namespace gneiss::language
