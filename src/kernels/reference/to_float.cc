// 16-bit values widened.
#include "kernels/reference/reference.h"

namespace gneiss::kernels::reference {

template <class T>
void to_float(const Context&, const ToFloatArgs<T>& args) {
  for (std::int64_t r = 0; r < args.y.rows; ++r) {
    for (std::int64_t c = 0; c < args.y.cols; ++c) args.y.at(r, c) = args.x.at(r, c);
  }
}

template void to_float<float>(const Context&, const ToFloatArgs<float>&);
template void to_float<double>(const Context&, const ToFloatArgs<double>&);

}  // namespace gneiss::kernels::reference
