// Calls: arguments to parameters, layers, parameter keys, the model itself.
#include <fmt/format.h>

#include <algorithm>

#include "base/names.h"
#include "language/builtins.h"
#include "language/evaluator.h"
#include "language/habits.h"
#include "language/library.h"
#include "language/walk.h"

namespace gneiss::language {
namespace {

constexpr std::size_t kMaxCalls = 32;
constexpr std::size_t kMaxKey = 200;

std::vector<std::string> parameter_names(const Definition& definition) {
  std::vector<std::string> names;
  for (const Parameter& parameter : definition.parameters) names.push_back(parameter.name);
  return names;
}

std::string_view kind_name(const Definition& definition) {
  if (definition.kind == DefinitionKind::kModel) return "model";
  return definition.kind == DefinitionKind::kLayer ? "layer" : "function";
}

std::string key_problem(const std::string& key) {
  if (key.size() > kMaxKey) return fmt::format("is longer than {} characters", kMaxKey);
  for (const char c : key) {
    const bool fine =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
    if (!fine) return "has a character other than letters, digits, '_', '-' and '.'";
  }
  return {};
}

std::string join_keys(const std::string& prefix, const std::string& key) {
  return prefix.empty() || key.empty() ? prefix + key : prefix + "." + key;
}

}  // namespace

Evaluator::Evaluator(const Layers& layers, const ProgramInputs& inputs, ir::Program* program, Diagnostics* diagnostics)
    : layers_(layers), inputs_(inputs), emitter_(program, diagnostics) {}

void Evaluator::push_frame(const Definition& definition, std::string prefix, const Span& call_span) {
  auto made = std::make_unique<Frame>();
  made->definition = &definition;
  made->prefix = std::move(prefix);
  made->call_span = call_span;
  made->variables["graph"] = {GraphRef{frames_.empty() ? 0 : current_graph()}};
  frames_.push_back(std::move(made));
}

void Evaluator::pop_frame() { frames_.pop_back(); }

std::int32_t Evaluator::current_graph() {
  const auto found = frame().variables.find("graph");
  if (found == frame().variables.end() || found->second.graph() == nullptr) throw EvaluationAbort{};
  return found->second.graph()->index;
}

Tensor Evaluator::features() {
  if (inputs_.num_features <= 0 || inputs_.num_features > kMaxSize) {
    emitter_.fail(Code::E0410, frame().call_span, fmt::format("the data has {} features", inputs_.num_features));
  }
  if (features_.id == ir::kNoValue) features_ = emitter_.features(inputs_.num_features, inputs_.sparse_features);
  return features_;
}

std::vector<GivenArgument> Evaluator::evaluate_arguments(const Expr& call) {
  std::vector<GivenArgument> given;
  for (const Argument& argument : call.arguments) {
    given.push_back({argument.name, argument.name_span, evaluate(*argument.value), argument.value->span});
  }
  return given;
}

Value Evaluator::evaluate_call(const Expr& expr, const Expr* key_expr) {
  const Expr& callee = *expr.operands[0];
  if (callee.kind == ExprKind::kMember) return call_method(expr);
  if (callee.kind != ExprKind::kName) fail_callee(callee);
  std::string key;
  if (key_expr != nullptr) {
    key = evaluate_text(*key_expr, "a key");
    const std::string problem = key_problem(key);
    if (!problem.empty()) emitter_.fail(Code::E0416, key_expr->span, fmt::format("the key \"{}\" {}", key, problem));
  }
  const Definition* layer = find_layer(callee.text, *frame().definition);
  const Builtin* builtin = layer == nullptr ? find_builtin(callee.text) : nullptr;
  if (loops_.inside() && (callee.text == "Max" || callee.text == "Min") && layer == nullptr)
    builtin = find_builtin(callee.text == "Max" ? "max" : "min");
  if (key_expr != nullptr && builtin != nullptr && !builtin->has_params) {
    emitter_.fail(Code::E0414, key_expr->span, fmt::format("'{}' has no parameters to name", callee.text));
  }
  if (layer != nullptr) {
    return call_layer(*layer, evaluate_arguments(expr), key_expr == nullptr ? nullptr : &key, expr.span);
  }
  if (builtin != nullptr)
    return call_builtin(*this, *builtin, evaluate_arguments(expr), key_expr == nullptr ? nullptr : &key, expr.span);
  if (is_reduction(callee.text)) {
    emitter_.fail(Code::E0405, expr.span, fmt::format("'{}' needs the edges that it reduces", callee.text),
                  fmt::format("write {}(…) over in_edges", callee.text));
  }
  refuse_foreign_call(expr);
  std::vector<std::string> known = builtin_names();
  for (const auto& [name, definition] : layers_) known.push_back(name);
  const std::string nearest = nearest_name(callee.text, known);
  std::string help = call_habit(callee.text);
  if (help.empty() && !nearest.empty()) help = fmt::format("did you mean '{}'?", nearest);
  emitter_.fail(Code::E0302, callee.span, fmt::format("unknown layer or function '{}'", callee.text), std::move(help));
}

/// A call of what is no name: nn.Linear(16, 8)(x), 3(x).
void Evaluator::fail_callee(const Expr& callee) {
  std::string help;
  if (callee.kind == ExprKind::kCall) {
    const Expr& made = *callee.operands[0];
    help = call_habit(made.text);
    if (help.empty()) help = fmt::format("a layer is called once, with its value first: {}(x, …)", made.text);
  }
  emitter_.fail(Code::E0302, callee.span, "only a layer or function can be called", std::move(help));
}

/// torch.relu(x), x.relu(), self.lin(x): what to call instead; `callee` is the member.
std::string Evaluator::method_help(const Expr& callee) {
  const Expr* root = &callee;
  while (root->kind == ExprKind::kMember) root = root->operands[0].get();
  const bool module =
      root->kind == ExprKind::kName && is_module_habit(root->text) && !frame().variables.count(root->text);
  const bool known = find_builtin(callee.text) != nullptr || layers_.count(callee.text) != 0;
  if (known) return fmt::format("functions have nothing in front: {}(x)", callee.text);
  const std::string habit = call_habit(callee.text);
  if (!habit.empty()) return habit;
  if (is_reduction(callee.text)) return fmt::format("write {}(z@src) over in_edges", callee.text);
  if (module) return "functions have no module in front: relu(x), linear(x, out)";
  return "methods such as gnn.load stand in a training script";
}

std::string Evaluator::instance_prefix(const std::string* key, const std::string& name) {
  if (key != nullptr) return join_keys(frame().prefix, *key);
  const int times = frame().names[name]++;
  return join_keys(frame().prefix, times == 0 ? name : fmt::format("{}_{}", name, times));
}

/// The layer called `name`. Built-in layers see one another first: what a user's file shadows does not change them.
const Definition* Evaluator::find_layer(std::string_view name, const Definition& caller) const {
  const Layers& own = builtin_layers();
  const auto self = own.find(caller.name);
  if (self != own.end() && self->second == &caller) {
    const auto found = own.find(name);
    if (found != own.end()) return found->second;
  }
  const auto found = layers_.find(name);
  return found == layers_.end() ? nullptr : found->second;
}

/// Does a layer count as one of the network's layers: has it weights, or does it look at neighbours, itself or in what
/// it calls?
bool Evaluator::is_convolution(const Definition& layer) {
  const auto [entry, fresh] = convolutions_.try_emplace(&layer, false);
  if (!fresh) return entry->second;
  bool found = false;
  visit_all(
      layer.body,
      [&](Stmt& stmt) { found = found || stmt.kind == StmtKind::kParam || stmt.kind == StmtKind::kForEach; },
      [&](Expr& expr) {
        if (expr.kind == ExprKind::kOver) found = true;
        if (found || expr.kind != ExprKind::kCall || expr.operands[0]->kind != ExprKind::kName) return;
        const Definition* inner = find_layer(expr.operands[0]->text, layer);
        found = inner == nullptr ? expr.operands[0]->text == "linear" : is_convolution(*inner);
      });
  convolutions_[&layer] = found;
  return found;
}

Value Evaluator::call_layer(const Definition& layer, std::vector<GivenArgument> arguments, const std::string* key,
                            const Span& span) {
  for (const auto& running : frames_) {
    if (running->definition == &layer) {
      emitter_.fail(Code::E0308, span, fmt::format("layer '{}' calls itself", layer.name),
                    "repeat with 'for'; the depth of a network is fixed");
    }
  }
  if (frames_.size() >= kMaxCalls)
    emitter_.fail(Code::E0501, span, fmt::format("layers call layers more than {} deep", kMaxCalls));
  if (frame().definition->kind != DefinitionKind::kLayer && is_convolution(layer)) {
    emitter_.set_param_layer(layer_calls_++);
    for (const GivenArgument& argument : arguments) {
      if (const Tensor* tensor = argument.value.tensor()) {
        layer_input_ = *tensor;
        break;
      }
    }
  }
  const std::string prefix = instance_prefix(key, layer.name);
  push_frame(layer, prefix, span);
  emitter_.enter_call(span, layer.name, prefix);
  Value result;
  try {
    bind(layer, std::move(arguments), span);
    execute(layer.body);
    check_result(layer);
    result = std::move(frame().result);
  } catch (const EvaluationAbort&) {
    result = {};
  }
  emitter_.leave_call();
  pop_frame();
  if (result.is_poison()) throw EvaluationAbort{};
  return result;
}

void Evaluator::check_result(const Definition& definition) {
  if (frame().returned) return;
  if (frame().after_mistake) throw EvaluationAbort{};
  emitter_.fail(Code::E0417, definition.end_span,
                fmt::format("{} '{}' ends without a return", kind_name(definition), definition.name), "add: return …;");
}

/// Which argument each parameter gets; nullptr: its default.
std::vector<const GivenArgument*> Evaluator::match(const Definition& definition,
                                                   const std::vector<GivenArgument>& arguments, const Span& span) {
  std::vector<const GivenArgument*> matched(definition.parameters.size(), nullptr);
  std::size_t next = 0;
  const std::vector<Note> declared = {
      {fmt::format("'{}' is declared here", definition.name), locate(definition.name_span)}};
  for (const GivenArgument& argument : arguments) {
    std::size_t at = next;
    if (argument.name.empty()) {
      if (next >= matched.size()) {
        emitter_.fail(Code::E0306, argument.span,
                      fmt::format("{} '{}' takes {} arguments, got {}", kind_name(definition), definition.name,
                                  matched.size(), arguments.size()),
                      {}, declared);
      }
      ++next;
    } else {
      const std::vector<std::string> names = parameter_names(definition);
      at = static_cast<std::size_t>(std::find(names.begin(), names.end(), argument.name) - names.begin());
      if (at == names.size()) {
        emitter_.fail(
            Code::E0304, argument.name_span,
            fmt::format("{} '{}' has no argument '{}'", kind_name(definition), definition.name, argument.name),
            unknown_name_hint(argument.name, names), declared);
      }
    }
    if (matched[at] != nullptr) {
      emitter_.fail(Code::E0307, argument.name.empty() ? argument.span : argument.name_span,
                    fmt::format("argument '{}' is given twice", definition.parameters[at].name));
    }
    matched[at] = &argument;
  }
  for (std::size_t i = 0; i < matched.size(); ++i) {
    const Parameter& parameter = definition.parameters[i];
    if (matched[i] == nullptr && parameter.otherwise == nullptr) {
      emitter_.fail(
          Code::E0305, span,
          fmt::format("{} '{}' needs an argument for '{}'", kind_name(definition), definition.name, parameter.name), {},
          {{"declared here", locate(parameter.span)}});
    }
  }
  return matched;
}

/// Given scalars first, since shapes may use them; then tensors and defaults, as declared.
void Evaluator::bind(const Definition& definition, std::vector<GivenArgument> arguments, const Span& span) {
  const std::vector<const GivenArgument*> matched = match(definition, arguments, span);
  for (std::size_t i = 0; i < matched.size(); ++i) {
    if (matched[i] != nullptr && matched[i]->value.tensor() == nullptr) {
      bind_parameter(definition.parameters[i], matched[i]->value, matched[i]->span);
    }
  }
  for (std::size_t i = 0; i < matched.size(); ++i) {
    const Parameter& parameter = definition.parameters[i];
    if (matched[i] == nullptr) {
      bind_parameter(parameter, evaluate(*parameter.otherwise), parameter.otherwise->span);
    } else if (matched[i]->value.tensor() != nullptr) {
      bind_parameter(parameter, matched[i]->value, matched[i]->span);
    }
  }
}

void Evaluator::bind_parameter(const Parameter& parameter, const Value& value, const Span& span) {
  frame().variables[parameter.name] = convert(parameter, value, span);
}

Value Evaluator::convert(const Parameter& parameter, const Value& value, const Span& span) {
  const std::string& type = parameter.type.name;
  const Tensor* tensor = value.tensor();
  if (tensor != nullptr && (type == "node" || type == "edge")) {
    const bool fits = tensor->domain == (type == "node" ? ir::Domain::kNode : ir::Domain::kEdge);
    if (fits) {
      Tensor bound = *tensor;
      bind_shape(parameter, &bound, span);
      return {bound};
    }
  }
  if (type == "int" && value.integer() != nullptr) return value;
  if (type == "float" && value.is_number()) return {value.number()};
  if (type == "bool" && value.boolean() != nullptr) return value;
  if (type == "list" && value.list() != nullptr) return value;
  if (type == "unknown") return value;
  if (type == "string" && value.text() != nullptr) {
    const std::vector<std::string>& choices = parameter.type.choices;
    if (choices.empty() || std::find(choices.begin(), choices.end(), *value.text()) != choices.end()) return value;
    emitter_.fail(Code::E0412, span, fmt::format("'{}' cannot be \"{}\"", parameter.name, *value.text()),
                  choice_habit(*value.text(), choices), {{"declared here", locate(parameter.span)}});
  }
  emitter_.fail(Code::E0401, span, fmt::format("'{}' is {}: expected {}", parameter.name, describe(value), type), {},
                {{"declared here", locate(parameter.span)}});
}

/// Matches node[F], node[H, D] … with a tensor: a free name is bound, anything else must be equal.
void Evaluator::bind_shape(const Parameter& parameter, Tensor* tensor, const Span& span) {
  std::vector<const Expr*> shape;
  for (const ExprPtr& dim : parameter.type.shape) collect_factors(*dim, &shape);
  if (shape.empty()) return;
  std::vector<std::int64_t> dims(shape.size(), 0);
  std::size_t free_at = shape.size();
  std::size_t free_count = 0;
  std::int64_t known = 1;
  const auto is_free = [&](const Expr& expr) {
    return expr.kind == ExprKind::kName && frame().variables.count(expr.text) == 0;
  };
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (is_free(*shape[i])) {
      free_at = i;
      ++free_count;
    } else {
      dims[i] = product(dimension_factors(*shape[i]));
      known = std::min(kMaxSize, known) * std::min(kMaxSize, dims[i]);
    }
  }
  bool fits = free_count == 0 ? known == tensor->size() : free_count == 1 && tensor->size() % known == 0;
  if (fits && free_count == 1) dims[free_at] = tensor->size() / known;
  if (free_count > 1 && tensor->dims.size() == shape.size()) {
    fits = true;
    for (std::size_t i = 0; i < shape.size(); ++i) fits = fits && (is_free(*shape[i]) || dims[i] == tensor->dims[i]);
    dims = tensor->dims;
  }
  if (!fits) {
    emitter_.fail(Code::E0407, span,
                  fmt::format("'{}' is {}, which does not fit its declared shape", parameter.name, describe(*tensor)),
                  {}, {{"declared here", locate(parameter.span)}});
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (is_free(*shape[i])) frame().variables[shape[i]->text] = {dims[i]};
  }
  if (shape.size() > 1) tensor->dims = dims;
}

