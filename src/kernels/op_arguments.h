// Which kernels an op becomes, and what each member of their argument structs is: written down once for all who ask.
//
// OpArguments names the members one by one and leaves to `To` what a value is. call.cc takes views and stores them in
// the struct, for the host and for devices; synth/calls.cc takes text and makes the braces of a C++ program of it.
//
// A `To` has the types of the struct and makes values of operands; one that is missing (kNoValue) is an empty view:
//   Scalar, kSpace                                 Args<Scalar, kSpace> are the arguments
//   matrix(v), index(v), halves(v)                 a value, the edges that won, the elements of one in 16 bits
//   elements(v), result_elements(v)                a column as a row of numbers, to read and to write
//   rows(v)                                        how many rows a value has
//   edges(graph, out), offsets(graph)              edges by destination or source; offsets of those by destination
//   edges_pointer(graph)                           those by destination
//   has_tiles(out), tiles(out)                     the edges of the op cut by sources, where they are
//   features(t), features_pointer(), feature_values(t, v)   sparse features, as they are or transposed
//   row_ids(set)                                   original ids of a node set, of none for kNoSet
//   seed(), epoch()                                which change from step to step
//   labels(trains), targets(trains), loss_rows(trains), labelled(trains), class_weights()   what a loss is taken of
// and takes what came of it:
//   set(name, member, value)                       a member; those that are left out have a default
//   call(kernel, args)                             all members are set
//   leaf(), between_ranks()                        the op reads no operands; ranks take part in it
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "ir/program.h"
#include "kernels/arg_sources.h"
#include "kernels/attention.h"
#include "kernels/attention_grad.h"
#include "kernels/batch_norm.h"
#include "kernels/batch_norm_grad.h"
#include "kernels/batch_norm_inference.h"
#include "kernels/batch_norm_update.h"
#include "kernels/bce_with_logits.h"
#include "kernels/binary.h"
#include "kernels/column_groups.h"
#include "kernels/copy_columns.h"
#include "kernels/cross_entropy.h"
#include "kernels/dropout.h"
#include "kernels/edge_softmax.h"
#include "kernels/edge_softmax_grad.h"
#include "kernels/extreme_grad.h"
#include "kernels/gather.h"
#include "kernels/gemm.h"
#include "kernels/layer_norm.h"
#include "kernels/layer_norm_grad.h"
#include "kernels/mse.h"
#include "kernels/mul_add.h"
#include "kernels/sddmm.h"
#include "kernels/segment_arg_grad.h"
#include "kernels/segment_reduce.h"
#include "kernels/spmm.h"
#include "kernels/spmm_arg_grad.h"
#include "kernels/spmm_arg_weight_grad.h"
#include "kernels/spx_gemm.h"
#include "kernels/sum_rows.h"
#include "kernels/to_dense.h"
#include "kernels/to_float.h"
#include "kernels/to_half.h"
#include "kernels/unary.h"
#include "kernels/unary_grad.h"

