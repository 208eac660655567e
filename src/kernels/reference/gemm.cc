// Dense products as inner products.
#include "kernels/reference/reference.h"

namespace gneiss::kernels::reference {
namespace {

template <class T>
double left(const GemmArgs<T>& args, std::int64_t r, std::int64_t c) {
  return args.a_half.used() ? static_cast<double>(args.a_half.at(r, c)) : static_cast<double>(args.a.at(r, c));
}

}  // namespace

template <class T>
void gemm(const Context&, const GemmArgs<T>& args) {
  const bool a_transposed = args.orientation == Orientation::kTN;
  const bool b_transposed = args.orientation == Orientation::kNT;
  const std::int64_t inner = a_transposed ? args.a.rows : args.a.cols;
  for (std::int64_t i = 0; i < args.c.rows; ++i) {
    for (std::int64_t j = 0; j < args.c.cols; ++j) {
      double sum = args.addend.rows == 0 ? 0 : static_cast<double>(args.addend.at(args.addend.rows == 1 ? 0 : i, j));
      for (std::int64_t k = 0; k < inner; ++k) {
        const double a = a_transposed ? left(args, k, i) : left(args, i, k);
        sum += a * (b_transposed ? args.b.at(j, k) : args.b.at(k, j));
      }
      args.c.at(i, j) = static_cast<T>(sum);
    }
  }
}

template void gemm<float>(const Context&, const GemmArgs<float>&);
template void gemm<double>(const Context&, const GemmArgs<double>&);

}  // namespace gneiss::kernels::reference
