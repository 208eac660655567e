// What plans over blocks have in common, of training batches and of evaluation layer by layer.
#pragma once

#include <vector>

#include "data/dataset.h"
#include "minibatch/batch.h"
#include "passes/pipeline.h"
#include "passes/to_blocks.h"
#include "train/session.h"

namespace gneiss::train {

/// What a plan has room for beyond what was seen.
inline constexpr double kRoomMargin = 1.25;

/// Choices that suit a program whose graphs change: nothing is known of them beforehand.
passes::Options block_passes(const SessionOptions& options);

/// Counts of a batch as those of a block program.
passes::BlockCapacity block_capacity(const minibatch::BatchShape& shape);

/// Each count and a quarter more.
minibatch::BatchShape with_margin(minibatch::BatchShape shape);

/// The rows of BlockProgram::constants, [nodes, columns]: what the full graph alone decides. Empty for an empty
/// program.
std::vector<float> graph_constants(const data::Dataset& dataset, const ir::Program& constants,
                                   const SessionOptions& options);

}  // namespace gneiss::train
