// Gradient descent with momentum, an element at a time.
#include "kernels/reference/reference.h"

namespace gneiss::kernels::reference {

template <class T>
void sgd_step(const Context&, const SgdStepArgs<T>& args) {
  for (std::size_t i = 0; i < args.w.size(); ++i) {
    const double g = args.g[i] + args.weight_decay * args.w[i];
    double direction = g;
    if (args.momentum != 0) {
      const double velocity = args.step == 1 ? g : args.momentum * args.velocity[i] + g;
      args.velocity[i] = static_cast<T>(velocity);
      direction = args.nesterov ? g + args.momentum * velocity : velocity;
    }
    args.w[i] = static_cast<T>(args.w[i] - args.lr * direction);
  }
}

template void sgd_step<float>(const Context&, const SgdStepArgs<float>&);
template void sgd_step<double>(const Context&, const SgdStepArgs<double>&);

}  // namespace gneiss::kernels::reference
