// From a parsed text to a program: choose what to compile, run it, collect the diagnostics.
#include "language/compile.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/names.h"
#include "language/builtins.h"
#include "language/evaluator.h"
#include "language/library.h"
#include "language/parser.h"
#include "language/script.h"
#include "language/walk.h"

namespace gneiss::language {
namespace {

/// What of a text is compiled.
struct Target {
  const Definition* model = nullptr;       ///< a model or a training script
  const Definition* lone_layer = nullptr;  ///< stands for `conv` in the shell
  std::unique_ptr<Module> shell;
};

void check_definitions(const Module& module, Diagnostics* diagnostics) {
  std::map<std::pair<DefinitionKind, std::string>, const Definition*> seen;
  for (const auto& definition : module.definitions) {
    const auto [entry, fresh] = seen.try_emplace({definition->kind, definition->name}, definition.get());
    if (!fresh) {
      Diagnostic& made = diagnostics->error(Code::E0303, definition->name_span,
                                            fmt::format("'{}' is defined twice", definition->name));
      made.notes.push_back({"the first time here", locate(entry->second->name_span)});
    }
    const bool kept = find_builtin(definition->name) != nullptr || is_reduction(definition->name);
    if (kept && definition->kind == DefinitionKind::kLayer) {
      diagnostics
          ->error(Code::E0312, definition->name_span,
                  fmt::format("'{}' is a function of the language", definition->name))
          .help = "choose another name";
    }
    std::map<std::string, const Parameter*> names;
    for (const Parameter& parameter : definition->parameters) {
      if (names.try_emplace(parameter.name, &parameter).second) continue;
      diagnostics->error(Code::E0303, parameter.span, fmt::format("parameter '{}' is declared twice", parameter.name));
    }
  }
}

/// What a schedule may set, and to what.
struct ScheduleKey {
  std::string name;
  std::vector<std::string> values;
  bool by_layer;  ///< may differ from layer to layer
};

const std::vector<ScheduleKey>& schedule_keys() {
  static const std::vector<ScheduleKey> keys = {{"order", {"auto", "transform_first", "aggregate_first"}, true},
                                                {"sparse", {"auto", "sparse", "dense"}, false},
                                                {"tiles", {"auto", "on", "off"}, false},
                                                {"hoist", {"auto", "off"}, false},
                                                {"fuse", {"auto", "off"}, false},
                                                {"reorder", {"auto", "none", "degree", "rcm", "clusters"}, false}};
  return keys;
}

/// The name of today of a key: source tiles were once called blocks.
std::string_view today(std::string_view key) { return key == "blocks" ? "tiles" : key; }

std::vector<ScheduleEntry> read_schedule(const Module& module, Diagnostics* diagnostics) {
  std::vector<std::string> names;
  for (const ScheduleKey& key : schedule_keys()) names.push_back(key.name);
  std::vector<ScheduleEntry> entries;
  for (const ScheduleItem& item : module.schedule) {
    const auto key = std::find_if(schedule_keys().begin(), schedule_keys().end(),
                                  [&](const ScheduleKey& k) { return k.name == today(item.key); });
    if (key == schedule_keys().end()) {
      diagnostics->error(Code::E0611, item.key_span, fmt::format("unknown schedule key '{}'", item.key)).help =
          unknown_name_hint(item.key, names);
    } else if (std::find(key->values.begin(), key->values.end(), item.value) == key->values.end()) {
      diagnostics->error(Code::E0611, item.value_span, fmt::format("unknown {} '{}'", item.key, item.value)).help =
          unknown_name_hint(item.value, key->values);
    } else if (item.layer > 0 && !key->by_layer) {
      diagnostics->error(Code::E0611, item.key_span, fmt::format("'{}' for one layer", item.key)).help =
          fmt::format("it holds for the whole model: write '{} = {};' without a layer", item.key, item.value);
    } else {
      entries.push_back({item.layer, key->name, item.value});
    }
  }
  return entries;
}

/// A schedule may only speak of layers that the program has.
void check_schedule(const Module& module, const ir::Program& program, Diagnostics* diagnostics) {
  std::int64_t layers = 0;
  for (const ir::Param& param : program.params) layers = std::max<std::int64_t>(layers, param.layer + 1);
  for (const ScheduleItem& item : module.schedule) {
    if (item.layer <= layers) continue;
    diagnostics->error(Code::E0611, item.key_span, fmt::format("a schedule for layer {} of {}", item.layer, layers))
        .help = "layers count from 1";
  }
}

const Definition* find_definition(const Module& module, DefinitionKind kind, std::string_view name) {
  const Definition* found = nullptr;
  for (const auto& definition : module.definitions) {
    if (definition->kind == kind && (name.empty() || definition->name == name)) found = definition.get();
  }
  return found;
}

Span whole(const Source& source) { return {&source, 0, 0}; }

/// Can the layer be stacked by the shell: its input and its width, and defaults for the rest?
bool is_stackable(const Definition& layer) {
  const std::vector<Parameter>& parameters = layer.parameters;
  if (parameters.size() < 2 || parameters[0].type.name != "node" || parameters[1].type.name != "int") return false;
  return std::all_of(parameters.begin() + 2, parameters.end(),
                     [](const Parameter& p) { return p.otherwise != nullptr; });
}

bool choose(const Source& source, const Module& module, std::string_view entry, Diagnostics* diagnostics,
            Target* target) {
  target->model = find_definition(module, DefinitionKind::kFunction, entry);
  if (target->model == nullptr) target->model = find_definition(module, DefinitionKind::kModel, entry);
  if (target->model != nullptr) return true;
  target->lone_layer = find_definition(module, DefinitionKind::kLayer, entry);
  if (target->lone_layer == nullptr) {
    std::vector<std::string> known;
    for (const auto& definition : module.definitions) known.push_back(definition->name);
    if (entry.empty() || known.empty()) {
      diagnostics->error(Code::E0310, whole(source), "the file defines no model, layer or training script").help =
          "begin with: layer NAME(x: node[F], out: int) -> node[out] { … }";
    } else {
      diagnostics->error(Code::E0311, whole(source), fmt::format("the file defines nothing called '{}'", entry)).help =
          unknown_name_hint(entry, known);
    }
    return false;
  }
  if (!is_stackable(*target->lone_layer)) {
    diagnostics
        ->error(Code::E0310, target->lone_layer->name_span,
                fmt::format("layer '{}' cannot be stacked by itself", target->lone_layer->name))
        .help =
        "give it the form layer NAME(x: node[F], out: int, …) with defaults for the rest, or write a model around it";
    return false;
  }
  target->shell = parse(shell_source(), diagnostics);
  target->model = find_definition(*target->shell, DefinitionKind::kModel, "shell");
  return true;
}

Value to_value(const ArgValue& value) {
  return std::visit([](const auto& item) { return Value{item}; }, value);
}

ExprPtr to_expr(const ArgValue& value) {
  auto made = std::make_unique<Expr>();
  if (const auto* whole_number = std::get_if<std::int64_t>(&value)) {
    made->kind = ExprKind::kInteger;
    made->integer = *whole_number;
  } else if (const auto* real = std::get_if<double>(&value)) {
    made->kind = ExprKind::kReal;
    made->real = *real;
  } else if (const auto* truth = std::get_if<bool>(&value)) {
    made->kind = ExprKind::kBool;
    made->integer = *truth ? 1 : 0;
  } else {
    made->kind = ExprKind::kString;
    made->text = std::get<std::string>(value);
  }
  return made;
}

bool has_parameter(const Definition& definition, std::string_view name) {
  return std::any_of(definition.parameters.begin(), definition.parameters.end(),
                     [&](const Parameter& p) { return p.name == name; });
}

/// The arguments for the model; those that only the lone layer has go into its calls.
std::vector<GivenArgument> take_arguments(const Target& target, const CompileOptions& options,
                                          Diagnostics* diagnostics) {
  std::vector<GivenArgument> given;
  for (const auto& [name, value] : options.args) {
    const bool of_layer =
        target.lone_layer != nullptr && !has_parameter(*target.model, name) && has_parameter(*target.lone_layer, name);
    if (target.lone_layer != nullptr && !of_layer && !has_parameter(*target.model, name)) {
      std::vector<std::string> known;
      for (const Parameter& parameter : target.model->parameters) known.push_back(parameter.name);
      for (std::size_t i = 2; i < target.lone_layer->parameters.size(); ++i)
        known.push_back(target.lone_layer->parameters[i].name);
      diagnostics
          ->error(Code::E0304, target.lone_layer->name_span,
                  fmt::format("a model of layer '{}' has no argument '{}'", target.lone_layer->name, name))
          .help = unknown_name_hint(name, known);
      continue;
    }
    if (!of_layer) {
      given.push_back({name, {}, to_value(value), {}});
      continue;
    }
    const auto forward = [&, key = name](Expr& expr) {
      if (expr.kind != ExprKind::kCall || expr.operands[0]->text != "conv") return;
      Argument argument;
      argument.name = key;
      argument.value = to_expr(value);
      expr.arguments.push_back(std::move(argument));
    };
    visit_all(
        target.model->body, [](Stmt&) {}, forward);
  }
  return given;
}

ir::Program empty_program(const std::string& name, const ProgramInputs& inputs) {
  ir::Program program;
  program.name = name;
  program.node_sets.push_back({"nodes", inputs.num_nodes});
  ir::GraphDef graph;
  graph.name = "graph";
  graph.num_edges = inputs.num_edges;
  graph.weighted = inputs.weighted;
  graph.symmetric = inputs.symmetric;
  program.graphs.push_back(graph);
  return program;
}

Layers all_layers(const Module& module, const Target& target) {
  Layers layers = builtin_layers();
  for (const auto& definition : module.definitions) {
    if (definition->kind == DefinitionKind::kLayer) layers[definition->name] = definition.get();
  }
  if (target.lone_layer != nullptr) layers["conv"] = target.lone_layer;
  return layers;
}

/// Numbers that a script takes; how many epochs to run is an option of training, not of the model.
std::vector<ModelParameter> script_parameters(const Definition& script) {
  std::vector<ModelParameter> list;
  for (const Parameter& parameter : script.parameters) {
    const std::string& type = parameter.type.name;
    const bool whole_number = type == "int" || type == "long";
    if (!whole_number && type != "float" && type != "double") continue;
    if (parameter.name != "epochs")
      list.push_back({parameter.name, whole_number ? "int" : "float", {}, {}, parameter.doc});
  }
  return list;
}

std::string program_name(const Target& target) {
  return target.lone_layer != nullptr ? target.lone_layer->name : target.model->name;
}

/// What the locations of a program refer to.
void take_places(const Emitter& emitter, CompileResult* result) {
  for (const Source* read : emitter.sources()) result->sources.push_back(*read);
  result->calls = emitter.call_prefixes();
}

}  // namespace

bool CompileResult::ok() const {
  return std::none_of(diagnostics.begin(), diagnostics.end(),
                      [](const Diagnostic& d) { return d.severity == Severity::kError; });
}

CompileResult compile(const Source& source, const CompileOptions& options) {
  CompileResult result;
  Diagnostics diagnostics;
  const std::unique_ptr<Module> module = parse(source, &diagnostics);
  check_definitions(*module, &diagnostics);
  result.schedule = read_schedule(*module, &diagnostics);
  Target target;
  if (!diagnostics.has_errors() && choose(source, *module, options.entry, &diagnostics, &target)) {
    const Layers layers = all_layers(*module, target);
    result.program = empty_program(program_name(target), options.inputs);
    try {
      if (target.model->kind == DefinitionKind::kFunction) {
        ScriptRunner runner(layers, options.inputs, &result.program, &diagnostics);
        runner.emitter().begin_source(&source);
        runner.run(*target.model, take_arguments(target, options, &diagnostics));
        result.script = runner.settings();
        take_places(runner.emitter(), &result);
      } else {
        Evaluator evaluator(layers, options.inputs, &result.program, &diagnostics);
        if (target.lone_layer != nullptr) evaluator.emitter().hide_calls_in(target.model->name_span.source);
        evaluator.emitter().begin_source(&source);
        evaluator.run_model(*target.model, take_arguments(target, options, &diagnostics));
        take_places(evaluator.emitter(), &result);
      }
      if (!diagnostics.has_errors()) check_schedule(*module, result.program, &diagnostics);
    } catch (const CompilationAbort&) {
      // Reported already; what was built so far is not a program.
    }
  }
  if (diagnostics.has_errors()) {
    result.program = {};
    result.script.reset();
  }
  result.diagnostics = diagnostics.take();
  return result;
}

std::vector<ModelParameter> model_parameters(const Source& source, std::string_view entry) {
  Diagnostics diagnostics;
  const std::unique_ptr<Module> module = parse(source, &diagnostics);
  Target target;
  if (diagnostics.has_errors() || !choose(source, *module, entry, &diagnostics, &target)) return {};
  if (target.model->kind != DefinitionKind::kModel) return script_parameters(*target.model);
  const Layers layers = all_layers(*module, target);
  std::vector<ModelParameter> list;
  const auto add = [&](const Definition& definition, std::size_t from) {
    ir::Program scratch = empty_program("", {});
    const ProgramInputs inputs;
    Evaluator evaluator(layers, inputs, &scratch, &diagnostics);
    const std::vector<Value> defaults = evaluator.evaluate_defaults(definition);
    for (std::size_t i = from; i < definition.parameters.size(); ++i) {
      const Parameter& parameter = definition.parameters[i];
      if (from > 0 && has_parameter(*target.model, parameter.name)) continue;
      ModelParameter made = {parameter.name, parameter.type.name, parameter.type.choices, std::nullopt, parameter.doc};
      const Value& value = defaults[i];
      if (value.integer() != nullptr) made.default_value = *value.integer();
      if (value.boolean() != nullptr) made.default_value = *value.boolean();
      if (value.text() != nullptr) made.default_value = *value.text();
      if (value.is_number() && value.integer() == nullptr) made.default_value = value.number();
      list.push_back(std::move(made));
    }
  };
  add(*target.model, 0);
  if (target.lone_layer != nullptr) add(*target.lone_layer, 2);
  return list;
}

}  // namespace gneiss::language
