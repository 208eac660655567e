// The writer walks an op's operands and writes the members of its Args by name, each by the place of the value.
#include "synth/calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace gneiss::synth {
namespace {

using ir::Op;
using ir::OpKind;

class Writer {
 public:
  Writer(const ir::Plan& plan, const Specification& specification, const Names& names, const Op& op)
      : plan_(plan), program_(plan.program), from_(specification), names_(names), op_(op) {}

  std::vector<Call> write() {
    if (op_.kind == OpKind::concat) return concat();
    Call call = one();
    std::vector<Call> calls;
    if (!call.kernel.empty()) calls.push_back(std::move(call));
    return calls;
  }

 private:
  const ir::Type& type(ir::ValueId v) const { return program_.type(v); }
  std::string view(ir::ValueId v) const {
    if (v == ir::kNoValue) return "{}";
    if (ir::is_half(type(v).scalar)) return fmt::format("{{nullptr, {}, {}}}", names_.rows(type(v)), type(v).cols);
    return "p." + names_.value(v);
  }
  std::string in(std::size_t i) const { return view(op_.inputs[i]); }
  std::string out(std::size_t i = 0) const { return i < op_.results.size() ? view(op_.results[i]) : "{}"; }
  std::string elements(const std::string& matrix) const { return fmt::format("elements({})", matrix); }
  std::string optional_out(std::size_t i) const { return op_.results[i] == ir::kNoValue ? "{}" : out(i); }
  std::string optional_in(std::size_t i) const { return op_.inputs.size() > i ? in(i) : "{}"; }
  std::string weights(std::size_t i) const { return op_.inputs.size() > i ? elements(in(i)) : "{}"; }
  bool flag(std::string_view name) const { return op_.attrs.integer(name, 0) != 0; }
  std::string number(std::string_view name, double otherwise) const { return real(op_.attrs.real(name, otherwise)); }
  std::string count(std::string_view name, std::int64_t otherwise) const {
    return fmt::format("{}", op_.attrs.integer(name, otherwise));
  }
  std::int32_t graph() const { return static_cast<std::int32_t>(op_.attrs.integer("graph", 0)); }
  std::string edges(bool out_edges) const {
    return fmt::format("p.{}_edges_{}", out_edges ? "out" : "in", names_.graph(graph()));
  }
  std::string offsets() const { return edges(false) + ".offsets"; }
  std::string reduce() const {
    const std::string fn = op_.attrs.text("fn", "sum");
    return "Reduce::k" + camel(fn);
  }

  /// Adds the edges cut by sources, where they are.
  void tiles(bool backwards, std::vector<Field>* fields) const {
    const ir::GraphUse& use = plan_.graph_uses[static_cast<std::size_t>(graph())];
    const std::int32_t part = plan_.loss_tiles_of(op_);
    if (part >= 0) return fields->push_back({"tiles", fmt::format("p.loss_tiles_{}.view()", part)});
    if ((backwards ? use.out_tile : use.in_tile) == 0) return;
    fields->push_back({"tiles", fmt::format("p.{}_tiles_{}.view()", backwards ? "out" : "in", names_.graph(graph()))});
  }

  /// Adds the 16-bit form of a value, where it has one.
  void half(const char* name, ir::ValueId v, std::vector<Field>* fields) const {
    if (ir::is_half(type(v).scalar)) fields->push_back({name, "p." + names_.value(v)});
  }

  Call gemm() const {
    std::vector<Field> fields = {{"a", in(0)}, {"b", in(1)}, {"c", out()}};
    if (flag("ta")) fields.push_back({"orientation", "Orientation::kTN"});
    if (flag("tb")) fields.push_back({"orientation", "Orientation::kNT"});
    if (op_.inputs.size() == 3) fields.push_back({"addend", in(2)});
    half("a_half", op_.inputs[0], &fields);
    return {"gemm", "GemmArgs", fields};
  }

