// One case an op: operands and attributes become the members of its Args, and the variant table gives the function.
#include "kernels/call.h"

#include <algorithm>
#include <type_traits>

#include "base/error.h"
#include "base/parallel.h"
#include "kernels/attention.h"
#include "kernels/attention_grad.h"
#include "kernels/band_views.h"
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
#include "kernels/fill.h"
#include "kernels/gather.h"
#include "kernels/gemm.h"
#include "kernels/halo.h"
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
namespace {

using ir::Op;
using ir::OpKind;

Reduce reduce_of(const Op& op) {
  const std::string fn = op.attrs.text("fn", "sum");
  if (fn == "mean") return Reduce::kMean;
  if (fn == "max") return Reduce::kMax;
  return fn == "min" ? Reduce::kMin : Reduce::kSum;
}

Unary unary_of(std::string_view name) {
  constexpr std::pair<std::string_view, Unary> kNames[] = {
      {"affine", Unary::kAffine}, {"relu", Unary::kRelu},       {"leaky_relu", Unary::kLeakyRelu},
      {"elu", Unary::kElu},       {"sigmoid", Unary::kSigmoid}, {"tanh", Unary::kTanh},
      {"exp", Unary::kExp},       {"log", Unary::kLog},         {"sqrt", Unary::kSqrt},
      {"rsqrt", Unary::kRsqrt}};
  for (const auto& [known, fn] : kNames) {
    if (known == name) return fn;
  }
  GNEISS_ASSERT(false, "'{}' is not a function of one element", name);
}

template <class T, Space S>
class Binding {
 public:
  Binding(const Op& op, const Operands<T, S>& operands, CallIn<S>* call) : op_(op), from_(operands), call_(*call) {}

  void bind() {
    call_.run = {};
    call_.bytes = traffic();
    if constexpr (kOnHost) call_.band = {};
    bind_kind();
    if constexpr (kOnHost) {
      if (!has_bands()) call_.band = {};
    }
  }

 private:
  static constexpr bool kOnHost = S == Space::kHost;
  using ContextIn = std::conditional_t<kOnHost, Context, DeviceContext>;

  MatrixView<T, S> in(std::size_t i) const { return from_.real(op_.inputs[i]); }
  MatrixView<T, S> out(std::size_t i = 0) const { return from_.real(op_.results[i]); }
  MatrixView<std::int32_t, S> index_out(std::size_t i) const {
    return i < op_.results.size() ? from_.index(op_.results[i]) : MatrixView<std::int32_t, S>();
  }
  /// Elements of a value stored in 16 bits; of any other, none.
  HalfElements<std::uint16_t, S> halves(ir::ValueId v) const {
    const ir::Type& type = from_.program->type(v);
    if (!ir::is_half(type.scalar)) return {};
    return {ir::half_of(type.scalar), from_.halves(v), type.cols};
  }
  std::int32_t graph() const { return static_cast<std::int32_t>(op_.attrs.integer("graph", 0)); }
  const SparsePatternIn<S>& in_edges() const { return *from_.in_edges(graph()); }
  const SparsePatternIn<S>& out_edges() const { return *from_.out_edges(graph()); }
  double real(std::string_view name, double otherwise) const { return op_.attrs.real(name, otherwise); }
  bool flag(std::string_view name) const { return op_.attrs.integer(name, 0) != 0; }
  static SpanIn<const T, S> flat(MatrixView<T, S> m) { return {m.data, static_cast<std::size_t>(m.size())}; }
  static SpanIn<T, S> flat_result(MatrixView<T, S> m) { return {m.data, static_cast<std::size_t>(m.size())}; }

