// The table of functions, and what each does.
#include "language/builtins.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/names.h"

namespace gneiss::language {
namespace {

using Call = BuiltinCall;

const Span& span_of(const Call& call, std::size_t i) {
  return call.arguments[i].span.source != nullptr ? call.arguments[i].span : call.span;
}

[[noreturn]] void fail_type(Call& call, std::size_t i, std::string_view wanted) {
  call.evaluator.emitter().fail(
      Code::E0401, span_of(call, i),
      fmt::format("'{}' of {}: expected {}", call.builtin.name, describe(call.arguments[i].value), wanted));
}

const Tensor& tensor(Call& call, std::size_t i) {
  if (call.arguments[i].value.tensor() == nullptr) fail_type(call, i, "a tensor");
  return *call.arguments[i].value.tensor();
}

double real(Call& call, std::size_t i) {
  if (!call.arguments[i].value.is_number()) fail_type(call, i, "a number");
  return call.arguments[i].value.number();
}

std::int64_t whole(Call& call, std::size_t i) {
  if (call.arguments[i].value.integer() == nullptr) fail_type(call, i, "an int");
  return *call.arguments[i].value.integer();
}

/// A width, which the IR is to make columns of.
std::int64_t width(Call& call, std::size_t i, std::int64_t rows) {
  const std::int64_t value = whole(call, i);
  std::int64_t all = 0;
  if (value > 0 && multiply_sizes(value, rows, &all)) return value;
  call.evaluator.emitter().fail(Code::E0410, span_of(call, i),
                                fmt::format("'{}': the width is {}: expected at least 1, and at most {} weights",
                                            call.builtin.name, value, kMaxSize));
}

/// Elementwise on tensors, `on_number` on numbers.
Value unary(Call& call, ir::OpKind kind, double (*on_number)(double), ir::Attrs attrs = {}) {
  if (call.arguments[0].value.is_number()) {
    const double result = on_number(real(call, 0));
    if (std::isfinite(result)) return {result};
    call.evaluator.emitter().fail(Code::E0413, call.span,
                                  fmt::format("{}({}) is not a finite number", call.builtin.name, real(call, 0)));
  }
  return {call.evaluator.emitter().unary(kind, tensor(call, 0), call.span, std::move(attrs))};
}

Value run_relu(Call& call) {
  return unary(call, ir::OpKind::relu, [](double x) { return std::max(x, 0.0); });
}
Value run_sigmoid(Call& call) {
  return unary(call, ir::OpKind::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); });
}
Value run_tanh(Call& call) {
  return unary(call, ir::OpKind::tanh, [](double x) { return std::tanh(x); });
}
Value run_exp(Call& call) {
  return unary(call, ir::OpKind::exp, [](double x) { return std::exp(x); });
}
Value run_log(Call& call) {
  return unary(call, ir::OpKind::log, [](double x) { return std::log(x); });
}
Value run_sqrt(Call& call) {
  return unary(call, ir::OpKind::sqrt, [](double x) { return std::sqrt(x); });
}
Value run_rsqrt(Call& call) {
  return unary(call, ir::OpKind::rsqrt, [](double x) { return x == 0 ? 0 : 1 / std::sqrt(x); });
}

Value run_leaky_relu(Call& call) {
  return {
      call.evaluator.emitter().unary(ir::OpKind::leaky_relu, tensor(call, 0), call.span, {{"alpha", real(call, 1)}})};
}
Value run_elu(Call& call) {
  return {call.evaluator.emitter().unary(ir::OpKind::elu, tensor(call, 0), call.span, {{"alpha", real(call, 1)}})};
}

Value run_dropout(Call& call) { return {call.evaluator.emitter().dropout(tensor(call, 0), real(call, 1), call.span)}; }
Value run_dot(Call& call) { return {call.evaluator.emitter().dot(tensor(call, 0), tensor(call, 1), call.span)}; }
Value run_heads(Call& call) { return {call.evaluator.emitter().as_heads(tensor(call, 0), whole(call, 1), call.span)}; }
Value run_sum_heads(Call& call) {
  return {call.evaluator.emitter().sum_heads(tensor(call, 0), whole(call, 1), call.span)};
}
Value run_mean_heads(Call& call) {
  Emitter& emitter = call.evaluator.emitter();
  const Tensor sum = emitter.sum_heads(tensor(call, 0), whole(call, 1), call.span);
  return {emitter.affine(sum, 1 / static_cast<double>(whole(call, 1)), 0, call.span)};
}

