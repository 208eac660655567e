// Batch normalisation column by column, in two passes.
#include "kernels/reference/reference.h"

#include <algorithm>
#include <cmath>

namespace gneiss::kernels::reference {

template <class T>
void batch_norm(const Context&, const BatchNormArgs<T>& args) {
  const double n = static_cast<double>(std::max<std::int64_t>(1, args.x.rows));
  for (std::int64_t c = 0; c < args.x.cols; ++c) {
    double mean = 0;
    for (std::int64_t r = 0; r < args.x.rows; ++r) mean += args.x.at(r, c);
    mean /= n;
    double var = 0;
    for (std::int64_t r = 0; r < args.x.rows; ++r) var += (args.x.at(r, c) - mean) * (args.x.at(r, c) - mean);
    var /= n;
    args.mean.at(0, c) = static_cast<T>(mean);
    args.var.at(0, c) = static_cast<T>(var);
    const double scale = args.gamma.at(0, c) / std::sqrt(var + args.eps);
    for (std::int64_t r = 0; r < args.x.rows; ++r) {
      args.y.at(r, c) = static_cast<T>((args.x.at(r, c) - mean) * scale + args.beta.at(0, c));
    }
  }
}

template void batch_norm<float>(const Context&, const BatchNormArgs<float>&);
template void batch_norm<double>(const Context&, const BatchNormArgs<double>&);

}  // namespace gneiss::kernels::reference
