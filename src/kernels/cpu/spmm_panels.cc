// spmm by panels of columns: a panel of x is copied and summed for all rows before the next.
//
// The rows of a panel lie one behind another, so that a shared cache may hold them all where it does not hold whole
// rows. What that costs is to copy x once and to read the ids once a panel; and no op that follows can take the result
// up row by row. Each element is the same sum in the same order as in whole rows.
#include <algorithm>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/packed_rows.h"

namespace gneiss::kernels::cpu {

void spmm_panels(const Context& context, const SpmmArgs<float>& args) {
  for (std::int64_t begin = 0; begin < args.x.cols; begin += args.panel) {
    const std::int64_t width = std::min(args.panel, args.x.cols - begin);
    SpmmArgs<float> panel = args;
    panel.x = packed_rows(context, {args.x.data + begin, args.x.rows, width, args.x.stride}, 0, args.x.rows);
    panel.y = {args.y.data + begin, args.y.rows, width, args.y.stride};
    spmm(context, panel);
  }
}

}  // namespace gneiss::kernels::cpu
