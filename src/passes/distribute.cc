// One walk over the ops. There is one node set before, the own nodes; the pass adds a second, own nodes and ghosts, and
// makes it the source set of every graph. An op then gets its operands on the set that its rule asks for.
//
// A value that every rank has (a parameter, a sum over all nodes) has the gradient of the rank's own rows until
// gradients are added up; the rule of rank_sum adds them where such a value came from rows itself. All rules are linear
// in the gradient, so that one sum over the ranks at the end is enough for parameters.
#include "passes/distribute.h"

#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "passes/rewriter.h"

namespace gneiss::passes {
namespace {

using ir::Builder;
using ir::Domain;
using ir::Op;
using ir::OpKind;
using ir::Phase;
using ir::ValueId;

constexpr std::int32_t kOwn = 0;
constexpr std::int32_t kWithGhosts = 1;

class Distributor {
 public:
  Distributor(const ir::Program& program, const Distribution& part) : from_(program), part_(part), rewriter_(program) {
    GNEISS_ASSERT(program.node_sets.size() == 1 && part.edges.size() == program.graphs.size(),
                  "a program over {} node sets and {} graphs is distributed by edges of {} graphs",
                  program.node_sets.size(), program.graphs.size(), part.edges.size());
    ir::Program& made = rewriter_.program();
    made.node_sets = {{program.node_sets[0].name, part.owned}, {"with_ghosts", part.owned + part.ghosts}};
    for (std::size_t g = 0; g < made.graphs.size(); ++g) {
      const std::int64_t nodes = program.node_sets[0].size;
      made.graphs[g].part_of = {nodes, nodes, program.graphs[g].num_edges};
      made.graphs[g].src_set = kWithGhosts;
      made.graphs[g].num_edges = part.edges[g];
    }
    for (std::size_t g = 0; g < part.reversed_edges.size(); ++g) {
      ir::GraphDef reversed = made.graphs[g];
      reversed.name += "+reversed";
      reversed.origin = ir::GraphOrigin::kReversed;
      reversed.base = static_cast<std::int32_t>(g);
      reversed.num_edges = part.reversed_edges[g];
      made.graphs.push_back(std::move(reversed));
    }
    for (const Op& op : program.ops) {
      if (op.kind == OpKind::gather_src) gathered_.insert(op.inputs[0]);
      if (op.kind == OpKind::sddmm) gathered_.insert(op.inputs[1]);
    }
  }

  ir::Program run() {
    for (const Op& op : from_.ops) add(op);
    return rewriter_.finish();
  }

 private:
  const ir::Type& type(ValueId v) const { return from_.type(v); }

  [[noreturn]] void refuse(const Op& op, std::string_view why) const {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("{} cannot be computed on several ranks: {}", ir::traits(op.kind).name, why),
                fmt::format("line {} of the model", op.location.line), "train on one rank, without --ranks");
  }

  void add(const Op& op) {
    switch (op.kind) {
      case OpKind::gather_src:
        return add_reading(op, {0});
      case OpKind::sddmm:
        return add_reading(op, {1});
      case OpKind::attention:
        return add_attention(op);
      case OpKind::spmm:
        if (op.attrs.integer("transpose", 0) == 0) return add_reading(op, {0});
        return add_to_sources(op);
      case OpKind::segment_reduce:
        if (op.attrs.text("side", "dst") == "src") return add_to_sources(op);
        break;
      case OpKind::degree:
        if (op.attrs.text("side", "dst") == "src") return add_out_degree(op);
        break;
      case OpKind::batch_norm:
        return add_batch_norm(op);
      case OpKind::layer_norm:
        if (op.attrs.text("mode", "node") == "graph") return add_layer_norm(op);
        break;
      default:
        break;
    }
    Op& copy = rewriter_.copy(op);
    if (op.kind == OpKind::batch_norm_update) copy.attrs.set("rows", statistics_.at(op.inputs[2]));
    if (sums_rows(op)) sum_over_ranks(op);
  }