/// f(a, b, …) and f(list) are the same.
std::vector<GivenArgument> spread(Call& call) {
  if (call.arguments.size() != 1 || call.arguments[0].value.list() == nullptr) return call.arguments;
  std::vector<GivenArgument> items;
  for (const Value& item : *call.arguments[0].value.list()) items.push_back({{}, {}, item, call.arguments[0].span});
  return items;
}

Value run_concat(Call& call) {
  call.arguments = spread(call);
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < call.arguments.size(); ++i) parts.push_back(tensor(call, i));
  return {call.evaluator.emitter().concat(parts, call.span)};
}

Value extreme_of(Call& call, bool maximum, const Value& a, const Value& b) {
  Emitter& emitter = call.evaluator.emitter();
  if (a.tensor() != nullptr && b.tensor() != nullptr)
    return {emitter.extreme(maximum, *a.tensor(), *b.tensor(), call.span)};
  if (a.tensor() != nullptr) return {emitter.extreme(maximum, *a.tensor(), b.number(), call.span)};
  if (b.tensor() != nullptr) return {emitter.extreme(maximum, *b.tensor(), a.number(), call.span)};
  const bool first = maximum ? a.number() >= b.number() : a.number() <= b.number();
  return first ? a : b;
}

Value run_extreme(Call& call, bool maximum) {
  const bool one = call.arguments.size() == 1 && call.arguments[0].value.list() == nullptr;
  call.arguments = spread(call);
  if (one || call.arguments.empty()) {
    call.evaluator.emitter().fail(Code::E0405, call.span,
                                  fmt::format("'{}' of one value needs the edges that it reduces", call.builtin.name),
                                  fmt::format("write {0}(…) over in_edges, or {0}(a, b)", call.builtin.name));
  }
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    if (call.arguments[i].value.tensor() == nullptr && !call.arguments[i].value.is_number())
      fail_type(call, i, "a tensor or number");
  }
  Value result = call.arguments[0].value;
  for (std::size_t i = 1; i < call.arguments.size(); ++i)
    result = extreme_of(call, maximum, result, call.arguments[i].value);
  return result;
}
Value run_max(Call& call) { return run_extreme(call, true); }
Value run_min(Call& call) { return run_extreme(call, false); }

/// torch.nn.Linear: weight (out, in) and bias, both U(-1/sqrt(in), 1/sqrt(in)).
Value run_linear(Call& call) {
  Evaluator& evaluator = call.evaluator;
  const Tensor x = evaluator.emitter().require_rows(tensor(call, 0), "linear", call.span);
  const std::int64_t in = x.size();
  const std::int64_t out = width(call, 1, in);
  const bool* bias = call.arguments[2].value.boolean();
  if (bias == nullptr) fail_type(call, 2, "a bool");
  const std::string prefix = evaluator.instance_prefix(call.key, "linear");
  const std::string saved = std::exchange(evaluator.frame().prefix, prefix);
  const ir::Init init = {ir::Init::Kind::kUniform, 1 / std::sqrt(static_cast<double>(in)), in, out};
  const Tensor weight = evaluator.make_param("weight", {{in}, {out}}, init, true, true, call.span);
  Tensor y = evaluator.emitter().multiply(x, weight, call.span);
  if (*bias) {
    const Tensor shift = evaluator.make_param("bias", {{out}}, init, false, true, call.span);
    y = evaluator.emitter().elementwise(ir::OpKind::add, std::move(y), shift, call.span);
  }
  evaluator.frame().prefix = saved;
  return {y};
}

