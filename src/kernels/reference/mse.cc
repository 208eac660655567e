// Masked mean squared error and its gradient.
#include "kernels/reference/masked_loss.h"
#include "kernels/reference/reference.h"

namespace gneiss::kernels::reference {

template <class T>
void mse(const Context&, const MseArgs<T>& args) {
  masked_loss(args, [](double z, double t) { return EntryLoss{(z - t) * (z - t), 2 * (z - t)}; });
}

template void mse<float>(const Context&, const MseArgs<float>&);
template void mse<double>(const Context&, const MseArgs<double>&);

}  // namespace gneiss::kernels::reference
