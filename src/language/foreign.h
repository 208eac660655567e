// Constructs of StarPlat that have no meaning for a network: what each is, why it has none, and what to write instead.
#pragma once

#include <string_view>

#include "language/diagnostics.h"

namespace gneiss::language {

struct Foreign {
  std::string_view name;
  Code code;
  std::string_view message;  ///< follows the quoted name
  std::string_view help;
};

/// By the word that begins a definition, a statement or a declaration; nullptr if it is none of StarPlat's.
const Foreign* foreign_definition(std::string_view word);
const Foreign* foreign_statement(std::string_view word);
const Foreign* foreign_type(std::string_view word);
/// By the name of a method of the graph, or of a function.
const Foreign* foreign_call(std::string_view name);

}  // namespace gneiss::language
