// Visits every expression of a syntax tree.
#pragma once

#include <vector>

#include "language/ast.h"

namespace gneiss::language {

/// E is Expr or const Expr.
template <typename E, typename Visit>
void visit_expr(E& expr, const Visit& visit) {
  visit(expr);
  for (const ExprPtr& operand : expr.operands) visit_expr(*operand, visit);
  for (const Argument& argument : expr.arguments) visit_expr(*argument.value, visit);
}

/// Calls on_stmt(Stmt&) for every statement and on_expr(Expr&) for every expression in them.
template <typename OnStmt, typename OnExpr>
void visit_all(const std::vector<StmtPtr>& statements, const OnStmt& on_stmt, const OnExpr& on_expr) {
  for (const StmtPtr& stmt : statements) {
    on_stmt(*stmt);
    for (const ExprPtr& expr : stmt->exprs) visit_expr(*expr, on_expr);
    visit_all(stmt->head, on_stmt, on_expr);
    visit_all(stmt->body, on_stmt, on_expr);
    visit_all(stmt->otherwise, on_stmt, on_expr);
  }
}

}  // namespace gneiss::language
