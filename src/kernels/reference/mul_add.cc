// x + a * b.
#include "kernels/mul_add.h"

#include "kernels/reference/reference.h"

namespace gneiss::kernels::reference {

template <class T>
void mul_add(const Context&, const MulAddArgs<T>& args) {
  const auto element = [&](const ConstMatrixView<T>& operand, std::int64_t r, std::int64_t c) {
    return operand.at(operand.rows == 1 ? 0 : r, c / (args.y.cols / operand.cols));
  };
  for (std::int64_t r = 0; r < args.y.rows; ++r) {
    for (std::int64_t c = 0; c < args.y.cols; ++c) {
      args.y.at(r, c) = args.x.at(r, c) + element(args.a, r, c) * element(args.b, r, c);
    }
  }
}

template void mul_add<float>(const Context&, const MulAddArgs<float>&);
template void mul_add<double>(const Context&, const MulAddArgs<double>&);

}  // namespace gneiss::kernels::reference
