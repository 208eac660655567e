// Backward of edge_softmax: per row and head one inner product, then one sweep.
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/edge_softmax_grad.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

void grad_chunk(const EdgeSoftmaxGradArgs<float>& args, std::int64_t row_begin, std::int64_t row_end) {
  for (std::int64_t v = row_begin; v < row_end; ++v) {
    const EdgeId begin = args.offsets[static_cast<std::size_t>(v)];
    const EdgeId end = args.offsets[static_cast<std::size_t>(v) + 1];
    for (std::int64_t h = 0; h < args.a.cols; ++h) {
      double sum = 0;
      for (EdgeId k = begin; k < end; ++k) sum += static_cast<double>(args.a.at(k, h)) * args.da.at(k, h);
      const auto product = static_cast<float>(sum);
      for (EdgeId k = begin; k < end; ++k) args.de.at(k, h) = args.a.at(k, h) * (args.da.at(k, h) - product);
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gneiss::kernels::cpu {

HWY_EXPORT(grad_chunk);

void edge_softmax_grad(const Context& context, const EdgeSoftmaxGradArgs<float>& args) {
  parallel_edge_rows(context.threads, args.offsets, 8 * args.a.cols, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(grad_chunk)(args, begin, end);
  });
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
