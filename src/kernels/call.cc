// Binds an op: op_arguments.h says what its arguments are, this file takes views of the operands for them, adds what
// the call costs and needs, and the variant table gives the function.
#include "kernels/call.h"

#include <algorithm>
#include <type_traits>

#include "base/error.h"
#include "base/parallel.h"
#include "kernels/band_views.h"
#include "kernels/cuda/variants.h"
#include "kernels/fill.h"
#include "kernels/halo.h"
#include "kernels/op_arguments.h"

namespace gneiss::kernels {
namespace {

using ir::Op;
using ir::OpKind;

template <class T, Space S>
class Binding {
 public:
  using Scalar = T;
  static constexpr Space kSpace = S;

  Binding(const Op& op, const Operands<T, S>& operands, CallIn<S>* call) : op_(op), from_(operands), call_(*call) {}

  void bind() {
    call_.run = {};
    call_.bytes = traffic();
    if constexpr (kOnHost) call_.band = {};
    if (op_.kind == OpKind::concat) call_.parts.resize(op_.inputs.size());
    OpArguments<Binding>(*from_.program, op_, this).name_members();
    if (op_.kind == OpKind::concat) join_parts();
    if constexpr (kOnHost) {
      if (!has_bands()) call_.band = {};
    }
  }

 private:
  friend class OpArguments<Binding>;
  static constexpr bool kOnHost = S == Space::kHost;
  using ContextIn = std::conditional_t<kOnHost, Context, DeviceContext>;

  template <class Member, class Value>
  static void set(std::string_view /*name*/, Member& member, const Value& value) {
    member = value;
  }

  MatrixView<T, S> matrix(ir::ValueId v) const { return v == ir::kNoValue ? MatrixView<T, S>() : from_.real(v); }
  MatrixView<std::int32_t, S> index(ir::ValueId v) const {
    return v == ir::kNoValue ? MatrixView<std::int32_t, S>() : from_.index(v);
  }
  HalfElements<std::uint16_t, S> halves(ir::ValueId v) const {
    const ir::Type& type = from_.program->type(v);
    return {ir::half_of(type.scalar), from_.halves(v), type.cols};
  }
  SpanIn<const T, S> elements(ir::ValueId v) const {
    const MatrixView<T, S> all = matrix(v);
    return {all.data, static_cast<std::size_t>(all.size())};
  }
  SpanIn<T, S> result_elements(ir::ValueId v) const {
    const MatrixView<T, S> all = matrix(v);
    return {all.data, static_cast<std::size_t>(all.size())};
  }
  std::int64_t rows(ir::ValueId v) const { return from_.sizes->rows(from_.program->type(v)); }
  const SparsePatternIn<S>& edges(std::int32_t graph, bool out) const { return *edges_pointer(graph, out); }
  const SparsePatternIn<S>* edges_pointer(std::int32_t graph, bool out = false) const {
    return out ? from_.out_edges(graph) : from_.in_edges(graph);
  }
  SpanIn<const EdgeId, S> offsets(std::int32_t graph) const { return edges(graph, false).offsets; }
  static bool has_tiles(bool /*out*/) { return true; }
  TiledPatternIn<S> tiles(bool out) const { return from_.source_tiles(op_, out); }
  /// Does the kernel that was asked for take X itself where another takes its transpose?
  bool takes_as_is(bool transposed) const {
    return !kOnHost && transposed && forced_variant("spx_gemm") == "morphling";
  }
  const SparsePatternIn<S>& features(bool transposed) const {
    return *from_.features(transposed && !takes_as_is(transposed));
  }
  const SparsePatternIn<S>* features_pointer() const { return from_.features(false); }
  SpanIn<const T, S> feature_values(bool transposed, ir::ValueId v) const {
    const bool other = transposed && !takes_as_is(transposed) && length(from_.transposed_values()) > 0;
    return other ? from_.transposed_values() : elements(v);
  }
  SpanIn<const std::int64_t, S> row_ids(std::int32_t set) const {
    return set == kNoSet ? SpanIn<const std::int64_t, S>() : from_.row_ids(set);
  }
  /// The key is read at every run.
  static std::uint64_t seed() { return 0; }
  static std::uint64_t epoch() { return 0; }
  const LossOperandsIn<S>& loss(bool trains) const { return trains ? from_.training : from_.validation; }
  SpanIn<const std::int32_t, S> labels(bool trains) const { return loss(trains).labels; }
  ConstMatrixView<float, S> targets(bool trains) const { return loss(trains).targets; }
  SpanIn<const NodeId, S> loss_rows(bool trains) const { return loss(trains).rows; }
  std::int64_t labelled(bool trains) const { return loss(trains).labelled; }
  SpanIn<const float, S> class_weights() const { return from_.class_weights; }

