// Sums and copies over groups of columns, a thread an element of the result.
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

/// The result is the wider side: each of its columns is a copy.
__global__ void copy_groups(OnDevice<ColumnGroupsArgs> args, bool by_head) {
  const std::int64_t cols = args.y.cols;
  const std::int64_t width = cols / args.heads;
  for (std::int64_t i = first_item(); i < args.y.rows * cols; i += item_step()) {
    const std::int64_t r = i / cols;
    const std::int64_t c = i - r * cols;
    args.y.data[r * args.y.stride + c] = args.x.data[r * args.x.stride + (by_head ? c / width : c % width)];
  }
}

/// The result is the narrower side: each of its columns is a sum, over the columns of a head or over heads.
__global__ void sum_groups(OnDevice<ColumnGroupsArgs> args, bool by_head) {
  const std::int64_t cols = args.y.cols;
  const std::int64_t width = args.x.cols / args.heads;
  const std::int64_t terms = by_head ? width : args.heads;
  for (std::int64_t i = first_item(); i < args.y.rows * cols; i += item_step()) {
    const std::int64_t r = i / cols;
    const std::int64_t c = i - r * cols;
    float total = 0;
    for (std::int64_t t = 0; t < terms; ++t) {
      const std::int64_t j = by_head ? c * width + t : t * width + c;
      const std::int64_t w = (args.weights.rows == 1 ? 0 : r) * args.weights.stride + j;
      total += (args.weights.rows == 0 ? 1.0F : args.weights.data[w]) * args.x.data[r * args.x.stride + j];
    }
    args.y.data[r * args.y.stride + c] = total;
  }
}

}  // namespace

void column_groups(const DeviceContext& context, const OnDevice<ColumnGroupsArgs>& args) {
  const bool grows = args.fn == ColumnGroups::kExpandGroups || args.fn == ColumnGroups::kTileHeads;
  const bool by_head = args.fn == ColumnGroups::kSumGroups || args.fn == ColumnGroups::kExpandGroups;
  launch(context, grows ? copy_groups : sum_groups, launch_over(context, args.y.rows * args.y.cols), args, by_head);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
