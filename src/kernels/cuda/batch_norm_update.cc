// Running statistics of batch normalisation, a thread a column.
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

__global__ void move_statistics(OnDevice<BatchNormUpdateArgs> args, double unbiased) {
  const double keep = 1 - args.momentum;
  for (std::int64_t c = first_item(); c < args.mean.cols; c += item_step()) {
    args.running_mean.data[c] =
        static_cast<float>(keep * args.running_mean.data[c] + args.momentum * args.mean.data[c]);
    args.running_var.data[c] =
        static_cast<float>(keep * args.running_var.data[c] + args.momentum * args.var.data[c] * unbiased);
  }
}

}  // namespace

void batch_norm_update(const DeviceContext& context, const OnDevice<BatchNormUpdateArgs>& args) {
  const auto n = static_cast<double>(args.n);
  launch(context, move_statistics, launch_over(context, args.mean.cols), args, args.n > 1 ? n / (n - 1) : 1.0);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