  bool flag(std::string_view name) const { return op_.attrs.integer(name, 0) != 0; }

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

  /// Chooses the variant and keeps the arguments for the call. Returns the variant's function.
  template <class Table, class Args>
  auto use(std::string_view name, Table variants, const Args& args) {
    if constexpr (kOnHost) {
      const Variant<Args>& variant = choose(name, variants, args);
      call_.variant = variant.name;
      call_.passes = variant.passes;
      call_.run = [run = variant.run, args](const Context& context) { run(context, args); };
      if constexpr (std::is_same_v<T, float>) {
        if (variant.bands != nullptr) use_bands(variant.bands(args), args);
      } else {
        GNEISS_ASSERT(variant.bands == nullptr, "{}: band kernels are for f32", name);
      }
      return variant.run;
    } else {
      const DeviceKernel<Args>& kernel = kernel_for(name, args);
      call_.run = [run = kernel.run, args](const DeviceContext& context) { run(context, args); };
      return kernel.run;
    }
  }

  /// The device's kernel, noted in the call.
  template <class Args>
  const DeviceKernel<Args>& kernel_for(std::string_view name, const Args& args) {
    const DeviceKernel<Args>* kernel = &find_kernel<Args>(*from_.kernels);
    if (const std::string_view forced = forced_variant(name); !forced.empty() && forced != kernel->name) {
      const DeviceVariant<Args>* other = find_variant<Args>(variants_beside(*from_.kernels));
      if (other == nullptr || other->kernel.name != forced)
        throw_unknown_variant(
            name, forced,
            other == nullptr ? std::string(kernel->name) : fmt::format("{}, {}", kernel->name, other->kernel.name));
      const std::string_view reason = other->declines(args);
      report_choice(name, forced, reason);
      if (reason.empty()) kernel = &other->kernel;
    }
    call_.variant = kernel->name;
    call_.workspace_bytes = kernel->workspace_bytes(args);
    return *kernel;
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
    const auto run = use(name, variants, args);
    if constexpr (kOnHost) {
      if (call_.passes != Passes::kOne) return;
      call_.band.rows = band_rows();
      call_.band.run = [run, args](const Context& context, const Band& band) { run(context, band_of(args, band)); };
    }
  }

  static std::size_t length(std::span<const T> span) { return span.size(); }
  static std::size_t length(DeviceSpan<const T> span) { return span.size; }
  static std::int64_t entries(const SparsePatternIn<S>& pattern) {
    if constexpr (kOnHost) {
      return pattern.nonzeros();
    } else {
      return static_cast<std::int64_t>(pattern.indices.size);
    }
  }

  std::int64_t band_rows() const { return rows(ir::row_value(op_)); }

  /// Only rows of nodes or edges are cut, and only where a value has an entry in every row.
  bool has_bands() const {
    if (!call_.band.can_be_cut() || from_.program->type(ir::row_value(op_)).domain == ir::Domain::kGlobal) return false;
    const bool sparse = !op_.inputs.empty() && from_.program->type(op_.inputs[0]).layout == ir::Layout::kSparse;
    return !sparse || (op_.kind == OpKind::spx_gemm && !flag("ta"));
  }

  static double twice(std::int64_t count, std::int64_t width) {
    return 2.0 * static_cast<double>(count) * static_cast<double>(width);
  }

