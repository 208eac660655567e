// Attention in one pass over the in-edges (row_shares.h). A lane takes the scores of the edges of its head by fours,
// keeps the highest so far and scales what it has when that rises, so that nothing of the size of the edges is stored
// and no row is read twice.
#include "kernels/cuda/attention.h"

#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

/// What a lane has of its columns: the highest score, and sums of weights relative to it. No edges: sum is 0.
template <int kVector>
struct Attended {
  float highest = 0;
  float sum = 0;     ///< of weights
  float slopes = 0;  ///< of weights times the slope of the score
  float y[kVector] = {};
  float steep[kVector] = {};  ///< of y's terms times the slope of the score

  __device__ void scale(float keep) {
    sum *= keep;
    slopes *= keep;
    for (int c = 0; c < kVector; ++c) {
      y[c] *= keep;
      steep[c] *= keep;
    }
  }
  __device__ void raise(float to) {
    if (sum != 0) scale(exp_to_zero(highest - to));
    highest = to;
  }
  __device__ void add(EdgeScore score, float gate, const float* z) {
    const float weight = exp_to_zero(score.value - highest);
    sum += weight;
    slopes = fmaf(weight, score.slope, slopes);
    for (int c = 0; c < kVector; ++c) {
      const float term = weight * gate * z[c];
      y[c] += term;
      steep[c] = fmaf(score.slope, term, steep[c]);
    }
  }
  __device__ void join(const Attended& later) {
    if (later.sum == 0) return;
    Attended other = later;
    const float top = sum == 0 || other.highest > highest ? other.highest : highest;
    raise(top);
    other.raise(top);
    sum += other.sum;
    slopes += other.slopes;
    for (int c = 0; c < kVector; ++c) {
      y[c] += other.y[c];
      steep[c] += other.steep[c];
    }
  }
  __device__ void exchange(int bits) {
    highest = __shfl_xor_sync(~0U, highest, bits);
    sum = __shfl_xor_sync(~0U, sum, bits);
    slopes = __shfl_xor_sync(~0U, slopes, bits);
    for (int c = 0; c < kVector; ++c) {
      y[c] = __shfl_xor_sync(~0U, y[c], bits);
      steep[c] = __shfl_xor_sync(~0U, steep[c], bits);
    }
  }
};

/// Adds `count` edges from k on, at most kEdgesAhead.
template <int kVector>
__device__ void attend_edges(const OnDevice<AttentionArgs>& args, EdgeId k, int count, std::int64_t j, std::int64_t h,
                             float own, float leak, Attended<kVector>& at) {
  float z[kEdgesAhead][kVector] = {};
  float gates[kEdgesAhead] = {};
  float raw[kEdgesAhead] = {};
  float top = at.highest;
  for (int i = 0; i < kEdgesAhead; ++i) {
    if (i >= count) continue;
    const std::int64_t u = args.pattern.indices.data[k + i];
    load_vector<kVector>(args.z.data + u * args.z.stride + j, z[i]);
    raw[i] = args.s_src.data[u * args.s_src.stride + h] + own;
    gates[i] = args.gate.rows == 0 ? 1.0F : args.gate.data[(k + i) * args.gate.stride + h];
  }
  for (int i = 0; i < kEdgesAhead; ++i) {
    if (i >= count) continue;
    const float score = score_of(raw[i], leak).value;
    top = (i == 0 && at.sum == 0) || score > top ? score : top;
  }
  if (top != at.highest || at.sum == 0) at.raise(top);
  for (int i = 0; i < kEdgesAhead; ++i) {
    if (i < count) at.add(score_of(raw[i], leak), gates[i], z[i]);
  }
}

template <int kVector>
__device__ void store_attended(const OnDevice<AttentionArgs>& args, std::int64_t v, std::int64_t j, std::int64_t h,
                               const Attended<kVector>& at, const Epilogue& epilogue) {
  const bool any = at.sum != 0;
  float y[kVector];
  for (int c = 0; c < kVector; ++c) {
    y[c] = any ? at.y[c] / at.sum : 0.0F;
    if (args.y.data != nullptr) args.y.data[v * args.y.stride + j + c] = y[c];
    if (args.tangent.rows == 0) continue;
    args.tangent.data[v * args.tangent.stride + j + c] = any ? at.steep[c] / at.sum - at.slopes / at.sum * y[c] : 0.0F;
  }
  run_epilogue<kVector>(epilogue, v, static_cast<std::uint32_t>(j), y);
  if (args.lse.rows == 0 || j % (args.z.cols / args.heads) != 0) return;
  const double log_sum = any ? at.highest + log_of(at.sum) : 0.0;
  args.lse.data[v * args.lse.stride + h] = static_cast<float>(log_sum);
}

template <int kVector>
__global__ void __launch_bounds__(kRowThreads, 4)
    attend_nodes(OnDevice<AttentionArgs> args, float leak, RowShares shares, const NodeId* long_rows,
                 const __grid_constant__ Epilogue epilogue) {
  const RowShare mine = share_of_thread(args.pattern.offsets.data, shares, long_rows);
  const std::int64_t cols = args.z.cols;
  for (std::int64_t panel = 0; panel < cols; panel += shares.lanes * kVector) {
    const std::int64_t j = panel + mine.lane * kVector;
    const bool works = mine.row >= 0 && j < cols;
    const std::int64_t h = works ? j / (cols / args.heads) : 0;
    Attended<kVector> at;
    if (works) {
      const float own = args.s_dst.data[mine.row * args.s_dst.stride + h];
      EdgeId k = mine.begin;
      for (; k + kEdgesAhead <= mine.end; k += kEdgesAhead) attend_edges(args, k, kEdgesAhead, j, h, own, leak, at);
      if (k < mine.end) attend_edges(args, k, static_cast<int>(mine.end - k), j, h, own, leak, at);
    }
    join_groups(shares, mine, at);
    if (works && mine.group == 0) store_attended(args, mine.row, j, h, at, epilogue);
  }
}

template <int kVector>
void launch_attention(const DeviceContext& context, const OnDevice<AttentionArgs>& args, const Epilogue& epilogue) {
  const RowShares shares = share_rows(args.pattern, args.z.cols, kVector);
  const NodeId* long_rows = launch_find_long_rows(context, args.pattern.offsets.data, shares);
  launch(context, attend_nodes<kVector>, launch_of(shares, kRowThreads * sizeof(Attended<kVector>)), args,
         static_cast<float>(args.slope), shares, long_rows, epilogue);
}

}  // namespace

std::size_t attention_workspace(const OnDevice<AttentionArgs>& args) { return long_rows_workspace(args.pattern); }

void attention(const DeviceContext& context, const OnDevice<AttentionArgs>& args) {
  const Epilogue epilogue = epilogue_of(context);
  const bool fours =
      args.z.cols / args.heads % 4 == 0 && lie_together(args.z.data, args.z.stride) && by_fours(epilogue);
  return fours ? launch_attention<4>(context, args, epilogue) : launch_attention<1>(context, args, epilogue);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