namespace gneiss::kernels {

/// An enumerator as ops and their attributes spell it.
template <class E>
struct Spelling {
  std::string_view name;
  E value;
};

inline constexpr Spelling<Orientation> kOrientations[] = {
    {"NN", Orientation::kNN}, {"TN", Orientation::kTN}, {"NT", Orientation::kNT}};
inline constexpr Spelling<Reduce> kReduces[] = {
    {"sum", Reduce::kSum}, {"mean", Reduce::kMean}, {"max", Reduce::kMax}, {"min", Reduce::kMin}};
inline constexpr Spelling<Unary> kUnaries[] = {
    {"affine", Unary::kAffine}, {"relu", Unary::kRelu},       {"elu", Unary::kElu}, {"leaky_relu", Unary::kLeakyRelu},
    {"tanh", Unary::kTanh},     {"sigmoid", Unary::kSigmoid}, {"exp", Unary::kExp}, {"log", Unary::kLog},
    {"sqrt", Unary::kSqrt},     {"rsqrt", Unary::kRsqrt}};
inline constexpr Spelling<Binary> kBinaries[] = {{"add", Binary::kAdd},         {"sub", Binary::kSub},
                                                 {"mul", Binary::kMul},         {"div", Binary::kDiv},
                                                 {"maximum", Binary::kMaximum}, {"minimum", Binary::kMinimum}};
inline constexpr Spelling<ColumnGroups> kColumnGroups[] = {{"sum_groups", ColumnGroups::kSumGroups},
                                                           {"expand_groups", ColumnGroups::kExpandGroups},
                                                           {"sum_heads", ColumnGroups::kSumHeads},
                                                           {"tile_heads", ColumnGroups::kTileHeads}};

template <class E, std::size_t N>
E enumerator(const Spelling<E> (&spellings)[N], std::string_view name) {
  for (const Spelling<E>& known : spellings) {
    if (known.name == name) return known.value;
  }
  GNEISS_ASSERT(false, "'{}' names nothing that a kernel does", name);
}

inline constexpr std::int32_t kNoSet = -1;

template <class To>
class OpArguments {
 public:
  OpArguments(const ir::Program& program, const ir::Op& op, To* to) : program_(program), op_(op), to_(*to) {}

  /// Names the members of the arguments of every kernel that the op becomes: one, and for concat one an operand.
  void name_members() {
    using ir::OpKind;
    switch (op_.kind) {
      case OpKind::input:
      case OpKind::param:
      case OpKind::constant:
      case OpKind::edge_weight:
      case OpKind::degree:
        return to_.leaf();
      case OpKind::halo:
      case OpKind::halo_add:
      case OpKind::halo_start:
      case OpKind::halo_wait:
      case OpKind::halo_add_start:
      case OpKind::halo_add_wait:
      case OpKind::rank_sum:
      case OpKind::rank_range:
        return to_.between_ranks();
      case OpKind::gemm:
        return gemm();
      case OpKind::spx_gemm:
        return spx_gemm();
      case OpKind::to_dense:
        return to_dense();
      case OpKind::to_float:
        return to_float();
      case OpKind::to_half:
        return to_half();
      case OpKind::add:
      case OpKind::sub:
      case OpKind::mul:
      case OpKind::div:
      case OpKind::maximum:
      case OpKind::minimum:
        return binary();
      case OpKind::mul_add:
        return mul_add();
      case OpKind::maximum_grad:
        return extreme_grad();
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
      case OpKind::sum_rows:
        return sum_rows();
      case OpKind::sum_groups:
      case OpKind::expand_groups:
        return column_groups("groups");
      case OpKind::sum_heads:
      case OpKind::tile_heads:
        return column_groups("heads");
      case OpKind::concat:
        return concat();
      case OpKind::slice:
        return copy_columns(0, integer("begin", 0), 0, integer("cols", 0));
      case OpKind::batch_norm:
        return batch_norm();
      case OpKind::batch_norm_inference:
        return batch_norm_inference();
      case OpKind::batch_norm_grad:
        return batch_norm_grad();
      case OpKind::batch_norm_update:
        return batch_norm_update();
      case OpKind::layer_norm:
        return layer_norm();
      case OpKind::layer_norm_grad:
        return layer_norm_grad();
      case OpKind::gather_src:
      case OpKind::gather_dst:
        return gather();
      case OpKind::segment_reduce:
        return segment_reduce();
      case OpKind::segment_arg_grad:
        return segment_arg_grad();
      case OpKind::spmm:
        return spmm();
      case OpKind::arg_sources:
        return arg_sources();
      case OpKind::spmm_arg_grad:
        return spmm_arg_grad();
      case OpKind::spmm_arg_weight_grad:
        return spmm_arg_weight_grad();
      case OpKind::sddmm:
        return sddmm();
      case OpKind::edge_softmax:
        return edge_softmax();
      case OpKind::edge_softmax_grad:
        return edge_softmax_grad();
      case OpKind::attention:
        return attention();
      case OpKind::attention_grad:
        return attention_grad();
      case OpKind::cross_entropy:
        return cross_entropy();
      case OpKind::bce_with_logits:
        return loss_of_targets<BceWithLogitsArgs<T, S>>("bce_with_logits");
      case OpKind::mse:
        return loss_of_targets<MseArgs<T, S>>("mse");
    }
  }

