// Puts elementwise ops into the ops beside them, so that wide node values cross memory less often.
#pragma once

#include "ir/program.h"

namespace gneiss::passes {

/// add(gemm(a, b), c)       -> gemm(a, b, c), which adds into c's place where c dies
/// add(x, mul(a, b))        -> mul_add(x, a, b)
/// sum_groups(mul(x, w))    -> sum_groups(x, w), an inner product per group
/// sum_rows(mul(x, s))      -> sum_rows(x, s), a weighted column sum
/// mul(spmm(x), s)          -> spmm(x, s), a factor for each row of the sum
/// expand_groups before an op that broadcasts goes away. Only products with one use in the same phase are taken in.
ir::Program fuse_elementwise(const ir::Program& program);

}  // namespace gneiss::passes
