// Clipping by total norm.
#include "kernels/reference/reference.h"

#include <algorithm>
#include <cmath>

namespace gneiss::kernels::reference {

template <class T>
void clip_norm(const Context&, const ClipNormArgs<T>& args) {
  double squares = 0;
  for (const T g : args.g) squares += static_cast<double>(g) * g;
  *args.norm = std::sqrt(squares);
  const double scale = std::min(1.0, args.max_norm / (*args.norm + 1e-6));
  if (scale < 1) {
    for (T& g : args.g) g = static_cast<T>(g * scale);
  }
}

template void clip_norm<float>(const Context&, const ClipNormArgs<float>&);
template void clip_norm<double>(const Context&, const ClipNormArgs<double>&);

}  // namespace gneiss::kernels::reference
