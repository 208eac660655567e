// What plans over blocks have in common, of training batches and of evaluation layer by layer.
#pragma once

#include <vector>

#include "data/dataset.h"
#include "passes/pipeline.h"
#include "train/session.h"

namespace gneiss::train {

/// Choices that suit a program whose graphs change: nothing is known of them beforehand.
passes::Options block_passes(const SessionOptions& options);

/// The rows of BlockProgram::constants, [nodes, columns]: what the full graph alone decides. Empty for an empty
/// program.
std::vector<float> graph_constants(const data::Dataset& dataset, const ir::Program& constants,
                                   const SessionOptions& options);

}  // namespace gneiss::train
