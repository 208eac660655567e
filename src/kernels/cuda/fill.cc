// Values that need no operand, a thread an element.
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

/// `weights` and `offsets` may be null: the value is then `value`.
__global__ void write_values(MatrixView<float, Space::kDevice> y, float value, const float* weights,
                             const EdgeId* offsets) {
  for (std::int64_t i = first_item(); i < y.rows * y.cols; i += item_step()) {
    const std::int64_t r = i / y.cols;
    float x = value;
    if (weights != nullptr) x = weights[r];
    if (offsets != nullptr) x = static_cast<float>(offsets[r + 1] - offsets[r]);
    y.data[r * y.stride + (i - r * y.cols)] = x;
  }
}

}  // namespace

void fill(const DeviceContext& context, const OnDevice<FillArgs>& args) {
  const float value = args.what == Fill::kEdgeWeights ? 1.0F : static_cast<float>(args.value);
  const float* weights = args.what == Fill::kEdgeWeights && args.weights.size > 0 ? args.weights.data : nullptr;
  const EdgeId* offsets = args.what == Fill::kDegrees ? args.pattern->offsets.data : nullptr;
  launch(context, write_values, launch_over(context, args.y.rows * args.y.cols), args.y, value, weights, offsets);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
