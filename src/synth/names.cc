// A value is called as the variable of the model's text that it came from. Names that are taken get a number.
#include "synth/names.h"

#include <fmt/format.h>

#include <cctype>
#include <utility>

#include "synth/text.h"

namespace gneiss::synth {
namespace {

using ir::Op;
using ir::OpKind;

/// What the results of an op with several are called after its own name.
std::string_view suffix(OpKind kind, std::size_t result) {
  static constexpr std::string_view kArg[] = {"", "_arg"};
  static constexpr std::string_view kLoss[] = {"loss", "d_logits"};
  static constexpr std::string_view kStatistics[] = {"", "_mean", "_var"};
  static constexpr std::string_view kNormGrad[] = {"_x", "_gamma", "_beta"};
  static constexpr std::string_view kAttention[] = {"", "_tangent", "_lse"};
  static constexpr std::string_view kAttentionGrad[] = {"_z", "_src"};
  static constexpr std::string_view kHaloStart[] = {"", "_packed"};
  static constexpr std::string_view kArgSources[] = {"", "_weighed"};
  switch (kind) {
    case OpKind::spmm:
    case OpKind::segment_reduce:
      return kArg[result];
    case OpKind::cross_entropy:
    case OpKind::bce_with_logits:
    case OpKind::mse:
      return kLoss[result];
    case OpKind::batch_norm:
    case OpKind::layer_norm:
      return kStatistics[result];
    case OpKind::batch_norm_grad:
    case OpKind::layer_norm_grad:
      return kNormGrad[result];
    case OpKind::attention:
      return kAttention[result];
    case OpKind::attention_grad:
      return kAttentionGrad[result];
    case OpKind::arg_sources:
      return kArgSources[result];
    case OpKind::halo_start:
      return kHaloStart[result];
    case OpKind::halo_add_start:
      return "_packed";
    default:
      return "";
  }
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

Names::Names(const Specification& specification)
    : from_(specification), program_(specification.plan->program), values_(program_.values.size()) {
  // Other members of the struct that holds the values, and what its users and the namespaces around it are called.
  taken_ = {"dataset",           "threads", "seed",        "epoch",     "step",       "context",      "scratch",
            "scratch_part",      "arena",   "bands",       "constants", "parameters", "gradients",    "states",
            "moments",           "squares", "loss_labels", "loss_rows", "labelled",   "feature_rows", "feature_columns",
            "feature_transpose", "p",       "band",        "std",       "gneiss",     "program",      "cpu",
            "reference",         "onednn",  "data",        "graph",     "train",      "epochs",       "runs",
            "runtime",           "ir",      "kernels",     "elements",  "targets",    "count_edges",  "for_each_band"};
  // Of programs for devices.
  taken_.insert({"device",
                 "guard",
                 "ids",
                 "class_weights",
                 "training",
                 "validation",
                 "transposed_values",
                 "norm_scratch",
                 "recorded_step",
                 "recorded_inference",
                 "take",
                 "zeros",
                 "copy",
                 "send",
                 "store",
                 "fetch",
                 "read",
                 "launch",
                 "then",
                 "send_numbers",
                 "scratch_bytes"});
  if (!specification.several.ranks.empty())
    taken_.insert({"communicator", "part", "whole", "sums", "loss_of_all", "all_logits", "comm", "run_band"});
  for (const ir::GraphDef& graph : program_.graphs) {
    std::string name = graph.name;
    constexpr std::string_view kGiven = "graph+";
    if (name.starts_with(kGiven)) name = name.substr(kGiven.size());
    graphs_.push_back(identifier(name));
  }
  name_params();
  name_results();
}

std::string Names::unique(const std::string& wanted) {
  constexpr std::size_t kLongest = 36;
  const std::string stem = wanted.substr(0, kLongest);
  std::string name = stem;
  for (int i = 2; !taken_.insert(name).second; ++i) name = fmt::format("{}_{}", stem, i);
  return name;
}

void Names::name_params() {
  for (const ir::Param& param : program_.params) {
    const std::string name = unique(identifier(param.name));
    values_[static_cast<std::size_t>(param.value)] = name;
    if (param.grad != ir::kNoValue) values_[static_cast<std::size_t>(param.grad)] = unique("d_" + name);
  }
  for (const ir::Output& output : program_.outputs) {
    std::string& name = values_[static_cast<std::size_t>(output.value)];
    if (name.empty()) name = unique(identifier(output.name));
  }
}

void Names::name_results() {
  // Whether an op of the same line and phase reads a value.
  std::set<ir::ValueId> read_on_line;
  const std::vector<std::int32_t> makers = ir::producers(program_);
  for (const Op& op : program_.ops) {
    for (const ir::ValueId input : op.inputs) {
      const Op& maker = program_.ops[static_cast<std::size_t>(makers[static_cast<std::size_t>(input)])];
      const bool same_line = maker.location.line == op.location.line && maker.location.source == op.location.source &&
                             maker.location.call == op.location.call;
      if (same_line && maker.phase == op.phase) read_on_line.insert(input);
    }
  }
  for (const Op& op : program_.ops) {
    for (std::size_t r = 0; r < op.results.size(); ++r) {
      const ir::ValueId value = op.results[r];
      if (value == ir::kNoValue || !values_[static_cast<std::size_t>(value)].empty()) continue;
      const bool whole = ir::is_loss(op.kind);
      const std::string own = whole ? "" : stem(op, read_on_line.count(op.results[0]) == 0);
      values_[static_cast<std::size_t>(value)] = unique(own + std::string(suffix(op.kind, r)));
    }
  }
}

std::string Names::stem(const Op& op, bool is_last) const {
  if (op.kind == OpKind::input) return op.attrs.text("name", "features");
  const std::string variable = assigned(op.location);
  const std::string kind(ir::traits(op.kind).name);
  const bool forward = op.phase == ir::Phase::kSetup || op.phase == ir::Phase::kForward;
  const bool leaf = op.inputs.empty();  // edge weights, degrees, numbers: never what the line is about
  std::string name = variable.empty() ? kind : variable;
  if (!variable.empty() && (leaf || !is_last || op.phase == ir::Phase::kBackward)) name += "_" + kind;
  const auto call = static_cast<std::size_t>(op.location.call);
  if (call > 0 && call < from_.calls.size() && !from_.calls[call].empty()) name = from_.calls[call] + "_" + name;
  name = identifier(name);
  if (forward) return name;
  return (op.phase == ir::Phase::kBackward ? "d_" : "eval_") + name;
}

std::string Names::node_count(std::int32_t set) const {
  return "k" + camel(identifier(program_.node_sets[static_cast<std::size_t>(set)].name));
}

std::string Names::edge_count(std::int32_t graph_index) const {
  return fmt::format("k{}Edges", camel(graph(graph_index)));
}

std::string Names::rows(const ir::Type& type) const {
  switch (type.domain) {
    case ir::Domain::kNode:
      return node_count(type.set);
    case ir::Domain::kEdge:
      return edge_count(type.set);
    case ir::Domain::kGlobal:
      break;
  }
  return fmt::format("{}", type.rows);
}

std::string_view Names::line_text(const ir::Location& location) const {
  const auto source = static_cast<std::size_t>(location.source);
  if (location.line <= 0 || source >= from_.texts.size()) return {};
  std::string_view rest = from_.texts[source].text;
  for (std::int32_t line = 1; line < location.line; ++line)
    rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1);
  rest = rest.substr(0, rest.find('\n'));
  while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\t')) rest.remove_prefix(1);
  while (!rest.empty() && (rest.back() == ' ' || rest.back() == '\r')) rest.remove_suffix(1);
  return rest;
}

std::string Names::line(const Op& op) const {
  if (ir::is_training_loss(op)) return "The loss of the training nodes, and its gradient.";
  if (ir::is_loss(op.kind)) return "The loss of the validation nodes.";
  const std::string_view text = line_text(op.location);
  if (text.empty()) return {};
  std::string_view name = from_.texts[static_cast<std::size_t>(op.location.source)].name;
  name = name.substr(name.find_last_of('/') + 1);
  return fmt::format("{}:{}  {}", name, op.location.line, text);
}

std::string LineComments::before(const Op& op, std::string_view indent) {
  std::string line = names_.line(op);
  if (line == last_ || line.empty()) return {};
  last_ = std::move(line);
  return comment_line(indent, last_);
}

std::string Names::assigned(const ir::Location& location) const {
  std::string_view text = line_text(location);
  std::string name;
  while (!text.empty() && (is_word(text.front()) || text.front() == '.')) {
    name = text.front() == '.' ? std::string() : name + text.front();  // of v.y only y
    text.remove_prefix(1);
  }
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  if (text.starts_with("+=")) text.remove_prefix(1);
  const bool assigns = text.starts_with("=") && !text.starts_with("==");
  return assigns ? name : std::string();
}

}  // namespace gneiss::synth
