// Backward of attention in one pass over the out-edges: lanes share the columns of a source and head, and read each row
// of dy once an edge. The inner product with the source's own row is taken once at the end, over the lanes.
#include "kernels/cuda/attention.h"
#include "kernels/cuda/ops.h"
#include "kernels/cuda/sums.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

/// What the edges of a source give a column, or all columns of a head.
struct GivenBack {
  float dz = 0;
  float steep = 0;  ///< dz's terms times the slope of the score
  float dots = 0;   ///< weights times slope times dots, the same for all columns
};

__device__ GivenBack sum_out_edges(const OnDevice<AttentionGradArgs>& args, float leak, std::int64_t u, std::int64_t h,
                                   std::int64_t col) {
  const float own = args.s_src.data[u * args.s_src.stride + h];
  GivenBack sums;
  for (EdgeId k = args.pattern.offsets.data[u]; k < args.pattern.offsets.data[u + 1]; ++k) {
    const std::int64_t v = args.pattern.indices.data[k];
    const EdgeId slot = args.pattern.slots.size == 0 ? k : args.pattern.slots.data[k];
    const EdgeScore score = score_of(own + args.s_dst.data[v * args.s_dst.stride + h], leak);
    const float weight = exp_to_zero(score.value - args.lse.data[v * args.lse.stride + h]);
    const float gate = args.gate.rows == 0 ? 1.0F : args.gate.data[slot * args.gate.stride + h];
    const float term = weight * gate * args.dy.data[v * args.dy.stride + col];
    sums.dz += term;
    sums.steep = fmaf(score.slope, term, sums.steep);
    sums.dots = fmaf(weight * score.slope, args.dots.data[v * args.dots.stride + h], sums.dots);
  }
  return sums;
}

__global__ void attend_back(OnDevice<AttentionGradArgs> args, float leak, int lanes) {
  const std::int64_t width = args.z.cols / args.heads;
  const std::int64_t items = args.dz.rows * args.heads;
  // Lanes beyond the last item take part in the sums over lanes, by whole warps.
  const std::int64_t padded = (items * lanes + 31) / 32 * 32;
  for (std::int64_t i = first_item(); i < padded; i += item_step()) {
    const std::int64_t item = i / lanes;
    const std::int64_t lane = i - item * lanes;
    const std::int64_t u = item / args.heads;
    const std::int64_t h = item - u * args.heads;
    double inner = 0;
    float dots = 0;
    for (std::int64_t j = lane; item < items && j < width; j += lanes) {
      const std::int64_t col = h * width + j;
      const GivenBack sums = sum_out_edges(args, leak, u, h, col);
      args.dz.data[u * args.dz.stride + col] = sums.dz;
      inner += static_cast<double>(args.z.data[u * args.z.stride + col]) * sums.steep;
      dots = sums.dots;
    }
    inner = sum_of_lanes(inner, lanes);
    if (item < items && lane == 0) args.ds_src.data[u * args.ds_src.stride + h] = static_cast<float>(inner - dots);
  }
}

}  // namespace

void attention_grad(const DeviceContext& context, const OnDevice<AttentionGradArgs>& args) {
  const int lanes = lanes_for(args.z.cols / args.heads);
  launch(context, attend_back, launch_over(context, args.dz.rows * args.heads * lanes), args,
         static_cast<float>(args.slope), lanes);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
