// Winners by the ids of their nodes, one column of a row at a time.
#include "kernels/reference/reference.h"

namespace gneiss::kernels::reference {

template <class T>
void arg_sources(const Context&, const ArgSourcesArgs<T>& args) {
  for (std::int64_t v = 0; v < args.arg.rows; ++v) {
    for (std::int64_t j = 0; j < args.arg.cols; ++j) {
      const std::int32_t position = args.arg.at(v, j);
      const EdgeId k = args.in_edges.offsets[v] + position;
      args.source.at(v, j) = position < 0 ? -1 : static_cast<std::int32_t>(args.ids[args.in_edges.indices[k]]);
      if (args.weighed.rows == 0) continue;
      args.weighed.at(v, j) = position < 0 ? T(0) : args.w[k] * args.dy.at(v, j);
    }
  }
}

template void arg_sources<float>(const Context&, const ArgSourcesArgs<float>&);
template void arg_sources<double>(const Context&, const ArgSourcesArgs<double>&);

}  // namespace gneiss::kernels::reference
