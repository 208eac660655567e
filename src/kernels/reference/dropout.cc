// Dropout, one draw an element.
#include "base/random.h"
#include "kernels/dropout_key.h"
#include "kernels/reference/reference.h"

namespace gneiss::kernels::reference {

template <class T>
void dropout(const Context&, const DropoutArgs<T>& args) {
  const T scale = static_cast<T>(args.p < 1 ? 1 / (1 - args.p) : 0);
  const std::uint64_t key = dropout_key(args.seed, args.epoch);
  const auto drop = [&](std::int64_t r, std::int64_t c, DropoutRow row, std::uint32_t column) {
    const PhiloxBlock block = philox(key, {row.low, row.high, column / 4, args.stream});
    const bool keep = uniform_float(block[column % 4]) >= args.p;
    args.y.at(r, c) = keep ? args.x.at(r, c) * scale : T(0);
  };
  const SparsePattern* pattern = args.in_edges != nullptr ? args.in_edges : args.sparse_rows;
  const std::int64_t groups = pattern != nullptr ? pattern->rows : args.x.rows;
  for (std::int64_t v = 0; v < groups; ++v) {
    const EdgeId begin = pattern != nullptr ? pattern->offsets[v] : v;
    const EdgeId end = pattern != nullptr ? pattern->offsets[v + 1] : v + 1;
    for (EdgeId k = begin; k < end; ++k) {
      for (std::int64_t c = 0; c < args.x.cols; ++c) {
        const NodeId u = pattern != nullptr ? pattern->indices[k] : 0;
        const DropoutRow row = args.in_edges == nullptr ? node_row(args.row_ids, args.first_row + v)
                               : args.reversed          ? edge_row(args.row_ids, u, v)
                                                        : edge_row(args.row_ids, v, u);
        drop(k, c, row, static_cast<std::uint32_t>(args.sparse_rows != nullptr ? pattern->indices[k] : c));
      }
    }
  }
}

template void dropout<float>(const Context&, const DropoutArgs<float>&);
template void dropout<double>(const Context&, const DropoutArgs<double>&);

}  // namespace gneiss::kernels::reference