  /// Does a value that every rank has come of rows of nodes or edges?
  bool sums_rows(const Op& op) const {
    if (op.results.empty() || type(op.results[0]).domain != Domain::kGlobal) return false;
    for (const ValueId input : op.inputs) {
      if (type(input).domain != Domain::kGlobal) return true;
    }
    return false;
  }

  void sum_over_ranks(const Op& op) {
    const bool adds = op.kind == OpKind::sum_rows || op.kind == OpKind::gemm || op.kind == OpKind::spx_gemm;
    if (!adds) refuse(op, "it is no sum over nodes or edges");
    const ValueId here = rewriter_.map(op.results[0]);
    rewriter_.set(op.results[0], rewriter_.builder_at(op).add(OpKind::rank_sum, {here}));
  }

  ir::Attrs to(std::int32_t set) const { return {{"to", std::int64_t{set}}, {"packed", part_.sends + part_.ghosts}}; }

  /// Does the gradient of what the op reads at sources come by an op of its own? See use_symmetry.
  bool comes_apart(const Op& reader, ValueId value) const {
    const bool sums = reader.kind == OpKind::spmm || reader.kind == OpKind::attention;
    const bool turned_round = !part_.reversed_edges.empty() ||
                              from_.graphs[static_cast<std::size_t>(reader.attrs.integer("graph", 0))].symmetric;
    return part_.in_order && sums && turned_round && gathered_.count(value) == 0;
  }

  /// The value with the rows of ghosts, made once a phase for all readers whose gradients are added before they go
  /// back.
  ValueId with_ghosts(const Op& reader, ValueId old) {
    if (comes_apart(reader, old))
      return rewriter_.builder_at(reader).add(OpKind::halo, {rewriter_.map(old)}, to(kWithGhosts));
    const auto found = halos_.find({old, reader.phase});
    if (found != halos_.end()) return found->second;
    const ValueId all = rewriter_.builder_at(reader).add(OpKind::halo, {rewriter_.map(old)}, to(kWithGhosts));
    halos_[{old, reader.phase}] = all;
    return all;
  }

  /// An op that reads these operands at the sources of edges.
  void add_reading(const Op& op, std::initializer_list<std::size_t> at_sources) {
    std::vector<ValueId> inputs;
    for (const ValueId input : op.inputs) inputs.push_back(rewriter_.map(input));
    for (const std::size_t i : at_sources) inputs[i] = with_ghosts(op, op.inputs[i]);
    rewriter_.copy_with(op, inputs);
  }

  /// A gate keeps the kernel from looking at the range. Between the starts of exchanges and the attention, the op that
  /// finds it waits for the others while their rows come.
  void add_attention(const Op& op) {
    if (!part_.gives_range || ir::has_gate(from_, op)) return add_reading(op, {0, 1});
    std::vector<ValueId> inputs = {with_ghosts(op, op.inputs[0]), with_ghosts(op, op.inputs[1]),
                                   rewriter_.map(op.inputs[2])};
    inputs.push_back(rewriter_.builder_at(op).add(OpKind::rank_range, {rewriter_.map(op.inputs[1])},
                                                  {{"ranks", std::int64_t{part_.ranks}}}));
    rewriter_.copy_with(op, inputs);
  }

  void give_back(const Op& op) {
    const ValueId here = rewriter_.map(op.results[0]);
    rewriter_.set(op.results[0], rewriter_.builder_at(op).add(OpKind::halo_add, {here}, to(kOwn)));
  }

  /// An op that sums up edges at their sources.
  void add_to_sources(const Op& op) {
    if (op.attrs.text("fn", "sum") != "sum") refuse(op, "only sums over out-edges can be made of parts");
    std::vector<ValueId> inputs;
    for (const ValueId input : op.inputs) inputs.push_back(rewriter_.map(input));
    rewriter_.copy_with(op, inputs);
    give_back(op);
  }

  void add_out_degree(const Op& op) {
    const std::vector<ValueId> none;
    rewriter_.copy_with(op, none);
    give_back(op);
  }

  /// A sum over all rows of all ranks.
  ValueId total(Builder& b, ValueId rows) const { return b.add(OpKind::rank_sum, {b.add(OpKind::sum_rows, {rows})}); }