 private:
  using T = typename To::Scalar;
  static constexpr Space S = To::kSpace;

  ir::ValueId operand(std::size_t i) const { return i < op_.inputs.size() ? op_.inputs[i] : ir::kNoValue; }
  ir::ValueId result(std::size_t i) const { return i < op_.results.size() ? op_.results[i] : ir::kNoValue; }
  auto in(std::size_t i) const { return to_.matrix(operand(i)); }
  auto out(std::size_t i = 0) const { return to_.matrix(result(i)); }
  auto edges(bool out_edges) const { return to_.edges(graph(), out_edges); }
  auto offsets() const { return to_.offsets(graph()); }

  std::int32_t graph() const { return static_cast<std::int32_t>(integer("graph", 0)); }
  bool flag(std::string_view name) const { return integer(name, 0) != 0; }
  double real(std::string_view name, double otherwise) const { return op_.attrs.real(name, otherwise); }
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const {
    return op_.attrs.integer(name, otherwise);
  }
  Reduce reduce() const { return enumerator(kReduces, op_.attrs.text("fn", "sum")); }
  bool in_halves(ir::ValueId v) const { return ir::is_half(program_.type(v).scalar); }

  void gemm() {
    GemmArgs<T, S> args;
    to_.set("a", args.a, in(0));
    to_.set("b", args.b, in(1));
    to_.set("c", args.c, out());
    if (flag("ta")) to_.set("orientation", args.orientation, Orientation::kTN);
    if (flag("tb")) to_.set("orientation", args.orientation, Orientation::kNT);
    if (op_.inputs.size() == 3) to_.set("addend", args.addend, in(2));
    if (in_halves(op_.inputs[0])) to_.set("a_half", args.a_half, to_.halves(op_.inputs[0]));
    to_.call("gemm", args);
  }

  void spx_gemm() {
    SpxGemmArgs<T, S> args;
    to_.set("a", args.a, to_.features(flag("ta")));
    to_.set("values", args.values, to_.feature_values(flag("ta"), op_.inputs[0]));
    to_.set("b", args.b, in(1));
    to_.set("c", args.c, out());
    to_.call("spx_gemm", args);
  }

  void to_dense() {
    ToDenseArgs<T, S> args;
    to_.set("a", args.a, to_.features(false));
    to_.set("values", args.values, to_.elements(op_.inputs[0]));
    to_.set("dst", args.dst, out());
    to_.call("to_dense", args);
  }

  void to_float() {
    ToFloatArgs<T, S> args;
    to_.set("x", args.x, to_.halves(op_.inputs[0]));
    to_.set("y", args.y, out());
    to_.call("to_float", args);
  }

  void to_half() {
    ToHalfArgs<T, S> args;
    to_.set("x", args.x, in(0));
    to_.set("y", args.y, to_.halves(op_.results[0]));
    to_.call("to_half", args);
  }

  void binary() {
    BinaryArgs<T, S> args;
    to_.set("fn", args.fn, enumerator(kBinaries, ir::traits(op_.kind).name));
    to_.set("a", args.a, in(0));
    to_.set("b", args.b, in(1));
    to_.set("c", args.c, out());
    to_.call("binary", args);
  }

  void mul_add() {
    MulAddArgs<T, S> args;
    to_.set("x", args.x, in(0));
    to_.set("a", args.a, in(1));
    to_.set("b", args.b, in(2));
    to_.set("y", args.y, out());
    to_.call("mul_add", args);
  }

