// Looks at every product whose left operand is a sum of terms in one x, each linear in it. Both forms are costed by
// modelled time; where the distributed one is cheaper, each term is applied to x W and the results are added.
#include "passes/distribute_products.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "passes/constant_values.h"
#include "passes/rewriter.h"

namespace gneiss::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

/// One term of the sum as a function of x.
struct Term {
  ValueId x = ir::kNoValue;
  const Op* scale = nullptr;      ///< mul by a scalar, or nullptr
  const Op* aggregate = nullptr;  ///< linear spmm, or nullptr
};

class Distributor {
 public:
  Distributor(const ir::Program& program, OrderChoice order, const cost::Repeats& repeats,
              std::vector<std::string>* decisions)
      : from_(program),
        order_(order),
        repeats_(repeats),
        decisions_(decisions),
        makers_(ir::producers(program)),
        uses_(ir::use_counts(program)),
        constant_(constant_values(program)),
        rewriter_(program) {}

  ir::Program run() {
    for (const Op& op : from_.ops) {
      const Op* sum = sum_before(op);
      if (sum == nullptr || !distribute(op, *sum)) rewriter_.copy(op);
    }
    return rewriter_.finish();
  }

 private:
  const Op* maker(ValueId value) const {
    const std::int32_t index = makers_[static_cast<std::size_t>(value)];
    return index < 0 ? nullptr : &from_.ops[static_cast<std::size_t>(index)];
  }

  /// The sum that a product takes as its left operand, if nobody else needs it.
  const Op* sum_before(const Op& op) const {
    if (op.kind != OpKind::gemm || op.attrs.integer("ta", 0) != 0 || op.attrs.integer("tb", 0) != 0) return nullptr;
    const Op* sum = maker(op.inputs[0]);
    const bool alone = sum != nullptr && sum->kind == OpKind::add && uses_[static_cast<std::size_t>(op.inputs[0])] == 1;
    return alone ? sum : nullptr;
  }

  static bool linear(const Op& op) {
    const std::string fn = op.attrs.text("fn", "sum");
    return op.kind == OpKind::spmm && op.attrs.integer("heads", 1) == 1 && (fn == "sum" || fn == "mean");
  }

  Term term(ValueId value) const {
    const Op* op = maker(value);
    if (op == nullptr) return {};
    if (linear(*op)) return {op->inputs[0], nullptr, op};
    if (op->kind == OpKind::mul) {
      for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
        if (from_.type(op->inputs[i]).cols == 1 && from_.type(op->inputs[1 - i]).cols > 1)
          return {op->inputs[1 - i], op, nullptr};
      }
    }
    return {value, nullptr, nullptr};
  }

  /// Seconds per training step of what differs: wide sums and aggregations against narrow ones. The products themselves
  /// are equal unless x is sparse, or has more rows than the sum, as on a block: they would be of all of these.
  bool cheaper(const Op& product, const Op& sum, const Op& aggregate, ValueId x) const {
    if (order_ != OrderChoice::kAuto) return order_ == OrderChoice::kTransformFirst;
    if (from_.type(x).layout == ir::Layout::kSparse) return true;
    if (from_.rows(x) > from_.rows(sum.results[0])) return false;
    const auto graph = static_cast<std::size_t>(aggregate.attrs.integer("graph", 0));
    const auto edges = static_cast<double>(std::max<std::int64_t>(0, from_.graphs[graph].num_edges));
    const auto rows = static_cast<double>(std::max<std::int64_t>(0, from_.rows(x)));
    const auto wide = static_cast<double>(from_.type(x).cols);
    const auto narrow = static_cast<double>(from_.type(product.results[0]).cols);
    // Aggregation forward, backward and for evaluations (of what is constant: once, before training), and the sum and
    // scaling of what it gives, which is made once too where the scale is constant.
    constexpr double kSweepsOfSum = 4;
    const double sweeps = 2 + repeats_.evaluations / repeats_.steps;
    const auto once = [&](ValueId value, double otherwise) {
      return constant_[static_cast<std::size_t>(value)] ? 1 / repeats_.steps : otherwise;
    };
    const double as_written = once(x, sweeps) * edges * wide + once(sum.results[0], 1) * kSweepsOfSum * rows * wide;
    const double distributed = sweeps * edges * narrow + kSweepsOfSum * rows * narrow;
    return distributed < as_written;
  }

  bool distribute(const Op& product, const Op& sum) {
    const Term a = term(sum.inputs[0]);
    const Term b = term(sum.inputs[1]);
    const Op* aggregate = a.aggregate != nullptr ? a.aggregate : b.aggregate;
    if (a.x == ir::kNoValue || a.x != b.x || aggregate == nullptr) return false;
    if (!cheaper(product, sum, *aggregate, a.x)) return false;
    ir::Builder builder = rewriter_.builder_at(product);
    const ValueId z = builder.add(OpKind::gemm, {rewriter_.map(a.x), rewriter_.map(product.inputs[1])});
    rewriter_.set(product.results[0], builder.add(OpKind::add, {apply(builder, a, z), apply(builder, b, z)}));
    decisions_->push_back(fmt::format("line {}: (s x + A x) W as s (x W) + A (x W), {} -> {} columns",
                                      product.location.line, from_.type(a.x).cols,
                                      from_.type(product.results[0]).cols));
    return true;
  }

  /// The term with z in the place of x.
  ValueId apply(ir::Builder& builder, const Term& term, ValueId z) {
    if (term.scale != nullptr) {
      const ValueId scalar = term.scale->inputs[0] == term.x ? term.scale->inputs[1] : term.scale->inputs[0];
      return builder.add(OpKind::mul, {rewriter_.map(scalar), z});
    }
    if (term.aggregate != nullptr) {
      std::vector<ValueId> inputs = {z};
      if (term.aggregate->inputs.size() == 2) inputs.push_back(rewriter_.map(term.aggregate->inputs[1]));
      return builder.add(OpKind::spmm, inputs, term.aggregate->attrs);
    }
    return z;
  }

  const ir::Program& from_;
  OrderChoice order_;
  const cost::Repeats& repeats_;
  std::vector<std::string>* decisions_;
  std::vector<std::int32_t> makers_;
  std::vector<std::int32_t> uses_;
  std::vector<bool> constant_;
  Rewriter rewriter_;
};

}  // namespace

ir::Program distribute_products(const ir::Program& program, OrderChoice order, const cost::Repeats& repeats,
                                std::vector<std::string>* decisions) {
  return Distributor(program, order, repeats, decisions).run();
}

}  // namespace gneiss::passes
