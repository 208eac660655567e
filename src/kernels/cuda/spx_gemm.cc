// Sparse rows times a dense matrix is a weighted aggregation: the entries are the weights. The weight gradient is the
// same product on the transposed copy, so that nothing is scattered.
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

OnDevice<SpmmArgs> as_aggregation(const OnDevice<SpxGemmArgs>& args) {
  OnDevice<SpmmArgs> sums;
  sums.pattern = args.a;
  sums.x = args.b;
  sums.w = args.values;
  sums.y = args.c;
  return sums;
}

}  // namespace

std::size_t spx_gemm_workspace(const OnDevice<SpxGemmArgs>& args) { return spmm_workspace(as_aggregation(args)); }

void spx_gemm(const DeviceContext& context, const OnDevice<SpxGemmArgs>& args) { spmm(context, as_aggregation(args)); }

}  // namespace gneiss::kernels::GNEISS_DEVICE
