// kernels/op_arguments.h says what the members of the arguments are; here each becomes text, by the name of its value.
#include "synth/calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <utility>

#include "base/error.h"
#include "kernels/op_arguments.h"

namespace gneiss::synth {
namespace {

using ir::Op;
using ir::OpKind;

template <class E, std::size_t N>
std::string spelled(std::string_view type, const kernels::Spelling<E> (&spellings)[N], E value) {
  for (const kernels::Spelling<E>& known : spellings) {
    if (known.value == value) return fmt::format("{}::k{}", type, camel(known.name));
  }
  GNEISS_ASSERT(false, "{} {} has no spelling", type, static_cast<int>(value));
}

std::string text(std::string value) { return value; }
std::string text(double value) { return real(value); }
std::string text(bool value) { return value ? "true" : "false"; }
std::string text(std::integral auto value) { return fmt::format("{}", value); }
std::string text(kernels::Binary value) { return spelled("Binary", kernels::kBinaries, value); }
std::string text(kernels::ColumnGroups value) { return spelled("ColumnGroups", kernels::kColumnGroups, value); }
std::string text(kernels::Orientation value) { return spelled("Orientation", kernels::kOrientations, value); }
std::string text(kernels::Reduce value) { return spelled("Reduce", kernels::kReduces, value); }
std::string text(kernels::Unary value) { return spelled("Unary", kernels::kUnaries, value); }

class Writer {
 public:
  using Scalar = float;
  static constexpr Space kSpace = Space::kHost;

  Writer(const ir::Plan& plan, const Specification& specification, const Names& names, const Op& op, Space space)
      : plan_(plan),
        program_(plan.program),
        from_(specification),
        names_(names),
        op_(op),
        on_device_(space == Space::kDevice) {}

  std::vector<Call> write() {
    kernels::OpArguments<Writer>(program_, op_, this).name_members();
    return std::move(calls_);
  }

 private:
  friend class kernels::OpArguments<Writer>;

  template <class Member, class Value>
  void set(std::string_view name, const Member& /*member*/, const Value& value) {
    std::string written = text(value);
    if (!written.empty()) fields_.push_back({std::string(name), std::move(written)});
  }
  /// Structs of arguments are called after their kernels.
  template <class Args>
  void call(std::string_view kernel, const Args& /*args*/) {
    calls_.push_back({std::string(kernel), camel(kernel) + "Args", std::exchange(fields_, {})});
  }
  /// Leaves are filled otherwise.
  static void leaf() {}
  void between_ranks() {
    const auto set_text = [&](const char* name, std::string value) { fields_.push_back({name, std::move(value)}); };
    const auto set_half = [&](ir::ValueId y, ir::ValueId packed) {
      set_text("y", matrix(y));
      set_text("packed", matrix(packed));
      set_text("exchange", fmt::format("&{}_exchange", matrix(packed)));
    };
    set_text("communicator", "p.communicator");
    set_text("plan", "&p.part.halo");
    set_text("x", matrix(op_.inputs[0]));
    switch (op_.kind) {
      case OpKind::halo_start:
        set_half(op_.results[0], op_.results[1]);
        break;
      case OpKind::halo_wait:
        set_half(op_.inputs[0], op_.inputs[1]);
        break;
      case OpKind::halo_add_start:
        set_half(ir::kNoValue, op_.results[0]);
        break;
      case OpKind::halo_add_wait:
        set_half(op_.results[0], op_.inputs[1]);
        break;
      default:
        set_text("y", matrix(op_.results[0]));
    }
    const bool indices = type(op_.inputs[0]).scalar == ir::Scalar::kIndex;
    calls_.push_back({std::string(ir::traits(op_.kind).name), "HaloArgs", std::exchange(fields_, {}),
                      indices ? "std::int32_t" : "float"});
  }

