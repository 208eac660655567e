// Values rounded to 16 bits, chunk by chunk of rows; integer arithmetic, which runs once and has no instruction set to
// choose.
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"
#include "kernels/cpu/round_row.h"

namespace gneiss::kernels::cpu {

void to_half(const Context& context, const ToHalfArgs<float>& args) {
  const std::int64_t cols = args.x.cols;
  parallel_rows(context.threads, args.x.rows, cols, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) round_row(args.y.type, args.x.row(r), cols, args.y.row(r));
  });
}

}  // namespace gneiss::kernels::cpu
