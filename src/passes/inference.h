// The model once more, for evaluation.
#pragma once

#include "ir/program.h"

namespace gneiss::passes {

/// Appends a copy of the model for evaluation: no dropout, batch norm with running statistics. Outputs "logits" and
/// "embedding" become the copy's; the training forward's logits stay as "train_logits". Adds the ops that keep running
/// statistics.
ir::Program add_inference(const ir::Program& model);
/// That copy alone: nothing is trained, and nothing keeps running statistics.
ir::Program only_inference(const ir::Program& model);

}  // namespace gneiss::passes
