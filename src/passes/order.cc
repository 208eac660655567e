// Finds each product next to an aggregation that is linear in the product's operand or result, models a training step
// in both orders (gathers, products, what is done once), and rewrites the site where the other order is faster or asked
// for.
#include "passes/order.h"

#include <algorithm>

#include "base/error.h"
#include "passes/constant_values.h"
#include "passes/rewriter.h"

namespace gneiss::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

constexpr double kFloat = 4;
/// Bytes a second at which memory that nothing was written to before gets its first values: the system clears it. Bare
/// machines are a few times as fast, virtual ones (where this was measured) wait for their host.
constexpr double kFirstTouch = 1e9;

/// A product next to an aggregation of its operand (or result) that is linear in it.
struct Site {
  const Op* gemm;
  const Op* aggregate;   ///< spmm or attention
  bool aggregate_first;  ///< as written: (AX)W
  ValueId x;
  std::int64_t width_in;
  std::int64_t width_out;
};

class OrderChooser {
 public:
  OrderChooser(const ir::Program& program, OrderChoice order, const LayerOrders& layer_orders, const cost::Rates& rates,
               const cost::Repeats& repeats, const SparsePathOptions& sparse, std::vector<std::string>* decisions)
      : from_(program),
        order_(order),
        layer_orders_(layer_orders),
        rates_(rates),
        repeats_(repeats),
        sparse_(sparse),
        decisions_(decisions),
        makers_(ir::producers(program)),
        uses_(ir::use_counts(program)),
        rewriter_(program) {
    find_constant_and_trained();
  }

  ir::Program run() {
    for (const Op& op : from_.ops) {
      // The later op of a site is reached last; the earlier one may stay behind without a use.
      const Site site = site_at(op);
      if (site.gemm != nullptr && flip(site)) {
        emit_flipped(op, site);
      } else {
        rewriter_.copy(op);
      }
    }
    return rewriter_.finish();
  }

 private:
  void find_constant_and_trained() {
    constant_ = constant_values(from_);
    trained_.assign(from_.values.size(), false);
    for (const Op& op : from_.ops) {
      const bool weight = op.kind == OpKind::param && !constant_[static_cast<std::size_t>(op.results[0])];
      const bool trained = weight || std::any_of(op.inputs.begin(), op.inputs.end(),
                                                 [&](ValueId v) { return trained_[static_cast<std::size_t>(v)]; });
      for (const ValueId r : op.results) {
        if (r != ir::kNoValue) trained_[static_cast<std::size_t>(r)] = trained;
      }
    }
  }

  const Op* maker(ValueId value) const {
    const std::int32_t index = makers_[static_cast<std::size_t>(value)];
    return index < 0 ? nullptr : &from_.ops[static_cast<std::size_t>(index)];
  }

  bool used(ValueId value, int times) const { return uses_[static_cast<std::size_t>(value)] == times; }

  static bool linear(const Op& op) {
    const std::string fn = op.attrs.text("fn", "sum");
    return op.kind == OpKind::spmm && op.attrs.integer("heads", 1) == 1 && (fn == "sum" || fn == "mean");
  }

  static bool plain_product(const Op& op) {
    return op.kind == OpKind::gemm && op.attrs.integer("ta", 0) == 0 && op.attrs.integer("tb", 0) == 0;
  }

  Site site_at(const Op& op) const {
    if (plain_product(op)) {
      const Op* before = maker(op.inputs[0]);
      if (before != nullptr && linear(*before)) {
        return {&op, before, true, before->inputs[0], from_.type(op.inputs[0]).cols, from_.type(op.results[0]).cols};
      }
    } else if (linear(op)) {
      const Op* before = maker(op.inputs[0]);
      if (before != nullptr && plain_product(*before) && used(op.inputs[0], 1)) {
        return {
            before, &op, false, before->inputs[0], from_.type(before->inputs[0]).cols, from_.type(op.results[0]).cols};
      }
    } else if (op.kind == OpKind::attention && op.attrs.integer("heads", 1) == 1) {
      const Op* before = maker(op.inputs[0]);
      const bool scores_of_it = before != nullptr && used(op.inputs[0], 3) && score_weight(op, 1) != ir::kNoValue &&
                                score_weight(op, 2) != ir::kNoValue;
      if (scores_of_it && plain_product(*before) && from_.type(before->inputs[0]).layout != ir::Layout::kSparse) {
        return {
            before, &op, false, before->inputs[0], from_.type(before->inputs[0]).cols, from_.type(op.results[0]).cols};
      }
    }
    return {nullptr, nullptr, false, ir::kNoValue, 0, 0};
  }

  /// The row a of a score z · a that an attention over z takes as input i, if that is what it is.
  ValueId score_weight(const Op& attention, std::size_t i) const {
    const Op* sum = maker(attention.inputs[i]);
    if (sum == nullptr || sum->kind != OpKind::sum_groups || sum->inputs.size() != 1) return ir::kNoValue;
    const Op* product = maker(sum->inputs[0]);
    if (product == nullptr || product->kind != OpKind::mul) return ir::kNoValue;
    const auto z = std::find(product->inputs.begin(), product->inputs.end(), attention.inputs[0]);
    if (z == product->inputs.end()) return ir::kNoValue;
    const ValueId row = product->inputs[z == product->inputs.begin() ? 1 : 0];
    return from_.type(row) == ir::global_type(1, from_.type(attention.inputs[0]).cols) ? row : ir::kNoValue;
  }

  double rows(ValueId value) const { return static_cast<double>(std::max<std::int64_t>(from_.rows(value), 0)); }

