// Recognises attention over in-edges and makes it one op.
#pragma once

#include "ir/program.h"

namespace gneiss::passes {

/// sum over in-edges of softmax(leaky_relu(s@src + t@dst)) * z@src, as fuse_messages leaves it, becomes `attention`.
/// Dropout of the softmax becomes the op's gate; its draws are the same. What is used elsewhere too (the softmax as a
/// result of its own) stays as it is.
ir::Program fuse_attention(const ir::Program& program);

}  // namespace gneiss::passes