Tensor Evaluator::make_param(const std::string& key, const std::vector<std::vector<std::int64_t>>& shape, ir::Init init,
                             bool transposed, bool trainable, const Span& span) {
  ir::Param param;
  param.name = join_keys(frame().prefix, key);
  for (const auto& factors : shape) param.stored_shape.push_back(product(factors));
  if (transposed) std::reverse(param.stored_shape.begin(), param.stored_shape.end());
  param.stored_transposed = transposed;
  param.trainable = trainable;
  param.init = init;
  const std::vector<Span> here = emitter_.trace(span);
  const auto [entry, fresh] = keys_.try_emplace(param.name, here);
  if (!fresh) {
    // One layer that is called twice takes its keys in one line of its own: the two calls are what differs.
    const std::vector<Span>& first = entry->second;
    std::size_t at = 0;
    while (at + 1 < std::min(here.size(), first.size()) && here[at] == first[at]) ++at;
    emitter_.fail(Code::E0416, here[at], fmt::format("the parameter key \"{}\" is taken", param.name),
                  "give the calls different keys with 'as'", {{"taken here", locate(first[at])}});
  }
  return emitter_.param(std::move(param), shape, span);
}

std::vector<Value> Evaluator::evaluate_defaults(const Definition& definition) {
  std::vector<Value> values;
  push_frame(definition, "", definition.name_span);
  for (const Parameter& parameter : definition.parameters) {
    values.emplace_back();
    if (parameter.otherwise == nullptr) continue;
    try {
      values.back() = convert(parameter, evaluate(*parameter.otherwise), parameter.otherwise->span);
      frame().variables[parameter.name] = values.back();
    } catch (const EvaluationAbort&) {
      values.back() = {};
    }
  }
  pop_frame();
  return values;
}

