// Rows of edges reduced to nodes, one output element at a time.
#include "kernels/reference/reference.h"

namespace gneiss::kernels::reference {
namespace {

struct Element {
  double value = 0;
  std::int32_t position = -1;
};

/// y[v,j] and, for an extreme, the position of its winner.
template <class T>
Element reduce_entries(const SegmentReduceArgs<T>& args, std::int64_t v, std::int64_t j) {
  const EdgeId begin = args.pattern.offsets[v];
  const EdgeId end = args.pattern.offsets[v + 1];
  const bool extreme = args.reduce == Reduce::kMax || args.reduce == Reduce::kMin;
  Element result;
  for (EdgeId k = begin; k < end; ++k) {
    const double term = args.e.at(args.pattern.slot(k), j);
    if (!extreme) {
      result.value += term;
      continue;
    }
    const bool wins = args.reduce == Reduce::kMax ? term > result.value : term < result.value;
    if (k == begin || wins) result = {term, static_cast<std::int32_t>(k - begin)};
  }
  if (args.reduce == Reduce::kMean && end > begin) result.value /= static_cast<double>(end - begin);
  return result;
}

}  // namespace

template <class T>
void segment_reduce(const Context&, const SegmentReduceArgs<T>& args) {
  const SparsePattern& pattern = args.pattern;
  const bool writes_arg = args.arg.data != nullptr;
  for (std::int64_t v = 0; v < pattern.rows; ++v) {
    for (std::int64_t j = 0; j < args.y.cols; ++j) {
      const Element element = reduce_entries(args, v, j);
      args.y.at(v, j) = static_cast<T>(element.value);
      if (writes_arg) args.arg.at(v, j) = element.position;
    }
  }
}

template void segment_reduce<float>(const Context&, const SegmentReduceArgs<float>&);
template void segment_reduce<double>(const Context&, const SegmentReduceArgs<double>&);

}  // namespace gneiss::kernels::reference
