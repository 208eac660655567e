// Sparse rows written out densely.
#include "kernels/reference/reference.h"

#include <algorithm>

namespace gneiss::kernels::reference {

template <class T>
void to_dense(const Context&, const ToDenseArgs<T>& args) {
  for (std::int64_t i = 0; i < args.a.rows; ++i) {
    std::fill_n(args.dst.row(i), args.dst.cols, T(0));
    for (EdgeId k = args.a.offsets[i]; k < args.a.offsets[i + 1]; ++k) {
      args.dst.at(i, args.a.indices[k]) += args.values[args.a.slot(k)];
    }
  }
}

template void to_dense<float>(const Context&, const ToDenseArgs<float>&);
template void to_dense<double>(const Context&, const ToDenseArgs<double>&);

}  // namespace gneiss::kernels::reference
