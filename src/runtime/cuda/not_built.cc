// In the place of cuda_device.cc, in a build without CUDA.
#include "base/error.h"
#include "runtime/device.h"

namespace gneiss::runtime {

std::unique_ptr<Device> open_cuda(int) {
  throw Error(ErrorCode::kUnsupported, "this build of Gneiss knows no CUDA", "--device",
              "use --device cpu; or build where nvcc is found, with -DGNEISS_CUDA=ON");
}

}  // namespace gneiss::runtime
