// Layer normalisation over each row, or over the whole matrix as one group.
#include "kernels/reference/reference.h"

#include <algorithm>
#include <cmath>

namespace gneiss::kernels::reference {

template <class T>
void layer_norm(const Context&, const LayerNormArgs<T>& args) {
  const std::int64_t rows = args.graph_mode ? args.x.rows : 1;
  const std::int64_t groups = args.graph_mode ? 1 : args.x.rows;
  const double count = static_cast<double>(std::max<std::int64_t>(1, rows * args.x.cols));
  for (std::int64_t g = 0; g < groups; ++g) {
    double mean = 0;
    for (std::int64_t i = 0; i < rows * args.x.cols; ++i) mean += args.x.at(g + i / args.x.cols, i % args.x.cols);
    mean /= count;
    double var = 0;
    for (std::int64_t i = 0; i < rows * args.x.cols; ++i) {
      const double centred = args.x.at(g + i / args.x.cols, i % args.x.cols) - mean;
      var += centred * centred;
    }
    var /= count;
    args.mean.at(g, 0) = static_cast<T>(mean);
    args.var.at(g, 0) = static_cast<T>(var);
    const double deviation = args.graph_mode ? std::sqrt(var) + args.eps : std::sqrt(var + args.eps);
    for (std::int64_t i = 0; i < rows * args.x.cols; ++i) {
      const std::int64_t r = g + i / args.x.cols;
      const std::int64_t c = i % args.x.cols;
      args.y.at(r, c) = static_cast<T>((args.x.at(r, c) - mean) / deviation * args.gamma.at(0, c) + args.beta.at(0, c));
    }
  }
}

template void layer_norm<float>(const Context&, const LayerNormArgs<float>&);
template void layer_norm<double>(const Context&, const LayerNormArgs<double>&);

}  // namespace gneiss::kernels::reference
