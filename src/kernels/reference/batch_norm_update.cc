// Running statistics of batch normalisation.
#include "kernels/reference/reference.h"

namespace gneiss::kernels::reference {

template <class T>
void batch_norm_update(const Context&, const BatchNormUpdateArgs<T>& args) {
  const double n = static_cast<double>(args.n);
  const double unbiased = args.n > 1 ? n / (n - 1) : 1.0;
  const double keep = 1 - args.momentum;
  for (std::int64_t c = 0; c < args.mean.cols; ++c) {
    args.running_mean.at(0, c) = static_cast<T>(keep * args.running_mean.at(0, c) + args.momentum * args.mean.at(0, c));
    args.running_var.at(0, c) =
        static_cast<T>(keep * args.running_var.at(0, c) + args.momentum * args.var.at(0, c) * unbiased);
  }
}

template void batch_norm_update<float>(const Context&, const BatchNormUpdateArgs<float>&);
template void batch_norm_update<double>(const Context&, const BatchNormUpdateArgs<double>&);

}  // namespace gneiss::kernels::reference
