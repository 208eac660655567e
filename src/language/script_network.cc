// From the recorded calls of one epoch to the network.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/names.h"
#include "language/script.h"

namespace gneiss::language {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace

void ScriptRunner::check_events(const Definition& script) {
  const auto missing = [&](std::string_view what, std::string_view how) {
    emitter().fail(Code::E0604, script.name_span, fmt::format("script '{}' has no {}", script.name, what),
                   fmt::format("add: {}", how));
  };
  const auto has = [&](EventKind kind) {
    return std::any_of(events_.begin(), events_.end(), [&](const Event& event) { return event.kind == kind; });
  };
  if (!has(EventKind::kForward)) missing("forward pass", "gnn.forwardPass(l, \"GCN\", \"Sum\");");
  if (!has(EventKind::kOptimizer)) missing("optimizer", "gnn.optimizer(\"adam\", 0.01);");
  if (!has_epochs_) missing("loop over epochs", "for (int e = 0; e < epochs; e++) { … }");
  if (!has_sizes_) missing("layer sizes", "gnn.initializeLayers(64, \"xaviers\");");
  check_open_parameters(script);
  std::vector<Event> layers;
  std::vector<Event> backward_calls;
  bool optimized = false;
  for (const Event& event : events_) {
    if (event.kind == EventKind::kForward) {
      if (!backward_calls.empty() || optimized) {
        emitter().fail(Code::E0605, event.span, "a forward pass after the backward pass",
                       "an epoch is: forward, backward, optimizer");
      }
      layers.push_back(event);
    } else if (event.kind == EventKind::kBackward) {
      if (optimized)
        emitter().fail(Code::E0606, event.span, "a backward pass after the optimizer",
                       "an epoch is: forward, backward, optimizer");
      backward_calls.push_back(event);
    } else {
      if (optimized) emitter().fail(Code::E0609, event.span, "a second optimizer in one epoch");
      optimized = true;
    }
  }
  check_forward(layers);
  check_backward(layers, backward_calls, script);
  build(layers);
}

/// Layers are numbered from 0 or from 1, without gaps.
void ScriptRunner::check_forward(const std::vector<Event>& layers) {
  const std::int64_t first = layers.front().layer;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const bool starts = i > 0 || first == 0 || first == 1;
    const std::int64_t expected = starts ? first + static_cast<std::int64_t>(i) : 1;
    if (!starts || layers[i].layer != expected) {
      emitter().fail(Code::E0605, layers[i].span,
                     fmt::format("forward pass of layer {}: expected layer {}", layers[i].layer, expected),
                     "layers run one after the other, from 0 or from 1");
    }
  }
}

void ScriptRunner::check_backward(const std::vector<Event>& layers, const std::vector<Event>& backward_calls,
                                  const Definition& script) {
  if (backward_calls.empty()) {
    emitter().fail(Code::E0606, script.name_span, fmt::format("script '{}' has no backward pass", script.name),
                   "add: gnn.backPropagation(l) for every layer, the last first");
  }
  for (std::size_t i = 0; i < backward_calls.size(); ++i) {
    const std::string help = "backward runs over the same layers as forward, in the opposite order";
    if (i >= layers.size()) {
      emitter().fail(Code::E0606, backward_calls[i].span,
                     fmt::format("{} forward layers, but more backward", layers.size()), help);
    }
    const Event& forward_call = layers[layers.size() - 1 - i];
    if (backward_calls[i].layer == forward_call.layer) continue;
    emitter().fail(
        Code::E0606, backward_calls[i].span,
        fmt::format("backward pass of layer {}: expected layer {}", backward_calls[i].layer, forward_call.layer), help,
        {{"its forward pass", locate(forward_call.span)}});
  }
  if (backward_calls.size() < layers.size()) {
    emitter().fail(
        Code::E0606, backward_calls.back().span,
        fmt::format("backward passes of {} layers, forward passes of {}", backward_calls.size(), layers.size()),
        "backward runs over the same layers as forward, in the opposite order");
  }
}

