// Backward of max/min segment_reduce: the winner of each column gets the gradient.
#include "kernels/reference/reference.h"

namespace gneiss::kernels::reference {

template <class T>
void segment_arg_grad(const Context&, const SegmentArgGradArgs<T>& args) {
  for (std::int64_t v = 0; v < args.dy.rows; ++v) {
    const EdgeId begin = args.offsets[v];
    for (EdgeId k = begin; k < args.offsets[v + 1]; ++k) {
      for (std::int64_t j = 0; j < args.dy.cols; ++j) {
        args.de.at(k, j) = args.arg.at(v, j) == k - begin ? args.dy.at(v, j) : T(0);
      }
    }
  }
}

template void segment_arg_grad<float>(const Context&, const SegmentArgGradArgs<float>&);
template void segment_arg_grad<double>(const Context&, const SegmentArgGradArgs<double>&);

}  // namespace gneiss::kernels::reference
