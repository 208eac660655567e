// Interpreting a training script: its loops, and the calls on the graph and the network.
#include "language/script.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/names.h"
#include "language/walk.h"

namespace gneiss::language {
namespace {

/// What a parameter that the caller left open stands for while the script is staged: two epochs show whether they
/// agree.
constexpr std::int64_t kSymbolicEpochs = 2;
constexpr std::int64_t kMaxEpochs = 1000000;

const std::vector<std::string> kMethods = {"load",        "initializeLayers", "init",
                                           "forwardPass", "backPropagation",  "optimizer",
                                           "predict",     "compute_loss",     "compute_accuracy"};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// The items of "adam, 0.01, 0.9" as if they had been separate arguments.
std::vector<Value> split_settings(const std::string& text) {
  std::vector<Value> values;
  std::size_t at = 0;
  while (at <= text.size()) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    std::string item = text.substr(at, comma - at);
    const std::size_t first = std::min(item.find_first_not_of(' '), item.size());
    const std::size_t last = item.find_last_not_of(' ');
    item = first == item.size() ? std::string() : item.substr(first, last - first + 1);
    double number = 0;
    const auto [end, status] = std::from_chars(item.data(), item.data() + item.size(), number);
    Value value;
    if (status == std::errc() && end == item.data() + item.size() && !item.empty()) {
      value.data = number;
    } else {
      value.data = std::move(item);
    }
    values.push_back(std::move(value));
    at = comma + 1;
  }
  return values;
}

}  // namespace

bool ScriptRunner::Event::operator==(const Event& other) const {
  return kind == other.kind && layer == other.layer && model == other.model && aggregation == other.aggregation &&
         settings == other.settings;
}

void ScriptRunner::bind_script(const Definition& script, std::vector<GivenArgument> arguments) {
  std::vector<std::string> names;
  for (const Parameter& parameter : script.parameters) {
    const std::string& type = parameter.type.name;
    Value value = {std::string(type)};
    if (type == "Graph" || type == "dirGraph") value = {GraphRef{0}};
    if (type == "container" || type == "list") value = {std::make_shared<const List>()};
    if (type == "int" || type == "long" || type == "float" || type == "double") {
      value = {kSymbolicEpochs};
      names.push_back(parameter.name);
      unbound_.push_back(parameter.name);
    }
    frame().variables[parameter.name] = value;
  }
  for (const GivenArgument& argument : arguments) {
    if (std::find(names.begin(), names.end(), argument.name) == names.end()) {
      emitter().fail(Code::E0304, script.name_span,
                     fmt::format("script '{}' has no argument '{}'", script.name, argument.name),
                     unknown_name_hint(argument.name, names));
    }
    if (!argument.value.is_number()) {
      emitter().fail(Code::E0401, script.name_span,
                     fmt::format("'{}' is {}: expected a number", argument.name, describe(argument.value)));
    }
    frame().variables[argument.name] = argument.value;
    unbound_.erase(std::remove(unbound_.begin(), unbound_.end(), argument.name), unbound_.end());
  }
}

void ScriptRunner::run(const Definition& script, std::vector<GivenArgument> arguments) {
  push_frame(script, "", script.name_span);
  try {
    bind_script(script, std::move(arguments));
    execute(script.body);
    if (!emitter().diagnostics().has_errors()) check_events(script);
  } catch (const EvaluationAbort&) {
  }
  pop_frame();
}

/// Does the number of rounds hang on a parameter that the caller left open?
bool ScriptRunner::open_ended(const Stmt& loop) const {
  bool found = false;
  for (const ExprPtr& expr : loop.exprs) {
    visit_expr(*expr, [&](Expr& part) {
      found = found || (part.kind == ExprKind::kName &&
                        std::find(unbound_.begin(), unbound_.end(), part.text) != unbound_.end());
    });
  }
  return found;
}

/// What the caller left open may bound the epochs, and nothing else: its stand-in must not become a width.
void ScriptRunner::check_open_parameters(const Definition& script) {
  std::vector<const Expr*> allowed;
  if (epoch_loop_ != nullptr) {
    for (const ExprPtr& expr : epoch_loop_->exprs) {
      visit_expr(*expr, [&](Expr& part) { allowed.push_back(&part); });
    }
  }
  visit_all(
      script.body, [](Stmt&) {},
      [&](Expr& expr) {
        const bool open =
            expr.kind == ExprKind::kName && std::find(unbound_.begin(), unbound_.end(), expr.text) != unbound_.end();
        if (!open || std::find(allowed.begin(), allowed.end(), &expr) != allowed.end()) return;
        emitter().fail(Code::E0305, expr.span,
                       fmt::format("script '{}' needs a value for '{}'", script.name, expr.text),
                       "give it as an argument; only the number of epochs may be left open");
      });
}