  void call(std::string_view name, const GemmArgs<T, S>& args) {
    const std::int64_t inner = args.orientation == Orientation::kTN ? args.a.rows : args.a.cols;
    call_.workspace_bytes = gemm_workspace_bytes(args.orientation, args.c.rows, args.c.cols, inner, sizeof(T));
    call_.flops = twice(args.c.size(), inner);
    use(name, gemm_variants<T>(), args);
  }
  void call(std::string_view name, const SpxGemmArgs<T, S>& args) {
    call_.flops = twice(entries(args.a), args.b.cols);
    if constexpr (!kOnHost) {
      if (takes_as_is(flag("ta"))) {
        const auto& variant = *find_variant<OnDevice<ImplicitTransposeArgs>>(variants_beside(*from_.kernels));
        call_.variant = variant.kernel.name;
        call_.run = [run = variant.kernel.run,
                     moved = OnDevice<ImplicitTransposeArgs>{args.a, args.values, args.b, args.c}](
                        const DeviceContext& context) { run(context, moved); };
        return;
      }
    }
    use_by_rows(name, spx_gemm_variants<T>(), args);
  }
  void call(std::string_view name, const SpmmArgs<T, S>& args) {
    if constexpr (kOnHost) call_.workspace_bytes = spmm_workspace_bytes(args);
    call_.flops = twice(entries(args.pattern), args.x.cols);
    use_by_rows(name, spmm_variants<T>(), args);
  }
  void call(std::string_view name, const AttentionArgs<T, S>& args) {
    const bool tiled = args.tiles.tile_cols != 0;
    call_.workspace_bytes = attention_workspace_bytes(args.y.rows, args.heads, tiled, sizeof(T));
    call_.flops = 2 * twice(entries(args.pattern), args.z.cols);
    use(name, attention_variants<T>(), args);
  }
  void call(std::string_view name, const AttentionGradArgs<T, S>& args) {
    call_.workspace_bytes = attention_grad_workspace_bytes(args.dy.rows, args.heads, sizeof(T));
    call_.flops = 2 * twice(entries(args.pattern), args.z.cols);
    use(name, attention_grad_variants<T>(), args);
  }
  void call(std::string_view name, const SddmmArgs<T, S>& args) {
    call_.flops = twice(entries(args.pattern), args.y.cols);
    use(name, sddmm_variants<T>(), args);
  }
  void call(std::string_view name, const SumRowsArgs<T, S>& args) {
    call_.workspace_bytes = sum_rows_workspace_bytes(args.x.rows, args.x.cols, sizeof(T));
    use(name, sum_rows_variants<T>(), args);
  }

  void call(std::string_view name, const BatchNormArgs<T, S>& args) { use_norm(name, batch_norm_variants<T>(), args); }
  void call(std::string_view name, const BatchNormGradArgs<T, S>& args) {
    use_norm(name, batch_norm_grad_variants<T>(), args);
  }
  void call(std::string_view name, const LayerNormArgs<T, S>& args) { use_norm(name, layer_norm_variants<T>(), args); }
  void call(std::string_view name, const LayerNormGradArgs<T, S>& args) {
    use_norm(name, layer_norm_grad_variants<T>(), args);
  }
  void call(std::string_view name, const BatchNormInferenceArgs<T, S>& args) {
    call_.workspace_bytes = norm_workspace_bytes(args.x.rows, args.x.cols, sizeof(T));
    use_by_rows(name, batch_norm_inference_variants<T>(), args);
  }
  void call(std::string_view name, const BatchNormUpdateArgs<T, S>& args) {
    use(name, batch_norm_update_variants<T>(), args);
  }
  template <class Table, class Args>
  void use_norm(std::string_view name, Table variants, const Args& args) {
    call_.workspace_bytes = norm_workspace_bytes(args.x.rows, args.x.cols, sizeof(T));
    use(name, variants, args);
  }

  void call(std::string_view name, const CrossEntropyArgs<T, S>& args) {
    use_loss(name, cross_entropy_variants<T>(), args);
  }
  void call(std::string_view name, const BceWithLogitsArgs<T, S>& args) {
    use_loss(name, bce_with_logits_variants<T>(), args);
  }
  void call(std::string_view name, const MseArgs<T, S>& args) { use_loss(name, mse_variants<T>(), args); }
  template <class Table, class Args>
  void use_loss(std::string_view name, Table variants, const Args& args) {
    call_.workspace_bytes = loss_workspace_bytes(args.logits.rows);
    use(name, variants, args);
  }

