// Takes the operand of each reduction over edges apart: a product of one gathered node value and of narrower edge
// values. The gathered value becomes the operand of a sparse product, the product of the others its weight. An inner
// product of the two ends of an edge becomes sddmm in the same way.
#include "passes/fuse_messages.h"

#include <algorithm>
#include <optional>

#include "passes/rewriter.h"

namespace gneiss::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

/// A reduction's operand taken apart: one gathered node value times narrower edge values.
struct Message {
  ValueId gathered = ir::kNoValue;
  std::vector<ValueId> weights;
};

class MessageFuser {
 public:
  MessageFuser(const ir::Program& program, bool wide_weights)
      : from_(program), wide_weights_(wide_weights), makers_(ir::producers(program)), rewriter_(program) {}

  ir::Program run() {
    for (const Op& op : from_.ops) {
      const bool fused = (op.kind == OpKind::segment_reduce && fuse_reduction(op)) ||
                         (op.kind == OpKind::sum_groups && fuse_inner_product(op));
      if (!fused) rewriter_.copy(op);
    }
    return rewriter_.finish();
  }

 private:
  const Op* maker(ValueId value) const {
    const std::int32_t index = makers_[static_cast<std::size_t>(value)];
    return index < 0 ? nullptr : &from_.ops[static_cast<std::size_t>(index)];
  }

  /// The factors of a product of edge values as wide as `cols`; narrower factors are left whole.
  void flatten(ValueId value, std::int64_t cols, std::vector<ValueId>* factors) const {
    const Op* op = maker(value);
    if (op != nullptr && op->kind == OpKind::mul && from_.type(value).cols == cols) {
      for (const ValueId input : op->inputs) flatten(input, cols, factors);
    } else {
      factors->push_back(value);
    }
  }

  std::optional<Message> match(const Op& reduce) const {
    const ValueId edge = reduce.inputs[0];
    const std::int64_t cols = from_.type(edge).cols;
    const bool by_destination = reduce.attrs.text("side", "dst") == "dst";
    const OpKind gather = by_destination ? OpKind::gather_src : OpKind::gather_dst;
    std::vector<ValueId> factors;
    flatten(edge, cols, &factors);
    Message message;
    for (const ValueId factor : factors) {
      const Op* op = maker(factor);
      if (message.gathered == ir::kNoValue && op != nullptr && op->kind == gather && from_.type(factor).cols == cols) {
        message.gathered = op->inputs[0];
      } else {
        message.weights.push_back(factor);
      }
    }
    if (message.gathered == ir::kNoValue || !weights_fit(reduce, message, cols)) return std::nullopt;
    return message;
  }

  bool weights_fit(const Op& reduce, const Message& message, std::int64_t cols) const {
    const std::string fn = reduce.attrs.text("fn", "sum");
    const bool extreme = fn == "max" || fn == "min";
    // A maximum along out-edges has no gradient kernel; it stays a gather and a reduction.
    if (extreme && reduce.attrs.text("side", "dst") != "dst") return false;
    for (const ValueId w : message.weights) {
      const ir::Type& type = from_.type(w);
      if (type.domain != ir::Domain::kEdge) return false;
      if (extreme ? type.cols != 1 : cols % type.cols != 0) return false;
      if (!wide_weights_ && is_wide(type.cols, cols)) return false;
    }
    return true;
  }

  static bool is_wide(std::int64_t groups, std::int64_t cols) { return groups > 1 && groups == cols; }

  /// The product of the weights, narrow ones first.
  ValueId weight_product(ir::Builder& builder, std::vector<ValueId> weights) {
    std::stable_sort(weights.begin(), weights.end(),
                     [&](ValueId a, ValueId b) { return from_.type(a).cols < from_.type(b).cols; });
    ValueId product = rewriter_.map(weights[0]);
    for (std::size_t i = 1; i < weights.size(); ++i)
      product = builder.add(OpKind::mul, {product, rewriter_.map(weights[i])});
    return product;
  }

  bool fuse_reduction(const Op& op) {
    const std::optional<Message> message = match(op);
    if (!message) return false;
    ir::Builder builder = rewriter_.builder_at(op);
    std::vector<ValueId> inputs = {rewriter_.map(message->gathered)};
    std::int64_t heads = 1;
    if (!message->weights.empty()) {
      inputs.push_back(weight_product(builder, message->weights));
      heads = rewriter_.program().type(inputs[1]).cols;
    }
    const bool transpose = op.attrs.text("side", "dst") == "src";
    const bool keep_arg = op.results.size() > 1 && op.results[1] != ir::kNoValue;
    builder.add(OpKind::spmm, inputs,
                {{"graph", op.attrs.integer("graph", 0)},
                 {"fn", op.attrs.text("fn", "sum")},
                 {"transpose", std::int64_t{transpose}},
                 {"heads", heads}},
                true);
    const std::vector<ValueId>& results = rewriter_.program().ops.back().results;
    rewriter_.set(op.results[0], results[0]);
    if (keep_arg) rewriter_.set(op.results[1], results[1]);
    return true;
  }

  /// sum_groups(mul(y@dst, x@src), heads) -> sddmm.
  bool fuse_inner_product(const Op& op) {
    const Op* product = maker(op.inputs[0]);
    if (product == nullptr || product->kind != OpKind::mul) return false;
    const Op* a = maker(product->inputs[0]);
    const Op* b = maker(product->inputs[1]);
    if (a == nullptr || b == nullptr) return false;
    if (a->kind == OpKind::gather_src) std::swap(a, b);
    if (a->kind != OpKind::gather_dst || b->kind != OpKind::gather_src) return false;
    if (from_.type(a->inputs[0]).cols != from_.type(b->inputs[0]).cols) return false;
    if (!wide_weights_ && is_wide(op.attrs.integer("groups", 1), from_.type(op.inputs[0]).cols)) return false;
    const ValueId fused = rewriter_.builder_at(op).add(
        OpKind::sddmm, {rewriter_.map(a->inputs[0]), rewriter_.map(b->inputs[0])},
        {{"graph", b->attrs.integer("graph", 0)}, {"heads", op.attrs.integer("groups", 1)}});
    rewriter_.set(op.results[0], fused);
    return true;
  }

  const ir::Program& from_;
  bool wide_weights_;
  std::vector<std::int32_t> makers_;
  Rewriter rewriter_;
};

}  // namespace

ir::Program fuse_messages(const ir::Program& program, bool wide_weights) {
  return MessageFuser(program, wide_weights).run();
}

}  // namespace gneiss::passes
