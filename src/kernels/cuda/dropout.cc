// Dropout from counter-based draws, the same as on the host: a draw gives four columns, so a thread takes four columns
// of a row. Entries of sparse rows and values of edges look up the row that they belong to.
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

/// Four columns of the edge that `low` and `high` name.
__device__ void drop_group(const DropoutDraw& rule, const StepNumbers* step, const OnDevice<DropoutArgs>& args,
                           std::int64_t r, std::int64_t group, std::uint32_t low, std::uint32_t high) {
  const PhiloxBlock block = draws_of(rule, step, low, high, static_cast<std::uint32_t>(group));
  for (std::int64_t c = group * 4; c < group * 4 + 4 && c < args.x.cols; ++c) {
    const float x = args.x.data[r * args.x.stride + c];
    args.y.data[r * args.y.stride + c] = drop_element(rule, block[static_cast<std::size_t>(c % 4)], x);
  }
}

__global__ void drop_edges(DropoutDraw rule, const StepNumbers* step, OnDevice<DropoutArgs> args,
                           SparsePatternIn<Space::kDevice> edges) {
  const std::int64_t groups = (args.x.cols + 3) / 4;
  for (std::int64_t i = first_item(); i < args.x.rows * groups; i += item_step()) {
    const std::int64_t k = i / groups;
    const std::uint64_t destination = id_of_row(rule, row_of(edges.offsets.data, edges.rows, k));
    const std::uint64_t source = id_of_row(rule, edges.indices.data[k]);
    const auto first = static_cast<std::uint32_t>(args.reversed ? source : destination);
    const auto second = static_cast<std::uint32_t>(args.reversed ? destination : source);
    drop_group(rule, step, args, k, i - k * groups, first, second);
  }
}

__global__ void drop_entries(DropoutDraw rule, const StepNumbers* step, OnDevice<DropoutArgs> args,
                             SparsePatternIn<Space::kDevice> rows) {
  for (std::int64_t k = first_item(); k < args.x.rows; k += item_step()) {
    const std::uint64_t id = id_of_row(rule, rule.first_row + row_of(rows.offsets.data, rows.rows, k));
    const auto column = static_cast<std::uint32_t>(rows.indices.data[k]);
    const PhiloxBlock block =
        draws_of(rule, step, static_cast<std::uint32_t>(id), static_cast<std::uint32_t>(id >> 32), column / 4);
    args.y.data[k * args.y.stride] = drop_element(rule, block[column % 4], args.x.data[k * args.x.stride]);
  }
}

}  // namespace

void dropout(const DeviceContext& context, const OnDevice<DropoutArgs>& args) {
  const DropoutDraw rule = draw_of(args);
  const Launch by_group = launch_over(context, args.x.rows * ((args.x.cols + 3) / 4));
  if (args.in_edges != nullptr) return launch(context, drop_edges, by_group, rule, context.step, args, *args.in_edges);
  if (args.sparse_rows != nullptr) {
    return launch(context, drop_entries, launch_over(context, args.x.rows), rule, context.step, args,
                  *args.sparse_rows);
  }
  launch_stages(context, stage_of_rows(args), args.y.rows, args.y.cols);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
