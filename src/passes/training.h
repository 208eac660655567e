// What turns a model into something that trains: an inference copy, a loss, gradients.
#pragma once

#include "ir/program.h"
#include "passes/pipeline.h"

namespace gneiss::passes {

/// Appends a copy of the model for evaluation: no dropout, batch norm with running statistics. Outputs "logits" and
/// "embedding" become the copy's; the training forward's logits stay as "train_logits". Adds the ops that keep running
/// statistics.
ir::Program add_inference(const ir::Program& model);

/// Appends the loss of "train_logits": outputs "loss" and "dlogits".
ir::Program add_loss(const ir::Program& program, const LossSpec& loss);

/// Appends the backward ops that carry "dlogits" to the parameters and binds every trained parameter's gradient.
/// Errors: kUnsupported naming the op and its line if it has no gradient.
ir::Program differentiate(const ir::Program& program);

/// Forgets the outputs that only differentiation needed ("dlogits" and, unless they are to be kept, "train_logits"), so
/// that their memory is free as soon as their last reader has run.
ir::Program drop_scaffolding(const ir::Program& program, bool keep_training_logits);

/// Gives every parameter a gradient value of its own, made in the backward phase, so that it can be written straight
/// into the flat gradient buffer.
ir::Program separate_gradients(const ir::Program& program);

/// On graphs equal to their transpose, turns products along out-edges into products along in-edges where the weights
/// are equal both ways, so that no transposed structure is needed.
ir::Program use_symmetry(const ir::Program& program);

}  // namespace gneiss::passes