  Call spmm() const {
    const bool backwards = flag("transpose");
    std::vector<Field> fields = {
        {"pattern", edges(backwards)}, {"x", in(0)}, {"w", ir::weighs_edges(op_) ? weights(1) : "{}"}};
    if (op_.attrs.integer("heads", 1) != 1) fields.push_back({"heads", count("heads", 1)});
    fields.insert(fields.end(), {{"reduce", reduce()}, {"y", out()}, {"arg", out(1)}});
    tiles(backwards, &fields);
    half("x_half", op_.inputs[0], &fields);
    half("y_half", op_.results[0], &fields);
    if (op_.attrs.has("panel")) fields.push_back({"panel", count("panel", 0)});
    if (flag("scaled")) fields.push_back({"scales", in(op_.inputs.size() - 1)});
    return {"spmm", "SpmmArgs", fields};
  }

  Call attention() const {
    std::vector<Field> fields = {{"pattern", edges(false)},
                                 {"z", in(0)},
                                 {"s_src", in(1)},
                                 {"s_dst", in(2)},
                                 {"gate", optional_in(3)},
                                 {"heads", count("heads", 1)},
                                 {"slope", number("slope", 0.2)},
                                 {"y", out()},
                                 {"tangent", out(1)},
                                 {"lse", out(2)}};
    tiles(false, &fields);
    return {"attention", "AttentionArgs", fields};
  }

  Call attention_grad() const {
    std::vector<Field> fields = {{"pattern", edges(flag("transpose"))},
                                 {"z", in(0)},
                                 {"s_src", in(1)},
                                 {"s_dst", in(2)},
                                 {"lse", in(3)},
                                 {"dots", in(4)},
                                 {"dy", in(5)},
                                 {"gate", optional_in(6)},
                                 {"heads", count("heads", 1)},
                                 {"slope", number("slope", 0.2)},
                                 {"dz", out(0)},
                                 {"ds_src", out(1)}};
    tiles(flag("transpose"), &fields);
    return {"attention_grad", "AttentionGradArgs", fields};
  }

  Call binary(const char* fn) const {
    return {"binary", "BinaryArgs", {{"fn", std::string("Binary::k") + fn}, {"a", in(0)}, {"b", in(1)}, {"c", out()}}};
  }

  Call unary() const {
    const bool affine = op_.kind == OpKind::affine;
    std::vector<Field> fields = {{"fn", "Unary::k" + camel(ir::traits(op_.kind).name)}};
    const double alpha = affine ? op_.attrs.real("scale", 1) : op_.attrs.real("alpha", op_.kind == OpKind::elu ? 1 : 0);
    if (alpha != 0) fields.push_back({"alpha", real(alpha)});
    if (op_.attrs.real("shift", 0) != 0) fields.push_back({"shift", number("shift", 0)});
    fields.insert(fields.end(), {{"x", in(0)}, {"y", out()}});
    return {"unary", "UnaryArgs", fields};
  }

  Call unary_grad() const {
    std::vector<Field> fields = {{"fn", "Unary::k" + camel(op_.attrs.text("fn", "relu"))}};
    if (op_.attrs.real("alpha", 0) != 0) fields.push_back({"alpha", number("alpha", 0)});
    fields.insert(fields.end(), {{"y", in(0)}, {"dy", in(1)}, {"dx", out()}});
    return {"unary_grad", "UnaryGradArgs", fields};
  }

  Call columns(const char* fn, std::string_view attr) const {
    std::vector<Field> fields = {
        {"fn", std::string("ColumnGroups::k") + fn}, {"heads", count(attr, 1)}, {"x", in(0)}, {"y", out()}};
    if (op_.inputs.size() == 2) fields.push_back({"weights", in(1)});
    return {"column_groups", "ColumnGroupsArgs", fields};
  }

  Call dropout() const {
    const ir::Type& rows = type(op_.inputs[0]);
    std::vector<Field> fields = {{"p", number("p", 0.5)},
                                 {"seed", "p.seed"},
                                 {"epoch", "p.epoch"},
                                 {"stream", count("stream", 0)},
                                 {"row_ids", "{}"}};
    if (rows.domain != ir::Domain::kGlobal) fields.back().value = "p.dataset.orig_id";
    if (rows.domain == ir::Domain::kEdge)
      fields.push_back({"in_edges", fmt::format("&p.in_edges_{}", names_.graph(rows.set))});
    if (rows.layout == ir::Layout::kSparse) fields.push_back({"sparse_rows", "&p.feature_rows"});
    fields.insert(fields.end(), {{"x", in(0)}, {"y", out()}});
    return {"dropout", "DropoutArgs", fields};
  }

