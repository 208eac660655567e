// spmm by its definition: one output element at a time, over the entries of its row.
#include "kernels/reference/reference.h"

namespace gneiss::kernels::reference {
namespace {

struct Element {
  double value = 0;
  std::int32_t position = -1;
};

/// y[v,j] and, for an extreme, the position of its winner.
template <class T>
Element reduce_entries(const SpmmArgs<T>& args, std::int64_t v, std::int64_t j, std::int64_t head) {
  const EdgeId begin = args.pattern.offsets[v];
  const EdgeId end = args.pattern.offsets[v + 1];
  const bool extreme = args.reduce == Reduce::kMax || args.reduce == Reduce::kMin;
  Element result;
  for (EdgeId k = begin; k < end; ++k) {
    const double weight = args.w.empty() ? 1.0 : args.w[args.pattern.slot(k) * args.heads + head];
    const NodeId u = args.pattern.indices[k];
    double term = weight * (args.x_half.used() ? args.x_half.at(u, j) : args.x.at(u, j));
    if (!extreme) {
      result.value += term;
      continue;
    }
    // Compared as T, so that every variant sees the same ties.
    term = static_cast<T>(term);
    const bool wins = args.reduce == Reduce::kMax ? term > result.value : term < result.value;
    if (k == begin || wins) result = {term, static_cast<std::int32_t>(k - begin)};
  }
  if (args.reduce == Reduce::kMean && end > begin) result.value /= static_cast<double>(end - begin);
  if (args.scales.rows != 0) result.value *= *args.scales.row(v);
  return result;
}

}  // namespace

template <class T>
void spmm(const Context&, const SpmmArgs<T>& args) {
  const SparsePattern& pattern = args.pattern;
  const std::int64_t head_width = args.y.cols / args.heads;
  const bool writes_arg = args.arg.data != nullptr;
  for (std::int64_t v = 0; v < pattern.rows; ++v) {
    for (std::int64_t j = 0; j < args.y.cols; ++j) {
      const Element element = reduce_entries(args, v, j, j / head_width);
      if (args.y_half.used()) {
        args.y_half.row(v)[j] = to_half(args.y_half.type, static_cast<float>(element.value));
      } else {
        args.y.at(v, j) = static_cast<T>(element.value);
      }
      if (writes_arg) args.arg.at(v, j) = element.position;
    }
  }
}

template void spmm<float>(const Context&, const SpmmArgs<float>&);
template void spmm<double>(const Context&, const SpmmArgs<double>&);

}  // namespace gneiss::kernels::reference
