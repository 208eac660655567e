// sddmm on the CPU: a vector inner product an edge and head, with the rows of x fetched ahead as in spmm.
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/fetch_ahead.h"
#include "kernels/cpu/parallel_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/sddmm.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/inner_product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

void sddmm_chunk(const SddmmArgs<float>& args, std::int64_t row_begin, std::int64_t row_end) {
  const NodeId* indices = args.pattern.indices.data();
  const EdgeId last = args.pattern.nonzeros() - 1;
  const std::int64_t width = args.x.cols;
  const std::int64_t head_width = width / args.heads;
  const auto ahead = FetchAhead::from_memory(width * static_cast<std::int64_t>(sizeof(float)));
  for (std::int64_t v = row_begin; v < row_end; ++v) {
    const float* y = args.y.row(v);
    const EdgeId end = args.pattern.offsets[static_cast<std::size_t>(v) + 1];
    for (EdgeId k = args.pattern.offsets[static_cast<std::size_t>(v)]; k < end; ++k) {
      const float* far = args.x.row(indices[std::min(k + ahead.far, last)]);
      const float* near = args.x.row(indices[std::min(k + ahead.near, last)]);
      for (std::int64_t c = 0; c < width; c += 16) {
        prefetch_far(far + c);
        prefetch(near + c);
      }
      const float* x = args.x.row(indices[k]);
      inner_products(y, x, head_width, args.heads, args.e.row(k));
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gneiss::kernels::cpu {

HWY_EXPORT(sddmm_chunk);

void sddmm(const Context& context, const SddmmArgs<float>& args) {
  parallel_edge_rows(context.threads, args.pattern.offsets, args.x.cols, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(sddmm_chunk)(args, begin, end);
  });
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
