// Backward of attention as its formulas say.
#include "kernels/attention_grad.h"

#include <cmath>

#include "kernels/reference/reference.h"

namespace gneiss::kernels::reference {
namespace {

/// Inner product of the columns of head h.
template <class T>
double inner(std::span<const T> a, std::span<const T> b) {
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += static_cast<double>(a[j]) * b[j];
  return sum;
}

}  // namespace

template <class T>
void attention_grad(const Context&, const AttentionGradArgs<T>& args) {
  const auto width = static_cast<std::size_t>(args.z.cols / args.heads);
  const auto head = [&](const ConstMatrixView<T>& m, std::int64_t r, std::int64_t h) {
    return std::span<const T>(m.row(r) + h * static_cast<std::int64_t>(width), width);
  };
  for (std::int64_t u = 0; u < args.pattern.rows; ++u) {
    for (std::int64_t h = 0; h < args.heads; ++h) {
      double ds = 0;
      T* dz = args.dz.row(u) + h * static_cast<std::int64_t>(width);
      for (std::size_t j = 0; j < width; ++j) {
        double sum = 0;
        for (EdgeId k = args.pattern.offsets[u]; k < args.pattern.offsets[u + 1]; ++k) {
          const NodeId v = args.pattern.indices[k];
          const double raw = static_cast<double>(args.s_src.at(u, h)) + args.s_dst.at(v, h);
          const double weight = std::exp((raw > 0 ? raw : args.slope * raw) - args.lse.at(v, h));
          const double gate = args.gate.rows == 0 ? 1 : args.gate.at(args.pattern.slot(k), h);
          sum += weight * gate * head(args.dy, v, h)[j];
        }
        dz[j] = static_cast<T>(sum);
      }
      for (EdgeId k = args.pattern.offsets[u]; k < args.pattern.offsets[u + 1]; ++k) {
        const NodeId v = args.pattern.indices[k];
        const double raw = static_cast<double>(args.s_src.at(u, h)) + args.s_dst.at(v, h);
        const double weight = std::exp((raw > 0 ? raw : args.slope * raw) - args.lse.at(v, h));
        const double gate = args.gate.rows == 0 ? 1 : args.gate.at(args.pattern.slot(k), h);
        ds += weight * (raw > 0 ? 1 : args.slope) *
              (gate * inner(head(args.z, u, h), head(args.dy, v, h)) - args.dots.at(v, h));
      }
      args.ds_src.at(u, h) = static_cast<T>(ds);
    }
  }
}

template void attention_grad<float>(const Context&, const AttentionGradArgs<float>&);
template void attention_grad<double>(const Context&, const AttentionGradArgs<double>&);

}  // namespace gneiss::kernels::reference