std::vector<Tensor> norm_params(Call& call, std::int64_t width, bool statistics) {
  Evaluator& evaluator = call.evaluator;
  const std::string prefix = evaluator.instance_prefix(call.key, std::string(call.builtin.name));
  const std::string saved = std::exchange(evaluator.frame().prefix, prefix);
  const ir::Init zeros = {ir::Init::Kind::kZeros, 0, width, 1};
  const ir::Init ones = {ir::Init::Kind::kOnes, 0, width, 1};
  std::vector<Tensor> params = {evaluator.make_param("weight", {{width}}, ones, false, true, call.span),
                                evaluator.make_param("bias", {{width}}, zeros, false, true, call.span)};
  if (statistics) {
    params.push_back(evaluator.make_param("running_mean", {{width}}, zeros, false, false, call.span));
    params.push_back(evaluator.make_param("running_var", {{width}}, ones, false, false, call.span));
  }
  evaluator.frame().prefix = saved;
  return params;
}

Value run_batch_norm(Call& call) {
  Emitter& emitter = call.evaluator.emitter();
  const Tensor x = emitter.require_rows(tensor(call, 0), "batch_norm", call.span);
  const double eps = real(call, 1);
  const double momentum = real(call, 2);
  return {emitter.batch_norm(x, norm_params(call, x.size(), true), eps, momentum, call.span)};
}

Value run_layer_norm(Call& call) {
  Emitter& emitter = call.evaluator.emitter();
  const Tensor x = emitter.require_rows(tensor(call, 0), "layer_norm", call.span);
  const std::string* mode = call.arguments[1].value.text();
  const std::vector<std::string> known = {"node", "graph"};
  if (mode == nullptr) fail_type(call, 1, "a string");
  if (std::find(known.begin(), known.end(), *mode) == known.end()) {
    emitter.fail(Code::E0412, span_of(call, 1), fmt::format("'mode' cannot be \"{}\"", *mode),
                 unknown_name_hint(*mode, known));
  }
  const double eps = real(call, 2);
  return {emitter.layer_norm(x, norm_params(call, x.size(), false), *mode, eps, call.span)};
}

Value derive(Call& call, ir::GraphOrigin origin) {
  const GraphRef* graph = call.arguments[0].value.graph();
  if (graph == nullptr) fail_type(call, 0, "a graph");
  return {GraphRef{call.evaluator.emitter().derive_graph(graph->index, origin)}};
}
Value run_add_self_loops(Call& call) { return derive(call, ir::GraphOrigin::kAddRemainingSelfLoops); }
Value run_replace_self_loops(Call& call) { return derive(call, ir::GraphOrigin::kReplaceSelfLoops); }

Value run_width(Call& call) { return {tensor(call, 0).size()}; }
Value run_len(Call& call) {
  if (call.arguments[0].value.list() == nullptr) fail_type(call, 0, "a list");
  return {static_cast<std::int64_t>(call.arguments[0].value.list()->size())};
}
Value run_float(Call& call) { return {real(call, 0)}; }
Value run_int(Call& call) {
  const double value = real(call, 0);
  if (!(std::abs(value) < 9e18))
    call.evaluator.emitter().fail(Code::E0413, call.span, fmt::format("int({}) does not fit into 64 bits", value));
  return {call.arguments[0].value.integer() != nullptr ? whole(call, 0) : static_cast<std::int64_t>(value)};
}

constexpr Builtin kBuiltins[] = {
    {"relu", "x", false, run_relu},
    {"leaky_relu", "x, slope = 0.01", false, run_leaky_relu},
    {"elu", "x, alpha = 1", false, run_elu},
    {"sigmoid", "x", false, run_sigmoid},
    {"tanh", "x", false, run_tanh},
    {"exp", "x", false, run_exp},
    {"log", "x", false, run_log},
    {"sqrt", "x", false, run_sqrt},
    {"rsqrt", "x", false, run_rsqrt},
    {"dropout", "x, p", false, run_dropout},
    {"dot", "a, b", false, run_dot},
    {"concat", "…", false, run_concat},
    {"max", "…", false, run_max},
    {"min", "…", false, run_min},
    {"heads", "x, count", false, run_heads},
    {"sum_heads", "x, count", false, run_sum_heads},
    {"mean_heads", "x, count", false, run_mean_heads},
    {"linear", "x, out, bias = true", true, run_linear},
    {"batch_norm", "x, eps = 1e-5, momentum = 0.1", true, run_batch_norm},
    {"layer_norm", "x, mode = \"node\", eps = 1e-5", true, run_layer_norm},
    {"add_self_loops", "graph", false, run_add_self_loops},
    {"replace_self_loops", "graph", false, run_replace_self_loops},
    {"width", "x", false, run_width},
    {"len", "list", false, run_len},
    {"float", "x", false, run_float},
    {"int", "x", false, run_int},
};