/// Hidden sizes, then the number of classes; the last may be written out.
std::vector<std::int64_t> ScriptRunner::layer_widths(const std::vector<Event>& layers) {
  std::vector<std::int64_t> widths = sizes_;
  if (widths.size() + 1 == layers.size()) widths.push_back(inputs().num_classes);
  if (widths.size() != layers.size()) {
    emitter().fail(
        Code::E0608, sizes_span_, fmt::format("{} layer sizes for {} layers", sizes_.size(), layers.size()),
        fmt::format("give the widths of the {} hidden layers; the last has one output per class", layers.size() - 1));
  }
  if (widths.back() != inputs().num_classes) {
    emitter().fail(
        Code::E0608, sizes_span_,
        fmt::format("the last layer has {} outputs, the data {} classes", widths.back(), inputs().num_classes),
        "leave the last size out");
  }
  return widths;
}

const Definition* ScriptRunner::layer_of(const Event& event) {
  const auto exact = layers().find(event.model);
  if (exact != layers().end()) return exact->second;
  const auto common = layers().find(lower(event.model));
  const std::vector<std::string> builtin = {"gcn", "sage", "gin", "gat", "gatv2"};
  if (common != layers().end() && std::find(builtin.begin(), builtin.end(), common->first) != builtin.end())
    return common->second;
  std::vector<std::string> known = {"GCN", "SAGE", "GIN", "GAT"};
  for (const auto& [name, definition] : layers()) {
    const bool stackable = definition->parameters.size() >= 2 && definition->parameters[1].name == "out";
    if (stackable && std::find(builtin.begin(), builtin.end(), name) == builtin.end()) known.push_back(name);
  }
  emitter().fail(Code::E0602, event.model_span, fmt::format("unknown layer type \"{}\"", event.model),
                 unknown_name_hint(event.model, known));
}

void ScriptRunner::add_aggregation(const Event& event, const Definition& layer, std::vector<GivenArgument>* arguments) {
  if (event.aggregation.empty()) return;
  std::string name = lower(event.aggregation);
  if (name == "add") name = "sum";
  const auto found = std::find_if(layer.parameters.begin(), layer.parameters.end(),
                                  [](const Parameter& p) { return p.name == "aggr"; });
  std::vector<std::string> known = {"sum"};  // of a layer whose aggregation is fixed: a (weighted) sum
  if (found != layer.parameters.end()) known = found->type.choices;
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    emitter().fail(Code::E0603, event.aggregation_span,
                   fmt::format("layer \"{}\" has no aggregation \"{}\"", event.model, event.aggregation),
                   unknown_name_hint(name, known));
  }
  if (found != layer.parameters.end()) arguments->push_back({"aggr", {}, {name}, event.aggregation_span});
}

void ScriptRunner::build(const std::vector<Event>& layers) {
  const std::vector<std::int64_t> widths = layer_widths(layers);
  Tensor h = features();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Definition& layer = *layer_of(layers[i]);
    std::vector<GivenArgument> arguments = {{{}, {}, {h}, layers[i].span}, {{}, {}, {widths[i]}, layers[i].span}};
    add_aggregation(layers[i], layer, &arguments);
    const std::string key = fmt::format("convs.{}", i);
    const Value value = call_layer(layer, std::move(arguments), &key, layers[i].span);
    if (value.tensor() == nullptr || value.tensor()->domain != ir::Domain::kNode) {
      emitter().fail(Code::E0406, layers[i].span,
                     fmt::format("layer '{}' returns {}: expected a node value", layer.name, describe(value)));
    }
    h = *value.tensor();
    if (i + 1 < layers.size()) h = emitter().unary(ir::OpKind::relu, h, layers[i].span);
  }
  finish({h}, layers.back().span);
  initialize_params();
}

/// The script's initialiser holds for every trained matrix; vectors keep their own.
void ScriptRunner::initialize_params() {
  if (settings_.init.empty()) return;
  for (ir::Param& param : emitter().program().params) {
    if (!param.trainable || param.stored_shape.size() < 2) continue;
    const double spread = 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(param.init.fan_in, 1)));
    if (settings_.init == "glorot") param.init.kind = ir::Init::Kind::kGlorot;
    if (settings_.init == "he") param.init.kind = ir::Init::Kind::kHe;
    if (settings_.init == "normal") param.init.kind = ir::Init::Kind::kNormal;
    if (settings_.init == "uniform") param.init.kind = ir::Init::Kind::kUniform;
    param.init.value = settings_.init == "normal" || settings_.init == "uniform" ? spread : 0;
  }
}

}  // namespace gneiss::language
