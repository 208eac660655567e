// Masked mean squared error and its gradient.
#include "kernels/reference/reference.h"

#include <algorithm>
#include <cmath>

namespace gneiss::kernels::reference {

template <class T>
void mse(const Context&, const MseArgs<T>& args) {
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
      const double z = args.logits.at(r, c);
      const double t = args.targets.at(r, c);
      if (!listed || std::isnan(t)) {
        if (args.dlogits.rows > 0) args.dlogits.at(r, c) = T(0);
        continue;
      }
      loss += (z - t) * (z - t);
      if (args.dlogits.rows > 0) args.dlogits.at(r, c) = static_cast<T>((2 * (z - t)) / count);
    }
  }
  args.loss.at(0, 0) = static_cast<T>(loss / count);
}

template void mse<float>(const Context&, const MseArgs<float>&);
template void mse<double>(const Context&, const MseArgs<double>&);

}  // namespace gneiss::kernels::reference