void Evaluator::run_model(const Definition& model, std::vector<GivenArgument> arguments) {
  push_frame(model, "", model.name_span);
  try {
    bind(model, std::move(arguments), model.name_span);
    execute(model.body);
    check_result(model);
  } catch (const EvaluationAbort&) {
  }
  pop_frame();
}

void Evaluator::finish(const Value& value, const Span& span) {
  const Tensor* logits = value.tensor();
  if (logits == nullptr || logits->domain != ir::Domain::kNode || logits->size() != inputs_.num_classes) {
    emitter_.fail(Code::E0411, span,
                  fmt::format("the model returns {}: expected one score per class, node[{}]", describe(value),
                              inputs_.num_classes),
                  "end with a layer of width num_classes");
  }
  ir::Program& program = emitter_.program();
  const ir::ValueId result = emitter_.dense(*logits).id;
  program.outputs.insert(program.outputs.begin(), {"logits", result});
  if (program.output("embedding") != ir::kNoValue) return;
  // Input features, with dropout or without, are no embedding.
  const bool made = layer_input_.id != ir::kNoValue && layer_input_.domain == ir::Domain::kNode;
  const bool plain =
      !made || layer_input_.id == features_.id || program.type(layer_input_.id).layout == ir::Layout::kSparse;
  program.outputs.push_back({"embedding", plain ? result : layer_input_.id});
}

}  // namespace gneiss::language
