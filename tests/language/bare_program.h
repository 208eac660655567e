// The text of a program without the places that its ops come from, to compare two ways of writing it.
#pragma once

#include <string>

#include "language/compile.h"

namespace gneiss::testing {

/// Compiled for 100 nodes, 500 weighted edges, 7 features and 3 classes.
language::CompileResult compile_on_sample(const std::string& text);

/// The diagnostics and the text itself if it does not compile without any.
std::string bare_program(const std::string& text);

}  // namespace gneiss::testing
