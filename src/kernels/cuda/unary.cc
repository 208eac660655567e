// Functions of one element, a thread an element.
#include "kernels/cuda/math.h"
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

/// NaN passes through, so that a numeric failure stays visible.
__device__ float apply_unary(Unary fn, float alpha, float shift, float x) {
  switch (fn) {
    case Unary::kAffine:
      return alpha * x + shift;
    case Unary::kRelu:
      return x < 0 ? 0.0F : x;
    case Unary::kLeakyRelu:
      return x > 0 ? x : alpha * x;
    case Unary::kElu:
      return x > 0 ? x : alpha * edge::expm1(x);
    case Unary::kSigmoid:
      return edge::sigmoid(x);
    case Unary::kTanh:
      return edge::tanh(x);
    case Unary::kExp:
      return edge::exp(x);
    case Unary::kLog:
      return static_cast<float>(log_of(static_cast<double>(x)));
    case Unary::kSqrt:
      return sqrtf(x);
    case Unary::kRsqrt:
      return x <= 0 ? 0.0F : 1.0F / sqrtf(x);
  }
  return x;
}

__global__ void map_elements(Unary fn, float alpha, float shift, ConstMatrixView<float, Space::kDevice> x,
                             MatrixView<float, Space::kDevice> y) {
  for (std::int64_t i = first_item(); i < y.rows * y.cols; i += item_step()) {
    const std::int64_t r = i / y.cols;
    const std::int64_t c = i - r * y.cols;
    y.data[r * y.stride + c] = apply_unary(fn, alpha, shift, x.data[r * x.stride + c]);
  }
}

}  // namespace

void unary(const DeviceContext& context, const OnDevice<UnaryArgs>& args) {
  launch(context, map_elements, launch_over(context, args.y.rows * args.y.cols), args.fn,
         static_cast<float>(args.alpha), static_cast<float>(args.shift), args.x, args.y);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