/// Loops over layers unroll. The loop that holds the optimizer is the epoch loop: its body is staged twice, and if both
/// rounds do the same, once is kept and the rest is counted.
void ScriptRunner::iterate(const Stmt& loop, const std::function<bool()>& more, const std::function<void()>& step) {
  if (frame().definition->kind != DefinitionKind::kFunction) {
    Evaluator::iterate(loop, more, step);
    return;
  }
  const std::size_t first = events_.size();
  std::size_t second = first;
  std::int64_t rounds = 0;
  bool epochs = false;
  while (more() && !emitter().diagnostics().has_errors()) {
    if (!epochs || rounds < 2 || loop.kind == StmtKind::kWhile) execute(loop.body);
    if (rounds == 0) {
      second = events_.size();
      epochs = std::any_of(events_.begin() + static_cast<std::ptrdiff_t>(first), events_.end(),
                           [](const Event& event) { return event.kind == EventKind::kOptimizer; });
      if (epochs && has_epochs_)
        emitter().fail(Code::E0607, loop.span, "a second loop over epochs", "one loop holds the optimizer");
      has_epochs_ = has_epochs_ || epochs;
      if (epochs) epoch_loop_ = &loop;
    } else if (epochs) {
      compare_epochs(first, second, events_.size(), loop);
      events_.resize(second);
    }
    step();
    if (++rounds > kMaxEpochs) emitter().fail(Code::E0501, loop.span, fmt::format("more than {} rounds", kMaxEpochs));
  }
  if (epochs && !open_ended(loop)) settings_.epochs = rounds;
}

void ScriptRunner::compare_epochs(std::size_t first, std::size_t second, std::size_t end, const Stmt& loop) {
  if (second == end) return;  // counted only
  const auto at = [&](std::size_t i) { return events_.begin() + static_cast<std::ptrdiff_t>(i); };
  if (std::equal(at(first), at(second), at(second), at(end))) return;
  std::size_t i = 0;
  while (first + i < second && second + i < end && events_[first + i] == events_[second + i]) ++i;
  const Span& where = second + i < end ? events_[second + i].span : loop.span;
  emitter().fail(Code::E0607, where, "the second epoch does not do what the first did",
                 "one epoch becomes one plan: its layers and settings cannot change",
                 {{"in this loop", locate(loop.span)}});
}

Value ScriptRunner::call_method(const Expr& call) {
  if (frame().definition->kind != DefinitionKind::kFunction) return Evaluator::call_method(call);
  const Expr& callee = *call.operands[0];
  const std::string& method = callee.text;
  refuse_foreign_call(call);
  const Value object = evaluate(*callee.operands[0]);
  if (object.graph() != nullptr) return call_graph_method(call, method);
  if (method == "initializeLayers" || method == "init") {
    initialize_layers(call);
  } else if (method == "forwardPass") {
    forward(call);
  } else if (method == "backPropagation" || method == "backPropogation") {
    backward(call);
  } else if (method == "optimizer" || method == "adamOptimizer") {
    optimizer(call);
  } else if (std::find(kMethods.begin(), kMethods.end(), method) == kMethods.end()) {
    emitter().fail(Code::E0601, callee.text_span, fmt::format("the network has no method '{}'", method),
                   unknown_name_hint(method, kMethods));
  } else {
    for (const Argument& argument : call.arguments) evaluate(*argument.value);
  }
  return {0.0};
}

Value ScriptRunner::call_graph_method(const Expr& call, const std::string& method) {
  if (method == "num_nodes") return {std::max<std::int64_t>(inputs().num_nodes, 0)};
  if (method == "num_edges") return {std::max<std::int64_t>(inputs().num_edges, 0)};
  const std::vector<std::string> known = {"num_nodes", "num_edges"};
  emitter().fail(Code::E0601, call.operands[0]->text_span,
                 fmt::format("the graph has no method '{}' in a training script", method),
                 unknown_name_hint(method, known));
}

/// initializeLayers(64, 64, "xaviers"), or the sizes as one list.
void ScriptRunner::initialize_layers(const Expr& call) {
  sizes_.clear();
  sizes_span_ = call.span;
  has_sizes_ = true;
  bool has_init = false;
  for (const Argument& argument : call.arguments) {
    const Value value = evaluate(*argument.value);
    if (value.text() != nullptr) {
      if (has_init) {
        emitter().diagnostics().warning(Code::W0602, argument.value->span, "this argument has no effect").help =
            "where data lies is said on the command line";
        continue;
      }
      static const std::vector<std::string> kKnown = {"xaviers", "xavier", "glorot", "he", "normal", "uniform"};
      const std::string name = lower(*value.text());
      if (std::find(kKnown.begin(), kKnown.end(), name) == kKnown.end()) {
        emitter().fail(Code::E0309, argument.value->span, fmt::format("unknown initialiser \"{}\"", *value.text()),
                       unknown_name_hint(name, kKnown));
      }
      settings_.init = name == "xaviers" || name == "xavier" ? "glorot" : name;
      has_init = true;
      continue;
    }
    const List single = {value};
    for (const Value& item : value.list() != nullptr ? *value.list() : single) {
      if (item.integer() == nullptr || *item.integer() <= 0) {
        emitter().fail(Code::E0410, argument.value->span,
                       fmt::format("the size of a layer is {}: expected a positive int", show(item)));
      }
      sizes_.push_back(*item.integer());
    }
  }
}

