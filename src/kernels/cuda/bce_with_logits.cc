// Masked multilabel binary cross-entropy and its gradient (masked_loss.h).
#include "kernels/cuda/masked_loss.h"
#include "kernels/cuda/math.h"
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

struct BinaryCrossEntropy {
  /// By exp(-|z|), which is never infinite.
  __device__ static EntryLossHere of(double z, double t) {
    const double size = z < 0 ? -z : z;
    const double e = edge::exp(static_cast<float>(-size));
    const double above = z > 0 ? z : 0;
    return {log_of(1 + e) + above - z * t, (z < 0 ? e : 1) / (1 + e) - t};
  }
};

}  // namespace

std::size_t bce_with_logits_workspace(const OnDevice<BceWithLogitsArgs>& args) { return masked_loss_workspace(args); }

void bce_with_logits(const DeviceContext& context, const OnDevice<BceWithLogitsArgs>& args) {
  launch_masked_loss<BinaryCrossEntropy>(context, args);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