  /// Seconds of one training step spent on the site in the given order, with its share of evaluations and of what is
  /// done once. On a block the aggregation ends in fewer rows than it begins with, and products are on either.
  double seconds(const Site& site, bool aggregate_first) const {
    const auto graph = static_cast<std::size_t>(site.aggregate->attrs.integer("graph", 0));
    const auto edges = static_cast<double>(std::max<std::int64_t>(from_.graphs[graph].num_edges, 0));
    const double sources = rows(site.x);
    const double aggregated = rows(site.aggregate->results[0]);
    const double multiplied = aggregate_first ? aggregated : sources;
    const bool attends = site.aggregate->kind == OpKind::attention;
    const bool weights_constant = !attends && (site.aggregate->inputs.size() < 2 ||
                                               constant_[static_cast<std::size_t>(site.aggregate->inputs[1])]);
    const bool x_constant = constant_[static_cast<std::size_t>(site.x)];
    const bool x_trained = trained_[static_cast<std::size_t>(site.x)];
    const bool x_sparse = from_.type(site.x).layout == ir::Layout::kSparse;
    const bool once = aggregate_first && x_constant && weights_constant;
    const auto in = static_cast<double>(site.width_in);
    const auto out = static_cast<double>(site.width_out);
    const double gathered = aggregate_first ? in : out;
    const double forward = once ? 1 / repeats_.steps : 1 + repeats_.evaluations / repeats_.steps;
    double total = forward * cost::gather_seconds(rates_, edges, aggregated, sources, gathered);
    if (!aggregate_first || x_trained || attends)
      total += cost::gather_seconds(rates_, edges, sources, aggregated, gathered);  // backward
    if (once) total += aggregated * in * kFloat / kFirstTouch / repeats_.steps;
    if (x_sparse && !aggregate_first) {
      const cost::FeatureShape features{sources, in, static_cast<double>(sparse_.nonzeros), !x_constant};
      for (const bool gradient : {false, true})
        total += features_product_seconds(rates_, features, out, gradient, sparse_);
    } else {
      total += cost::gemm_seconds(rates_, kernels::Orientation::kNN, multiplied, out, in) +
               cost::gemm_seconds(rates_, kernels::Orientation::kTN, in, out, multiplied);
    }
    if (x_trained) total += cost::gemm_seconds(rates_, kernels::Orientation::kNT, multiplied, in, out);
    return total;
  }

  /// The order asked for at a site, by the layer of its weight.
  OrderChoice order_for(const Site& site) const {
    for (const ir::Param& param : from_.params) {
      if (param.value != site.gemm->inputs[1]) continue;
      const auto found = layer_orders_.find(param.layer);
      if (found != layer_orders_.end()) return found->second;
    }
    return order_;
  }

  bool flip(const Site& site) {
    const double transform = seconds(site, false);
    const double aggregate = seconds(site, true);
    bool aggregate_first = aggregate < transform;
    const OrderChoice order = order_for(site);
    if (order != OrderChoice::kAuto) aggregate_first = order == OrderChoice::kAggregateFirst;
    decisions_->push_back(fmt::format("line {}: {} ({} -> {} columns; modelled {:.3g} s against {:.3g} s a step)",
                                      site.gemm->location.line, aggregate_first ? "(AX)W" : "A(XW)", site.width_in,
                                      site.width_out, aggregate_first ? aggregate : transform,
                                      aggregate_first ? transform : aggregate));
    return aggregate_first != site.aggregate_first;
  }

  void emit_flipped(const Op& op, const Site& site) {
    ir::Builder builder = rewriter_.builder_at(op);
    const ValueId x = rewriter_.map(site.x);
    const ValueId weight = rewriter_.map(site.gemm->inputs[1]);
    std::vector<ValueId> operands(site.aggregate->inputs.size());
    for (std::size_t i = 1; i < operands.size(); ++i) operands[i] = rewriter_.map(site.aggregate->inputs[i]);
    if (site.aggregate->kind == OpKind::attention) {
      // Scores of z = x W without z: (x W) · a = x · (a W').
      for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
        const ValueId row =
            builder.add(OpKind::gemm, {rewriter_.map(score_weight(op, i)), weight}, {{"tb", std::int64_t{1}}});
        operands[i] =
            builder.add(OpKind::sum_groups, {builder.add(OpKind::mul, {x, row})}, {{"groups", std::int64_t{1}}});
      }
    }
    ValueId result = ir::kNoValue;
    if (site.aggregate_first) {
      operands[0] = builder.add(OpKind::gemm, {x, weight});
      result = builder.add(OpKind::spmm, operands, site.aggregate->attrs);
    } else {
      operands[0] = x;
      const ValueId aggregated = builder.add(site.aggregate->kind, operands, site.aggregate->attrs);
      result = builder.add(OpKind::gemm, {aggregated, weight});
    }
    rewriter_.set(op.results[0], result);
  }

  const ir::Program& from_;
  OrderChoice order_;
  const LayerOrders& layer_orders_;
  const cost::Rates& rates_;
  const cost::Repeats& repeats_;
  const SparsePathOptions& sparse_;
  std::vector<std::string>* decisions_;
  std::vector<std::int32_t> makers_;
  std::vector<std::int32_t> uses_;
  std::vector<bool> constant_;
  std::vector<bool> trained_;
  Rewriter rewriter_;
};

}  // namespace

ir::Program choose_order(const ir::Program& program, OrderChoice order, const LayerOrders& layer_orders,
                         const cost::Rates& rates, const cost::Repeats& repeats, const SparsePathOptions& sparse,
                         std::vector<std::string>* decisions) {
  return OrderChooser(program, order, layer_orders, rates, repeats, sparse, decisions).run();
}

}  // namespace gneiss::passes
