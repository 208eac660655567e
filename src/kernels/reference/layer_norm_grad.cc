// Backward of layer normalisation.
//
// With g = dy * gamma, u = x - mean, s the deviation that divides and N the size of a group:
//   dx = (g - mean(g)) / s - u * sum(g * u) / (N * s^2 * s'), where s' = s for a row (s = sqrt(var + eps)) and
//   s' = sqrt(var) for the whole graph (s = sqrt(var) + eps); all u are 0 where sqrt(var) is.
#include "kernels/reference/reference.h"

#include <algorithm>
#include <cmath>

namespace gneiss::kernels::reference {
namespace {

/// The deviation that divides row r.
template <class T>
double deviation(const LayerNormGradArgs<T>& args, std::int64_t r) {
  const double var = args.var.at(args.graph_mode ? 0 : r, 0);
  return args.graph_mode ? std::sqrt(var) + args.eps : std::sqrt(var + args.eps);
}

template <class T>
void parameter_gradients(const LayerNormGradArgs<T>& args) {
  for (std::int64_t c = 0; c < args.x.cols; ++c) {
    double dgamma = 0;
    double dbeta = 0;
    for (std::int64_t r = 0; r < args.x.rows; ++r) {
      const double mean = args.mean.at(args.graph_mode ? 0 : r, 0);
      dgamma += args.dy.at(r, c) * (args.x.at(r, c) - mean) / deviation(args, r);
      dbeta += args.dy.at(r, c);
    }
    args.dgamma.at(0, c) = static_cast<T>(dgamma);
    args.dbeta.at(0, c) = static_cast<T>(dbeta);
  }
}

/// dx of the group of `rows` rows that starts at row `first`.
template <class T>
void input_gradient(const LayerNormGradArgs<T>& args, std::int64_t first, std::int64_t rows) {
  const std::int64_t d = args.x.cols;
  const double count = static_cast<double>(std::max<std::int64_t>(1, rows * d));
  const double mean = args.mean.at(args.graph_mode ? 0 : first, 0);
  const double s = deviation(args, first);
  const double root = args.graph_mode ? std::sqrt(static_cast<double>(args.var.at(0, 0))) : s;
  double sum = 0;
  double product = 0;
  for (std::int64_t i = 0; i < rows * d; ++i) {
    const double g = static_cast<double>(args.dy.at(first + i / d, i % d)) * args.gamma.at(0, i % d);
    sum += g;
    product += g * (args.x.at(first + i / d, i % d) - mean);
  }
  const double slope = root > 0 ? product / (count * s * s * root) : 0;
  for (std::int64_t i = 0; i < rows * d; ++i) {
    const std::int64_t r = first + i / d;
    const double g = static_cast<double>(args.dy.at(r, i % d)) * args.gamma.at(0, i % d);
    args.dx.at(r, i % d) = static_cast<T>((g - sum / count) / s - (args.x.at(r, i % d) - mean) * slope);
  }
}

}  // namespace

template <class T>
void layer_norm_grad(const Context&, const LayerNormGradArgs<T>& args) {
  const std::int64_t rows = args.graph_mode ? args.x.rows : 1;
  const std::int64_t groups = args.graph_mode ? 1 : args.x.rows;
  parameter_gradients(args);
  for (std::int64_t g = 0; g < groups; ++g) input_gradient(args, g, rows);
}

template void layer_norm_grad<float>(const Context&, const LayerNormGradArgs<float>&);
template void layer_norm_grad<double>(const Context&, const LayerNormGradArgs<double>&);

}  // namespace gneiss::kernels::reference
