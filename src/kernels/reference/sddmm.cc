// Inner products of the two ends of every edge, one head at a time.
#include "kernels/reference/reference.h"

namespace gneiss::kernels::reference {

template <class T>
void sddmm(const Context&, const SddmmArgs<T>& args) {
  const SparsePattern& pattern = args.pattern;
  const std::int64_t head_width = args.x.cols / args.heads;
  for (std::int64_t v = 0; v < pattern.rows; ++v) {
    for (EdgeId k = pattern.offsets[v]; k < pattern.offsets[v + 1]; ++k) {
      for (std::int64_t h = 0; h < args.heads; ++h) {
        double sum = 0;
        for (std::int64_t j = h * head_width; j < (h + 1) * head_width; ++j) {
          sum += static_cast<double>(args.y.at(v, j)) * args.x.at(pattern.indices[k], j);
        }
        args.e.at(k, h) = static_cast<T>(sum);
      }
    }
  }
}

template void sddmm<float>(const Context&, const SddmmArgs<float>&);
template void sddmm<double>(const Context&, const SddmmArgs<double>&);

}  // namespace gneiss::kernels::reference
