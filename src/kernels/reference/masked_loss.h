// The mean of a loss over the labelled entries of some rows, and its gradient: what mse and bce_with_logits share.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/kernel.h"

namespace gneiss::kernels::reference {

/// The loss of one entry and its derivative by the logit.
struct EntryLoss {
  double loss = 0;
  double slope = 0;
};

/// `loss_of(z, t)`: of a logit and its target.
template <class T, template <class, Space> class Args, class LossOf>
void masked_loss(const Args<T, Space::kHost>& args, const LossOf& loss_of) {
  std::int64_t labelled = 0;
  for (const NodeId row : args.rows) {
    for (std::int64_t c = 0; c < args.targets.cols; ++c) labelled += !std::isnan(args.targets.at(row, c));
  }
  const double count = static_cast<double>(std::max<std::int64_t>(1, labelled));
  double loss = 0;
  std::size_t next = 0;
  for (std::int64_t r = 0; r < args.logits.rows; ++r) {
    const bool listed = next < args.rows.size() && args.rows[next] == r;
    if (listed) ++next;
    for (std::int64_t c = 0; c < args.logits.cols; ++c) {
      const double t = args.targets.at(r, c);
      const bool counts = listed && !std::isnan(t);
      const EntryLoss entry = counts ? loss_of(static_cast<double>(args.logits.at(r, c)), t) : EntryLoss{};
      if (counts) loss += entry.loss;
      if (args.dlogits.rows > 0) args.dlogits.at(r, c) = counts ? static_cast<T>(entry.slope / count) : T(0);
    }
  }
  args.loss.at(0, 0) = static_cast<T>(loss / count);
}

}  // namespace gneiss::kernels::reference