  void extreme_grad() {
    ExtremeGradArgs<T, S> args;
    to_.set("maximum", args.maximum, op_.attrs.text("fn", "maximum") == "maximum");
    to_.set("first", args.first, !flag("side"));
    to_.set("a", args.a, in(0));
    to_.set("b", args.b, in(1));
    to_.set("dy", args.dy, in(2));
    to_.set("dx", args.dx, out());
    to_.call("extreme_grad", args);
  }

  void unary() {
    UnaryArgs<T, S> args;
    const bool affine = op_.kind == ir::OpKind::affine;
    const double alpha = affine ? real("scale", 1) : real("alpha", op_.kind == ir::OpKind::elu ? 1 : 0);
    const double shift = real("shift", 0);
    to_.set("fn", args.fn, enumerator(kUnaries, ir::traits(op_.kind).name));
    if (alpha != 0) to_.set("alpha", args.alpha, alpha);
    if (shift != 0) to_.set("shift", args.shift, shift);
    to_.set("x", args.x, in(0));
    to_.set("y", args.y, out());
    to_.call("unary", args);
  }

  void unary_grad() {
    UnaryGradArgs<T, S> args;
    const double alpha = real("alpha", 0);
    to_.set("fn", args.fn, enumerator(kUnaries, op_.attrs.text("fn", "relu")));
    if (alpha != 0) to_.set("alpha", args.alpha, alpha);
    to_.set("y", args.y, in(0));
    to_.set("dy", args.dy, in(1));
    to_.set("dx", args.dx, out());
    to_.call("unary_grad", args);
  }

  void dropout() {
    DropoutArgs<T, S> args;
    const ir::Type& type = program_.type(op_.inputs[0]);
    // Of a block the destinations are the first of the sources, so that one list names both ends of an edge.
    std::int32_t set = kNoSet;
    if (type.domain == ir::Domain::kNode) set = type.set;
    if (type.domain == ir::Domain::kEdge) set = program_.graphs[static_cast<std::size_t>(type.set)].src_set;
    to_.set("p", args.p, real("p", 0.5));
    to_.set("seed", args.seed, to_.seed());
    to_.set("epoch", args.epoch, to_.epoch());
    to_.set("stream", args.stream, static_cast<std::uint32_t>(integer("stream", 0)));
    to_.set("row_ids", args.row_ids, to_.row_ids(set));
    if (type.domain == ir::Domain::kEdge) to_.set("in_edges", args.in_edges, to_.edges_pointer(type.set));
    if (type.layout == ir::Layout::kSparse) to_.set("sparse_rows", args.sparse_rows, to_.features_pointer());
    to_.set("x", args.x, in(0));
    to_.set("y", args.y, out());
    if (flag("reversed")) to_.set("reversed", args.reversed, true);
    to_.call("dropout", args);
  }

  void sum_rows() {
    SumRowsArgs<T, S> args;
    to_.set("x", args.x, in(0));
    to_.set("y", args.y, out());
    if (op_.inputs.size() == 2) to_.set("weights", args.weights, in(1));
    to_.call("sum_rows", args);
  }

  void column_groups(std::string_view count) {
    ColumnGroupsArgs<T, S> args;
    to_.set("fn", args.fn, enumerator(kColumnGroups, ir::traits(op_.kind).name));
    to_.set("heads", args.heads, integer(count, 1));
    to_.set("x", args.x, in(0));
    to_.set("y", args.y, out());
    if (op_.inputs.size() == 2) to_.set("weights", args.weights, in(1));
    to_.call("column_groups", args);
  }

  /// One copy an operand, each into its columns.
  void concat() {
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < op_.inputs.size(); ++i) {
      const std::int64_t cols = program_.type(op_.inputs[i]).cols;
      copy_columns(i, 0, begin, cols);
      begin += cols;
    }
  }

