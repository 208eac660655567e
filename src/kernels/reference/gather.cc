// Rows of nodes copied to their edges.
#include "kernels/reference/reference.h"

#include <algorithm>

namespace gneiss::kernels::reference {

template <class T>
void gather(const Context&, const GatherArgs<T>& args) {
  const SparsePattern& pattern = args.pattern;
  for (std::int64_t v = 0; v < pattern.rows; ++v) {
    for (EdgeId k = pattern.offsets[v]; k < pattern.offsets[v + 1]; ++k) {
      const T* row = args.x.row(args.by_source ? pattern.indices[k] : v);
      std::copy_n(row, args.x.cols, args.e.row(k));
    }
  }
}

template void gather<float>(const Context&, const GatherArgs<float>&);
template void gather<double>(const Context&, const GatherArgs<double>&);

}  // namespace gneiss::kernels::reference
