// Masked multilabel binary cross-entropy and its gradient in one sweep.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/cross_entropy.h"
#include "kernels/kernel.h"

namespace gneiss::kernels {

template <class T, Space S = Space::kHost>
struct BceWithLogitsArgs {
  ConstMatrixView<T, S> logits;
  ConstMatrixView<float, S> targets;
  SpanIn<const NodeId, S> rows;  ///< the rows that count, ascending
  MatrixView<T, S> loss;
  MatrixView<T, S> dlogits;
  std::int64_t labelled = 0;  ///< labelled_entries(targets, rows), which every call counts where it is 0
};

/// Mean over the labelled entries of `rows` of log(1 + exp(-|z|)) + max(z, 0) - z t; NaN targets are unlabelled.
/// Shapes    logits, targets, dlogits: [n,c]; loss: [1,1]. Aliasing dlogits may be logits; without it (no rows) only
/// the loss is made. Sums in f64, fixed order. Errors kShape. Source
/// torch.nn.functional.binary_cross_entropy_with_logits; OGB's NaN rule
template <class T>
void bce_with_logits(const Context& context, const BceWithLogitsArgs<T>& args);

template <class T>
std::span<const Variant<BceWithLogitsArgs<T>>> bce_with_logits_variants();

}  // namespace gneiss::kernels