  void copy_columns(std::size_t i, std::int64_t src_begin, std::int64_t dst_begin, std::int64_t count) {
    CopyColumnsArgs<T, S> args;
    to_.set("src", args.src, in(i));
    to_.set("src_begin", args.src_begin, src_begin);
    to_.set("dst", args.dst, out());
    to_.set("dst_begin", args.dst_begin, dst_begin);
    to_.set("count", args.count, count);
    to_.call("copy_columns", args);
  }

  void batch_norm() {
    BatchNormArgs<T, S> args;
    to_.set("x", args.x, in(0));
    to_.set("gamma", args.gamma, in(1));
    to_.set("beta", args.beta, in(2));
    to_.set("eps", args.eps, real("eps", 1e-5));
    to_.set("y", args.y, out(0));
    to_.set("mean", args.mean, out(1));
    to_.set("var", args.var, out(2));
    to_.call("batch_norm", args);
  }

  void batch_norm_inference() {
    BatchNormInferenceArgs<T, S> args;
    to_.set("x", args.x, in(0));
    to_.set("gamma", args.gamma, in(1));
    to_.set("beta", args.beta, in(2));
    to_.set("mean", args.mean, in(3));
    to_.set("var", args.var, in(4));
    to_.set("eps", args.eps, real("eps", 1e-5));
    to_.set("y", args.y, out());
    to_.call("batch_norm_inference", args);
  }

  void batch_norm_grad() {
    BatchNormGradArgs<T, S> args;
    set_norm_grad_operands(&args);
    to_.call("batch_norm_grad", args);
  }

  void layer_norm() {
    LayerNormArgs<T, S> args;
    to_.set("graph_mode", args.graph_mode, op_.attrs.text("mode", "node") == "graph");
    to_.set("x", args.x, in(0));
    to_.set("gamma", args.gamma, in(1));
    to_.set("beta", args.beta, in(2));
    to_.set("eps", args.eps, real("eps", 1e-5));
    to_.set("y", args.y, out(0));
    to_.set("mean", args.mean, out(1));
    to_.set("var", args.var, out(2));
    to_.call("layer_norm", args);
  }

  void layer_norm_grad() {
    LayerNormGradArgs<T, S> args;
    to_.set("graph_mode", args.graph_mode, op_.attrs.text("mode", "node") == "graph");
    set_norm_grad_operands(&args);
    to_.call("layer_norm_grad", args);
  }

  template <class Args>
  void set_norm_grad_operands(Args* args) {
    to_.set("x", args->x, in(0));
    to_.set("gamma", args->gamma, in(1));
    to_.set("mean", args->mean, in(2));
    to_.set("var", args->var, in(3));
    to_.set("dy", args->dy, in(4));
    to_.set("eps", args->eps, real("eps", 1e-5));
    to_.set("dx", args->dx, out(0));
    to_.set("dgamma", args->dgamma, out(1));
    to_.set("dbeta", args->dbeta, out(2));
  }

  void batch_norm_update() {
    BatchNormUpdateArgs<T, S> args;
    // The number of rows that the statistics were taken over is that of the op that made them.
    ir::ValueId counted = ir::kNoValue;
    for (const ir::Op& other : program_.ops) {
      if (other.kind == ir::OpKind::batch_norm && other.results[1] == op_.inputs[2]) counted = other.inputs[0];
    }
    if (counted == ir::kNoValue) {
      to_.set("n", args.n, integer("rows", 1));
    } else {
      to_.set("n", args.n, to_.rows(counted));
    }
    to_.set("momentum", args.momentum, real("momentum", 0.1));
    to_.set("mean", args.mean, in(2));
    to_.set("var", args.var, in(3));
    to_.set("running_mean", args.running_mean, in(0));
    to_.set("running_var", args.running_var, in(1));
    to_.call("batch_norm_update", args);
  }

  void gather() {
    GatherArgs<T, S> args;
    to_.set("pattern", args.pattern, edges(false));
    to_.set("by_source", args.by_source, op_.kind == ir::OpKind::gather_src);
    to_.set("x", args.x, in(0));
    to_.set("e", args.e, out());
    to_.call("gather", args);
  }