  /// Every operand read and every result written once.
  double traffic() const {
    double bytes = 0;
    const auto count = [&](ir::ValueId v) {
      if (v == ir::kNoValue) return;
      const ir::Type& type = from_.program->type(v);
      const std::int64_t values =
          type.layout == ir::Layout::kSparse ? from_.real(v).size() : from_.sizes->rows(type) * type.cols;
      bytes += static_cast<double>(std::max<std::int64_t>(values, 0)) *
               static_cast<double>(ir::scalar_bytes(type.scalar, sizeof(T)));
    };
    std::for_each(op_.inputs.begin(), op_.inputs.end(), count);
    std::for_each(op_.results.begin(), op_.results.end(), count);
    return bytes;
  }

  /// Chooses the variant and keeps the arguments for the call.
  template <class Table, class Args>
  void use(std::string_view name, Table variants, const Args& args) {
    if constexpr (kOnHost) {
      const Variant<Args>& variant = choose(name, variants, args);
      call_.variant = variant.name;
      call_.passes = variant.passes;
      call_.run = [run = variant.run, args](const Context& context) { run(context, args); };
      if (variant.bands != nullptr) use_bands(variant.bands(args), args);
    } else {
      const DeviceKernel<Args>& kernel = kernel_for(name, args);
      call_.run = [run = kernel.run, args](const DeviceContext& context) { run(context, args); };
    }
  }

  /// The device's kernel, noted in the call. Errors: kUnsupported if there is none that takes the arguments.
  template <class Args>
  const DeviceKernel<Args>& kernel_for(std::string_view name, const Args& args) {
    const DeviceKernel<Args>* kernel = find_kernel<Args>(*from_.kernels);
    const std::string_view reason = kernel == nullptr ? "there is none yet" : kernel->declines(args);
    if (!reason.empty()) throw_no_kernel(name, reason);
    call_.variant = kernel->name;
    call_.workspace_bytes = kernel->workspace_bytes(args);
    return *kernel;
  }

  [[noreturn]] void throw_no_kernel(std::string_view name, std::string_view reason) const {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("line {} of the model: no kernel for '{}' on devices: {}", op_.location.line, name, reason),
                "--device", "use --device cpu");
  }

  /// Keeps how the chosen variant is cut into bands.
  template <class Args>
  void use_bands(const BandKernel<Args>& kernel, const Args& args) {
    if (kernel.run == nullptr) return;
    BandCall& band = call_.band;
    band.rows = band_rows();
    band.shared_bytes = kernel.shared_bytes;
    band.task_bytes = kernel.task_bytes;
    band.run = [run = kernel.run, args](const Context& context, const Band& b) { run(context, args, b); };
    if (kernel.prepare != nullptr) {
      band.prepare = [prepare = kernel.prepare, args](const Context& context) { prepare(context, args); };
    }
    if (kernel.finish != nullptr) {
      band.finish = [finish = kernel.finish, args](const Context& context, std::int64_t tasks) {
        finish(context, args, tasks);
      };
    }
  }

  /// Chooses the variant, which runs on views of a band of rows if it finishes each row at once.
  template <class Table, class Args>
  void use_by_rows(std::string_view name, Table variants, const Args& args) {
    use(name, variants, args);
    if constexpr (kOnHost) {
      if (call_.passes != Passes::kOne) return;
      call_.band.rows = band_rows();
      call_.band.run = [run = choose(name, variants, args).run, args](const Context& context, const Band& band) {
        run(context, band_of(args, band));
      };
    }
  }

  static std::size_t length(std::span<const T> span) { return span.size(); }
  static std::size_t length(DeviceSpan<const T> span) { return span.size; }
  static bool has_tiles(const TiledPatternIn<S>& tiles) { return tiles.tile_cols != 0; }
  static std::int64_t entries(const SparsePatternIn<S>& pattern) {
    if constexpr (kOnHost) {
      return pattern.nonzeros();
    } else {
      return static_cast<std::int64_t>(pattern.indices.size);
    }
  }

  std::int64_t rows(ir::ValueId v) const { return from_.sizes->rows(from_.program->type(v)); }
  std::int64_t band_rows() const { return rows(ir::row_value(op_)); }

