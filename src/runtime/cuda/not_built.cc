// In the place of cuda_device.cc, in a build without CUDA.
#include "base/error.h"
#include "runtime/device.h"

namespace gneiss::runtime {

namespace {
constexpr const char* kReason = "this build of Gneiss knows no CUDA";
constexpr const char* kRemedy = "build where nvcc is found, with -DGNEISS_CUDA=ON";
}  // namespace

std::unique_ptr<Device> open_cuda(int, Asker asker) {
  throw Error(ErrorCode::kUnsupported, kReason, "--device", fmt::format("use {}; or {}", in_its_place(asker), kRemedy));
}

Cards find_cards() { return {std::string("none: ") + kReason + "; " + kRemedy, {}}; }

}  // namespace gneiss::runtime
