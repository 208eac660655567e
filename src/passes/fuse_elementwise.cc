// Goes through the ops in order; for each, the rules below are tried one after the other. A rule looks at the op that
// made an operand, and takes it in if it has no other reader and is of the same phase. What was taken in goes as dead
// code.
#include "passes/fuse_elementwise.h"

#include <utility>

#include "passes/rewriter.h"

namespace gneiss::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

class ElementwiseFuser {
 public:
  explicit ElementwiseFuser(const ir::Program& program)
      : from_(program), makers_(ir::producers(program)), uses_(ir::use_counts(program)), rewriter_(program) {}

  ir::Program run() {
    for (const Op& op : from_.ops) {
      const bool fused =
          (op.kind == OpKind::add && (fuse_addend(op) || fuse_product(op))) ||
          (op.kind == OpKind::sum_groups && fuse_inner_product(op)) ||
          (op.kind == OpKind::sum_rows && fuse_weighted_sum(op)) ||
          (op.kind == OpKind::mul && (fuse_ends(op) || fuse_scaling(op) || fuse_scaling_of_addition(op))) ||
          drop_expansion(op);
      if (!fused) rewriter_.copy(op);
    }
    return rewriter_.finish();
  }

 private:
  const Op& maker(ValueId value) const {
    return from_.ops[static_cast<std::size_t>(makers_[static_cast<std::size_t>(value)])];
  }

  /// The op of this kind, in the phase of `user`, that makes `value` for one use only.
  const Op* sole(const Op& user, ValueId value, OpKind kind) const {
    const Op& op = maker(value);
    return op.kind == kind && op.phase == user.phase && uses_[static_cast<std::size_t>(value)] == 1 ? &op : nullptr;
  }

  /// What an op that broadcasts may read instead of `value`: the groups themselves instead of their copies.
  ValueId narrow(ValueId value) const {
    const Op& op = maker(value);
    return op.kind == OpKind::expand_groups ? op.inputs[0] : value;
  }

  void emit(const Op& op, OpKind kind, const std::vector<ValueId>& inputs, const ir::Attrs& attrs) {
    std::vector<ValueId> mapped;
    for (const ValueId input : inputs) mapped.push_back(rewriter_.map(input));
    rewriter_.set(op.results[0], rewriter_.builder_at(op).add(kind, mapped, attrs));
  }

  bool fuse_addend(const Op& op) {
    const ir::Type& result = from_.type(op.results[0]);
    for (const std::size_t side : {std::size_t{1}, std::size_t{0}}) {
      const Op* product = sole(op, op.inputs[side], OpKind::gemm);
      const ir::Type& addend = from_.type(op.inputs[1 - side]);
      if (product == nullptr || product->inputs.size() != 2 || product->attrs.integer("ta", 0) != 0) continue;
      const bool row = addend.domain == ir::Domain::kGlobal && addend.rows == 1 && addend.cols == result.cols;
      if (from_.type(op.inputs[side]) != result || (addend != result && !row)) continue;
      emit(op, OpKind::gemm, {product->inputs[0], product->inputs[1], op.inputs[1 - side]}, product->attrs);
      return true;
    }
    return false;
  }

  bool fuse_product(const Op& op) {
    const ir::Type& result = from_.type(op.results[0]);
    for (const std::size_t side : {std::size_t{1}, std::size_t{0}}) {
      const Op* product = sole(op, op.inputs[side], OpKind::mul);
      if (product == nullptr || from_.type(op.inputs[1 - side]) != result) continue;
      emit(op, OpKind::mul_add, {op.inputs[1 - side], narrow(product->inputs[0]), narrow(product->inputs[1])}, {});
      return true;
    }
    return false;
  }

