// Kernels that oneDNN computes, in f32. Arguments are trusted: the contracts have checked them.
//
// Its library is loaded when somebody first asks for it. Products choose Gneiss's own kernels; linked, it would cost
// every process 2 MB, and those who run Gneiss an installation.
#pragma once

#include <string>

#include "kernels/gemm.h"

namespace gneiss::kernels::onednn {

/// The version of the library, e.g. "2.6.0"; empty if it is not installed or lacks what is called here. Loads it.
const std::string& version();

/// Only where version() is not empty.
void gemm(const Context& context, const GemmArgs<float>& args);

}  // namespace gneiss::kernels::onednn
