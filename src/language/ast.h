// The syntax tree: plain data, one struct for expressions and one for statements, each with its span.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "language/source.h"

namespace gneiss::language {

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;
struct Stmt;
using StmtPtr = std::unique_ptr<Stmt>;

enum class ExprKind : std::uint8_t {
  kInteger,  ///< integer
  kReal,     ///< real
  kBool,     ///< integer is 0 or 1
  kString,   ///< text; or, if interpolated, the pieces in operands
  kName,     ///< text
  kUnary,    ///< text is the operator: - ! ; operands[0]
  kBinary,   ///< text is the operator; operands[0], operands[1]
  kCall,     ///< operands[0] is called (kName or kMember) with arguments
  kMember,   ///< operands[0] . text
  kAt,       ///< operands[0] @ text (src or dst)
  kOver,     ///< operands[0] (a kCall) over text
  kAs,       ///< operands[0] as operands[1] (a string)
  kList,     ///< operands
  kIndex,    ///< operands[0] [ operands[1] ]
};

struct Argument {
  std::string name;  ///< empty for a positional one
  Span name_span;
  ExprPtr value;
};

struct Expr {
  ExprKind kind = ExprKind::kInteger;
  Span span;
  int depth = 1;  ///< height of the tree below, kept small so that every walk can recurse
  std::string text;
  Span text_span;  ///< of the operator, member or function name
  std::int64_t integer = 0;
  double real = 0;
  std::vector<ExprPtr> operands;
  std::vector<Argument> arguments;
};

enum class StmtKind : std::uint8_t {
  kAssign,    ///< exprs[0] text exprs[1], text is = += -= *= /= Max= Min= (and %= |= &=, to be refused)
  kParam,     ///< param
  kReturn,    ///< exprs[0]
  kIf,        ///< exprs[0]; body; otherwise
  kForRange,  ///< for name in exprs[0] .. exprs[1]; inclusive when text is "to"; step exprs[2] if there
  kForC,      ///< init is head[0], condition exprs[0], step is head[1]
  kWhile,     ///< exprs[0]; body
  kForEach,   ///< for or forall (name in exprs[0]); body
  kExpr,      ///< exprs[0], a call for its effect
  kOutput,    ///< output name = exprs[0]
  kRequire,   ///< require exprs[0], exprs[1]
  kDeclare,   ///< type text, name, exprs are constructor arguments
  kBlock,     ///< body
};

/// `param W: [F, out] = glorot as "lin.weight".T;`
struct ParamDecl {
  bool trainable = true;  ///< false for `state`
  std::vector<ExprPtr> shape;
  std::string init;  ///< empty: glorot for a matrix, zeros for a vector
  Span init_span;
  std::vector<ExprPtr> init_arguments;
  ExprPtr key;  ///< null: the name
  bool transposed = false;
  std::vector<ExprPtr> stored_shape;  ///< empty: the shape itself
  Span stored_span;
};

struct Stmt {
  StmtKind kind = StmtKind::kExpr;
  Span span;
  std::string text;
  std::string type_argument;  ///< of a declaration: float in propNode<float>
  std::string name;
  Span name_span;
  std::vector<ExprPtr> exprs;
  std::vector<StmtPtr> head;
  std::vector<StmtPtr> body;
  std::vector<StmtPtr> otherwise;
  std::unique_ptr<ParamDecl> param;
};

/// `node[heads * out]`, `int`, `"mean" | "max"`, `list`, or a type of a training script.
struct TypeExpr {
  std::string name;  ///< node edge int float bool string list; Graph GNN … in scripts; empty: none given
  Span span;
  std::vector<ExprPtr> shape;
  std::vector<std::string> choices;  ///< a string that must be one of these
};

struct Parameter {
  std::string name;
  Span span;
  TypeExpr type;
  ExprPtr otherwise;  ///< the default
  std::string doc;    ///< the comment at the end of its line
};

enum class DefinitionKind : std::uint8_t { kLayer, kModel, kFunction };

struct Definition {
  DefinitionKind kind = DefinitionKind::kLayer;
  std::string name;
  Span name_span;
  std::vector<Parameter> parameters;
  TypeExpr result;
  std::vector<StmtPtr> body;
  Span end_span;  ///< the closing brace
  std::string doc;
};

/// `layer 1: order = auto;` in a schedule block; layer 0 means all layers.
struct ScheduleItem {
  std::int64_t layer = 0;
  std::string key;
  Span key_span;
  std::string value;
  Span value_span;
};

struct Module {
  std::vector<std::unique_ptr<Definition>> definitions;
  std::vector<ScheduleItem> schedule;
};

}  // namespace gneiss::language
