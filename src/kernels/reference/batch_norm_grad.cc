// Backward of batch normalisation column by column.
#include "kernels/reference/reference.h"

#include <algorithm>
#include <cmath>

namespace gneiss::kernels::reference {

template <class T>
void batch_norm_grad(const Context&, const BatchNormGradArgs<T>& args) {
  const double n = static_cast<double>(std::max<std::int64_t>(1, args.x.rows));
  for (std::int64_t c = 0; c < args.x.cols; ++c) {
    const double mean = args.mean.at(0, c);
    const double inverse = 1 / std::sqrt(args.var.at(0, c) + args.eps);
    double dgamma = 0;
    double dbeta = 0;
    for (std::int64_t r = 0; r < args.x.rows; ++r) {
      dgamma += args.dy.at(r, c) * (args.x.at(r, c) - mean) * inverse;
      dbeta += args.dy.at(r, c);
    }
    for (std::int64_t r = 0; r < args.x.rows; ++r) {
      const double normal = (args.x.at(r, c) - mean) * inverse;
      const double centred = args.dy.at(r, c) - dbeta / n - normal * dgamma / n;
      args.dx.at(r, c) = static_cast<T>(args.gamma.at(0, c) * inverse * centred);
    }
    args.dgamma.at(0, c) = static_cast<T>(dgamma);
    args.dbeta.at(0, c) = static_cast<T>(dbeta);
  }
}

template void batch_norm_grad<float>(const Context&, const BatchNormGradArgs<float>&);
template void batch_norm_grad<double>(const Context&, const BatchNormGradArgs<double>&);

}  // namespace gneiss::kernels::reference
