// Backward of attention in one pass over the out-edges: lanes share the columns of a source, and read each row of dy
// once an edge. The inner product with the source's own row is taken once at the end, over the lanes of a head.
//
// Heads whose columns fill lanes evenly have a source's row at once, four columns a lane (row_shares.h); others are
// taken head by head, a column a lane.
#include "kernels/cuda/attention.h"
#include "kernels/cuda/ops.h"
#include "kernels/cuda/sums.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

/// What the edges of a source give some of its columns.
template <int kVector>
struct GivenBack {
  float dots = 0;  ///< weights times slope times dots, the same for all columns of a head
  float dz[kVector] = {};
  float steep[kVector] = {};  ///< dz's terms times the slope of the score

  __device__ void join(const GivenBack& later) {
    dots += later.dots;
    for (int c = 0; c < kVector; ++c) {
      dz[c] += later.dz[c];
      steep[c] += later.steep[c];
    }
  }
  __device__ void exchange(int bits) {
    dots = __shfl_xor_sync(~0U, dots, bits);
    for (int c = 0; c < kVector; ++c) {
      dz[c] = __shfl_xor_sync(~0U, dz[c], bits);
      steep[c] = __shfl_xor_sync(~0U, steep[c], bits);
    }
  }
};

/// Adds `count` edges from k on, at most kEdgesAhead; `own` is the source's score.
template <int kVector>
__device__ void give_back(const OnDevice<AttentionGradArgs>& args, EdgeId k, int count, std::int64_t j, std::int64_t h,
                          float own, float leak, GivenBack<kVector>& sums) {
  float dy[kEdgesAhead][kVector] = {};
  float weights[kEdgesAhead] = {};
  float slopes[kEdgesAhead] = {};
  float dots[kEdgesAhead] = {};
  for (int i = 0; i < kEdgesAhead; ++i) {
    if (i >= count) continue;
    const std::int64_t v = args.pattern.indices.data[k + i];
    load_vector<kVector>(args.dy.data + v * args.dy.stride + j, dy[i]);
    const EdgeScore score = score_of(own + args.s_dst.data[v * args.s_dst.stride + h], leak);
    dots[i] = args.dots.data[v * args.dots.stride + h];
    slopes[i] = score.slope;
    weights[i] = score.value - args.lse.data[v * args.lse.stride + h];
  }
  for (int i = 0; i < kEdgesAhead; ++i) {
    if (i >= count) continue;
    const EdgeId slot = args.pattern.slots.size == 0 ? k + i : args.pattern.slots.data[k + i];
    const float gate = args.gate.rows == 0 ? 1.0F : args.gate.data[slot * args.gate.stride + h];
    const float weight = exp_to_zero(weights[i]);
    sums.dots = fmaf(weight * slopes[i], dots[i], sums.dots);
    for (int c = 0; c < kVector; ++c) {
      const float term = weight * gate * dy[i][c];
      sums.dz[c] += term;
      sums.steep[c] = fmaf(slopes[i], term, sums.steep[c]);
    }
  }
}

template <int kVector>
__device__ GivenBack<kVector> sum_out_edges(const OnDevice<AttentionGradArgs>& args, float leak, std::int64_t u,
                                            EdgeId begin, EdgeId end, std::int64_t j, std::int64_t h) {
  const float own = args.s_src.data[u * args.s_src.stride + h];
  GivenBack<kVector> sums;
  EdgeId k = begin;
  for (; k + kEdgesAhead <= end; k += kEdgesAhead) give_back(args, k, kEdgesAhead, j, h, own, leak, sums);
  if (k < end) give_back(args, k, static_cast<int>(end - k), j, h, own, leak, sums);
  return sums;
}

__global__ void __launch_bounds__(kRowThreads, 3)
    attend_back_by_fours(OnDevice<AttentionGradArgs> args, float leak, RowShares shares, const NodeId* long_rows) {
  const RowShare mine = share_of_thread(args.pattern.offsets.data, shares, long_rows);
  const std::int64_t width = args.z.cols / args.heads;
  for (std::int64_t panel = 0; panel < args.z.cols; panel += shares.lanes * 4) {
    const std::int64_t j = panel + mine.lane * 4;
    const bool works = mine.row >= 0 && j < args.z.cols;
    const std::int64_t h = works ? j / width : 0;
    GivenBack<4> sums;
    if (works) sums = sum_out_edges<4>(args, leak, mine.row, mine.begin, mine.end, j, h);
    join_groups(shares, mine, sums);
    const bool stores = works && mine.group == 0;
    double inner = 0;
    for (int c = 0; stores && c < 4; ++c) {
      args.dz.data[mine.row * args.dz.stride + j + c] = sums.dz[c];
      inner += static_cast<double>(args.z.data[mine.row * args.z.stride + j + c]) * sums.steep[c];
    }
    inner = sum_of_lanes(inner, static_cast<int>(width / 4));
    if (stores && j % width == 0)
      args.ds_src.data[mine.row * args.ds_src.stride + h] = static_cast<float>(inner - sums.dots);
  }
}

__global__ void attend_back_by_heads(OnDevice<AttentionGradArgs> args, float leak, int lanes) {
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
      const GivenBack<1> sums =
          sum_out_edges<1>(args, leak, u, args.pattern.offsets.data[u], args.pattern.offsets.data[u + 1], col, h);
      args.dz.data[u * args.dz.stride + col] = sums.dz[0];
      inner += static_cast<double>(args.z.data[u * args.z.stride + col]) * sums.steep[0];
      dots = sums.dots;
    }
    inner = sum_of_lanes(inner, lanes);
    if (item < items && lane == 0) args.ds_src.data[u * args.ds_src.stride + h] = static_cast<float>(inner - dots);
  }
}

/// The lanes of a head are a power of two, so that its columns lie in one panel.
bool fills_lanes(const OnDevice<AttentionGradArgs>& args) {
  const std::int64_t width = args.z.cols / args.heads;
  const bool even = width % 4 == 0 && width <= 128 && (width & (width - 1)) == 0;
  return even && lie_together(args.dy.data, args.dy.stride);
}

}  // namespace

std::size_t attention_grad_workspace(const OnDevice<AttentionGradArgs>& args) {
  return long_rows_workspace(args.pattern);
}

void attention_grad(const DeviceContext& context, const OnDevice<AttentionGradArgs>& args) {
  const auto leak = static_cast<float>(args.slope);
  if (!fills_lanes(args)) {
    const int lanes = lanes_for(args.z.cols / args.heads);
    return launch(context, attend_back_by_heads, launch_over(context, args.dz.rows * args.heads * lanes), args, leak,
                  lanes);
  }
  const RowShares shares = share_rows(args.pattern, args.z.cols, 4);
  const NodeId* long_rows = launch_find_long_rows(context, args.pattern.offsets.data, shares);
  launch(context, attend_back_by_fours, launch_of(shares, kRowThreads * sizeof(GivenBack<4>)), args, leak, shares,
         long_rows);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