  ValueId scaled(Builder& b, ValueId value, double scale, double shift = 0) const {
    return b.add(OpKind::affine, {value}, {{"scale", scale}, {"shift", shift}});
  }

  /// y = (x - mean) / sqrt(var + eps) * gamma + beta, in two passes.
  void add_batch_norm(const Op& op) {
    Builder b = rewriter_.builder_at(op);
    const std::int64_t rows = from_.rows(op.inputs[0]);
    const double share = 1.0 / static_cast<double>(std::max<std::int64_t>(1, rows));
    const ValueId x = rewriter_.map(op.inputs[0]);
    const ValueId mean = scaled(b, total(b, x), share);
    const ValueId centred = b.add(OpKind::sub, {x, mean});
    const ValueId var = scaled(b, total(b, b.add(OpKind::mul, {centred, centred})), share);
    const ValueId factor = b.add(OpKind::rsqrt, {scaled(b, var, 1, op.attrs.real("eps", 1e-5))});
    const ValueId normal = b.add(OpKind::mul, {centred, factor});
    rewriter_.set(op.results[0], affine_of(b, op, normal));
    set_statistics(op, mean, var);
    statistics_[op.results[1]] = rows;
  }

  /// The same with one mean and deviation for all columns; y = (x - mean) / (sqrt(var) + eps) * gamma + beta.
  void add_layer_norm(const Op& op) {
    Builder b = rewriter_.builder_at(op);
    const double entries = static_cast<double>(from_.rows(op.inputs[0]) * type(op.inputs[0]).cols);
    const auto mean_of = [&](ValueId rows) {
      const ValueId sum = b.add(OpKind::sum_groups, {total(b, rows)}, {{"groups", std::int64_t{1}}});
      return scaled(b, sum, 1.0 / std::max(1.0, entries));
    };
    const ValueId x = rewriter_.map(op.inputs[0]);
    const ValueId mean = mean_of(x);
    const ValueId centred = b.add(OpKind::sub, {x, mean});
    const ValueId var = mean_of(b.add(OpKind::mul, {centred, centred}));
    const ValueId deviation = scaled(b, b.add(OpKind::sqrt, {var}), 1, op.attrs.real("eps", 1e-5));
    rewriter_.set(op.results[0], affine_of(b, op, b.add(OpKind::div, {centred, deviation})));
    set_statistics(op, mean, var);
  }

  ValueId affine_of(Builder& b, const Op& op, ValueId normal) const {
    const ValueId scaled_rows = b.add(OpKind::mul, {normal, rewriter_.map(op.inputs[1])});
    return b.add(OpKind::add, {scaled_rows, rewriter_.map(op.inputs[2])});
  }

  void set_statistics(const Op& op, ValueId mean, ValueId var) {
    if (op.results.size() > 1 && op.results[1] != ir::kNoValue) rewriter_.set(op.results[1], mean);
    if (op.results.size() > 2 && op.results[2] != ir::kNoValue) rewriter_.set(op.results[2], var);
  }

  const ir::Program& from_;
  const Distribution& part_;
  Rewriter rewriter_;
  std::map<std::pair<ValueId, Phase>, ValueId> halos_;
  std::set<ValueId> gathered_;                  ///< values that edges read, whose gradients partial sums are made of
  std::map<ValueId, std::int64_t> statistics_;  ///< a batch norm's mean -> over how many rows it is
};

}  // namespace

ir::Program distribute(const ir::Program& program, const Distribution& part) {
  return part.ranks == 1 ? program : Distributor(program, part).run();
}

ir::Program share_loss(const ir::Program& program, const Distribution& part) {
  if (part.ranks == 1) return program;
  ir::Program out = program;
  Builder builder(&out);
  for (ir::Output& output : out.outputs) {
    const bool validates = output.name == "val_loss";
    if (output.name != "loss" && output.name != "dlogits" && !validates) continue;
    builder.set_phase(validates ? Phase::kInference : Phase::kForward);
    const double share = validates ? part.val_loss_share : part.loss_share;
    output.value = builder.add(OpKind::affine, {output.value}, {{"scale", share}, {"shift", 0.0}});
  }
  return out;
}

}  // namespace gneiss::passes
