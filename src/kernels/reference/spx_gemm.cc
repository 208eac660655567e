// Sparse rows times a dense matrix, one output element at a time.
#include "kernels/reference/reference.h"

namespace gneiss::kernels::reference {

template <class T>
void spx_gemm(const Context&, const SpxGemmArgs<T>& args) {
  for (std::int64_t i = 0; i < args.a.rows; ++i) {
    for (std::int64_t j = 0; j < args.c.cols; ++j) {
      double sum = 0;
      for (EdgeId k = args.a.offsets[i]; k < args.a.offsets[i + 1]; ++k) {
        sum += static_cast<double>(args.values[args.a.slot(k)]) * args.b.at(args.a.indices[k], j);
      }
      args.c.at(i, j) = static_cast<T>(sum);
    }
  }
}

template void spx_gemm<float>(const Context&, const SpxGemmArgs<float>&);
template void spx_gemm<double>(const Context&, const SpxGemmArgs<double>&);

}  // namespace gneiss::kernels::reference
