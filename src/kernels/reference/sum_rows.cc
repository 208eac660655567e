// Column sums.
#include "kernels/reference/reference.h"

namespace gneiss::kernels::reference {

template <class T>
void sum_rows(const Context&, const SumRowsArgs<T>& args) {
  for (std::int64_t c = 0; c < args.x.cols; ++c) {
    double sum = 0;
    for (std::int64_t r = 0; r < args.x.rows; ++r) {
      const double weight = args.weights.rows == 0 ? 1 : args.weights.at(r, c / (args.x.cols / args.weights.cols));
      sum += weight * args.x.at(r, c);
    }
    args.y.at(0, c) = static_cast<T>(sum);
  }
}

template void sum_rows<float>(const Context&, const SumRowsArgs<float>&);
template void sum_rows<double>(const Context&, const SumRowsArgs<double>&);

}  // namespace gneiss::kernels::reference
