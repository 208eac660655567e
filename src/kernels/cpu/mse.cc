// Masked mean squared error over fixed chunks of rows; bound by memory, so plain loops do.
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/masked_loss.h"

namespace gneiss::kernels::cpu {
namespace {

double loss_chunk(const MseArgs<float>& args, std::int64_t begin, std::int64_t end, double count) {
  double loss = 0;
  auto next = std::lower_bound(args.rows.begin(), args.rows.end(), begin);
  for (std::int64_t r = begin; r < end; ++r) {
    const bool listed = next != args.rows.end() && *next == r;
    if (listed) ++next;
    for (std::int64_t c = 0; c < args.logits.cols; ++c) {
      const double target = args.targets.at(r, c);
      const double difference = listed && !std::isnan(target) ? args.logits.at(r, c) - target : 0;
      loss += difference * difference;
      if (args.dlogits.rows > 0) args.dlogits.at(r, c) = static_cast<float>(2 * difference / count);
    }
  }
  return loss;
}

}  // namespace

void mse(const Context& context, const MseArgs<float>& args) {
  masked_loss(context, args,
              [&](std::int64_t begin, std::int64_t end, double count) { return loss_chunk(args, begin, end, count); });
}

}  // namespace gneiss::kernels::cpu