  const ir::Type& type(ir::ValueId v) const { return program_.type(v); }
  std::string matrix(ir::ValueId v) const {
    if (v == ir::kNoValue) return "{}";
    if (ir::is_half(type(v).scalar)) return fmt::format("{{nullptr, {}, {}}}", names_.rows(type(v)), type(v).cols);
    return "p." + names_.value(v);
  }
  std::string index(ir::ValueId v) const { return matrix(v); }
  std::string halves(ir::ValueId v) const { return "p." + names_.value(v); }
  std::string elements(ir::ValueId v) const {
    return v == ir::kNoValue ? "{}" : fmt::format("elements({})", matrix(v));
  }
  std::string result_elements(ir::ValueId v) const { return elements(v); }
  std::string rows(ir::ValueId v) const { return names_.rows(type(v)); }
  std::string edges(std::int32_t graph, bool out) const {
    return fmt::format("p.{}_edges_{}", out ? "out" : "in", names_.graph(graph));
  }
  std::string edges_pointer(std::int32_t graph) const { return "&" + edges(graph, false); }
  std::string offsets(std::int32_t graph) const { return edges(graph, false) + ".offsets"; }

  std::int32_t graph() const { return static_cast<std::int32_t>(op_.attrs.integer("graph", 0)); }
  bool has_tiles(bool out) const {
    const ir::GraphUse& use = plan_.graph_uses[static_cast<std::size_t>(graph())];
    return plan_.loss_tiles_of(op_) >= 0 || (out ? use.out_tile : use.in_tile) != 0;
  }
  std::string tiles(bool out) const {
    const std::int32_t part = plan_.loss_tiles_of(op_);
    if (part >= 0) return fmt::format("p.loss_tiles_{}.view()", part);
    return fmt::format("p.{}_tiles_{}.view()", out ? "out" : "in", names_.graph(graph()));
  }

  static std::string features(bool transposed) { return transposed ? "p.feature_columns" : "p.feature_rows"; }
  static std::string features_pointer() { return "&" + features(false); }
  std::string feature_values(bool transposed, ir::ValueId v) const {
    if (!transposed || plan_.feature_slots) return elements(v);
    return on_device_ ? "p.transposed_values" : "p.feature_transpose.values";
  }
  std::string row_ids(std::int32_t set) const {
    if (set == kernels::kNoSet) return "{}";
    if (on_device_) return "p.ids";
    return from_.several.ranks.empty() ? "p.dataset.orig_id" : "p.part.ids";
  }
  std::string seed() const { return on_device_ ? "" : "p.seed"; }
  std::string epoch() const { return on_device_ ? "" : "p.epoch"; }

  /// Those of the rows that were made for the loss, or all nodes'.
  std::string all_labels(bool trains) const {
    return trains && counts_rows_alone(program_) ? "p.loss_labels" : "p.dataset.labels";
  }
  /// On a device, what a loss is taken of lies together.
  static std::string of_loss(bool trains, const char* member) {
    return fmt::format("p.{}.{}", trains ? "training" : "validation", member);
  }
  std::string labels(bool trains) const {
    return on_device_ ? of_loss(trains, "labels") : all_labels(trains) + ".classes";
  }
  std::string targets(bool trains) const {
    return on_device_ ? of_loss(trains, "targets") : fmt::format("targets({})", all_labels(trains));
  }
  std::string loss_rows(bool trains) const {
    if (on_device_) return of_loss(trains, "rows");
    if (!trains) return "p.val_rows";
    return counts_rows_alone(program_) ? "p.loss_rows" : "p.dataset.split.train";
  }
  std::string labelled(bool trains) const {
    if (on_device_) return of_loss(trains, "labelled");
    return trains ? "p.labelled" : "p.val_labelled";
  }
  std::string class_weights() const {
    if (from_.class_weights.empty()) return "{}";
    return on_device_ ? "p.class_weights" : "kClassWeights";
  }

  const ir::Plan& plan_;
  const ir::Program& program_;
  const Specification& from_;
  const Names& names_;
  const Op& op_;
  bool on_device_;
  std::vector<Field> fields_;  ///< of the call that is being written
  std::vector<Call> calls_;
};

}  // namespace

bool counts_rows_alone(const ir::Program& program) {
  for (const Op& op : program.ops) {
    if (ir::is_training_loss(op)) return program.type(op.inputs[0]).set != 0;
  }
  return false;
}

bool has_targets(const ir::Program& program) {
  return std::any_of(program.ops.begin(), program.ops.end(),
                     [](const Op& op) { return op.kind == OpKind::bce_with_logits || op.kind == OpKind::mse; });
}

std::vector<Call> calls_of(const ir::Plan& plan, const Specification& specification, const Names& names,
                           const ir::Op& op, Space space) {
  return Writer(plan, specification, names, op, space).write();
}

}  // namespace gneiss::synth