  void call(std::string_view name, const ToFloatArgs<T, S>& args) { use_by_rows(name, to_float_variants<T>(), args); }
  void call(std::string_view name, const BinaryArgs<T, S>& args) {
    use_by_rows(name, binary_variants<T>(), args);
    if constexpr (!kOnHost) call_.stage = stage_of(args);
  }
  void call(std::string_view name, const MulAddArgs<T, S>& args) {
    use_by_rows(name, mul_add_variants<T>(), args);
    if constexpr (!kOnHost) call_.stage = stage_of(args);
  }
  void call(std::string_view name, const UnaryArgs<T, S>& args) {
    use_by_rows(name, unary_variants<T>(), args);
    if constexpr (!kOnHost) call_.stage = stage_of(args);
  }
  void call(std::string_view name, const UnaryGradArgs<T, S>& args) {
    use_by_rows(name, unary_grad_variants<T>(), args);
    if constexpr (!kOnHost) call_.stage = stage_of(args);
  }
  void call(std::string_view name, const ExtremeGradArgs<T, S>& args) {
    use_by_rows(name, extreme_grad_variants<T>(), args);
  }
  void call(std::string_view name, const ColumnGroupsArgs<T, S>& args) {
    use_by_rows(name, column_groups_variants<T>(), args);
  }

  void call(std::string_view name, const ToDenseArgs<T, S>& args) { use(name, to_dense_variants<T>(), args); }
  void call(std::string_view name, const ToHalfArgs<T, S>& args) { use(name, to_half_variants<T>(), args); }
  void call(std::string_view name, const GatherArgs<T, S>& args) { use(name, gather_variants<T>(), args); }
  void call(std::string_view name, const SegmentReduceArgs<T, S>& args) {
    use(name, segment_reduce_variants<T>(), args);
  }
  void call(std::string_view name, const SegmentArgGradArgs<T, S>& args) {
    use(name, segment_arg_grad_variants<T>(), args);
  }
  void call(std::string_view name, const ArgSourcesArgs<T, S>& args) { use(name, arg_sources_variants<T>(), args); }
  void call(std::string_view name, const SpmmArgGradArgs<T, S>& args) { use(name, spmm_arg_grad_variants<T>(), args); }
  void call(std::string_view name, const SpmmArgWeightGradArgs<T, S>& args) {
    use(name, spmm_arg_weight_grad_variants<T>(), args);
  }
  void call(std::string_view name, const EdgeSoftmaxArgs<T, S>& args) { use(name, edge_softmax_variants<T>(), args); }
  void call(std::string_view name, const EdgeSoftmaxGradArgs<T, S>& args) {
    use(name, edge_softmax_grad_variants<T>(), args);
  }

  void call(std::string_view name, const CopyColumnsArgs<T, S>& args) {
    use_by_rows(name, copy_columns_variants<T>(), args);
    if (op_.kind != OpKind::concat) return;
    call_.parts[part_].run = call_.run;
    if constexpr (kOnHost) call_.parts[part_].band = call_.band;
    ++part_;
  }

