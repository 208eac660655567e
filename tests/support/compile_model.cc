#include "support/compile_model.h"

#include <stdexcept>

namespace gneiss::testing {
namespace {

ir::Program compile(const language::Source& source, const data::Dataset& dataset, const ModelArgs& args) {
  language::CompileOptions options;
  options.inputs = {dataset.num_nodes(),       dataset.graph.num_edges(), dataset.graph.weighted(),
                    dataset.graph.symmetric(), dataset.features.cols,     dataset.features.sparse,
                    dataset.labels.num_classes};
  options.args = args;
  language::CompileResult result = language::compile(source, options);
  if (!result.ok()) throw std::runtime_error(language::render(result.diagnostics));
  return result.program;
}

}  // namespace

ir::Program compile_text(const std::string& text, const data::Dataset& dataset, const ModelArgs& args) {
  return compile({"test.gneiss", text}, dataset, args);
}

ir::Program compile_builtin(const std::string& name, const data::Dataset& dataset, const ModelArgs& args) {
  return compile(*language::builtin_model(name), dataset, args);
}

}  // namespace gneiss::testing
