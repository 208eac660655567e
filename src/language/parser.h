// Tokens to a syntax tree: recursive descent for statements, operator precedence (Pratt) for expressions.
//
// After a mistake the parser skips to the next statement and goes on, so that one run reports many mistakes; nesting is
// limited, so that no text can exhaust the stack; every loop takes at least one token, so that none can hang.
#pragma once

#include <memory>

#include "language/ast.h"
#include "language/diagnostics.h"
#include "language/lexer.h"

namespace gneiss::language {

/// Deepest nesting of brackets, blocks and operators.
inline constexpr int kMaxDepth = 200;

/// The tree of a text; what could not be read is missing and reported.
std::unique_ptr<Module> parse(const Source& source, Diagnostics* diagnostics);

}  // namespace gneiss::language
