// Backward of max/min aggregation by source: each out-edge adds the gradient of the columns that it won. Whether
// winners are positions of edges or ids of nodes, an edge compares them with one number.
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/fetch_ahead.h"
#include "kernels/cpu/parallel_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/spmm_arg_grad.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

/// What a row of winners is compared with, and what its gradient is multiplied with.
struct Claim {
  std::int32_t name = -1;
  float weight = 1;
};

Claim claim_of(const SpmmArgGradArgs<float>& args, std::int64_t u, EdgeId k) {
  const SparsePattern& pattern = args.out_edges;
  if (!args.ids.empty()) return {static_cast<std::int32_t>(args.ids[static_cast<std::size_t>(u)])};
  const EdgeId slot = pattern.slots[static_cast<std::size_t>(k)];
  const NodeId v = pattern.indices[static_cast<std::size_t>(k)];
  return {static_cast<std::int32_t>(slot - args.in_offsets[static_cast<std::size_t>(v)]),
          args.w.empty() ? 1.0F : args.w[static_cast<std::size_t>(slot)]};
}

void grad_chunk(const SpmmArgGradArgs<float>& args, std::int64_t row_begin, std::int64_t row_end) {
  const SparsePattern& pattern = args.out_edges;
  const NodeId* indices = pattern.indices.data();
  const EdgeId last = pattern.nonzeros() - 1;
  const std::int64_t d = args.dx.cols;
  const bool by_id = !args.ids.empty();
  const auto ahead = FetchAhead::from_memory(2 * d * static_cast<std::int64_t>(sizeof(float)));
  for (std::int64_t u = row_begin; u < row_end; ++u) {
    float* dx = args.dx.row(u);
    std::fill_n(dx, d, 0.0F);
    const EdgeId begin = pattern.offsets[static_cast<std::size_t>(u)];
    const EdgeId end = pattern.offsets[static_cast<std::size_t>(u) + 1];
    for (EdgeId k = begin; k < end; ++k) {
      const NodeId far = indices[std::min(k + ahead.far, last)];
      const NodeId near = indices[std::min(k + ahead.near, last)];
      for (std::int64_t c = 0; c < d; c += 16) {
        prefetch_far(args.arg.row(far) + c);
        prefetch_far(args.dy.row(far) + c);
        prefetch(args.arg.row(near) + c);
        prefetch(args.dy.row(near) + c);
      }
      const NodeId v = indices[k];
      if (by_id && k > begin && indices[k - 1] == v) continue;  // of parallel edges one won
      const Claim claim = claim_of(args, u, k);
      const std::int32_t* arg = args.arg.row(v);
      const float* dy = args.dy.row(v);
#pragma omp simd
      for (std::int64_t j = 0; j < d; ++j) dx[j] += arg[j] == claim.name ? claim.weight * dy[j] : 0.0F;
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

void spmm_arg_grad(const Context& context, const SpmmArgGradArgs<float>& args) {
  parallel_edge_rows(context.threads, args.out_edges.offsets, 2 * args.dx.cols,
                     [&](std::int64_t begin, std::int64_t end) {
                       HWY_DYNAMIC_DISPATCH(grad_chunk)
                       (args, begin, end);
                     });
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