void ScriptRunner::forward(const Expr& call) {
  if (call.arguments.size() < 2 || call.arguments.size() > 3) {
    emitter().fail(
        call.arguments.size() < 2 ? Code::E0305 : Code::E0306, call.span,
        fmt::format("forwardPass takes a layer, a type and an aggregation, got {} arguments", call.arguments.size()),
        "write: gnn.forwardPass(l, \"SAGE\", \"Max\")");
  }
  Event event;
  event.kind = EventKind::kForward;
  event.span = call.span;
  event.layer = evaluate_int(*call.arguments[0].value, "the layer");
  event.model_span = call.arguments[1].value->span;
  event.model = evaluate_text(*call.arguments[1].value, "the type of the layer");
  if (call.arguments.size() == 3) {
    event.aggregation_span = call.arguments[2].value->span;
    event.aggregation = evaluate_text(*call.arguments[2].value, "the aggregation");
  }
  layer_of(event);  // an unknown type is reported where it stands
  events_.push_back(std::move(event));
}

void ScriptRunner::backward(const Expr& call) {
  if (call.operands[0]->text == "backPropogation") {
    emitter().diagnostics().warning(Code::W0601, call.operands[0]->text_span,
                                    "'backPropogation' is accepted for 'backPropagation'");
  }
  if (call.arguments.size() != 1) {
    emitter().fail(call.arguments.empty() ? Code::E0305 : Code::E0306, call.span,
                   fmt::format("backPropagation takes a layer, got {} arguments", call.arguments.size()));
  }
  Event event;
  event.kind = EventKind::kBackward;
  event.span = call.span;
  event.layer = evaluate_int(*call.arguments[0].value, "the layer");
  events_.push_back(std::move(event));
}

/// optimizer("adam", lr, beta1, beta2, eps, weight_decay), optimizer("sgd", lr, momentum, weight_decay), or one string;
/// optimizer() leaves it to the caller's options; adamOptimizer(epoch, lr, …) counts steps, which Adam does by itself.
void ScriptRunner::optimizer(const Expr& call) {
  std::vector<Value> values;
  for (const Argument& argument : call.arguments) values.push_back(evaluate(*argument.value));
  if (call.operands[0]->text == "adamOptimizer") {
    if (values.empty()) values.push_back({std::int64_t{1}});
    values[0] = {std::string("adam")};
  }
  if (values.size() == 1 && values[0].text() != nullptr) values = split_settings(*values[0].text());
  Event event;
  event.kind = EventKind::kOptimizer;
  event.span = call.span;
  if (values.empty()) {
    settings_.optimizer.clear();
  } else {
    read_optimizer(values, call.span, &event);
  }
  events_.push_back(std::move(event));
}

void ScriptRunner::read_optimizer(const std::vector<Value>& values, const Span& span, Event* event) {
  static const std::vector<std::string> kKnown = {"adam", "adamw", "sgd"};
  if (values.empty() || values[0].text() == nullptr) {
    emitter().fail(Code::E0305, span, "the optimizer has no name", "write: gnn.optimizer(\"adam\", 0.01)");
  }
  const std::string name = lower(*values[0].text());
  if (std::find(kKnown.begin(), kKnown.end(), name) == kKnown.end()) {
    emitter().fail(Code::E0609, span, fmt::format("unknown optimizer \"{}\"", *values[0].text()),
                   unknown_name_hint(name, kKnown));
  }
  struct Setting {
    std::string_view name;
    double* target;
    double least;
    double most;
  };
  const double large = 1e9;
  std::vector<Setting> slots = {{"lr", &settings_.lr, 0, large}};
  if (name == "sgd") {
    slots.push_back({"momentum", &settings_.momentum, 0, 1});
  } else {
    slots.push_back({"beta1", &settings_.beta1, 0, 1});
    slots.push_back({"beta2", &settings_.beta2, 0, 1});
    slots.push_back({"eps", &settings_.eps, 0, large});
  }
  slots.push_back({"weight_decay", &settings_.weight_decay, 0, large});
  if (values.size() > slots.size() + 1) {
    emitter().fail(Code::E0306, span,
                   fmt::format("\"{}\" takes {} settings, got {}", name, slots.size(), values.size() - 1));
  }
  settings_.optimizer = name;
  event->settings.push_back(name);
  for (std::size_t i = 1; i < values.size(); ++i) {
    const Setting& slot = slots[i - 1];
    const bool fits = values[i].is_number() && values[i].number() >= slot.least &&
                      (slot.most == 1 ? values[i].number() < 1 : values[i].number() <= slot.most);
    if (!fits) {
      emitter().fail(Code::E0609, span,
                     fmt::format("{} is {}: expected a number from {} to {}", slot.name, show(values[i]), slot.least,
                                 slot.most == 1 ? "below 1" : "1e9"));
    }
    *slot.target = values[i].number();
    event->settings.push_back(fmt::format("{}={}", slot.name, values[i].number()));
  }
}

}  // namespace gneiss::language
