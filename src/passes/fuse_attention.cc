// Matches backwards from each sparse product with a softmax as its weight: softmax, optional dropout, leaky ReLU, the
// sum of two gathered scores. A match whose parts nobody else reads is replaced by one op; the parts go as dead code.
#include "passes/fuse_attention.h"

#include <optional>

#include "passes/rewriter.h"

namespace gneiss::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

/// The parts of an attention.
struct Attention {
  ValueId source_score = ir::kNoValue;
  ValueId destination_score = ir::kNoValue;
  double slope = 1;
  const Op* dropout = nullptr;
};

class AttentionFuser {
 public:
  explicit AttentionFuser(const ir::Program& program)
      : from_(program), makers_(ir::producers(program)), uses_(ir::use_counts(program)), rewriter_(program) {}

  ir::Program run() {
    for (const Op& op : from_.ops) {
      const std::optional<Attention> found = op.kind == OpKind::spmm ? match(op) : std::nullopt;
      if (found) {
        replace(op, *found);
      } else {
        rewriter_.copy(op);
      }
    }
    return rewriter_.finish();
  }

 private:
  /// The op that makes `value` if it is of this kind and makes it for one use only.
  const Op* sole(ValueId value, OpKind kind) const {
    const Op& op = from_.ops[static_cast<std::size_t>(makers_[static_cast<std::size_t>(value)])];
    return op.kind == kind && uses_[static_cast<std::size_t>(value)] == 1 ? &op : nullptr;
  }

  std::optional<Attention> match(const Op& product) const {
    const bool sums = product.attrs.text("fn", "sum") == "sum" && product.attrs.integer("transpose", 0) == 0;
    if (!sums || product.inputs.size() != 2) return std::nullopt;
    Attention found;
    ValueId weight = product.inputs[1];
    found.dropout = sole(weight, OpKind::dropout);
    if (found.dropout != nullptr) weight = found.dropout->inputs[0];
    const Op* softmax = sole(weight, OpKind::edge_softmax);
    if (softmax == nullptr) return std::nullopt;
    ValueId score = softmax->inputs[0];
    if (const Op* bend = sole(score, OpKind::leaky_relu)) {
      found.slope = bend->attrs.real("alpha", 0);
      score = bend->inputs[0];
    }
    const Op* sum = sole(score, OpKind::add);
    if (sum == nullptr) return std::nullopt;
    const std::int64_t heads = product.attrs.integer("heads", 1);
    for (const ValueId term : sum->inputs) {
      if (from_.type(term).cols != heads) return std::nullopt;
      if (const Op* from_source = sole(term, OpKind::gather_src)) found.source_score = from_source->inputs[0];
      if (const Op* from_destination = sole(term, OpKind::gather_dst))
        found.destination_score = from_destination->inputs[0];
    }
    const bool whole = found.source_score != ir::kNoValue && found.destination_score != ir::kNoValue;
    return whole ? std::optional(found) : std::nullopt;
  }

  void replace(const Op& product, const Attention& found) {
    ir::Builder builder = rewriter_.builder_at(product);
    const std::int64_t graph = product.attrs.integer("graph", 0);
    const std::int64_t heads = product.attrs.integer("heads", 1);
    std::vector<ValueId> inputs = {rewriter_.map(product.inputs[0]), rewriter_.map(found.source_score),
                                   rewriter_.map(found.destination_score)};
    if (found.dropout != nullptr) {
      const ValueId ones =
          builder.leaf(OpKind::constant, ir::edge_type(static_cast<std::int32_t>(graph), heads), {{"value", 1.0}});
      inputs.push_back(builder.add(OpKind::dropout, {ones}, found.dropout->attrs));
    }
    const ValueId fused =
        builder.add(OpKind::attention, inputs, {{"graph", graph}, {"heads", heads}, {"slope", found.slope}});
    rewriter_.set(product.results[0], fused);
  }

  const ir::Program& from_;
  std::vector<std::int32_t> makers_;
  std::vector<std::int32_t> uses_;
  Rewriter rewriter_;
};

}  // namespace

ir::Program fuse_attention(const ir::Program& program) { return AttentionFuser(program).run(); }

}  // namespace gneiss::passes
