// Masked softmax cross-entropy and its gradient.
//
// With q_c = w_c * ((1 - smoothing) * [c = label] + smoothing / classes) and W the sum of w[label] over the counted
// rows: loss = sum over rows of sum_c q_c (log sum exp z - z_c) / W,  dz_c = (softmax_c * sum(q) - q_c) / W.
#include "kernels/reference/reference.h"

#include <algorithm>
#include <cmath>

namespace gneiss::kernels::reference {
namespace {

/// Weighted loss of one counted row; writes its gradient.
template <class T>
double row_loss(const CrossEntropyArgs<T>& args, std::int64_t r, double weights) {
  const std::int64_t classes = args.logits.cols;
  const T* z = args.logits.row(r);
  const double highest = *std::max_element(z, z + classes);
  double exponentials = 0;
  for (std::int64_t c = 0; c < classes; ++c) exponentials += std::exp(z[c] - highest);
  const double log_sum = highest + std::log(exponentials);
  const auto target = [&](std::int64_t c) {
    const double weight = args.class_weights.empty() ? 1.0 : args.class_weights[c];
    const double hit = c == args.labels[r] ? 1 - args.label_smoothing : 0;
    return weight * (hit + args.label_smoothing / static_cast<double>(classes));
  };
  double loss = 0;
  double total = 0;
  for (std::int64_t c = 0; c < classes; ++c) {
    loss += target(c) * (log_sum - z[c]);
    total += target(c);
  }
  for (std::int64_t c = 0; c < classes && args.dlogits.rows > 0; ++c) {
    args.dlogits.at(r, c) = static_cast<T>((std::exp(z[c] - log_sum) * total - target(c)) / weights);
  }
  return loss;
}

}  // namespace

template <class T>
void cross_entropy(const Context&, const CrossEntropyArgs<T>& args) {
  double weights = 0;
  for (const NodeId row : args.rows) {
    const std::int32_t label = args.labels[row];
    if (label >= 0) weights += args.class_weights.empty() ? 1.0 : args.class_weights[label];
  }
  double loss = 0;
  std::size_t next = 0;
  for (std::int64_t r = 0; r < args.logits.rows; ++r) {
    const bool listed = next < args.rows.size() && args.rows[next] == r;
    if (listed) ++next;
    if (listed && args.labels[r] >= 0 && weights > 0) {
      loss += row_loss(args, r, weights);
    } else if (args.dlogits.rows > 0) {
      std::fill_n(args.dlogits.row(r), args.dlogits.cols, T(0));
    }
  }
  args.loss.at(0, 0) = static_cast<T>(weights > 0 ? loss / weights : 0);
}

template void cross_entropy<float>(const Context&, const CrossEntropyArgs<float>&);
template void cross_entropy<double>(const Context&, const CrossEntropyArgs<double>&);

}  // namespace gneiss::kernels::reference
