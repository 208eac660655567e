// What only StarPlat writes: updates of several places at once, and constructs that are refused by name.
//
//   statement := "<" target {"," target} ">" "=" "<" expression {"," expression} ">" ";"
#include <fmt/format.h>

#include <algorithm>

#include "language/foreign.h"
#include "language/parser_impl.h"

namespace gneiss::language {
namespace {

/// Reads past '+', '-', '*' and '/', but not past the '>' that closes a list.
constexpr int kAboveComparisons = 4;

}  // namespace

void Parser::refuse(const Foreign& foreign) {
  diagnostics_.error(foreign.code, peek().span, fmt::format("'{}' {}", peek().text, foreign.message)).help =
      std::string(foreign.help);
}

void Parser::refuse_foreign_definition() {
  const Foreign* foreign = at_name() ? foreign_definition(peek().text) : nullptr;
  if (foreign == nullptr) return;
  refuse(*foreign);
  throw SyntaxAbort{};
}

/// Skips what belongs to a refused statement beside its block.
void Parser::refuse_foreign_statement() {
  if (!at_name() || at("=", 1) || at(".", 1)) return;
  const Foreign* foreign = foreign_statement(peek().text);
  if (foreign == nullptr && (at_name(1) || at("<", 1) || at("::", 1) || at("*", 1)))
    foreign = foreign_type(peek().text);
  if (foreign == nullptr && at("nodeMap") && at("(", 1)) foreign = foreign_type(peek().text);
  if (foreign == nullptr) return;
  refuse(*foreign);
  const bool loop = at("do");
  const bool search = at("iterateInBFS");
  take();
  if (loop && at("{")) {
    skip_brackets("{", "}");
    if (accept("while") && at("(")) skip_brackets("(", ")");
  } else if (search) {
    while (!at("{") && !at(";") && !at_end()) take();
    if (at("{")) skip_brackets("{", "}");
    if (!accept("iterateInReverse")) throw SkippedStatement{};
  }
  throw SyntaxAbort{};
}

void Parser::skip_brackets(std::string_view open, std::string_view closing) {
  int depth = 0;
  while (!at_end()) {
    if (at(open)) ++depth;
    if (at(closing) && --depth == 0) {
      take();
      return;
    }
    take();
  }
}

/// The type between '<' and '>': its first word. Lists within lists close with as many '>'.
std::string Parser::type_argument() {
  expect("<");
  const std::string first = peek().text;
  int open = 1;
  while (open > 0 && !at(";") && !at("}") && !at_end()) {
    if (at("<")) ++open;
    if (at(">") && --open == 0) break;
    take();
  }
  expect(">");
  return first;
}

/// <v.y> = <Max(v.y, u.x)>: of one place an assignment; what others would get when the first changes has no meaning.
StmtPtr Parser::joint_update() {
  StmtPtr made = begin(StmtKind::kAssign);
  std::vector<ExprPtr> targets = angle_list();
  if (!accept(">=")) {
    expect(">");
    expect("=");
  }
  std::vector<ExprPtr> values = angle_list();
  expect(">");
  made->span = join(made->span, last_span());
  made->text = "=";
  if (targets.size() > 1 || values.size() > 1) {
    const ExprPtr& other = targets.size() > 1 ? targets[1] : values[1];
    diagnostics_
        .error(Code::E0617, other->span, "a value that follows from which neighbour won: layers have the maximum alone")
        .help = "write <v.y> = <Max(v.y, …)>, and compute other properties in statements of their own";
    throw SyntaxAbort{};
  }
  check_target(*targets[0]);
  made->name = targets[0]->text;
  made->name_span = targets[0]->span;
  made->exprs.push_back(std::move(targets[0]));
  made->exprs.push_back(std::move(values[0]));
  return made;
}

/// '<' and what stands before the closing '>', which is left to the caller.
std::vector<ExprPtr> Parser::angle_list() {
  expect("<");
  std::vector<ExprPtr> items;
  do {
    items.push_back(expression(kAboveComparisons));
  } while (accept(","));
  return items;
}

}  // namespace gneiss::language
