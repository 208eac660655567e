// A model as parts of one hop each, for evaluation layer by layer.
#pragma once

#include <vector>

#include "passes/to_blocks.h"

namespace gneiss::passes {

/// Parts to be computed one after the other, each for all nodes: what a part is given are results of earlier ones, and
/// no part reaches over more than one hop. Only what edges read at their sources is a result; what a node needs of
/// earlier layers besides is computed again, without neighbours of neighbours. The last part's results are the logits
/// and the embedding, unless an earlier part has made that.
/// Errors: as to_blocks.
std::vector<BlockPart> cut_by_layers(const ir::Program& model);

}  // namespace gneiss::passes
