// The error of a launch that a card did not take, apart from files that nvcc compiles.
#include "base/error.h"
#include "kernels/cuda/device_kernels.h"

namespace gneiss::kernels {

void throw_not_launched(const char* reason) {
  throw Error(ErrorCode::kInternal, fmt::format("the device did not take a kernel: {}", reason));
}

}  // namespace gneiss::kernels
