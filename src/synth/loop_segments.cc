// Ops on columns are collected into one loop as long as no op needs a whole row before; then a new segment begins.
#include "synth/loop_segments.h"

#include <algorithm>

#include "base/error.h"

namespace gneiss::synth {
namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

/// Ops that work through whole rows by themselves.
bool stands_alone(OpKind kind) {
  return kind == OpKind::gemm || kind == OpKind::sum_heads || kind == OpKind::tile_heads || kind == OpKind::concat ||
         kind == OpKind::slice;
}

bool sums_groups(const Op* op) { return op->kind == OpKind::sum_groups; }

class Cutter {
 public:
  Cutter(const ir::Program& program, const std::vector<const Op*>& ops) : program_(program) {
    for (const Op* op : ops) {
      made_.insert(op->results.begin(), op->results.end());
      if (is_place_of_row(op->kind)) {
        done_.insert(op->results[0]);
      } else {
        left_.push_back(op);
      }
    }
  }

  std::vector<LoopSegment> cut() {
    std::vector<LoopSegment> segments;
    while (!left_.empty()) {
      LoopSegment segment;
      std::vector<const Op*> later;
      for (const Op* op : left_) {
        if (joins(*op, segment)) {
          add(*op, &segment);
        } else {
          later.push_back(op);
        }
      }
      GNEISS_ASSERT(!segment.ops.empty(), "ops of a loop over edges read each other in a circle");
      for (const Op* op : segment.ops) done_.insert(op->results[0]);
      segments.push_back(std::move(segment));
      left_ = std::move(later);
    }
    return segments;
  }

 private:
  std::int64_t cols(ValueId v) const { return program_.type(v).cols; }

  ColumnShape shape_of(const Op& op) const {
    ColumnShape shape;
    const bool sums = op.kind == OpKind::sum_rows || op.kind == OpKind::segment_reduce || sums_groups(&op);
    shape.cols = cols(sums ? op.inputs[0] : op.results[0]);
    if (sums_groups(&op)) shape.groups = op.attrs.integer("groups", 1);
    for (const ValueId input : op.inputs) {
      const std::int64_t narrow = cols(input);
      if (narrow > 1 && narrow < shape.cols) shape.groups = std::max(shape.groups, narrow);
    }
    return shape;
  }

  /// May the op share a loop over columns? A sum over groups of columns fixes the groups.
  bool fits_into(const Op& op, const LoopSegment& segment) const {
    const ColumnShape shape = shape_of(op);
    if (shape.cols != segment.shape.cols) return false;
    if (shape.groups == segment.shape.groups) return true;
    if (shape.groups == 1) return !sums_groups(&op);
    return segment.shape.groups == 1 && std::none_of(segment.ops.begin(), segment.ops.end(), sums_groups);
  }

  /// Is what the op reads of this edge there: before the segment, or column by column in it?
  bool is_ready(const Op& op, const LoopSegment& segment) const {
    return std::all_of(op.inputs.begin(), op.inputs.end(), [&](ValueId v) {
      if (made_.count(v) == 0 || done_.count(v) > 0) return true;
      // A sum over columns is there when the loop over columns is through.
      return std::any_of(segment.ops.begin(), segment.ops.end(),
                         [&](const Op* other) { return other->results[0] == v && !sums_groups(other); });
    });
  }

  bool joins(const Op& op, const LoopSegment& segment) const {
    const bool opens = segment.ops.empty();
    if (!opens && (segment.alone || stands_alone(op.kind) || !fits_into(op, segment))) return false;
    return is_ready(op, segment);
  }

  void add(const Op& op, LoopSegment* segment) const {
    segment->alone = stands_alone(op.kind);
    const ColumnShape shape = shape_of(op);
    segment->shape = {shape.cols, std::max(shape.groups, segment->shape.groups)};
    segment->ops.push_back(&op);
  }

  const ir::Program& program_;
  std::set<ValueId> made_;  ///< by ops of the loop
  std::set<ValueId> done_;  ///< of those, before the segment being cut
  std::vector<const Op*> left_;
};

}  // namespace

bool is_place_of_row(OpKind kind) {
  return kind == OpKind::gather_src || kind == OpKind::gather_dst || kind == OpKind::edge_weight ||
         kind == OpKind::constant;
}

std::vector<LoopSegment> loop_segments(const ir::Program& program, const std::vector<const Op*>& ops) {
  return Cutter(program, ops).cut();
}

std::set<ValueId> values_between(const std::vector<LoopSegment>& segments) {
  std::set<ValueId> made;
  for (const LoopSegment& segment : segments) {
    for (const Op* op : segment.ops) made.insert(op->results.begin(), op->results.end());
  }
  std::set<ValueId> between;
  for (const LoopSegment& segment : segments) {
    std::set<ValueId> own;
    for (const Op* op : segment.ops) own.insert(op->results.begin(), op->results.end());
    for (const Op* op : segment.ops) {
      for (const ValueId v : op->inputs) {
        if (made.count(v) > 0 && own.count(v) == 0) between.insert(v);
      }
    }
  }
  return between;
}

}  // namespace gneiss::synth
