// Attention in one pass over the in-edges: lanes share the columns of a node and head. A lane takes the scores of the
// edges in order, keeps the highest so far and scales what it has when that rises, so that nothing of the size of the
// edges is stored and no edge is looked at twice for a column.
#include "kernels/cuda/attention.h"

#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

/// What a lane has of its column: the highest score, and sums of weights relative to it.
struct Attended {
  float highest = 0;
  float sum = 0;     ///< of weights
  float slopes = 0;  ///< of weights times the slope of the score
  float y = 0;
  float steep = 0;  ///< of y's terms times the slope of the score

  __device__ void add(float score, float slope, float gate, float z, bool first) {
    const float rise = score - highest;
    const float e = exp_to_zero(rise > 0 ? -rise : rise);
    const bool rises = first || rise > 0;
    const float keep = first ? 0.0F : (rises ? e : 1.0F);
    const float weight = rises ? 1.0F : e;
    highest = rises ? score : highest;
    sum = sum * keep + weight;
    slopes = slopes * keep + weight * slope;
    y = y * keep + weight * gate * z;
    steep = steep * keep + weight * slope * gate * z;
  }
};

__global__ void attend_nodes(OnDevice<AttentionArgs> args, float leak, int lanes) {
  const std::int64_t width = args.z.cols / args.heads;
  for (std::int64_t i = first_item(); i < args.y.rows * args.heads * lanes; i += item_step()) {
    const std::int64_t item = i / lanes;
    const std::int64_t v = item / args.heads;
    const std::int64_t h = item - v * args.heads;
    const EdgeId begin = args.pattern.offsets.data[v];
    const EdgeId end = args.pattern.offsets.data[v + 1];
    const float own = args.s_dst.data[v * args.s_dst.stride + h];
    for (std::int64_t j = i - item * lanes; j < width; j += lanes) {
      const std::int64_t col = h * width + j;
      Attended at;
      for (EdgeId k = begin; k < end; ++k) {
        const std::int64_t u = args.pattern.indices.data[k];
        const EdgeScore score = score_of(args.s_src.data[u * args.s_src.stride + h] + own, leak);
        const float gate = args.gate.rows == 0 ? 1.0F : args.gate.data[k * args.gate.stride + h];
        at.add(score.value, score.slope, gate, args.z.data[u * args.z.stride + col], k == begin);
      }
      const float y = begin < end ? at.y / at.sum : 0.0F;
      args.y.data[v * args.y.stride + col] = y;
      if (args.tangent.rows != 0) {
        args.tangent.data[v * args.tangent.stride + col] =
            begin < end ? at.steep / at.sum - at.slopes / at.sum * y : 0.0F;
      }
      if (j == 0 && args.lse.rows != 0) {
        const double log_sum = begin < end ? at.highest + log_of(at.sum) : 0.0;
        args.lse.data[v * args.lse.stride + h] = static_cast<float>(log_sum);
      }
    }
  }
}

}  // namespace

void attention(const DeviceContext& context, const OnDevice<AttentionArgs>& args) {
  const int lanes = lanes_for(args.z.cols / args.heads);
  launch(context, attend_nodes, launch_over(context, args.y.rows * args.heads * lanes), args,
         static_cast<float>(args.slope), lanes);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