  /// Only rows of nodes or edges are cut, and only where a value has an entry in every row.
  bool has_bands() const {
    if (!call_.band.can_be_cut() || from_.program->type(ir::row_value(op_)).domain == ir::Domain::kGlobal) return false;
    const bool sparse = !op_.inputs.empty() && from_.program->type(op_.inputs[0]).layout == ir::Layout::kSparse;
    return !sparse || (op_.kind == OpKind::spx_gemm && !flag("ta"));
  }

  void use_gemm() {
    GemmArgs<T, S> args{in(0), in(1), out(), Orientation::kNN};
    if (flag("ta")) args.orientation = Orientation::kTN;
    if (flag("tb")) args.orientation = Orientation::kNT;
    if (op_.inputs.size() == 3) args.addend = in(2);
    args.a_half = halves(op_.inputs[0]);
    const std::int64_t inner = flag("ta") ? args.a.rows : args.a.cols;
    call_.workspace_bytes = gemm_workspace_bytes(args.orientation, args.c.rows, args.c.cols, inner, sizeof(T));
    call_.flops = 2.0 * static_cast<double>(args.c.size()) * static_cast<double>(inner);
    use("gemm", gemm_variants<T>(), args);
  }

  void use_spx_gemm() {
    SpxGemmArgs<T, S> args{*from_.features(flag("ta")), flat(in(0)), in(1), out()};
    if (flag("ta") && length(from_.transposed_values()) > 0) args.values = from_.transposed_values();
    call_.flops = 2.0 * static_cast<double>(entries(args.a)) * static_cast<double>(args.b.cols);
    use_by_rows("spx_gemm", spx_gemm_variants<T>(), args);
  }

  void use_spmm() {
    SpmmArgs<T, S> args{flag("transpose") ? out_edges() : in_edges(),
                        in(0),
                        {},
                        op_.attrs.integer("heads", 1),
                        reduce_of(op_),
                        out(),
                        index_out(1),
                        from_.source_tiles(op_, flag("transpose"))};
    if (ir::weighs_edges(op_)) args.w = flat(in(1));
    if (flag("scaled")) args.scales = in(op_.inputs.size() - 1);
    args.x_half = halves(op_.inputs[0]);
    args.y_half = halves(op_.results[0]);
    args.panel = op_.attrs.integer("panel", 0);
    if constexpr (kOnHost) call_.workspace_bytes = spmm_workspace_bytes(args);
    call_.flops = 2.0 * static_cast<double>(entries(args.pattern)) * static_cast<double>(args.x.cols);
    use_by_rows("spmm", spmm_variants<T>(), args);
  }

  void use_spmm_arg_grad() {
    SpmmArgGradArgs<T, S> args{out_edges(), in_edges().offsets, from_.index(op_.inputs[0]), in(1), {}, out()};
    if (op_.inputs.size() == 3) args.w = flat(in(2));
    use("spmm_arg_grad", spmm_arg_grad_variants<T>(), args);
  }

  /// The result, or a view without rows if nobody wants it.
  MatrixView<T, S> optional_out(std::size_t i) const {
    return op_.results[i] == ir::kNoValue ? MatrixView<T, S>() : out(i);
  }

  void use_attention() {
    AttentionArgs<T, S> args{
        in_edges(),         in(0), in(1),           in(2),          {}, op_.attrs.integer("heads", 1),
        real("slope", 0.2), out(), optional_out(1), optional_out(2)};
    if (op_.inputs.size() == 4) args.gate = in(3);
    args.tiles = from_.source_tiles(op_, false);
    call_.workspace_bytes = attention_workspace_bytes(args.y.rows, args.heads, has_tiles(args.tiles), sizeof(T));
    call_.flops = 4.0 * static_cast<double>(entries(args.pattern)) * static_cast<double>(args.z.cols);
    use("attention", attention_variants<T>(), args);
  }