  Call norm() const {
    const std::string eps = number("eps", 1e-5);
    const std::string mode = op_.attrs.text("mode", "node") == "graph" ? "true" : "false";
    switch (op_.kind) {
      case OpKind::batch_norm:
        return {"batch_norm",
                "BatchNormArgs",
                {{"x", in(0)},
                 {"gamma", in(1)},
                 {"beta", in(2)},
                 {"eps", eps},
                 {"y", out(0)},
                 {"mean", out(1)},
                 {"var", out(2)}}};
      case OpKind::batch_norm_inference:
        return {"batch_norm_inference",
                "BatchNormInferenceArgs",
                {{"x", in(0)},
                 {"gamma", in(1)},
                 {"beta", in(2)},
                 {"mean", in(3)},
                 {"var", in(4)},
                 {"eps", eps},
                 {"y", out()}}};
      case OpKind::batch_norm_grad:
        return {"batch_norm_grad",
                "BatchNormGradArgs",
                {{"x", in(0)},
                 {"gamma", in(1)},
                 {"mean", in(2)},
                 {"var", in(3)},
                 {"dy", in(4)},
                 {"eps", eps},
                 {"dx", out(0)},
                 {"dgamma", out(1)},
                 {"dbeta", out(2)}}};
      case OpKind::layer_norm:
        return {"layer_norm",
                "LayerNormArgs",
                {{"graph_mode", mode},
                 {"x", in(0)},
                 {"gamma", in(1)},
                 {"beta", in(2)},
                 {"eps", eps},
                 {"y", out(0)},
                 {"mean", out(1)},
                 {"var", out(2)}}};
      default:
        return {"layer_norm_grad",
                "LayerNormGradArgs",
                {{"graph_mode", mode},
                 {"x", in(0)},
                 {"gamma", in(1)},
                 {"mean", in(2)},
                 {"var", in(3)},
                 {"dy", in(4)},
                 {"eps", eps},
                 {"dx", out(0)},
                 {"dgamma", out(1)},
                 {"dbeta", out(2)}}};
    }
  }

  Call batch_norm_update() const {
    // The number of rows that the statistics were taken over is that of the op that made them.
    std::string rows = "1";
    for (const Op& other : program_.ops) {
      if (other.kind == OpKind::batch_norm && other.results[1] == op_.inputs[2])
        rows = names_.rows(type(other.inputs[0]));
    }
    return {"batch_norm_update",
            "BatchNormUpdateArgs",
            {{"n", rows},
             {"momentum", number("momentum", 0.1)},
             {"mean", in(2)},
             {"var", in(3)},
             {"running_mean", in(0)},
             {"running_var", in(1)}}};
  }

  std::vector<Call> concat() const {
    std::vector<Call> calls;
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < op_.inputs.size(); ++i) {
      const std::int64_t cols = type(op_.inputs[i]).cols;
      calls.push_back(copy_columns(in(i), 0, begin, cols));
      begin += cols;
    }
    return calls;
  }

  Call copy_columns(const std::string& src, std::int64_t src_begin, std::int64_t dst_begin, std::int64_t cols) const {
    return {"copy_columns",
            "CopyColumnsArgs",
            {{"src", src},
             {"src_begin", fmt::format("{}", src_begin)},
             {"dst", out()},
             {"dst_begin", fmt::format("{}", dst_begin)},
             {"count", fmt::format("{}", cols)}}};
  }

