// CUDA text to code of a card by NVRTC, NVIDIA's compiler as a library. It is loaded when it is first asked for;
// nothing links to it.
#pragma once

#include <string>
#include <vector>

#include "runtime/host_compiler.h"

namespace gneiss::runtime {

/// Code of a card.
struct CardCode {
  std::string code;  ///< a cubin, or PTX, as bytes
  bool was_cached = false;
};

/// Where NVRTC was found, and its version: "NVRTC 13.0". Errors: kUnsupported, with what was looked for, where it is
/// not.
std::string nvrtc_version();

/// Compiles kernels for `architecture`: `sm_90`, or `compute_90` for PTX. The options of the text are left aside:
/// products and sums stay apart. What is compiled is kept in the cache beside what the host's compiler makes, under a
/// key of the text, its headers, the version of NVRTC and the architecture. Errors: kUnsupported if there is no NVRTC
/// or it fails (with its messages, and the lines as compile_text has them); kDisk if the cache cannot be written.
CardCode compile_for_card(const CppText& text, const std::string& architecture, const HostCompiler& cache = {});

}  // namespace gneiss::runtime