  void use_attention_grad() {
    AttentionGradArgs<T, S> args{flag("transpose") ? out_edges() : in_edges(),
                                 in(0),
                                 in(1),
                                 in(2),
                                 in(3),
                                 in(4),
                                 in(5),
                                 {},
                                 op_.attrs.integer("heads", 1),
                                 real("slope", 0.2),
                                 out(0),
                                 out(1)};
    if (op_.inputs.size() == 7) args.gate = in(6);
    args.tiles = from_.source_tiles(op_, flag("transpose"));
    call_.flops = 4.0 * static_cast<double>(entries(args.pattern)) * static_cast<double>(args.z.cols);
    call_.workspace_bytes = attention_grad_workspace_bytes(args.dy.rows, args.heads, sizeof(T));
    use("attention_grad", attention_grad_variants<T>(), args);
  }

  void use_segment_reduce() {
    const bool by_destination = op_.attrs.text("side", "dst") == "dst";
    use("segment_reduce", segment_reduce_variants<T>(),
        SegmentReduceArgs<T, S>{by_destination ? in_edges() : out_edges(), in(0), reduce_of(op_), out(), index_out(1)});
  }

  void use_binary(Binary fn) { use_by_rows("binary", binary_variants<T>(), BinaryArgs<T, S>{fn, in(0), in(1), out()}); }

  void use_unary() {
    const bool is_affine = op_.kind == OpKind::affine;
    const double alpha = is_affine ? real("scale", 1) : real("alpha", op_.kind == OpKind::elu ? 1 : 0);
    use_by_rows("unary", unary_variants<T>(),
                UnaryArgs<T, S>{unary_of(ir::traits(op_.kind).name), alpha, real("shift", 0), in(0), out()});
  }

  void use_columns(ColumnGroups fn, std::string_view attr) {
    use_by_rows("column_groups", column_groups_variants<T>(),
                ColumnGroupsArgs<T, S>{fn, op_.attrs.integer(attr, 1), in(0), out(), weights()});
  }

  /// The second operand, or a view without rows.
  ConstMatrixView<T, S> weights() const {
    return op_.inputs.size() == 2 ? ConstMatrixView<T, S>(in(1)) : ConstMatrixView<T, S>();
  }

  /// The key is read at every run; everything else is fixed.
  void use_dropout() {
    const ir::Type& type = from_.program->type(op_.inputs[0]);
    DropoutArgs<T, S> args;
    args.p = real("p", 0.5);
    args.stream = static_cast<std::uint32_t>(op_.attrs.integer("stream", 0));
    args.x = in(0);
    args.y = out();
    if (type.layout == ir::Layout::kSparse) args.sparse_rows = from_.features(false);
    if (type.domain == ir::Domain::kNode) args.row_ids = from_.row_ids(type.set);
    if (type.domain == ir::Domain::kEdge) {
      args.in_edges = from_.in_edges(type.set);
      // Of a block the destinations are the first of the sources, so that one list names both ends.
      args.row_ids = from_.row_ids(from_.program->graphs[static_cast<std::size_t>(type.set)].src_set);
    }
    if constexpr (kOnHost) {
      use_dropout_by_rows(type, args);
    } else {
      call_.run = [run = kernel_for("dropout", args).run, args, key = from_.key](const DeviceContext& context) {
        DropoutArgs<T, S> now = args;
        now.seed = key->seed;
        now.epoch = key->epoch;
        run(context, now);
      };
    }
  }

  void use_dropout_by_rows(const ir::Type& type, const DropoutArgs<T>& args) {
    const Variant<DropoutArgs<T>>& variant = choose("dropout", dropout_variants<T>(), args);
    call_.variant = variant.name;
    call_.run = [run = variant.run, args, key = from_.key](const Context& context) {
      DropoutArgs<T> now = args;
      now.seed = key->seed;
      now.epoch = key->epoch;
      run(context, now);
    };
    if (type.domain != ir::Domain::kNode || args.sparse_rows != nullptr) return;
    call_.band.rows = args.x.rows;
    call_.band.run = [run = variant.run, args, key = from_.key](const Context& context, const Band& band) {
      DropoutArgs<T> now = band_of(args, band);
      now.seed = key->seed;
      now.epoch = key->epoch;
      run(context, now);
    };
  }

