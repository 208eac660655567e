// The gradient of max/min aggregation, read by source.
#include "kernels/reference/reference.h"

namespace gneiss::kernels::reference {

template <class T>
void spmm_arg_grad(const Context&, const SpmmArgGradArgs<T>& args) {
  const SparsePattern& pattern = args.out_edges;
  const bool by_id = !args.ids.empty();
  for (std::int64_t u = 0; u < pattern.rows; ++u) {
    for (std::int64_t j = 0; j < args.dx.cols; ++j) {
      double sum = 0;
      for (EdgeId k = pattern.offsets[u]; k < pattern.offsets[u + 1]; ++k) {
        const NodeId v = pattern.indices[k];
        if (by_id) {
          const bool again = k > pattern.offsets[u] && pattern.indices[k - 1] == v;
          if (!again && args.arg.at(v, j) == args.ids[u]) sum += args.dy.at(v, j);
          continue;
        }
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
