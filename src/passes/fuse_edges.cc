// Goes through the ops and gives each reduction of edges to the open loop that it shares most ops with, or to a new
// one. A loop takes in, for each of its ends, all ops on edges back to values that have to exist anyway. It runs at one
// position, which must come after all that it reads and before all that read it. At last the ops are written out, each
// loop's behind one another and marked with its number.
#include "passes/fuse_edges.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "passes/dead_code.h"
#include "passes/rewriter.h"

namespace gneiss::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

/// Elements of a matrix that a loop multiplies rows of edges by; a larger one is no guest of a cache beside them.
constexpr std::int64_t kMostWeights = std::int64_t{1} << 14;

/// A loop to be: where it runs, and the ops that end in it.
struct Loop {
  std::int32_t position = 0;  ///< index of the op in whose place it runs
  std::int64_t graph = 0;
  bool out_edges = false;
  ir::Phase phase = ir::Phase::kForward;
  std::vector<std::int32_t> ends;  ///< ops: reductions, and ops whose result is kept
};

class LoopBuilder {
 public:
  LoopBuilder(const ir::Program& program, std::vector<std::string>* decisions)
      : from_(program), decisions_(decisions), makers_(ir::producers(program)), rewriter_(program) {}

  ir::Program run() {
    find_kept();
    place_of_.resize(from_.ops.size());
    for (std::size_t i = 0; i < place_of_.size(); ++i) place_of_[i] = static_cast<std::int32_t>(i);
    ends_in_loop_.assign(from_.ops.size(), false);
    // What decides about the direction comes first; sums over all edges take either.
    for (const bool directed : {true, false}) {
      for (std::int32_t i = 0; i < static_cast<std::int32_t>(from_.ops.size()); ++i) {
        if (is_end(i) && is_sum_of_all(op(i)) != directed && !ends_in_loop_[static_cast<std::size_t>(i)]) assign(i);
      }
    }
    if (loops_.empty()) return from_;
    return write();
  }

 private:
  const Op& op(std::int32_t i) const { return from_.ops[static_cast<std::size_t>(i)]; }
  std::int32_t maker(ValueId v) const { return makers_[static_cast<std::size_t>(v)]; }
  bool is_edge(ValueId v) const { return v != ir::kNoValue && from_.type(v).domain == ir::Domain::kEdge; }

  /// Does the op compute a row of an edge from rows of the edge and of its ends?
  bool works_on_an_edge(const Op& op) const {
    if (op.results.empty() || !is_edge(op.results[0]) || from_.type(op.results[0]).layout != ir::Layout::kDense)
      return false;
    for (const ValueId input : op.inputs) {
      if (from_.type(input).layout != ir::Layout::kDense || ir::is_half(from_.type(input).scalar)) return false;
    }
    switch (op.kind) {
      case OpKind::dropout:
        return op.attrs.integer("reversed", 0) == 0;
      case OpKind::constant:
      case OpKind::edge_weight:
      case OpKind::gather_src:
      case OpKind::gather_dst:
      case OpKind::segment_arg_grad:
        return true;
      case OpKind::gemm:
        return ir::is_row_by_row(op) && from_.elements(op.inputs[1]) <= kMostWeights;
      default:
        return ir::is_row_by_row(op);
    }
  }

  /// A sum over the rows of all edges.
  bool is_sum_of_all(const Op& op) const {
    if (op.kind == OpKind::gemm)
      return op.attrs.integer("ta", 0) != 0 && is_edge(op.inputs[0]) && from_.elements(op.results[0]) <= kMostWeights;
    return op.kind == OpKind::sum_rows && is_edge(op.inputs[0]);
  }

  bool reduces(const Op& op) const { return op.kind == OpKind::segment_reduce || is_sum_of_all(op); }

  /// Values of edges that exist as matrices: those that another op reads.
  void find_kept() {
    kept_.assign(from_.values.size(), false);
    for (const Op& reader : from_.ops) {
      if (works_on_an_edge(reader) || reduces(reader)) continue;
      for (const ValueId input : reader.inputs) kept_[static_cast<std::size_t>(input)] = true;
    }
    for (const ir::Output& output : from_.outputs) kept_[static_cast<std::size_t>(output.value)] = true;
    // A loop that spared nothing but weights or a number for each edge would be slower than the kernels.
    for (auto reader = from_.ops.rbegin(); reader != from_.ops.rend(); ++reader) {
      const bool ends = reduces(*reader) || (works_on_an_edge(*reader) && is_kept(reader->results[0]));
      if (!ends || std::any_of(reader->inputs.begin(), reader->inputs.end(),
                               [&](ValueId v) { return passes_through(v) && !is_leaf(v); }))
        continue;
      for (const ValueId input : reader->inputs) kept_[static_cast<std::size_t>(input)] = true;
    }
  }

  bool is_leaf(ValueId v) const { return op(maker(v)).inputs.empty(); }

  bool is_kept(ValueId v) const { return kept_[static_cast<std::size_t>(v)]; }

  /// A row of an edge that a loop can make itself and nobody else needs.
  bool passes_through(ValueId v) const { return is_edge(v) && !is_kept(v) && works_on_an_edge(op(maker(v))); }

