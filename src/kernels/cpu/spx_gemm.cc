// Sparse features times a dense matrix: the weighted row kernel of spmm, with the stored values as weights.
#include "kernels/cpu/cpu.h"

namespace gneiss::kernels::cpu {

void spx_gemm(const Context& context, const SpxGemmArgs<float>& args) {
  SpmmArgs<float> product;
  product.pattern = args.a;
  product.x = args.b;
  product.w = args.values;
  product.y = args.c;
  // No stored value at all: an empty list of weights would mean all ones, but then there is no entry to weigh either.
  spmm(context, product);
}

}  // namespace gneiss::kernels::cpu