  void segment_reduce() {
    SegmentReduceArgs<T, S> args;
    to_.set("pattern", args.pattern, edges(op_.attrs.text("side", "dst") != "dst"));
    to_.set("e", args.e, in(0));
    to_.set("reduce", args.reduce, reduce());
    to_.set("y", args.y, out());
    to_.set("arg", args.arg, to_.index(result(1)));
    to_.call("segment_reduce", args);
  }

  void segment_arg_grad() {
    SegmentArgGradArgs<T, S> args;
    to_.set("offsets", args.offsets, offsets());
    to_.set("arg", args.arg, to_.index(op_.inputs[0]));
    to_.set("dy", args.dy, in(1));
    to_.set("de", args.de, out());
    to_.call("segment_arg_grad", args);
  }

  void spmm() {
    SpmmArgs<T, S> args;
    const bool backwards = flag("transpose");
    const std::int64_t heads = integer("heads", 1);
    to_.set("pattern", args.pattern, edges(backwards));
    to_.set("x", args.x, in(0));
    to_.set("w", args.w, to_.elements(ir::weighs_edges(op_) ? op_.inputs[1] : ir::kNoValue));
    if (heads != 1) to_.set("heads", args.heads, heads);
    to_.set("reduce", args.reduce, reduce());
    to_.set("y", args.y, out());
    to_.set("arg", args.arg, to_.index(result(1)));
    if (to_.has_tiles(backwards)) to_.set("tiles", args.tiles, to_.tiles(backwards));
    if (in_halves(op_.inputs[0])) to_.set("x_half", args.x_half, to_.halves(op_.inputs[0]));
    if (in_halves(op_.results[0])) to_.set("y_half", args.y_half, to_.halves(op_.results[0]));
    if (op_.attrs.has("panel")) to_.set("panel", args.panel, integer("panel", 0));
    if (flag("scaled")) to_.set("scales", args.scales, in(op_.inputs.size() - 1));
    to_.call("spmm", args);
  }

  const ir::GraphDef& graph_def() const { return program_.graphs[static_cast<std::size_t>(graph())]; }

  void arg_sources() {
    ArgSourcesArgs<T, S> args;
    to_.set("in_edges", args.in_edges, edges(false));
    to_.set("ids", args.ids, to_.row_ids(graph_def().src_set));
    to_.set("arg", args.arg, to_.index(op_.inputs[0]));
    to_.set("dy", args.dy, in(1));
    to_.set("w", args.w, to_.elements(operand(2)));
    to_.set("source", args.source, to_.index(result(0)));
    to_.set("weighed", args.weighed, out(1));
    to_.call("arg_sources", args);
  }

  void spmm_arg_grad() {
    SpmmArgGradArgs<T, S> args;
    const bool by_id = flag("by_id");
    to_.set("out_edges", args.out_edges, edges(!by_id));
    if (!by_id) to_.set("in_offsets", args.in_offsets, offsets());
    to_.set("arg", args.arg, to_.index(op_.inputs[0]));
    to_.set("dy", args.dy, in(1));
    if (!by_id) to_.set("w", args.w, to_.elements(operand(2)));
    to_.set("dx", args.dx, out());
    if (by_id) to_.set("ids", args.ids, to_.row_ids(graph_def().dst_set));
    to_.call("spmm_arg_grad", args);
  }

  void spmm_arg_weight_grad() {
    SpmmArgWeightGradArgs<T, S> args;
    to_.set("in_edges", args.in_edges, edges(false));
    to_.set("arg", args.arg, to_.index(op_.inputs[0]));
    to_.set("dy", args.dy, in(1));
    to_.set("x", args.x, in(2));
    to_.set("dw", args.dw, to_.result_elements(op_.results[0]));
    to_.call("spmm_arg_weight_grad", args);
  }

