// Batch normalisation with given statistics.
#include "kernels/reference/reference.h"

#include <cmath>

namespace gneiss::kernels::reference {

template <class T>
void batch_norm_inference(const Context&, const BatchNormInferenceArgs<T>& args) {
  for (std::int64_t r = 0; r < args.x.rows; ++r) {
    for (std::int64_t c = 0; c < args.x.cols; ++c) {
      const double normal =
          (static_cast<double>(args.x.at(r, c)) - args.mean.at(0, c)) / std::sqrt(args.var.at(0, c) + args.eps);
      args.y.at(r, c) = static_cast<T>(normal * args.gamma.at(0, c) + args.beta.at(0, c));
    }
  }
}

template void batch_norm_inference<float>(const Context&, const BatchNormInferenceArgs<float>&);
template void batch_norm_inference<double>(const Context&, const BatchNormInferenceArgs<double>&);

}  // namespace gneiss::kernels::reference
