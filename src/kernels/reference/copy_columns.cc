// A block of columns copied row by row.
#include "kernels/reference/reference.h"

#include <algorithm>

namespace gneiss::kernels::reference {

template <class T>
void copy_columns(const Context&, const CopyColumnsArgs<T>& args) {
  for (std::int64_t r = 0; r < args.src.rows; ++r) {
    std::copy_n(args.src.row(r) + args.src_begin, args.count, args.dst.row(r) + args.dst_begin);
  }
}

template void copy_columns<float>(const Context&, const CopyColumnsArgs<float>&);
template void copy_columns<double>(const Context&, const CopyColumnsArgs<double>&);

}  // namespace gneiss::kernels::reference