  void sddmm() {
    SddmmArgs<T, S> args;
    to_.set("pattern", args.pattern, edges(false));
    to_.set("y", args.y, in(0));
    to_.set("x", args.x, in(1));
    to_.set("heads", args.heads, integer("heads", 1));
    to_.set("e", args.e, out());
    to_.call("sddmm", args);
  }

  void edge_softmax() {
    EdgeSoftmaxArgs<T, S> args;
    to_.set("offsets", args.offsets, offsets());
    to_.set("e", args.e, in(0));
    to_.set("a", args.a, out());
    to_.call("edge_softmax", args);
  }

  void edge_softmax_grad() {
    EdgeSoftmaxGradArgs<T, S> args;
    to_.set("offsets", args.offsets, offsets());
    to_.set("a", args.a, in(0));
    to_.set("da", args.da, in(1));
    to_.set("de", args.de, out());
    to_.call("edge_softmax_grad", args);
  }

  void attention() {
    AttentionArgs<T, S> args;
    to_.set("pattern", args.pattern, edges(false));
    to_.set("z", args.z, in(0));
    to_.set("s_src", args.s_src, in(1));
    to_.set("s_dst", args.s_dst, in(2));
    const bool gated = ir::has_gate(program_, op_);
    to_.set("gate", args.gate, gated ? in(3) : to_.matrix(ir::kNoValue));
    to_.set("heads", args.heads, integer("heads", 1));
    to_.set("slope", args.slope, real("slope", 0.2));
    to_.set("y", args.y, out(0));
    to_.set("tangent", args.tangent, out(1));
    to_.set("lse", args.lse, out(2));
    if (to_.has_tiles(false)) to_.set("tiles", args.tiles, to_.tiles(false));
    if (!gated && op_.inputs.size() > 3) to_.set("range", args.range, in(3));
    to_.call("attention", args);
  }

  void attention_grad() {
    AttentionGradArgs<T, S> args;
    const bool backwards = flag("transpose");
    to_.set("pattern", args.pattern, edges(backwards));
    to_.set("z", args.z, in(0));
    to_.set("s_src", args.s_src, in(1));
    to_.set("s_dst", args.s_dst, in(2));
    to_.set("lse", args.lse, in(3));
    to_.set("dots", args.dots, in(4));
    to_.set("dy", args.dy, in(5));
    to_.set("gate", args.gate, in(6));
    to_.set("heads", args.heads, integer("heads", 1));
    to_.set("slope", args.slope, real("slope", 0.2));
    to_.set("dz", args.dz, out(0));
    to_.set("ds_src", args.ds_src, out(1));
    if (to_.has_tiles(backwards)) to_.set("tiles", args.tiles, to_.tiles(backwards));
    to_.call("attention_grad", args);
  }

  void cross_entropy() {
    CrossEntropyArgs<T, S> args;
    const bool trains = ir::is_training_loss(op_);
    to_.set("logits", args.logits, in(0));
    to_.set("labels", args.labels, to_.labels(trains));
    to_.set("rows", args.rows, to_.loss_rows(trains));
    to_.set("class_weights", args.class_weights, to_.class_weights());
    to_.set("label_smoothing", args.label_smoothing, real("label_smoothing", 0));
    to_.set("loss", args.loss, out(0));
    to_.set("dlogits", args.dlogits, out(1));
    to_.call("cross_entropy", args);
  }

  template <class Args>
  void loss_of_targets(std::string_view kernel) {
    Args args;
    const bool trains = ir::is_training_loss(op_);
    to_.set("logits", args.logits, in(0));
    to_.set("targets", args.targets, to_.targets(trains));
    to_.set("rows", args.rows, to_.loss_rows(trains));
    to_.set("loss", args.loss, out(0));
    to_.set("dlogits", args.dlogits, out(1));
    to_.set("labelled", args.labelled, to_.labelled(trains));
    to_.call(kernel, args);
  }

  const ir::Program& program_;
  const ir::Op& op_;
  To& to_;
};

}  // namespace gneiss::kernels