  bool fuse_inner_product(const Op& op) {
    const Op* product = op.inputs.size() == 1 ? sole(op, op.inputs[0], OpKind::mul) : nullptr;
    if (product == nullptr) return false;
    const ir::Type& wide = from_.type(op.inputs[0]);
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      const ir::Type& weights = from_.type(product->inputs[1 - side]);
      const bool row = weights.domain == ir::Domain::kGlobal && weights.rows == 1 && weights.cols == wide.cols;
      if (from_.type(product->inputs[side]) != wide || (weights != wide && !row)) continue;
      emit(op, OpKind::sum_groups, {product->inputs[side], product->inputs[1 - side]}, op.attrs);
      return true;
    }
    return false;
  }

  bool fuse_weighted_sum(const Op& op) {
    const Op* product = op.inputs.size() == 1 ? sole(op, op.inputs[0], OpKind::mul) : nullptr;
    if (product == nullptr) return false;
    const ir::Type& wide = from_.type(op.inputs[0]);
    // The copies of groups, if there are any, are the weights.
    const std::size_t first = narrow(product->inputs[0]) == product->inputs[0] ? 0 : 1;
    for (const std::size_t side : {first, 1 - first}) {
      const ValueId weights = narrow(product->inputs[1 - side]);
      const ir::Type& type = from_.type(weights);
      const bool same_rows = type.domain == wide.domain && type.set == wide.set && type.rows == wide.rows;
      if (from_.type(product->inputs[side]) != wide || !same_rows) continue;
      emit(op, OpKind::sum_rows, {product->inputs[side], weights}, op.attrs);
      return true;
    }
    return false;
  }

  /// A value of an edge's source times one of its destination: no array of edges but the product.
  bool fuse_ends(const Op& op) {
    if (from_.type(op.results[0]).domain != ir::Domain::kEdge || from_.type(op.results[0]).cols != 1) return false;
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      const Op* src = sole(op, op.inputs[side], OpKind::gather_src);
      const Op* dst = sole(op, op.inputs[1 - side], OpKind::gather_dst);
      if (src == nullptr || dst == nullptr || from_.type(src->inputs[0]).cols != 1 ||
          from_.type(dst->inputs[0]).cols != 1)
        continue;
      emit(op, OpKind::sddmm, {dst->inputs[0], src->inputs[0]},
           {{"graph", src->attrs.integer("graph", 0)}, {"heads", std::int64_t{1}}});
      return true;
    }
    return false;
  }

  /// The sum over edges, which can take a factor for each row, that makes `value` for `user` only.
  const Op* scalable_sum(const Op& user, ValueId value) const {
    const Op* sum = sole(user, value, OpKind::spmm);
    const std::string fn = sum == nullptr ? "" : sum->attrs.text("fn", "sum");
    return (fn == "sum" || fn == "mean") && !sum->attrs.has("scaled") ? sum : nullptr;
  }

  /// Is operand `side` of a product a factor for each row of the other one?
  bool scales_rows(const Op& product, std::size_t side) const {
    ir::Type factor = from_.type(product.results[0]);
    factor.cols = 1;
    return from_.type(product.inputs[1 - side]) == from_.type(product.results[0]) &&
           from_.type(product.inputs[side]) == factor;
  }

  ValueId scaled_sum(const Op& user, const Op& sum, ValueId factor) {
    std::vector<ValueId> inputs;
    for (const ValueId input : sum.inputs) inputs.push_back(rewriter_.map(input));
    inputs.push_back(rewriter_.map(factor));
    ir::Attrs attrs = sum.attrs;
    attrs.set("scaled", std::int64_t{1});
    return rewriter_.builder_at(user).add(OpKind::spmm, inputs, attrs);
  }

  /// A sum over edges times a factor for each row: the last thing that is done to the sum while it is in registers.
  bool fuse_scaling(const Op& op) {
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      const Op* sum = scalable_sum(op, op.inputs[side]);
      if (sum == nullptr || !scales_rows(op, 1 - side)) continue;
      rewriter_.set(op.results[0], scaled_sum(op, *sum, op.inputs[1 - side]));
      return true;
    }
    return false;
  }

  /// A sum over edges and another value, times a factor for each row: the sum is scaled in registers, the other where
  /// it is added.
  bool fuse_scaling_of_addition(const Op& op) {
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      const Op* addition = sole(op, op.inputs[side], OpKind::add);
      if (addition == nullptr || !scales_rows(op, 1 - side)) continue;
      for (const std::size_t part : {std::size_t{0}, std::size_t{1}}) {
        const Op* sum = scalable_sum(op, addition->inputs[part]);
        const ValueId other = addition->inputs[1 - part];
        const ir::Type& result = from_.type(op.results[0]);
        if (sum == nullptr || from_.type(addition->inputs[part]) != result || from_.type(other) != result) continue;
        const ValueId factor = op.inputs[1 - side];
        const ValueId scaled = scaled_sum(op, *sum, factor);
        rewriter_.set(op.results[0], rewriter_.builder_at(op).add(
                                         OpKind::mul_add, {scaled, rewriter_.map(other), rewriter_.map(factor)}));
        return true;
      }
    }
    return false;
  }

  bool drop_expansion(const Op& op) {
    const bool broadcasts =
        op.kind == OpKind::add || op.kind == OpKind::sub || op.kind == OpKind::mul || op.kind == OpKind::div;
    if (!broadcasts) return false;
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      const ValueId groups = narrow(op.inputs[side]);
      const ir::Type& other = from_.type(op.inputs[1 - side]);
      if (groups == op.inputs[side] || other.cols != from_.type(op.results[0]).cols) continue;
      std::vector<ValueId> inputs = op.inputs;
      inputs[side] = groups;
      emit(op, op.kind, inputs, op.attrs);
      return true;
    }
    return false;
  }

  const ir::Program& from_;
  std::vector<std::int32_t> makers_;
  std::vector<std::int32_t> uses_;
  Rewriter rewriter_;
};

}  // namespace

ir::Program fuse_elementwise(const ir::Program& program) { return ElementwiseFuser(program).run(); }

}  // namespace gneiss::passes
