// edge_softmax on the CPU, a chunk of rows at a time: subtract the row maxima, take all exponentials of the chunk in
// one vector sweep over edges x heads, then normalise the rows. A chunk stays in L2 between the three sweeps.
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/edge_softmax.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

/// a = e - maximum of the row, per head; a may be e.
void subtract_highest(const EdgeSoftmaxArgs<float>& args, EdgeId begin, EdgeId end) {
  const std::int64_t heads = args.e.cols;
  for (std::int64_t h = 0; h < heads; ++h) {
    float highest = args.e.at(begin, h);
    for (EdgeId k = begin + 1; k < end; ++k) highest = std::max(highest, args.e.at(k, h));
    for (EdgeId k = begin; k < end; ++k) args.a.at(k, h) = args.e.at(k, h) - highest;
  }
}

/// Divides the exponentials of a row by their sum, per head.
void normalise(const EdgeSoftmaxArgs<float>& args, EdgeId begin, EdgeId end) {
  for (std::int64_t h = 0; h < args.a.cols; ++h) {
    double sum = 0;
    for (EdgeId k = begin; k < end; ++k) sum += args.a.at(k, h);
    const auto scale = static_cast<float>(1 / (sum + 1e-16));
    for (EdgeId k = begin; k < end; ++k) args.a.at(k, h) *= scale;
  }
}

void softmax_chunk(const EdgeSoftmaxArgs<float>& args, std::int64_t row_begin, std::int64_t row_end) {
  const EdgeId* offsets = args.offsets.data();
  const auto for_rows = [&](const auto& body) {
    for (std::int64_t v = row_begin; v < row_end; ++v) {
      if (offsets[v] < offsets[v + 1]) body(args, offsets[v], offsets[v + 1]);
    }
  };
  for_rows(subtract_highest);
  const EdgeId begin = offsets[row_begin];
  const EdgeId end = offsets[row_end];
  if (args.a.contiguous()) {
    transform_run((end - begin) * args.a.cols, args.a.row(begin), args.a.row(begin), ExpOf{});
  } else {
    for (EdgeId k = begin; k < end; ++k) transform_run(args.a.cols, args.a.row(k), args.a.row(k), ExpOf{});
  }
  for_rows(normalise);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gneiss::kernels::cpu {

HWY_EXPORT(softmax_chunk);

void edge_softmax(const Context& context, const EdgeSoftmaxArgs<float>& args) {
  parallel_edge_rows(context.threads, args.offsets, 16 * args.e.cols, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(softmax_chunk)(args, begin, end);
  });
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
