// Values rounded to 16 bits.
#include "kernels/reference/reference.h"

namespace gneiss::kernels::reference {

template <class T>
void to_half(const Context&, const ToHalfArgs<T>& args) {
  for (std::int64_t r = 0; r < args.x.rows; ++r) {
    for (std::int64_t c = 0; c < args.x.cols; ++c) {
      args.y.row(r)[c] = gneiss::to_half(args.y.type, static_cast<float>(args.x.at(r, c)));
    }
  }
}

template void to_half<float>(const Context&, const ToHalfArgs<float>&);
template void to_half<double>(const Context&, const ToHalfArgs<double>&);

}  // namespace gneiss::kernels::reference
