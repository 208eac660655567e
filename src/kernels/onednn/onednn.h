// Kernels that oneDNN computes, in f32. Arguments are trusted: the contracts have checked them.
#pragma once

#include "kernels/gemm.h"

namespace gneiss::kernels::onednn {

void gemm(const Context& context, const GemmArgs<float>& args);

}  // namespace gneiss::kernels::onednn
