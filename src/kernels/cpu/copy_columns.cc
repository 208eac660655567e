// A block of columns copied row by row.
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"

namespace gneiss::kernels::cpu {

void copy_columns(const Context& context, const CopyColumnsArgs<float>& args) {
  parallel_rows(context.threads, args.src.rows, args.count, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      std::copy_n(args.src.row(r) + args.src_begin, args.count, args.dst.row(r) + args.dst_begin);
    }
  });
}

}  // namespace gneiss::kernels::cpu