  Call loss() const {
    const std::string kernel(ir::traits(op_.kind).name);
    const bool trains = ir::is_training_loss(op_);
    const bool on_rows = trains && counts_rows_alone(program_);
    const std::string labels = on_rows ? "p.loss_labels" : "p.dataset.labels";
    const std::string all_rows = trains ? "p.dataset.split.train" : "p.val_rows";
    const std::string rows = on_rows ? "p.loss_rows" : all_rows;
    if (op_.kind == OpKind::cross_entropy) {
      return {kernel,
              "CrossEntropyArgs",
              {{"logits", in(0)},
               {"labels", labels + ".classes"},
               {"rows", rows},
               {"class_weights", from_.class_weights.empty() ? "{}" : "kClassWeights"},
               {"label_smoothing", number("label_smoothing", 0)},
               {"loss", out(0)},
               {"dlogits", optional_out(1)}}};
    }
    return {kernel,
            op_.kind == OpKind::mse ? "MseArgs" : "BceWithLogitsArgs",
            {{"logits", in(0)},
             {"targets", fmt::format("targets({})", labels)},
             {"rows", rows},
             {"loss", out(0)},
             {"dlogits", optional_out(1)},
             {"labelled", trains ? "p.labelled" : "p.val_labelled"}}};
  }

  Call between_nodes_and_edges() const {
    switch (op_.kind) {
      case OpKind::gather_src:
      case OpKind::gather_dst:
        return {"gather",
                "GatherArgs",
                {{"pattern", edges(false)},
                 {"by_source", op_.kind == OpKind::gather_src ? "true" : "false"},
                 {"x", in(0)},
                 {"e", out()}}};
      case OpKind::segment_reduce:
        return {"segment_reduce",
                "SegmentReduceArgs",
                {{"pattern", edges(op_.attrs.text("side", "dst") != "dst")},
                 {"e", in(0)},
                 {"reduce", reduce()},
                 {"y", out()},
                 {"arg", out(1)}}};
      case OpKind::segment_arg_grad:
        return {"segment_arg_grad",
                "SegmentArgGradArgs",
                {{"offsets", offsets()}, {"arg", in(0)}, {"dy", in(1)}, {"de", out()}}};
      case OpKind::spmm_arg_grad:
        return {"spmm_arg_grad",
                "SpmmArgGradArgs",
                {{"out_edges", edges(true)},
                 {"in_offsets", offsets()},
                 {"arg", in(0)},
                 {"dy", in(1)},
                 {"w", weights(2)},
                 {"dx", out()}}};
      case OpKind::spmm_arg_weight_grad:
        return {"spmm_arg_weight_grad",
                "SpmmArgWeightGradArgs",
                {{"in_edges", edges(false)}, {"arg", in(0)}, {"dy", in(1)}, {"x", in(2)}, {"dw", elements(out())}}};
      case OpKind::sddmm:
        return {"sddmm",
                "SddmmArgs",
                {{"pattern", edges(false)}, {"y", in(0)}, {"x", in(1)}, {"heads", count("heads", 1)}, {"e", out()}}};
      case OpKind::edge_softmax:
        return {"edge_softmax", "EdgeSoftmaxArgs", {{"offsets", offsets()}, {"e", in(0)}, {"a", out()}}};
      default:
        return {"edge_softmax_grad",
                "EdgeSoftmaxGradArgs",
                {{"offsets", offsets()}, {"a", in(0)}, {"da", in(1)}, {"de", out()}}};
    }
  }

