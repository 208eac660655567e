// Looks for graphs that are another graph with a loop at each node. If every op that walks such a graph is a sum
// without weights or a degree, and the extra passes over x cost less than a copy of the edges, each sum becomes x + the
// sum over the other graph.
#include "passes/self_loops.h"

#include <fmt/format.h>

#include <set>

#include "base/ids.h"
#include "passes/constant_values.h"
#include "passes/rewriter.h"

namespace gneiss::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

class LoopRemover {
 public:
  LoopRemover(const ir::Program& program, const cost::Rates& rates, const cost::Repeats& repeats,
              std::vector<std::string>* decisions)
      : from_(program),
        rates_(rates),
        repeats_(repeats),
        decisions_(decisions),
        constant_(constant_values(program)),
        rewriter_(program) {}

  ir::Program run() {
    for (std::size_t g = 1; g < from_.graphs.size(); ++g) {
      if (is_base_with_loops(from_.graphs[g]) && can_be_left(g) && pays(g)) left_.insert(static_cast<std::int64_t>(g));
    }
    if (left_.empty()) return from_;
    for (const Op& op : from_.ops) {
      if (left_.count(op.attrs.integer("graph", -1)) > 0) {
        rewrite(op);
      } else {
        rewriter_.copy(op);
      }
    }
    return rewriter_.finish();
  }

 private:
  const ir::GraphDef& base_of(std::size_t g) const {
    return from_.graphs[static_cast<std::size_t>(from_.graphs[g].base)];
  }

  bool is_base_with_loops(const ir::GraphDef& graph) const {
    const bool adds =
        graph.origin == ir::GraphOrigin::kAddRemainingSelfLoops || graph.origin == ir::GraphOrigin::kReplaceSelfLoops;
    if (!adds) return false;
    const std::int64_t edges = from_.graphs[static_cast<std::size_t>(graph.base)].num_edges;
    const std::int64_t nodes = from_.node_sets[static_cast<std::size_t>(graph.dst_set)].size;
    return edges >= 0 && nodes >= 0 && graph.num_edges == edges + nodes;
  }

  static bool is_plain_sum(const Op& op) {
    return op.kind == OpKind::spmm && op.inputs.size() == 1 && op.attrs.text("fn", "sum") == "sum";
  }

  bool walks(const Op& op, std::size_t g) const {
    for (const std::vector<ValueId>* values : {&op.inputs, &op.results}) {
      for (const ValueId v : *values) {
        if (v != ir::kNoValue && from_.type(v).domain == ir::Domain::kEdge &&
            from_.type(v).set == static_cast<std::int32_t>(g))
          return true;
      }
    }
    return op.attrs.integer("graph", -1) == static_cast<std::int64_t>(g);
  }

  bool can_be_left(std::size_t g) const {
    for (const Op& op : from_.ops) {
      if (!walks(op, g) || op.kind == OpKind::degree) continue;
      if (!is_plain_sum(op) || constant_[static_cast<std::size_t>(op.inputs[0])]) return false;
    }
    return true;
  }

  /// Seconds that one sum takes longer: x is read once more, its rows one after another, and added to sums that are in
  /// a cache.
  double longer(const Op& sum, std::size_t g) const {
    const auto rows = static_cast<double>(from_.rows(sum.inputs[0]));
    const auto columns = static_cast<double>(from_.type(sum.inputs[0]).cols);
    const double bytes = rows * columns * double{sizeof(float)};
    const auto gather = [&](const ir::GraphDef& graph) {
      return cost::gather_seconds(rates_, static_cast<double>(graph.num_edges), rows, rows, columns);
    };
    return cost::stream_seconds(rates_, bytes) + cost::cached_stream_seconds(rates_, 2 * bytes) -
           (gather(from_.graphs[g]) - gather(base_of(g)));
  }

  bool pays(std::size_t g) {
    const ir::GraphDef& graph = from_.graphs[g];
    const double bytes = static_cast<double>(graph.num_edges) * double{sizeof(NodeId)};
    const double copy = cost::fresh_memory_seconds(bytes) + cost::stream_seconds(rates_, 2 * bytes);
    double sums = 0;
    for (const Op& op : from_.ops) {
      if (is_plain_sum(op) && walks(op, g)) sums += longer(op, g);
    }
    sums *= 2 * repeats_.steps + repeats_.evaluations;  // forward, backward
    const bool left = sums < copy;
    decisions_->push_back(
        fmt::format("{}: {}, {:.3g} s in all against {:.3g} s for a copy", graph.name,
                    left ? "left out, x is added to sums over " + base_of(g).name : std::string("made"), sums, copy));
    return left;
  }

  void rewrite(const Op& op) {
    const std::size_t g = static_cast<std::size_t>(op.attrs.integer("graph", 0));
    ir::Builder builder = rewriter_.builder_at(op);
    ir::Attrs attrs = op.attrs;
    attrs.set("graph", std::int64_t{from_.graphs[g].base});
    if (op.kind == OpKind::degree) {
      rewriter_.set(op.results[0], builder.add(OpKind::affine, {builder.add(OpKind::degree, {}, attrs)},
                                               {{"scale", 1.0}, {"shift", 1.0}}));
      return;
    }
    const ValueId x = rewriter_.map(op.inputs[0]);
    rewriter_.set(op.results[0], builder.add(OpKind::add, {builder.add(OpKind::spmm, {x}, attrs), x}));
  }

  const ir::Program& from_;
  const cost::Rates& rates_;
  const cost::Repeats& repeats_;
  std::vector<std::string>* decisions_;
  std::vector<bool> constant_;
  Rewriter rewriter_;
  std::set<std::int64_t> left_;  ///< graphs that nothing walks afterwards
};

}  // namespace

ir::Program leave_out_self_loops(const ir::Program& program, const cost::Rates& rates, const cost::Repeats& repeats,
                                 std::vector<std::string>* decisions) {
  return LoopRemover(program, rates, repeats, decisions).run();
}

}  // namespace gneiss::passes
