// The gradient of max/min aggregation, read by source.
#include "kernels/reference/reference.h"

namespace gneiss::kernels::reference {

template <class T>
void spmm_arg_grad(const Context&, const SpmmArgGradArgs<T>& args) {
  const SparsePattern& pattern = args.out_edges;
  for (std::int64_t u = 0; u < pattern.rows; ++u) {
    for (std::int64_t j = 0; j < args.dx.cols; ++j) {
      double sum = 0;
      for (EdgeId k = pattern.offsets[u]; k < pattern.offsets[u + 1]; ++k) {
        const NodeId v = pattern.indices[k];
        const EdgeId slot = pattern.slot(k);
        if (args.arg.at(v, j) != slot - args.in_offsets[v]) continue;
        sum += (args.w.empty() ? 1.0 : static_cast<double>(args.w[slot])) * args.dy.at(v, j);
      }
      args.dx.at(u, j) = static_cast<T>(sum);
    }
  }
}

template void spmm_arg_grad<float>(const Context&, const SpmmArgGradArgs<float>&);
template void spmm_arg_grad<double>(const Context&, const SpmmArgGradArgs<double>&);

}  // namespace gneiss::kernels::reference
