// A model's program for a dataset, by built-in name or from text.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "data/dataset.h"
#include "language/compile.h"

namespace gneiss::testing {

using ModelArgs = std::vector<std::pair<std::string, language::ArgValue>>;

/// Throws std::runtime_error with the diagnostics if the text does not compile.
ir::Program compile_text(const std::string& text, const data::Dataset& dataset, const ModelArgs& args = {});
ir::Program compile_builtin(const std::string& name, const data::Dataset& dataset, const ModelArgs& args = {});

}  // namespace gneiss::testing
