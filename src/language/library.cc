// The texts are parsed when the first one is asked for and kept for the life of the process.
#include "language/library.h"

#include <algorithm>
#include <map>
#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "language/parser.h"

namespace gneiss::language {
namespace {

struct Library {
  std::map<std::string, Source, std::less<>> sources;
  std::vector<std::unique_ptr<Module>> modules;
  Layers layers;
  std::vector<std::string> models;
};

const Library& library() {
  static const Library made = [] {
    Library lib;
    Diagnostics diagnostics;
    for (const EmbeddedFile& file : embedded_files()) {
      const std::string name(file.name);
      const auto entry = lib.sources.emplace(name, Source{name + ".gneiss", std::string(file.text)}).first;
      lib.modules.push_back(parse(entry->second, &diagnostics));
      bool has_model = false;
      for (const auto& definition : lib.modules.back()->definitions) {
        if (definition->kind == DefinitionKind::kLayer) lib.layers[definition->name] = definition.get();
        has_model = has_model || definition->kind == DefinitionKind::kModel;
      }
      if (has_model && name != "shell") lib.models.push_back(name);
    }
    GNEISS_ASSERT(!diagnostics.has_errors(), "{}", render(diagnostics.list()));
    std::sort(lib.models.begin(), lib.models.end());
    return lib;
  }();
  return made;
}

}  // namespace

const Layers& builtin_layers() { return library().layers; }
const Source& shell_source() { return library().sources.find("shell")->second; }

const Source* builtin_model(std::string_view name) {
  const auto& models = library().models;
  if (std::find(models.begin(), models.end(), name) == models.end()) return nullptr;
  return &library().sources.find(name)->second;
}

Source load_model(const std::string& model) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 20;
  const Source* const builtin = builtin_model(model);
  return builtin != nullptr ? *builtin : Source{model, read_file(model, kMostBytes)};
}

std::vector<std::string> builtin_model_names() { return library().models; }

}  // namespace gneiss::language
