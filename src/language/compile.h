// The language's front door: a text in, an ir::Program or diagnostics out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ir/program.h"
#include "language/diagnostics.h"
#include "language/source.h"

namespace gneiss::language {

/// What a program must know of the data it will run on.
struct ProgramInputs {
  std::int64_t num_nodes = ir::kUnknown;
  std::int64_t num_edges = ir::kUnknown;
  bool weighted = false;   ///< edges have weights
  bool symmetric = false;  ///< the graph equals its transpose, weights included
  std::int64_t num_features = 0;
  bool sparse_features = false;  ///< features come as compressed rows
  std::int64_t num_classes = 0;

  friend bool operator==(const ProgramInputs&, const ProgramInputs&) = default;
};

using ArgValue = std::variant<std::int64_t, double, bool, std::string>;

struct CompileOptions {
  ProgramInputs inputs;
  std::vector<std::pair<std::string, ArgValue>> args;  ///< of the model, by name
  std::string
      entry;  ///< which model or script of the file; empty: its script, else its last model, else its last layer
};

/// What a training script says beside the model.
struct ScriptSettings {
  std::optional<std::int64_t> epochs;  ///< none: the script leaves it to its caller
  std::string optimizer = "adam";      ///< adam | adamw | sgd; empty: the script leaves it to its caller
  double lr = 0.01;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum = 0;
  std::string init;  ///< glorot | he | normal | uniform; empty: each layer's own
};

/// One entry of a schedule block: what the passes are asked for. Keys and values are checked: order, sparse, tiles,
/// hoist, fuse, reorder.
struct ScheduleEntry {
  std::int64_t layer = 0;  ///< from 1; 0: every layer
  std::string key;
  std::string value;
};

struct CompileResult {
  ir::Program program;  ///< complete only if ok()
  std::vector<Diagnostic> diagnostics;
  std::optional<ScriptSettings> script;
  std::vector<ScheduleEntry> schedule;
  std::vector<Source> sources;  ///< by ir::Location::source: the text compiled, then those of the layers that it calls
  std::vector<std::string>
      calls;  ///< by ir::Location::call: the prefix of the keys of a layer call's parameters, "" for the model

  bool ok() const;
};

/// Compiles a text: its training script, else its model, else its last layer inside a default model (a stack of
/// `num_layers` of them with ReLU and dropout between).
/// Errors are diagnostics; nothing is thrown for any text.
CompileResult compile(const Source& source, const CompileOptions& options);

/// One argument that a model takes.
struct ModelParameter {
  std::string name;
  std::string type;                       ///< int | float | bool | string
  std::vector<std::string> choices;       ///< of a string: what it may be; empty: anything
  std::optional<ArgValue> default_value;  ///< none: it must be given
  std::string doc;
};

/// The arguments of the model that `compile` would choose; of a script its numbers other than `epochs`, which is an
/// option of training. Empty for a text with mistakes.
std::vector<ModelParameter> model_parameters(const Source& source, std::string_view entry = {});

/// A built-in model by name (gcn, sage, …); nullptr if there is none.
const Source* builtin_model(std::string_view name);
/// That text, or the one of a file. Errors: as read_file.
Source load_model(const std::string& model);
/// Names of the built-in models, sorted.
std::vector<std::string> builtin_model_names();

}  // namespace gneiss::language
