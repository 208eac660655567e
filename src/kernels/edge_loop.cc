// Tasks run the function of a compiled loop over their rows; sums over all edges are kept apart by task and added in
// order.
#include "kernels/edge_loop.h"

#include <algorithm>

#include "base/error.h"
#include "base/parallel.h"

namespace gneiss::kernels {

EdgeLoopArgs edge_loop_args(const SparsePattern& edges, const SparsePattern& in_edges, std::span<const float> weights,
                            std::span<const std::int64_t> ids) {
  EdgeLoopArgs args;
  args.offsets = edges.offsets.data();
  args.ends = edges.indices.data();
  args.edges = static_cast<std::int64_t>(edges.indices.size());
  args.slots = edges.slots.empty() ? nullptr : edges.slots.data();
  args.in_offsets = in_edges.offsets.data();
  args.weights = weights.empty() ? nullptr : weights.data();
  args.ids = ids.empty() ? nullptr : ids.data();
  return args;
}

void run_edge_loop(const Context& context, EdgeLoopFunction function, const EdgeLoopArgs& args,
                   std::span<const std::int64_t> cuts, std::span<const MatrixView<float>> totals) {
  const auto tasks = static_cast<std::int64_t>(cuts.size()) - 1;
  std::int64_t size = 0;
  for (const MatrixView<float>& total : totals) size += total.size();
  GNEISS_ASSERT(context.workspace.size() >= static_cast<std::size_t>(tasks * size) * sizeof(float),
                "a loop over edges has {} bytes of scratch", context.workspace.size());
  auto* const parts = reinterpret_cast<float*>(context.workspace.data());
  parallel_tasks(context.threads, tasks, [&](std::int64_t task, int) {
    float* const part = parts + task * size;
    std::fill_n(part, size, 0.0F);
    function(args, cuts[static_cast<std::size_t>(task)], cuts[static_cast<std::size_t>(task) + 1], part);
  });
  std::int64_t begin = 0;
  for (const MatrixView<float>& total : totals) {
    for (std::int64_t i = 0; i < total.size(); ++i) {
      double sum = 0;
      for (std::int64_t task = 0; task < tasks; ++task) sum += static_cast<double>(parts[task * size + begin + i]);
      total.data[i] = static_cast<float>(sum);
    }
    begin += total.size();
  }
}

}  // namespace gneiss::kernels
