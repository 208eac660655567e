// (a x@src + b x@dst) W as a (x W)@src + b (x W)@dst: there are fewer nodes than edges.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace gneiss::passes {

/// Moves products of edge values that are linear in gathered node values to the nodes, where that takes fewer rows.
/// Equal to rounding. `decisions` gets a sentence for each.
ir::Program products_at_nodes(const ir::Program& program, std::vector<std::string>* decisions);

}  // namespace gneiss::passes
