// Row by row: the value of the row, then a fill.
#include <algorithm>

#include "kernels/reference/reference.h"

namespace gneiss::kernels::reference {

template <class T>
void fill(const Context&, const FillArgs<T>& args) {
  for (std::int64_t r = 0; r < args.y.rows; ++r) {
    const auto row = static_cast<std::size_t>(r);
    auto value = static_cast<T>(args.value);
    if (args.what == Fill::kEdgeWeights) value = args.weights.empty() ? T{1} : static_cast<T>(args.weights[row]);
    if (args.what == Fill::kDegrees) {
      value = static_cast<T>(args.pattern->offsets[row + 1] - args.pattern->offsets[row]);
    }
    std::fill_n(args.y.row(r), args.y.cols, value);
  }
}

template void fill(const Context&, const FillArgs<float>&);
template void fill(const Context&, const FillArgs<double>&);

}  // namespace gneiss::kernels::reference
