// The built-in models, embedded in the binary and parsed once.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "language/evaluator.h"

namespace gneiss::language {

/// One file of models/, by its name without suffix. Made by embed_models.cmake.
struct EmbeddedFile {
  std::string_view name;
  std::string_view text;
};
const std::vector<EmbeddedFile>& embedded_files();

/// All layers of all built-in files.
const Layers& builtin_layers();
/// The text of the model around a lone layer.
const Source& shell_source();

}  // namespace gneiss::language