  /// A concat runs its copies one after the other.
  void join_parts() {
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

  /// The key is read at every run; everything else is fixed.
  void call(std::string_view name, const DropoutArgs<T, S>& args) {
    if constexpr (kOnHost) {
      use_dropout_by_rows(name, args);
    } else {
      use(name, dropout_variants<T>(), args);  // the key is one of the numbers of a step
      if (args.in_edges == nullptr && args.sparse_rows == nullptr) call_.stage = stage_of_rows(args);
    }
  }

  void use_dropout_by_rows(std::string_view name, const DropoutArgs<T>& args) {
    const Variant<DropoutArgs<T>>& variant = choose(name, dropout_variants<T>(), args);
    call_.variant = variant.name;
    call_.run = [run = variant.run, args, key = from_.key](const Context& context) {
      DropoutArgs<T> now = args;
      now.seed = key->seed;
      now.epoch = key->epoch;
      run(context, now);
    };
    const bool of_nodes = from_.program->type(op_.inputs[0]).domain == ir::Domain::kNode;
    if (!of_nodes || args.sparse_rows != nullptr) return;
    call_.band.rows = args.x.rows;
    call_.band.run = [run = variant.run, args, key = from_.key](const Context& context, const Band& band) {
      DropoutArgs<T> now = band_of(args, band);
      now.seed = key->seed;
      now.epoch = key->epoch;
      run(context, now);
    };
  }

  void leaf() {
    if (op_.kind == OpKind::constant) return use_fill(Fill::kConstant);
    if (op_.kind == OpKind::edge_weight) return use_fill(Fill::kEdgeWeights);
    if (op_.kind == OpKind::degree) return use_fill(Fill::kDegrees);
    call_.variant = "data";
  }

  /// Values that are written once, straight from the graph or a number.
  void use_fill(Fill what) {
    const auto graph = static_cast<std::int32_t>(op_.attrs.integer("graph", 0));
    FillArgs<T, S> args;
    args.what = what;
    args.value = op_.attrs.real("value", 0);
    args.y = matrix(op_.results[0]);
    if (what == Fill::kEdgeWeights) args.weights = from_.edge_weights(graph);
    if (what == Fill::kDegrees) args.pattern = edges_pointer(graph, op_.attrs.text("side", "dst") != "dst");
    use("fill", fill_variants<T>(), args);
  }

  void between_ranks() {
    if constexpr (kOnHost) {
      const bool fetches = op_.kind == OpKind::halo || op_.kind == OpKind::halo_start || op_.kind == OpKind::halo_wait;
      if (!fetches) return add_rows();
      if (from_.program->type(op_.inputs[0]).scalar == ir::Scalar::kIndex)
        return fetch_rows<std::int32_t>([this](ir::ValueId v) { return index(v); });
      fetch_rows<T>([this](ir::ValueId v) { return matrix(v); });
    } else {
      call_.variant = "peers";  // of several devices alone: whoever runs the plan brings them together
    }
  }

  template <class E>
  HaloArgs<E> exchange_of(const MatrixView<E>& x) const {
    return {from_.communicator, from_.halo, x, {}, from_.space, {}, nullptr};
  }

  /// A halo or a half of one, of rows of E, which `rows` gives of a value.
  template <class E, class Rows>
  void fetch_rows(const Rows& rows) {
    HaloArgs<E> args = exchange_of<E>(rows(op_.inputs[0]));
    switch (op_.kind) {
      case OpKind::halo_start:
        args.only_shown = op_.attrs.text("exchange", "") == "fine";
        args.y = rows(op_.results[0]);
        return use_half(halo_start<E>, args, op_.results[1], rows(op_.results[1]));
      case OpKind::halo_wait:
        args.y = args.x;
        return use_half(halo_wait<E>, args, op_.inputs[1], rows(op_.inputs[1]));
      default:
        args.y = rows(op_.results[0]);
        return use_whole(halo<E>, args);
    }
  }

  /// What adds rows of ranks up.
  void add_rows() {
    HaloArgs<T> args = exchange_of<T>(matrix(op_.inputs[0]));
    switch (op_.kind) {
      case OpKind::halo_add_start:
        return use_half(halo_add_start<T>, args, op_.results[0], matrix(op_.results[0]));
      case OpKind::halo_add_wait:
        args.y = matrix(op_.results[0]);
        return use_half(halo_add_wait<T>, args, op_.inputs[1], matrix(op_.inputs[1]));
      case OpKind::rank_sum:
        args.y = matrix(op_.results[0]);
        return use_ranks(rank_sum<T>, args);
      case OpKind::rank_range:
        args.y = matrix(op_.results[0]);
        call_.workspace_bytes = rank_range_workspace_bytes(op_.attrs.integer("ranks", 1), args.x.cols, sizeof(T));
        return use_ranks(rank_range<T>, args);
      default:
        args.y = matrix(op_.results[0]);
        return use_whole(halo_add<T>, args);
    }
  }

  template <class E>
  using RankKernel = void (*)(const Context& context, const HaloArgs<E>& args);

  /// Ops between ranks have one way to run.
  template <class E>
  void use_ranks(RankKernel<E> run, const HaloArgs<E>& args) {
    call_.variant = "ranks";
    call_.run = [run, args](const Context& context) { run(context, args); };
  }

  template <class E>
  void use_whole(RankKernel<E> run, const HaloArgs<E>& args) {
    call_.workspace_bytes = halo_workspace_bytes(op_.attrs.integer("packed", 0), args.x.cols, sizeof(E));
    use_ranks(run, args);
  }

  template <class E>
  void use_half(RankKernel<E> run, HaloArgs<E> args, ir::ValueId packed, const MatrixView<E>& rows) {
    args.packed = rows;
    if (from_.exchange) args.exchange = from_.exchange(packed);
    use_ranks(run, args);
  }

  const Op& op_;
  const Operands<T, S>& from_;
  CallIn<S>& call_;
  std::size_t part_ = 0;  ///< of a concat
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
