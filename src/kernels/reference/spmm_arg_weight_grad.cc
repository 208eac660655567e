// The gradient of the edge weights of max/min aggregation.
#include "kernels/reference/reference.h"

namespace gneiss::kernels::reference {

template <class T>
void spmm_arg_weight_grad(const Context&, const SpmmArgWeightGradArgs<T>& args) {
  const SparsePattern& pattern = args.in_edges;
  for (std::int64_t v = 0; v < pattern.rows; ++v) {
    const EdgeId begin = pattern.offsets[v];
    for (EdgeId k = begin; k < pattern.offsets[v + 1]; ++k) {
      double sum = 0;
      for (std::int64_t j = 0; j < args.dy.cols; ++j) {
        if (args.arg.at(v, j) != k - begin) continue;
        sum += static_cast<double>(args.dy.at(v, j)) * args.x.at(pattern.indices[k], j);
      }
      args.dw[k] = static_cast<T>(sum);
    }
  }
}

template void spmm_arg_weight_grad<float>(const Context&, const SpmmArgWeightGradArgs<float>&);
template void spmm_arg_weight_grad<double>(const Context&, const SpmmArgWeightGradArgs<double>&);

}  // namespace gneiss::kernels::reference
