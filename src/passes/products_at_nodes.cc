// For each product of an edge value that is a linear combination of gathered node values (scaled by one value an edge
// at most), the node values are multiplied instead and the combination is built anew from the results. It is done where
// the nodes have fewer rows than the edges.
#include "passes/products_at_nodes.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "passes/rewriter.h"

namespace gneiss::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

class ProductMover {
 public:
  ProductMover(const ir::Program& program, std::vector<std::string>* decisions)
      : from_(program), decisions_(decisions), makers_(ir::producers(program)), rewriter_(program) {}

  ir::Program run() {
    for (const Op& op : from_.ops) {
      if (!move(op)) rewriter_.copy(op);
    }
    return rewriter_.finish();
  }

 private:
  const Op& maker(ValueId v) const { return from_.ops[static_cast<std::size_t>(makers_[static_cast<std::size_t>(v)])]; }
  bool is_edge(ValueId v) const { return from_.type(v).domain == ir::Domain::kEdge; }

  /// Collects the node values that an edge value is linear in; false if it is not.
  bool is_linear(ValueId v, std::int64_t cols, std::set<ValueId>* nodes) const {
    if (!is_edge(v) || from_.type(v).cols != cols) return false;
    const Op& op = maker(v);
    switch (op.kind) {
      case OpKind::gather_src:
      case OpKind::gather_dst:
        nodes->insert(op.inputs[0]);
        return true;
      case OpKind::add:
      case OpKind::sub:
        return is_linear(op.inputs[0], cols, nodes) && is_linear(op.inputs[1], cols, nodes);
      case OpKind::affine:
        return op.attrs.real("shift", 0) == 0 && is_linear(op.inputs[0], cols, nodes);
      case OpKind::mul: {
        const std::size_t scaled = scaled_operand(op);
        return scaled < 2 && is_linear(op.inputs[scaled], cols, nodes);
      }
      default:
        return false;
    }
  }

  /// Of a product with a number for each edge, the other operand; 2: it is no such product.
  std::size_t scaled_operand(const Op& op) const {
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      if (from_.type(op.inputs[1 - side]).cols == 1 && from_.type(op.inputs[side]).cols > 1) return side;
    }
    return 2;
  }

  bool move(const Op& op) {
    const bool plain = op.kind == OpKind::gemm && op.inputs.size() == 2 && op.attrs.integer("ta", 0) == 0 &&
                       op.attrs.integer("tb", 0) == 0;
    if (!plain || !is_edge(op.inputs[0])) return false;
    std::set<ValueId> nodes;
    if (!is_linear(op.inputs[0], from_.type(op.inputs[0]).cols, &nodes)) return false;
    std::int64_t rows = 0;
    for (const ValueId v : nodes) rows += from_.rows(v);
    if (rows > from_.rows(op.inputs[0])) return false;
    std::map<ValueId, ValueId> products;
    rewriter_.set(op.results[0], product(op, op.inputs[0], &products));
    decisions_->push_back(fmt::format("line {}: a product of {} edges as one of {} nodes", op.location.line,
                                      from_.rows(op.inputs[0]), rows));
    return true;
  }

  /// v times the matrix of `gemm`, taken at the nodes.
  ValueId product(const Op& gemm, ValueId v, std::map<ValueId, ValueId>* products) {
    const Op& op = maker(v);
    ir::Builder builder = rewriter_.builder_at(gemm);
    if (op.kind == OpKind::gather_src || op.kind == OpKind::gather_dst) {
      const auto [found, is_new] = products->try_emplace(op.inputs[0], ir::kNoValue);
      if (is_new)
        found->second = builder.add(OpKind::gemm, {rewriter_.map(op.inputs[0]), rewriter_.map(gemm.inputs[1])});
      return builder.add(op.kind, {found->second}, op.attrs);
    }
    std::vector<ValueId> inputs;
    const std::size_t scaled = op.kind == OpKind::mul ? scaled_operand(op) : 2;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      inputs.push_back(scaled == 2 || i == scaled ? product(gemm, op.inputs[i], products)
                                                  : rewriter_.map(op.inputs[i]));
    }
    return builder.add(op.kind, inputs, op.attrs);
  }

  const ir::Program& from_;
  std::vector<std::string>* decisions_;
  std::vector<std::int32_t> makers_;
  Rewriter rewriter_;
};

}  // namespace

ir::Program products_at_nodes(const ir::Program& program, std::vector<std::string>* decisions) {
  return ProductMover(program, decisions).run();
}

}  // namespace gneiss::passes
