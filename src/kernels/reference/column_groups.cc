// Sums and copies over groups of columns.
#include "kernels/reference/reference.h"

#include <algorithm>

namespace gneiss::kernels::reference {

template <class T>
void column_groups(const Context&, const ColumnGroupsArgs<T>& args) {
  const bool grows = args.fn == ColumnGroups::kExpandGroups || args.fn == ColumnGroups::kTileHeads;
  const bool by_head = args.fn == ColumnGroups::kSumGroups || args.fn == ColumnGroups::kExpandGroups;
  const std::int64_t wide = grows ? args.y.cols : args.x.cols;
  const std::int64_t width = wide / args.heads;
  for (std::int64_t r = 0; r < args.x.rows; ++r) {
    if (!grows) std::fill_n(args.y.row(r), args.y.cols, T(0));
    for (std::int64_t j = 0; j < wide; ++j) {
      const std::int64_t narrow = by_head ? j / width : j % width;
      if (grows) {
        args.y.at(r, j) = args.x.at(r, narrow);
      } else {
        const T weight = args.weights.rows == 0 ? T(1) : args.weights.at(args.weights.rows == 1 ? 0 : r, j);
        args.y.at(r, narrow) += weight * args.x.at(r, j);
      }
    }
  }
}

template void column_groups<float>(const Context&, const ColumnGroupsArgs<float>&);
template void column_groups<double>(const Context&, const ColumnGroupsArgs<double>&);

}  // namespace gneiss::kernels::reference
