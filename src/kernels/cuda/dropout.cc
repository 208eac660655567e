// Dropout from counter-based draws, the same as on the host: a draw gives four columns, so a thread takes four columns
// of a row. Entries of sparse rows and values of edges look up the row that they belong to.
#include "base/random.h"
#include "kernels/cuda/ops.h"
#include "kernels/dropout_key.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

struct DropoutDraw {
  std::uint64_t key;
  const StepNumbers* step;  ///< or null
  double p;
  float scale;
  std::uint32_t stream;
  const std::int64_t* ids;  ///< or null
};

__device__ std::uint64_t id_of(const DropoutDraw& rule, std::int64_t r) {
  return static_cast<std::uint64_t>(rule.ids == nullptr ? r : rule.ids[r]);
}

__device__ PhiloxBlock draws(const DropoutDraw& rule, std::uint32_t low, std::uint32_t high, std::uint32_t group) {
  return philox(rule.step == nullptr ? rule.key : rule.step->dropout_key, {low, high, group, rule.stream});
}

__device__ float drop_element(const DropoutDraw& rule, std::uint32_t bits, float x) {
  return static_cast<double>(uniform_float(bits)) >= rule.p ? x * rule.scale : 0.0F;
}

/// Four columns of the row that `low` and `high` name.
__device__ void drop_group(const DropoutDraw& rule, const OnDevice<DropoutArgs>& args, std::int64_t r,
                           std::int64_t group, std::uint32_t low, std::uint32_t high) {
  const PhiloxBlock block = draws(rule, low, high, static_cast<std::uint32_t>(group));
  for (std::int64_t c = group * 4; c < group * 4 + 4 && c < args.x.cols; ++c) {
    const float x = args.x.data[r * args.x.stride + c];
    args.y.data[r * args.y.stride + c] = drop_element(rule, block[static_cast<std::size_t>(c % 4)], x);
  }
}

__global__ void drop_rows(DropoutDraw rule, OnDevice<DropoutArgs> args) {
  const std::int64_t groups = (args.x.cols + 3) / 4;
  for (std::int64_t i = first_item(); i < args.x.rows * groups; i += item_step()) {
    const std::int64_t r = i / groups;
    const std::uint64_t id = id_of(rule, args.first_row + r);
    drop_group(rule, args, r, i - r * groups, static_cast<std::uint32_t>(id), static_cast<std::uint32_t>(id >> 32));
  }
}

__global__ void drop_edges(DropoutDraw rule, OnDevice<DropoutArgs> args, SparsePatternIn<Space::kDevice> edges) {
  const std::int64_t groups = (args.x.cols + 3) / 4;
  for (std::int64_t i = first_item(); i < args.x.rows * groups; i += item_step()) {
    const std::int64_t k = i / groups;
    const std::uint64_t destination = id_of(rule, row_of(edges.offsets.data, edges.rows, k));
    const std::uint64_t source = id_of(rule, edges.indices.data[k]);
    drop_group(rule, args, k, i - k * groups, static_cast<std::uint32_t>(destination),
               static_cast<std::uint32_t>(source));
  }
}

__global__ void drop_entries(DropoutDraw rule, OnDevice<DropoutArgs> args, SparsePatternIn<Space::kDevice> rows) {
  for (std::int64_t k = first_item(); k < args.x.rows; k += item_step()) {
    const std::uint64_t id = id_of(rule, args.first_row + row_of(rows.offsets.data, rows.rows, k));
    const auto column = static_cast<std::uint32_t>(rows.indices.data[k]);
    const PhiloxBlock block =
        draws(rule, static_cast<std::uint32_t>(id), static_cast<std::uint32_t>(id >> 32), column / 4);
    args.y.data[k * args.y.stride] = drop_element(rule, block[column % 4], args.x.data[k * args.x.stride]);
  }
}

}  // namespace

void dropout(const DeviceContext& context, const OnDevice<DropoutArgs>& args) {
  const DropoutDraw rule{dropout_key(args.seed, args.epoch),
                         context.step,
                         args.p,
                         static_cast<float>(args.p < 1 ? 1 / (1 - args.p) : 0),
                         args.stream,
                         args.row_ids.size == 0 ? nullptr : args.row_ids.data};
  const Launch by_group = launch_over(context, args.x.rows * ((args.x.cols + 3) / 4));
  if (args.in_edges != nullptr) return launch(context, drop_edges, by_group, rule, args, *args.in_edges);
  if (args.sparse_rows == nullptr) return launch(context, drop_rows, by_group, rule, args);
  launch(context, drop_entries, launch_over(context, args.x.rows), rule, args, *args.sparse_rows);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
