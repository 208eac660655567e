// Masked mean squared error over fixed chunks of rows; bound by memory, so plain loops do.
#include <cmath>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/masked_loss.h"

namespace gneiss::kernels::cpu {
namespace {

double loss_of(const MseArgs<float>& args, std::int64_t first, std::int64_t rows, double count) {
  double loss = 0;
  auto next = std::lower_bound(args.rows.begin(), args.rows.end(), first);
  for (std::int64_t r = 0; r < rows; ++r) {
    const bool listed = next != args.rows.end() && *next == first + r;
    if (listed) ++next;
    for (std::int64_t c = 0; c < args.logits.cols; ++c) {
      const double target = args.targets.at(first + r, c);
      const double difference = listed && !std::isnan(target) ? args.logits.at(r, c) - target : 0;
      loss += difference * difference;
      if (args.dlogits.rows > 0) args.dlogits.at(r, c) = static_cast<float>(2 * difference / count);
    }
  }
  return loss;
}

}  // namespace

void mse(const Context& context, const MseArgs<float>& args) { masked_loss<MseArgs<float>, loss_of>(context, args); }

BandKernel<MseArgs<float>> mse_bands(const MseArgs<float>& args) {
  return masked_loss_bands<MseArgs<float>, loss_of>(args);
}

}  // namespace gneiss::kernels::cpu
