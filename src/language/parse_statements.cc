// Statements of layers, models and training scripts; what may stand where is checked when they are evaluated.
//
//   block      := "{" {statement} "}"
//   statement  := ("param" | "state") NAME ":" "[" … "]" ["=" init] ["as" STRING [".T"] ["[" … "]"]] ";"
//               | target ("=" | "+=" | "-=" | "*=" | "/=" | "Max=" | "Min=") expression ";" | "output" NAME "="
//               expression ";" | "return" expression ";" | "require" expression "," STRING ";" | "if" expression block
//               ["else" …] | "for" NAME "in" expression ".." expression block | call ";" | C-style for, while, loop (i
//               in a to b by c), for/forall (v in …), declarations: in scripts
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "language/parser_impl.h"

namespace gneiss::language {
namespace {

constexpr std::array<std::string_view, 16> kDeclaredTypes = {
    "int",      "long",     "float", "double",    "bool",  "string",   "node", "edge",
    "propNode", "propEdge", "list",  "container", "Graph", "dirGraph", "GNN",  "auto"};

bool contains(std::span<const std::string_view> list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

}  // namespace

StmtPtr Parser::begin(StmtKind kind) const {
  auto made = std::make_unique<Stmt>();
  made->kind = kind;
  made->span = peek().span;
  return made;
}

std::vector<StmtPtr> Parser::block() {
  const Deeper deeper(this);
  std::vector<StmtPtr> statements;
  require_block();
  const Token& opened = take();
  while (!at("}") && !at_end() && !diagnostics_.full()) {
    if (accept(";")) continue;
    if (StmtPtr made = statement()) statements.push_back(std::move(made));
  }
  close("}", opened);
  return statements;
}

/// A block, or one statement without braces as C allows.
std::vector<StmtPtr> Parser::body() {
  if (at("{") || at(":") || at("=")) return block();
  const Deeper deeper(this);
  std::vector<StmtPtr> statements;
  statements.push_back(statement_inside());
  return statements;
}

/// One statement; null after a mistake, with the tokens up to the next one skipped.
StmtPtr Parser::statement() {
  const std::size_t before = position_;
  try {
    return statement_inside();
  } catch (const SkippedStatement&) {
    return nullptr;
  } catch (const SyntaxAbort&) {
    if (position_ == before && !at("}")) take();
    skip_statement();
    return nullptr;
  }
}

/// To after the next ';', or before a '}' or a word that begins a statement on a line of its own.
void Parser::skip_statement() {
  static constexpr std::array<std::string_view, 8> kBegins = {"param",  "return", "if",    "for",
                                                              "forall", "layer",  "model", "function"};
  int open = 0;
  while (!at_end()) {
    if (open == 0 && (at("}") || (at_name() && contains(kBegins, peek().text)))) return;
    if (at("{")) ++open;
    if (at("}") && --open == 0) {
      take();
      return;
    }
    if (accept(";")) {
      if (open == 0) return;
    } else {
      take();
    }
  }
}

/// ';' may be left out before '}'.
void Parser::end_statement() {
  if (accept(";") || at("}")) return;
  // What is missing belongs after the last token, which is where the eye looks for it.
  const Span& last = last_span();
  const Span after = {last.source, last.end, last.end};
  const std::string habit = habit_after_statement();
  const bool forgotten = habit == kForgotten;
  diagnostics_.error(Code::E0201, after, fmt::format("expected ';' after this statement")).help = habit;
  if (forgotten) return;
  skip_word_within_line();
  throw SyntaxAbort{};
}

StmtPtr Parser::statement_inside() {
  const Deeper deeper(this);
  if ((at("param") || at("state")) && at_name(1)) return param_statement();
  if (at("if")) return if_statement();
  if (at("for") || at("forall")) return for_statement();
  if (at("loop") && at("(", 1)) return loop_statement();
  if (at("while")) return while_statement();
  if (at("{")) {
    StmtPtr made = begin(StmtKind::kBlock);
    made->body = block();
    return made;
  }
  refuse_foreign_statement();
  refuse_statement_habit();
  StmtPtr made = at("<") ? joint_update() : at_declaration() ? declaration() : simple_statement();
  end_statement();
  return made;
}

StmtPtr Parser::param_statement() {
  StmtPtr made = begin(StmtKind::kParam);
  made->param = std::make_unique<ParamDecl>();
  ParamDecl* param = made->param.get();
  param->trainable = take().text == "param";
  const Token& name = expect_name("the name of the parameter");
  made->name = name.text;
  made->name_span = name.span;
  if (at("=")) {
    diagnostics_.error(Code::E0201, peek().span, "expected ':' and a shape, got '='").help =
        fmt::format("write: param {}: [F, out] = …;", name.text);
    throw SyntaxAbort{};
  }
  expect(":");
  if (!at("[")) unexpected("the shape of the parameter, such as [F, out]");
  param->shape = bracketed_list();
  if (accept("=")) {
    const Token& init = expect_name("an initialiser");
    param->init = init.text;
    param->init_span = init.span;
    if (at("(")) {
      const Token& opened = take();
      while (!at(")") && !at_end()) {
        param->init_arguments.push_back(expression());
        if (!accept(",")) break;
      }
      close(")", opened);
    }
  }
  if (accept("as")) param_key(param);
  made->span = join(made->span, last_span());
  end_statement();
  return made;
}

void Parser::param_key(ParamDecl* param) {
  if (peek().kind != TokenKind::kString) unexpected("a string, the key of the parameter");
  param->key = string(take());
  param->stored_span = param->key->span;
  if (at(".")) {
    take();
    if (!accept("T")) unexpected("'T' (stored as the transpose)");
    param->transposed = true;
  }
  if (!at("[")) return;
  param->stored_span = peek().span;
  param->stored_shape = bracketed_list();
  param->stored_span = join(param->stored_span, last_span());
}

StmtPtr Parser::if_statement() {
  const Deeper deeper(this);
  StmtPtr made = begin(StmtKind::kIf);
  take();
  made->exprs.push_back(expression());
  made->body = body();
  if (accept("else")) made->otherwise = body();
  return made;
}

StmtPtr Parser::for_statement() {
  StmtPtr made = begin(StmtKind::kForRange);
  const bool forall = take().text == "forall";
  if (at("(")) {
    const bool each = at_name(1) && at("in", 2);
    if (!each && !forall) return c_for(std::move(made));
    const Token& opened = take();
    made = counted_for(std::move(made));
    close(")", opened);
  } else {
    made = counted_for(std::move(made));
  }
  made->body = body();
  return made;
}

/// `name in a .. b` or `name in g.nodes()`.
StmtPtr Parser::counted_for(StmtPtr made) {
  const Token& name = expect_name("the name of the loop variable");
  made->name = name.text;
  made->name_span = name.span;
  expect("in");
  made->exprs.push_back(expression());
  made->kind = StmtKind::kForEach;
  check_loop_bounds(*made->exprs[0]);
  if (accept("..")) {
    made->kind = StmtKind::kForRange;
    made->exprs.push_back(expression());
  }
  made->span = join(made->span, last_span());
  return made;
}

StmtPtr Parser::c_for(StmtPtr made) {
  made->kind = StmtKind::kForC;
  const Token& opened = take();
  made->head.push_back(at_declaration() ? declaration() : simple_statement());
  expect(";");
  made->exprs.push_back(expression());
  expect(";");
  made->head.push_back(simple_statement());
  close(")", opened);
  made->span = join(made->span, last_span());
  made->body = body();
  return made;
}

/// loop (i in a to b by c) { … }
StmtPtr Parser::loop_statement() {
  StmtPtr made = begin(StmtKind::kForRange);
  take();
  const Token& opened = take();
  const Token& name = expect_name("the name of the loop variable");
  made->name = name.text;
  made->name_span = name.span;
  expect("in");
  made->exprs.push_back(expression());
  expect("to");
  made->text = "to";
  made->exprs.push_back(expression());
  if (accept("by")) made->exprs.push_back(expression());
  close(")", opened);
  made->span = join(made->span, last_span());
  made->body = body();
  return made;
}

StmtPtr Parser::while_statement() {
  StmtPtr made = begin(StmtKind::kWhile);
  take();
  made->exprs.push_back(expression());
  made->span = join(made->span, last_span());
  made->body = body();
  return made;
}

bool Parser::at_declaration() const {
  if (!at_name() || !contains(kDeclaredTypes, peek().text)) return false;
  return at_name(1) || at("<", 1) || at("&", 1);
}

/// `int l = 0`, `float x`, `container<int> sizes(3, 16)`, `edge e = g.get_edge(u, v)`.
StmtPtr Parser::declaration() {
  StmtPtr made = begin(StmtKind::kDeclare);
  made->text = take().text;
  if (at("<")) made->type_argument = type_argument();
  accept("&");
  const Token& name = expect_name("a name");
  made->name = name.text;
  made->name_span = name.span;
  if (accept("=")) {
    made->exprs.push_back(expression());
  } else if (at("(")) {
    const Token& opened = take();
    while (!at(")") && !at_end()) {
      made->exprs.push_back(expression());
      if (!accept(",")) break;
    }
    close(")", opened);
    made->otherwise.clear();
  }
  made->span = join(made->span, last_span());
  return made;
}

/// return, output, require, an assignment or a call, without its ';'.
StmtPtr Parser::simple_statement() {
  StmtPtr made;
  if (at("return") && !at("=", 1)) {
    made = begin(StmtKind::kReturn);
    take();
    made->exprs.push_back(expression());
  } else if (at("output") && at_name(1)) {
    made = begin(StmtKind::kOutput);
    take();
    made->name_span = peek().span;
    made->name = take().text;
    expect("=");
    made->exprs.push_back(expression());
  } else if (at("require") && !at("=", 1)) {
    made = begin(StmtKind::kRequire);
    take();
    made->exprs.push_back(expression());
    expect(",");
    if (peek().kind != TokenKind::kString) unexpected("a string, the message");
    made->exprs.push_back(string(take()));
  } else {
    return assignment(expression());
  }
  made->span = join(made->span, last_span());
  return made;
}

void Parser::check_target(const Expr& target) {
  if (target.kind == ExprKind::kName || target.kind == ExprKind::kMember) return;
  const bool element = target.kind == ExprKind::kIndex && target.operands[0]->kind == ExprKind::kName &&
                       target.operands[1]->kind == ExprKind::kName;
  diagnostics_.error(Code::E0205, target.span, "only a name can be assigned to").help =
      element
          ? fmt::format("a property of a vertex is written {}.{}", target.operands[1]->text, target.operands[0]->text)
          : "compare with '=='";
  throw SyntaxAbort{};
}

StmtPtr Parser::assignment(ExprPtr target) {
  static constexpr std::array<std::string_view, 8> kAssignments = {"=", "+=", "-=", "*=", "/=", "%=", "|=", "&="};
  StmtPtr made = begin(StmtKind::kExpr);
  made->span = target->span;
  const bool assigns = peek().kind == TokenKind::kSymbol && contains(kAssignments, peek().text);
  const bool steps = at("++") || at("--");
  const bool extreme = (at("Max") || at("Min")) && at("=", 1);
  if (assigns || steps || extreme) {
    check_target(*target);
    made->kind = StmtKind::kAssign;
    const Token& token = take();
    made->text = steps ? (token.text == "++" ? "+=" : "-=") : token.text;
    if (extreme) made->text += take().text;
    made->name_span = target->span;
    made->name = target->text;
    ExprPtr value = steps ? make(ExprKind::kInteger, token.span) : expression();
    if (steps) value->integer = 1;
    made->exprs.push_back(std::move(target));
    made->exprs.push_back(std::move(value));
  } else {
    made->exprs.push_back(std::move(target));
  }
  made->span = join(made->span, last_span());
  return made;
}

}  // namespace gneiss::language
