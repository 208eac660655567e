// Backward: the gradients of the loss, and the places they are kept in.
#pragma once

#include "ir/program.h"

namespace gneiss::passes {

/// Appends the backward ops that carry "dlogits" to the parameters and binds every trained parameter's gradient.
/// Errors: kUnsupported naming the op and its line if it has no gradient.
ir::Program differentiate(const ir::Program& program);

/// Forgets the outputs that only differentiation needed ("dlogits" and, unless they are to be kept, "train_logits"), so
/// that their memory is free as soon as their last reader has run.
ir::Program drop_scaffolding(const ir::Program& program, bool keep_training_logits);

/// Gives every parameter a gradient value of its own, made in the backward phase, so that it can be written straight
/// into the flat gradient buffer.
ir::Program separate_gradients(const ir::Program& program);

}  // namespace gneiss::passes
