// Adam and AdamW, an element at a time.
#include "kernels/reference/reference.h"

#include <cmath>

namespace gneiss::kernels::reference {

template <class T>
void adam_step(const Context&, const AdamStepArgs<T>& args) {
  const double correction1 = 1 - std::pow(args.beta1, static_cast<double>(args.step));
  const double correction2 = 1 - std::pow(args.beta2, static_cast<double>(args.step));
  for (std::size_t i = 0; i < args.w.size(); ++i) {
    double w = args.w[i];
    double g = args.g[i];
    if (args.decoupled) {
      w -= args.lr * args.weight_decay * w;
    } else {
      g += args.weight_decay * w;
    }
    const double m = args.beta1 * args.m[i] + (1 - args.beta1) * g;
    const double v = args.beta2 * args.v[i] + (1 - args.beta2) * g * g;
    args.m[i] = static_cast<T>(m);
    args.v[i] = static_cast<T>(v);
    args.w[i] = static_cast<T>(w - args.lr / correction1 * m / (std::sqrt(v / correction2) + args.eps));
  }
}

template void adam_step<float>(const Context&, const AdamStepArgs<float>&);
template void adam_step<double>(const Context&, const AdamStepArgs<double>&);

}  // namespace gneiss::kernels::reference
