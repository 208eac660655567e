// The functions of the language that are not layers: relu(x), dropout(x, p), linear(x, out) …
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "language/evaluator.h"

namespace gneiss::language {

struct BuiltinCall;

/// One function: its parameters and what it does.
struct Builtin {
  std::string_view name;
  std::string_view parameters;  ///< "x, slope = 0.01"; "…" takes any number
  bool has_params;              ///< owns trainable parameters, so it takes a key with `as`
  Value (*run)(BuiltinCall& call);
};

/// A call of one: every parameter has its argument.
struct BuiltinCall {
  Evaluator& evaluator;
  const Builtin& builtin;
  std::vector<GivenArgument> arguments;  ///< in the order of the parameters; for "…" all of them
  const std::string* key;
  Span span;
};

/// nullptr if there is no such function.
const Builtin* find_builtin(std::string_view name);
/// Names of all functions, the reductions (sum, mean …) included.
const std::vector<std::string>& builtin_names();
/// Is it a reduction, `sum(…) over in_edges`?
bool is_reduction(std::string_view name);

/// Binds arguments to parameters and runs. Reports what does not fit.
Value call_builtin(Evaluator& evaluator, const Builtin& builtin, std::vector<GivenArgument> arguments,
                   const std::string* key, const Span& span);

}  // namespace gneiss::language
