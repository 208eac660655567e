// Attention as its formulas say, a row and a head at a time.
#include "kernels/attention.h"

#include <algorithm>
#include <cmath>

#include "kernels/reference/reference.h"

namespace gneiss::kernels::reference {
namespace {

/// One row and head.
template <class T>
void attend(const AttentionArgs<T>& args, std::int64_t v, std::int64_t h) {
  const EdgeId begin = args.pattern.offsets[v];
  const EdgeId end = args.pattern.offsets[v + 1];
  const auto raw = [&](EdgeId k) {
    return static_cast<double>(args.s_src.at(args.pattern.indices[k], h)) + args.s_dst.at(v, h);
  };
  const auto score = [&](EdgeId k) { return raw(k) > 0 ? raw(k) : args.slope * raw(k); };
  double highest = begin < end ? score(begin) : 0;
  for (EdgeId k = begin; k < end; ++k) highest = std::max(highest, score(k));
  double sum = 0;
  double slopes = 0;
  for (EdgeId k = begin; k < end; ++k) {
    const double weight = std::exp(score(k) - highest);
    sum += weight;
    slopes += weight * (raw(k) > 0 ? 1 : args.slope);
  }
  if (args.lse.rows != 0) args.lse.at(v, h) = static_cast<T>(begin < end ? highest + std::log(sum) : 0);
  const std::int64_t width = args.z.cols / args.heads;
  for (std::int64_t j = h * width; j < (h + 1) * width; ++j) {
    double y = 0;
    double steep = 0;
    for (EdgeId k = begin; k < end; ++k) {
      const double gate = args.gate.rows == 0 ? 1 : args.gate.at(k, h);
      const double part = std::exp(score(k) - highest) / sum * gate * args.z.at(args.pattern.indices[k], j);
      y += part;
      steep += part * (raw(k) > 0 ? 1 : args.slope);
    }
    args.y.at(v, j) = static_cast<T>(y);
    if (args.tangent.rows != 0) args.tangent.at(v, j) = static_cast<T>(begin < end ? steep - slopes / sum * y : 0);
  }
}

}  // namespace

template <class T>
void attention(const Context&, const AttentionArgs<T>& args) {
  for (std::int64_t v = 0; v < args.pattern.rows; ++v) {
    for (std::int64_t h = 0; h < args.heads; ++h) attend(args, v, h);
  }
}

template void attention<float>(const Context&, const AttentionArgs<float>&);
template void attention<double>(const Context&, const AttentionArgs<double>&);

}  // namespace gneiss::kernels::reference
