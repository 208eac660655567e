// Backward of edge_softmax from its output.
#include "kernels/reference/reference.h"

namespace gneiss::kernels::reference {

template <class T>
void edge_softmax_grad(const Context&, const EdgeSoftmaxGradArgs<T>& args) {
  for (std::size_t v = 0; v + 1 < args.offsets.size(); ++v) {
    for (std::int64_t h = 0; h < args.a.cols; ++h) {
      double sum = 0;
      for (EdgeId k = args.offsets[v]; k < args.offsets[v + 1]; ++k) {
        sum += static_cast<double>(args.a.at(k, h)) * args.da.at(k, h);
      }
      for (EdgeId k = args.offsets[v]; k < args.offsets[v + 1]; ++k) {
        args.de.at(k, h) = static_cast<T>(args.a.at(k, h) * (args.da.at(k, h) - sum));
      }
    }
  }
}

template void edge_softmax_grad<float>(const Context&, const EdgeSoftmaxGradArgs<float>&);
template void edge_softmax_grad<double>(const Context&, const EdgeSoftmaxGradArgs<double>&);

}  // namespace gneiss::kernels::reference