  void use_norm() {
    const std::int64_t rows = in(0).rows;
    const std::int64_t cols = in(0).cols;
    const bool graph_mode = op_.attrs.text("mode", "node") == "graph";
    const double eps = real("eps", 1e-5);
    call_.workspace_bytes = norm_workspace_bytes(rows, cols, sizeof(T));
    switch (op_.kind) {
      case OpKind::batch_norm:
        return use("batch_norm", batch_norm_variants<T>(),
                   BatchNormArgs<T, S>{in(0), in(1), in(2), eps, out(0), out(1), out(2)});
      case OpKind::batch_norm_inference:
        return use_by_rows("batch_norm_inference", batch_norm_inference_variants<T>(),
                           BatchNormInferenceArgs<T, S>{in(0), in(1), in(2), in(3), in(4), eps, out()});
      case OpKind::batch_norm_grad:
        return use("batch_norm_grad", batch_norm_grad_variants<T>(),
                   BatchNormGradArgs<T, S>{in(0), in(1), in(2), in(3), in(4), eps, out(0), out(1), out(2)});
      case OpKind::layer_norm:
        return use("layer_norm", layer_norm_variants<T>(),
                   LayerNormArgs<T, S>{graph_mode, in(0), in(1), in(2), eps, out(0), out(1), out(2)});
      default:
        return use("layer_norm_grad", layer_norm_grad_variants<T>(),
                   LayerNormGradArgs<T, S>{graph_mode, in(0), in(1), in(2), in(3), in(4), eps, out(0), out(1), out(2)});
    }
  }

  void use_batch_norm_update() {
    // The number of rows that the statistics were taken over is that of the op that made them.
    const ir::ValueId mean = op_.inputs[2];
    std::int64_t n = op_.attrs.integer("rows", 1);
    for (const Op& other : from_.program->ops) {
      if (other.kind == OpKind::batch_norm && other.results[1] == mean) n = rows(other.inputs[0]);
    }
    use("batch_norm_update", batch_norm_update_variants<T>(),
        BatchNormUpdateArgs<T, S>{n, real("momentum", 0.1), in(2), in(3), in(0), in(1)});
  }

