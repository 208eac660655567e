// Aggregation of neighbours: as many lanes as a row has columns, at most a warp, walk the entries of a row together, so
// that each gathered row is read in one piece. A lane adds its columns up in registers, entries in order. Elements in
// 16 bits are widened as they are read.
#include "kernels/cuda/half.h"
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

struct RowEntries {
  EdgeId begin;
  EdgeId end;
};

__device__ RowEntries entries_of(const OnDevice<SpmmArgs>& args, std::int64_t v) {
  return {args.pattern.offsets.data[v], args.pattern.offsets.data[v + 1]};
}

/// What entry k brings to column j.
__device__ float weight_of_entry(const OnDevice<SpmmArgs>& args, EdgeId k, std::int64_t head) {
  if (args.w.size == 0) return 1.0F;
  const EdgeId slot = args.pattern.slots.size == 0 ? k : args.pattern.slots.data[k];
  return args.w.data[slot * args.heads + head];
}

__device__ float element_of(const OnDevice<SpmmArgs>& args, std::int64_t u, std::int64_t j) {
  if (args.x_half.type == HalfType::kNone) return args.x.data[u * args.x.stride + j];
  return widen(args.x_half.type, args.x_half.data[u * args.x_half.stride + j]);
}

__device__ void store_element(const OnDevice<SpmmArgs>& args, std::int64_t v, std::int64_t j, float y) {
  if (args.y_half.type == HalfType::kNone) {
    args.y.data[v * args.y.stride + j] = y;
  } else {
    args.y_half.data[v * args.y_half.stride + j] = narrow(args.y_half.type, y);
  }
}

__global__ void sum_entries(OnDevice<SpmmArgs> args, int lanes) {
  const std::int64_t width = args.y.cols / args.heads;
  const bool mean = args.reduce == Reduce::kMean;
  for (std::int64_t i = first_item(); i < args.y.rows * lanes; i += item_step()) {
    const std::int64_t v = i / lanes;
    const RowEntries row = entries_of(args, v);
    float factor = mean && row.end > row.begin ? 1.0F / static_cast<float>(row.end - row.begin) : 1.0F;
    if (args.scales.rows != 0) factor *= args.scales.data[v * args.scales.stride];
    for (std::int64_t j = i - v * lanes; j < args.y.cols; j += lanes) {
      const std::int64_t head = j / width;
      float sum = 0;
      for (EdgeId k = row.begin; k < row.end; ++k) {
        const float x = element_of(args, args.pattern.indices.data[k], j);
        sum = fmaf(weight_of_entry(args, k, head), x, sum);
      }
      store_element(args, v, j, sum * factor);
    }
  }
}

__global__ void find_extremes(OnDevice<SpmmArgs> args, int lanes) {
  const std::int64_t width = args.y.cols / args.heads;
  for (std::int64_t i = first_item(); i < args.y.rows * lanes; i += item_step()) {
    const std::int64_t v = i / lanes;
    const RowEntries row = entries_of(args, v);
    for (std::int64_t j = i - v * lanes; j < args.y.cols; j += lanes) {
      float best = 0;
      std::int32_t position = -1;
      for (EdgeId k = row.begin; k < row.end; ++k) {
        const float x = args.x.data[args.pattern.indices.data[k] * args.x.stride + j];
        const float term = weight_of_entry(args, k, j / width) * x;
        if (k == row.begin || (args.reduce == Reduce::kMax ? term > best : term < best)) {
          best = term;
          position = static_cast<std::int32_t>(k - row.begin);
        }
      }
      args.y.data[v * args.y.stride + j] = best;
      if (args.arg.data != nullptr) args.arg.data[v * args.arg.stride + j] = position;
    }
  }
}

}  // namespace

void spmm(const DeviceContext& context, const OnDevice<SpmmArgs>& args) {
  const bool sum = args.reduce == Reduce::kSum || args.reduce == Reduce::kMean;
  const int lanes = lanes_for(args.y.cols);
  launch(context, sum ? sum_entries : find_extremes, launch_over(context, args.y.rows * lanes), args, lanes);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
