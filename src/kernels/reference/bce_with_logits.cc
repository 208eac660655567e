// Masked multilabel binary cross-entropy and its gradient.
#include <algorithm>
#include <cmath>

#include "kernels/reference/masked_loss.h"
#include "kernels/reference/reference.h"

namespace gneiss::kernels::reference {

template <class T>
void bce_with_logits(const Context&, const BceWithLogitsArgs<T>& args) {
  masked_loss(args, [](double z, double t) {
    return EntryLoss{std::log1p(std::exp(-std::abs(z))) + std::max(z, 0.0) - z * t, 1 / (1 + std::exp(-z)) - t};
  });
}

template void bce_with_logits<float>(const Context&, const BceWithLogitsArgs<float>&);
template void bce_with_logits<double>(const Context&, const BceWithLogitsArgs<double>&);

}  // namespace gneiss::kernels::reference
