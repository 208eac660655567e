// Rows of nodes copied to their edges: bound by memory, a copy of each row.
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"

namespace gneiss::kernels::cpu {

void gather(const Context& context, const GatherArgs<float>& args) {
  const SparsePattern& pattern = args.pattern;
  parallel_edge_rows(context.threads, pattern.offsets, args.x.cols, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t v = begin; v < end; ++v) {
      const EdgeId last = pattern.offsets[static_cast<std::size_t>(v) + 1];
      for (EdgeId k = pattern.offsets[static_cast<std::size_t>(v)]; k < last; ++k) {
        const std::int64_t row = args.by_source ? pattern.indices[static_cast<std::size_t>(k)] : v;
        std::copy_n(args.x.row(row), args.x.cols, args.e.row(k));
      }
    }
  });
}

}  // namespace gneiss::kernels::cpu
