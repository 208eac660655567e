// Batch normalisation with given statistics, a thread an element.
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

__global__ void normalise_by_given(OnDevice<BatchNormInferenceArgs> args) {
  const std::int64_t cols = args.x.cols;
  for (std::int64_t i = first_item(); i < args.x.rows * cols; i += item_step()) {
    const std::int64_t r = i / cols;
    const std::int64_t c = i - r * cols;
    const double distance = static_cast<double>(args.x.data[r * args.x.stride + c]) - args.mean.data[c];
    const double normal = distance / sqrt(args.var.data[c] + args.eps);
    args.y.data[r * args.y.stride + c] = static_cast<float>(normal * args.gamma.data[c] + args.beta.data[c]);
  }
}

}  // namespace

void batch_norm_inference(const DeviceContext& context, const OnDevice<BatchNormInferenceArgs>& args) {
  launch(context, normalise_by_given, launch_over(context, args.x.rows * args.x.cols), args);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
