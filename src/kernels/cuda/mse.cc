// Masked mean squared error and its gradient (masked_loss.h).
#include "kernels/cuda/masked_loss.h"
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

struct SquaredError {
  __device__ static EntryLossHere of(double z, double t) { return {(z - t) * (z - t), 2 * (z - t)}; }
};

}  // namespace

std::size_t mse_workspace(const OnDevice<MseArgs>& args) { return masked_loss_workspace(args); }

void mse(const DeviceContext& context, const OnDevice<MseArgs>& args) {
  launch_masked_loss<SquaredError>(context, args);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
