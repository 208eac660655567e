// Sparse rows written out densely, row by row.
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"

namespace gneiss::kernels::cpu {

void to_dense(const Context& context, const ToDenseArgs<float>& args) {
  parallel_rows(context.threads, args.a.rows, args.a.cols, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      float* row = args.dst.row(i);
      std::fill_n(row, args.dst.cols, 0.0F);
      const EdgeId last = args.a.offsets[static_cast<std::size_t>(i) + 1];
      for (EdgeId k = args.a.offsets[static_cast<std::size_t>(i)]; k < last; ++k) {
        row[args.a.indices[static_cast<std::size_t>(k)]] += args.values[static_cast<std::size_t>(args.a.slot(k))];
      }
    }
  });
}

}  // namespace gneiss::kernels::cpu