struct ParameterText {
  std::string name;
  std::string otherwise;  ///< empty: none
};

std::vector<ParameterText> split_parameters(std::string_view text) {
  std::vector<ParameterText> list;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(", "), text.size());
    const std::string_view item = text.substr(0, comma);
    const std::size_t equals = item.find(" = ");
    const bool has_default = equals != std::string_view::npos;
    list.push_back(
        {std::string(item.substr(0, equals)), has_default ? std::string(item.substr(equals + 3)) : std::string()});
    text.remove_prefix(std::min(text.size(), comma + 2));
  }
  return list;
}

Value default_value(const std::string& text) {
  if (text == "true" || text == "false") return {text == "true"};
  if (text.front() == '"') return {text.substr(1, text.size() - 2)};
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return {value};
}

std::vector<GivenArgument> bind_arguments(Emitter& emitter, const Builtin& builtin,
                                          std::vector<GivenArgument> arguments, const Span& span) {
  const std::vector<ParameterText> parameters = split_parameters(builtin.parameters);
  std::vector<std::string> names;
  for (const ParameterText& parameter : parameters) names.push_back(parameter.name);
  std::vector<bool> filled(parameters.size(), false);
  std::vector<GivenArgument> bound(parameters.size());
  std::size_t next = 0;
  for (GivenArgument& argument : arguments) {
    const bool named = !argument.name.empty();
    const std::size_t at =
        named ? static_cast<std::size_t>(std::find(names.begin(), names.end(), argument.name) - names.begin()) : next++;
    if (at >= parameters.size()) {
      if (named) {
        emitter.fail(Code::E0304, argument.name_span,
                     fmt::format("'{}' has no argument '{}'", builtin.name, argument.name),
                     unknown_name_hint(argument.name, names));
      }
      emitter.fail(Code::E0306, argument.span,
                   fmt::format("'{}({})' takes {} arguments, got {}", builtin.name, builtin.parameters,
                               parameters.size(), arguments.size()));
    }
    if (filled[at])
      emitter.fail(Code::E0307, named ? argument.name_span : argument.span,
                   fmt::format("argument '{}' is given twice", names[at]));
    filled[at] = true;
    bound[at] = std::move(argument);
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (filled[i]) continue;
    if (parameters[i].otherwise.empty()) {
      emitter.fail(Code::E0305, span,
                   fmt::format("'{}({})' needs an argument for '{}'", builtin.name, builtin.parameters, names[i]));
    }
    bound[i].value = default_value(parameters[i].otherwise);
  }
  return bound;
}

}  // namespace

const Builtin* find_builtin(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kBuiltins), std::end(kBuiltins), [&](const Builtin& b) { return b.name == name; });
  return found == std::end(kBuiltins) ? nullptr : found;
}

const std::vector<std::string>& builtin_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list = {"sum", "mean", "softmax"};
    for (const Builtin& builtin : kBuiltins) list.emplace_back(builtin.name);
    return list;
  }();
  return names;
}

bool is_reduction(std::string_view name) {
  return name == "sum" || name == "mean" || name == "max" || name == "min" || name == "softmax";
}

Value call_builtin(Evaluator& evaluator, const Builtin& builtin, std::vector<GivenArgument> arguments,
                   const std::string* key, const Span& span) {
  Emitter& emitter = evaluator.emitter();
  BuiltinCall call = {evaluator, builtin, {}, key, span};
  if (builtin.parameters == "…") {
    for (const GivenArgument& argument : arguments) {
      if (!argument.name.empty())
        emitter.fail(Code::E0304, argument.name_span,
                     fmt::format("'{}' has no argument '{}'", builtin.name, argument.name));
    }
    call.arguments = std::move(arguments);
    return builtin.run(call);
  }
  call.arguments = bind_arguments(emitter, builtin, std::move(arguments), span);
  return builtin.run(call);
}

}  // namespace gneiss::language