  Call one() const {
    switch (op_.kind) {
      case OpKind::input:
      case OpKind::param:
      case OpKind::constant:
      case OpKind::edge_weight:
      case OpKind::degree:
      case OpKind::concat:
        return {};
      case OpKind::gemm:
        return gemm();
      case OpKind::spx_gemm:
        return {"spx_gemm",
                "SpxGemmArgs",
                {{"a", flag("ta") ? "p.feature_columns" : "p.feature_rows"},
                 {"values", flag("ta") && !plan_.feature_slots ? "p.feature_transpose.values" : elements(in(0))},
                 {"b", in(1)},
                 {"c", out()}}};
      case OpKind::to_dense:
        return {"to_dense", "ToDenseArgs", {{"a", "p.feature_rows"}, {"values", elements(in(0))}, {"dst", out()}}};
      case OpKind::to_float:
        return {"to_float", "ToFloatArgs", {{"x", "p." + names_.value(op_.inputs[0])}, {"y", out()}}};
      case OpKind::to_half:
        return {"to_half", "ToHalfArgs", {{"x", in(0)}, {"y", "p." + names_.value(op_.results[0])}}};
      case OpKind::add:
        return binary("Add");
      case OpKind::sub:
        return binary("Sub");
      case OpKind::mul:
        return binary("Mul");
      case OpKind::div:
        return binary("Div");
      case OpKind::maximum:
        return binary("Maximum");
      case OpKind::minimum:
        return binary("Minimum");
      case OpKind::mul_add:
        return {"mul_add", "MulAddArgs", {{"x", in(0)}, {"a", in(1)}, {"b", in(2)}, {"y", out()}}};
      case OpKind::maximum_grad:
        return {"extreme_grad",
                "ExtremeGradArgs",
                {{"maximum", op_.attrs.text("fn", "maximum") == "maximum" ? "true" : "false"},
                 {"first", flag("side") ? "false" : "true"},
                 {"a", in(0)},
                 {"b", in(1)},
                 {"dy", in(2)},
                 {"dx", out()}}};
      case OpKind::affine:
      case OpKind::relu:
      case OpKind::leaky_relu:
      case OpKind::elu:
      case OpKind::sigmoid:
      case OpKind::tanh:
      case OpKind::exp:
      case OpKind::log:
      case OpKind::sqrt:
      case OpKind::rsqrt:
        return unary();
      case OpKind::unary_grad:
        return unary_grad();
      case OpKind::dropout:
        return dropout();
      case OpKind::sum_rows: {
        std::vector<Field> fields = {{"x", in(0)}, {"y", out()}};
        if (op_.inputs.size() == 2) fields.push_back({"weights", in(1)});
        return {"sum_rows", "SumRowsArgs", fields};
      }
      case OpKind::sum_groups:
        return columns("SumGroups", "groups");
      case OpKind::expand_groups:
        return columns("ExpandGroups", "groups");
      case OpKind::sum_heads:
        return columns("SumHeads", "heads");
      case OpKind::tile_heads:
        return columns("TileHeads", "heads");
      case OpKind::slice:
        return copy_columns(in(0), op_.attrs.integer("begin", 0), 0, op_.attrs.integer("cols", 0));
      case OpKind::batch_norm:
      case OpKind::batch_norm_inference:
      case OpKind::batch_norm_grad:
      case OpKind::layer_norm:
      case OpKind::layer_norm_grad:
        return norm();
      case OpKind::batch_norm_update:
        return batch_norm_update();
      case OpKind::gather_src:
      case OpKind::gather_dst:
      case OpKind::segment_reduce:
      case OpKind::segment_arg_grad:
      case OpKind::spmm_arg_grad:
      case OpKind::spmm_arg_weight_grad:
      case OpKind::sddmm:
      case OpKind::edge_softmax:
      case OpKind::edge_softmax_grad:
        return between_nodes_and_edges();
      case OpKind::spmm:
        return spmm();
      case OpKind::attention:
        return attention();
      case OpKind::attention_grad:
        return attention_grad();
      case OpKind::halo:
      case OpKind::halo_add:
      case OpKind::rank_sum:
        throw Error(ErrorCode::kUnsupported, "programs for several ranks are not written yet", "--ranks",
                    "leave --ranks out");
      case OpKind::cross_entropy:
      case OpKind::bce_with_logits:
      case OpKind::mse:
        return loss();
    }
    GNEISS_ASSERT(false, "op {} has no call", ir::traits(op_.kind).name);
  }

  const ir::Plan& plan_;
  const ir::Program& program_;
  const Specification& from_;
  const Names& names_;
  const Op& op_;
};

}  // namespace

bool counts_rows_alone(const ir::Program& program) {
  for (const Op& op : program.ops) {
    if (ir::is_training_loss(op)) return program.rows(op.inputs[0]) != program.node_sets[0].size;
  }
  return false;
}

bool has_targets(const ir::Program& program) {
  return std::any_of(program.ops.begin(), program.ops.end(),
                     [](const Op& op) { return op.kind == OpKind::bce_with_logits || op.kind == OpKind::mse; });
}

std::vector<Call> calls_of(const ir::Plan& plan, const Specification& specification, const Names& names,
                           const ir::Op& op) {
  return Writer(plan, specification, names, op).write();
}

}  // namespace gneiss::synth