  /// Does op i end a loop that saves a matrix? What only copies rows of nodes to edges saves none.
  bool is_end(std::int32_t i) const {
    const bool ends = reduces(op(i)) || (works_on_an_edge(op(i)) && is_kept(op(i).results[0]));
    return ends && std::any_of(op(i).inputs.begin(), op(i).inputs.end(), [&](ValueId v) { return passes_through(v); });
  }

  /// The ops that op i needs in its loop, itself included.
  void collect(std::int32_t i, std::set<std::int32_t>* ops) const {
    if (!ops->insert(i).second) return;
    for (const ValueId input : op(i).inputs) {
      if (passes_through(input)) collect(maker(input), ops);
    }
  }

  /// What they read of others is there before `position`.
  bool can_run_at(const std::set<std::int32_t>& ops, std::int32_t position) const {
    for (const std::int32_t i : ops) {
      for (const ValueId input : op(i).inputs) {
        if (ops.count(maker(input)) > 0 && passes_through(input)) continue;
        if (place_of_[static_cast<std::size_t>(maker(input))] >= position) return false;
      }
    }
    return true;
  }

  /// Nobody reads a result of op i before `position`.
  bool can_wait_until(std::int32_t i, std::int32_t position) const {
    if (position <= i) return true;
    for (std::int32_t reader = i + 1; reader < static_cast<std::int32_t>(from_.ops.size()); ++reader) {
      for (const ValueId input : op(reader).inputs) {
        if (maker(input) != i) continue;
        if (works_on_an_edge(op(reader)) || place_of_[static_cast<std::size_t>(reader)] <= position) return false;
      }
    }
    return true;
  }

  std::int64_t graph_of(const Op& op) const {
    for (const ValueId input : op.inputs) {
      if (is_edge(input)) return from_.type(input).set;
    }
    return op.attrs.integer("graph", 0);
  }

  /// Puts op i into a loop: one that has its operands already, else one that it fits into, else its own.
  void assign(std::int32_t i) {
    std::set<std::int32_t> ops;
    collect(i, &ops);
    const bool out_edges = op(i).kind == OpKind::segment_reduce && op(i).attrs.text("side", "dst") == "src";
    const std::int64_t graph = graph_of(op(i));
    std::size_t best = loops_.size();
    std::size_t most = 0;
    for (std::size_t k = 0; k < loops_.size(); ++k) {
      const Loop& loop = loops_[k];
      if (loop.graph != graph || loop.phase != op(i).phase || (loop.out_edges != out_edges && !is_sum_of_all(op(i))))
        continue;
      if (!can_run_at(ops, loop.position) || !can_wait_until(i, loop.position)) continue;
      const std::size_t shared = 1 + shared_with(loop, ops);
      if (shared > most) best = k;
      most = std::max(most, shared);
    }
    if (best == loops_.size()) loops_.push_back({i, graph, out_edges, op(i).phase, {}});
    loops_[best].ends.push_back(i);
    place_of_[static_cast<std::size_t>(i)] = loops_[best].position;
    ends_in_loop_[static_cast<std::size_t>(i)] = true;
  }

  std::size_t shared_with(const Loop& loop, const std::set<std::int32_t>& ops) const {
    std::set<std::int32_t> others;
    for (const std::int32_t end : loop.ends) collect(end, &others);
    return static_cast<std::size_t>(
        std::count_if(ops.begin(), ops.end(), [&](std::int32_t i) { return others.count(i) > 0; }));
  }

  ir::Program write() {
    std::sort(loops_.begin(), loops_.end(), [](const Loop& a, const Loop& b) { return a.position < b.position; });
    std::size_t next = 0;
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(from_.ops.size()); ++i) {
      if (next < loops_.size() && loops_[next].position == i) write_loop(next++);
      // What passes through is in the loops, in each that needs it.
      const bool in_loops =
          ends_in_loop_[static_cast<std::size_t>(i)] || (works_on_an_edge(op(i)) && passes_through(op(i).results[0]));
      if (!in_loops) rewriter_.copy(op(i));
    }
    return eliminate_dead_code(rewriter_.finish());
  }

  void write_loop(std::size_t index) {
    const Loop& loop = loops_[index];
    std::set<std::int32_t> ops;
    for (const std::int32_t end : loop.ends) collect(end, &ops);
    std::string names;
    for (const std::int32_t i : ops) {
      Op& now = rewriter_.copy(op(i));
      now.phase = loop.phase;
      now.attrs.set("loop", static_cast<std::int64_t>(index));
      names += fmt::format("{}{}", names.empty() ? "" : ", ", ir::traits(now.kind).name);
    }
    decisions_->push_back(fmt::format("loop {} along {}-edges: {}", index, loop.out_edges ? "out" : "in", names));
  }

  const ir::Program& from_;
  std::vector<std::string>* decisions_;
  std::vector<std::int32_t> makers_;
  std::vector<bool> kept_;
  std::vector<Loop> loops_;
  std::vector<std::int32_t> place_of_;  ///< of each op: its index, or that of the op in whose place its loop runs
  std::vector<bool> ends_in_loop_;
  Rewriter rewriter_;
};

}  // namespace

ir::Program fuse_edges(const ir::Program& program, std::vector<std::string>* decisions) {
  return LoopBuilder(program, decisions).run();
}

}  // namespace gneiss::passes
