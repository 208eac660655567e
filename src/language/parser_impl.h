// The parser's state, shared by its parts: parser.cc (definitions), parse_statements.cc,
// parse_expressions.cc, parse_foreign.cc (what only StarPlat writes), parse_habits.cc (what other languages write).
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "language/ast.h"
#include "language/diagnostics.h"
#include "language/lexer.h"
#include "language/parser.h"

namespace gneiss::language {

struct Foreign;

/// The help for a ';' that was forgotten at the end of a line: what follows is a statement of its own.
constexpr std::string_view kForgotten = "statements end with ';'";

/// Thrown to leave a construct that cannot be read; caught where the next statement or definition can begin.
struct SyntaxAbort {};
/// Thrown after a refused statement of which nothing is left to skip.
struct SkippedStatement {};

class Parser {
 public:
  Parser(const Source& source, Tokens tokens, Diagnostics* diagnostics)
      : source_(source), tokens_(std::move(tokens)), diagnostics_(*diagnostics) {}

  std::unique_ptr<Module> module();
  ExprPtr expression(int least_power = 0);
  bool at_end() const { return peek().kind == TokenKind::kEnd; }
  void set_depth(int depth) { depth_ = depth; }
  [[noreturn]] void unexpected(std::string_view wanted);

 private:
  // Definitions.
  std::unique_ptr<Definition> definition(DefinitionKind kind);
  Parameter parameter(DefinitionKind kind);
  Parameter script_parameter();
  TypeExpr type();
  void schedule_block(Module* module);
  void schedule_item(Module* module);
  void skip_definition();
  std::vector<Comment>::const_iterator first_comment_from(std::uint32_t offset) const;
  std::string comment_above(const Span& span) const;
  std::string comment_after(const Span& span) const;

  // Statements.
  std::vector<StmtPtr> block();
  std::vector<StmtPtr> body();
  StmtPtr statement();
  StmtPtr statement_inside();
  StmtPtr param_statement();
  void param_key(ParamDecl* param);
  StmtPtr if_statement();
  StmtPtr for_statement();
  StmtPtr c_for(StmtPtr made);
  StmtPtr counted_for(StmtPtr made);
  StmtPtr loop_statement();
  StmtPtr while_statement();
  StmtPtr declaration();
  StmtPtr simple_statement();
  StmtPtr assignment(ExprPtr target);
  bool at_declaration() const;
  void check_target(const Expr& target);
  void skip_statement();
  void end_statement();

  // What only StarPlat writes.
  void refuse(const Foreign& foreign);
  void refuse_foreign_definition();
  void refuse_foreign_statement();
  void skip_brackets(std::string_view open, std::string_view closing);
  std::string type_argument();
  StmtPtr joint_update();
  std::vector<ExprPtr> angle_list();

  // What is written by habit of other languages (parse_habits.cc).
  std::string habit_of_next() const;
  std::string habit_of_definition() const;
  std::string habit_after_statement() const;
  std::string comment_for_division() const;
  bool next_is_on_another_line() const;
  void skip_word_within_line();
  void require_block();
  ExprPtr refuse_power(ExprPtr base);
  void check_loop_bounds(const Expr& over);
  void refuse_statement_habit();
  void check_parameter_form(const Token& name, DefinitionKind kind);

  // Expressions.
  ExprPtr prefix();
  ExprPtr primary();
  ExprPtr postfix(ExprPtr left);
  ExprPtr call(ExprPtr callee);
  ExprPtr number(const Token& token);
  ExprPtr string(const Token& token);
  ExprPtr interpolated(const Token& token);
  ExprPtr list();
  std::vector<ExprPtr> bracketed_list();
  ExprPtr make(ExprKind kind, const Span& span);
  void set_depth_of(Expr* expr);

  // Tokens.
  const Token& peek(std::size_t ahead = 0) const;
  const Token& take();
  bool at(std::string_view text, std::size_t ahead = 0) const;
  bool at_name(std::size_t ahead = 0) const { return peek(ahead).kind == TokenKind::kName; }
  bool accept(std::string_view text);
  const Token& expect(std::string_view text);
  const Token& expect_name(std::string_view what);
  void close(std::string_view bracket, const Token& opened);
  const Span& last_span() const { return tokens_.list[position_ == 0 ? 0 : position_ - 1].span; }
  StmtPtr begin(StmtKind kind) const;

  /// Counts nesting while it lives.
  class Deeper {
   public:
    explicit Deeper(Parser* parser);
    ~Deeper() { --parser_->depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

   private:
    Parser* parser_;
  };

  const Source& source_;
  Tokens tokens_;
  Diagnostics& diagnostics_;
  std::size_t position_ = 0;
  int depth_ = 0;
};

}  // namespace gneiss::language