  /// One copy per operand, into its block of columns.
  void use_concat() {
    call_.parts.resize(op_.inputs.size());
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < op_.inputs.size(); ++i) {
      use_by_rows("copy_columns", copy_columns_variants<T>(),
                  CopyColumnsArgs<T, S>{in(i), 0, out(), begin, in(i).cols});
      begin += in(i).cols;
      call_.parts[i].run = call_.run;
      if constexpr (kOnHost) call_.parts[i].band = call_.band;
    }
    call_.run = [parts = call_.parts.data(), count = call_.parts.size()](const ContextIn& context) {
      for (std::size_t i = 0; i < count; ++i) parts[i].run(context);
    };
    if constexpr (kOnHost) {
      call_.band.run = [parts = call_.parts.data(), count = call_.parts.size()](const Context& context,
                                                                                const Band& band) {
        for (std::size_t i = 0; i < count; ++i) parts[i].band.run(context, band);
      };
    }
  }

  void use_loss() {
    call_.workspace_bytes = loss_workspace_bytes(in(0).rows);
    const LossOperandsIn<S>& of = ir::is_training_loss(op_) ? from_.training : from_.validation;
    if (op_.kind == OpKind::cross_entropy) {
      return use("cross_entropy", cross_entropy_variants<T>(),
                 CrossEntropyArgs<T, S>{in(0), of.labels, of.rows, from_.class_weights, real("label_smoothing", 0),
                                        out(0), optional_out(1)});
    }
    if (op_.kind == OpKind::bce_with_logits) {
      return use("bce_with_logits", bce_with_logits_variants<T>(),
                 BceWithLogitsArgs<T, S>{in(0), of.targets, of.rows, out(0), optional_out(1), of.labelled});
    }
    use("mse", mse_variants<T>(), MseArgs<T, S>{in(0), of.targets, of.rows, out(0), optional_out(1), of.labelled});
  }

  /// Values that are written once, straight from the graph or a number.
  void use_fill(Fill what) {
    FillArgs<T, S> args;
    args.what = what;
    args.value = real("value", 0);
    args.y = out();
    if (what == Fill::kEdgeWeights) args.weights = from_.edge_weights(graph());
    if (what == Fill::kDegrees) args.pattern = op_.attrs.text("side", "dst") == "dst" ? &in_edges() : &out_edges();
    use("fill", fill_variants<T>(), args);
  }

  /// Ops between ranks have one way to run.
  void use_ranks(void (*run)(const Context& context, const HaloArgs<T>& args)) {
    if constexpr (kOnHost) {
      const HaloArgs<T> args{from_.communicator, from_.halo, in(0), out(), from_.space};
      call_.variant = "ranks";
      if (op_.kind != OpKind::rank_sum)
        call_.workspace_bytes = halo_workspace_bytes(op_.attrs.integer("packed", 0), args.x.cols, sizeof(T));
      call_.run = [run, args](const Context& context) { run(context, args); };
    } else {
      throw_no_kernel(ir::traits(op_.kind).name, "ranks talk on the host alone");
    }
  }

  void bind_kind() {
    switch (op_.kind) {
      case OpKind::input:
      case OpKind::param:
        call_.variant = "data";
        return;
      case OpKind::constant:
        return use_fill(Fill::kConstant);
      case OpKind::edge_weight:
        return use_fill(Fill::kEdgeWeights);
      case OpKind::degree:
        return use_fill(Fill::kDegrees);
      case OpKind::gemm:
        return use_gemm();
      case OpKind::spx_gemm:
        return use_spx_gemm();
      case OpKind::to_dense:
        return use("to_dense", to_dense_variants<T>(), ToDenseArgs<T, S>{*from_.features(false), flat(in(0)), out()});
      case OpKind::to_float:
        return use_by_rows("to_float", to_float_variants<T>(), ToFloatArgs<T, S>{halves(op_.inputs[0]), out()});
      case OpKind::to_half:
        return use("to_half", to_half_variants<T>(), ToHalfArgs<T, S>{in(0), halves(op_.results[0])});
      case OpKind::add:
        return use_binary(Binary::kAdd);
      case OpKind::mul_add:
        return use_by_rows("mul_add", mul_add_variants<T>(), MulAddArgs<T, S>{in(0), in(1), in(2), out()});
      case OpKind::sub:
        return use_binary(Binary::kSub);
      case OpKind::mul:
        return use_binary(Binary::kMul);
      case OpKind::div:
        return use_binary(Binary::kDiv);
      case OpKind::maximum:
        return use_binary(Binary::kMaximum);
      case OpKind::minimum:
        return use_binary(Binary::kMinimum);
      case OpKind::maximum_grad:
        return use_by_rows("extreme_grad", extreme_grad_variants<T>(),
                           ExtremeGradArgs<T, S>{op_.attrs.text("fn", "maximum") == "maximum", !flag("side"), in(0),
                                                 in(1), in(2), out()});
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
        return use_unary();
      case OpKind::unary_grad: {
        const std::string fn = op_.attrs.text("fn", "relu");
        return use_by_rows("unary_grad", unary_grad_variants<T>(),
                           UnaryGradArgs<T, S>{unary_of(fn), real("alpha", 0), in(0), in(1), out()});
      }
      case OpKind::dropout:
        return use_dropout();
      case OpKind::sum_rows:
        call_.workspace_bytes = sum_rows_workspace_bytes(in(0).rows, in(0).cols, sizeof(T));
        return use("sum_rows", sum_rows_variants<T>(), SumRowsArgs<T, S>{in(0), out(), weights()});
      case OpKind::sum_groups:
        return use_columns(ColumnGroups::kSumGroups, "groups");
      case OpKind::expand_groups:
        return use_columns(ColumnGroups::kExpandGroups, "groups");
      case OpKind::sum_heads:
        return use_columns(ColumnGroups::kSumHeads, "heads");
      case OpKind::tile_heads:
        return use_columns(ColumnGroups::kTileHeads, "heads");
      case OpKind::concat:
        return use_concat();
      case OpKind::slice:
        return use_by_rows(
            "copy_columns", copy_columns_variants<T>(),
            CopyColumnsArgs<T, S>{in(0), op_.attrs.integer("begin", 0), out(), 0, op_.attrs.integer("cols", 0)});
      case OpKind::batch_norm:
      case OpKind::batch_norm_inference:
      case OpKind::batch_norm_grad:
      case OpKind::layer_norm:
      case OpKind::layer_norm_grad:
        return use_norm();
      case OpKind::batch_norm_update:
        return use_batch_norm_update();
      case OpKind::gather_src:
      case OpKind::gather_dst:
        return use("gather", gather_variants<T>(),
                   GatherArgs<T, S>{in_edges(), op_.kind == OpKind::gather_src, in(0), out()});
      case OpKind::segment_reduce:
        return use_segment_reduce();
      case OpKind::segment_arg_grad:
        return use("segment_arg_grad", segment_arg_grad_variants<T>(),
                   SegmentArgGradArgs<T, S>{in_edges().offsets, from_.index(op_.inputs[0]), in(1), out()});
      case OpKind::spmm:
        return use_spmm();
      case OpKind::spmm_arg_grad:
        return use_spmm_arg_grad();
      case OpKind::spmm_arg_weight_grad:
        return use(
            "spmm_arg_weight_grad", spmm_arg_weight_grad_variants<T>(),
            SpmmArgWeightGradArgs<T, S>{in_edges(), from_.index(op_.inputs[0]), in(1), in(2), flat_result(out())});
      case OpKind::sddmm:
        call_.flops = 2.0 * static_cast<double>(entries(in_edges())) * static_cast<double>(in(0).cols);
        return use("sddmm", sddmm_variants<T>(),
                   SddmmArgs<T, S>{in_edges(), in(0), in(1), op_.attrs.integer("heads", 1), out()});
      case OpKind::edge_softmax:
        return use("edge_softmax", edge_softmax_variants<T>(), EdgeSoftmaxArgs<T, S>{in_edges().offsets, in(0), out()});
      case OpKind::edge_softmax_grad:
        return use("edge_softmax_grad", edge_softmax_grad_variants<T>(),
                   EdgeSoftmaxGradArgs<T, S>{in_edges().offsets, in(0), in(1), out()});
      case OpKind::attention:
        return use_attention();
      case OpKind::attention_grad:
        return use_attention_grad();
      case OpKind::halo:
        return use_ranks(halo<T>);
      case OpKind::halo_add:
        return use_ranks(halo_add<T>);
      case OpKind::rank_sum:
        return use_ranks(rank_sum<T>);
      case OpKind::cross_entropy:
      case OpKind::bce_with_logits:
      case OpKind::mse:
        return use_loss();
    }
  }

  const Op& op_;
  const Operands<T, S>& from_;
  CallIn<S>& call_;
};

}  // namespace

template <class T, Space S>
void bind_call(const ir::Op& op, const Operands<T, S>& operands, CallIn<S>* call) {
  Binding<T, S>(op, operands, call).bind();
}

template void bind_call(const ir::Op& op, const Operands<float>& operands, BoundCall* call);
template void bind_call(const ir::Op& op, const Operands<double>& operands, BoundCall* call);
template void bind_call(const ir::Op& op, const Operands<float, Space::kDevice>& operands, DeviceCall* call);

}  // namespace gneiss::kernels
