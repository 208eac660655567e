// Softmax over the entries of each row, less the row maximum for range.
#include "kernels/reference/reference.h"

#include <algorithm>
#include <cmath>

namespace gneiss::kernels::reference {

template <class T>
void edge_softmax(const Context&, const EdgeSoftmaxArgs<T>& args) {
  for (std::size_t v = 0; v + 1 < args.offsets.size(); ++v) {
    const EdgeId begin = args.offsets[v];
    const EdgeId end = args.offsets[v + 1];
    for (std::int64_t h = 0; h < args.e.cols && begin < end; ++h) {
      double highest = args.e.at(begin, h);
      for (EdgeId k = begin; k < end; ++k) highest = std::max(highest, static_cast<double>(args.e.at(k, h)));
      double sum = 0;
      for (EdgeId k = begin; k < end; ++k) sum += std::exp(args.e.at(k, h) - highest);
      for (EdgeId k = begin; k < end; ++k) {
        args.a.at(k, h) = static_cast<T>(std::exp(args.e.at(k, h) - highest) / (sum + 1e-16));
      }
    }
  }
}

template void edge_softmax<float>(const Context&, const EdgeSoftmaxArgs<float>&);
template void edge_softmax<double>(const Context&, const EdgeSoftmaxArgs<double>&);

}  // namespace gneiss::kernels::reference
