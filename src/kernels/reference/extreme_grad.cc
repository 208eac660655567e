// Backward of maximum and minimum: the winner gets the gradient.
#include "kernels/reference/reference.h"

namespace gneiss::kernels::reference {

template <class T>
void extreme_grad(const Context&, const ExtremeGradArgs<T>& args) {
  for (std::int64_t r = 0; r < args.a.rows; ++r) {
    for (std::int64_t c = 0; c < args.a.cols; ++c) {
      const T a = args.a.at(r, c);
      const T b = args.b.at(r, c);
      const bool first_wins = args.maximum ? a >= b : a <= b;
      args.dx.at(r, c) = first_wins == args.first ? args.dy.at(r, c) : T(0);
    }
  }
}

template void extreme_grad<float>(const Context&, const ExtremeGradArgs<float>&);
template void extreme_grad<double>(const Context&, const ExtremeGradArgs<double>&);

}  // namespace gneiss::kernels::reference
