// How the ops of a loop over edges become loops over columns.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "ir/program.h"

namespace gneiss::synth {

/// Columns that ops work through together, in equal groups where one of them has a number for each.
struct ColumnShape {
  std::int64_t cols = 1;
  std::int64_t groups = 1;
};

/// Ops that are one loop over columns, or one op that works through whole rows by itself.
struct LoopSegment {
  ColumnShape shape;
  std::vector<const ir::Op*> ops;
  bool alone = false;
};

/// Does an op only say where the row of an edge lies, or which number it is?
bool is_place_of_row(ir::OpKind kind);

/// Cuts the ops of a loop, each of which comes after what it reads: as many ops a segment as share their columns and
/// are ready.
std::vector<LoopSegment> loop_segments(const ir::Program& program, const std::vector<const ir::Op*>& ops);

/// Values that one segment makes and another one reads.
std::set<ir::ValueId> values_between(const std::vector<LoopSegment>& segments);

}  // namespace gneiss::synth
