// Masked mean squared error and its gradient in one sweep.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/cross_entropy.h"
#include "kernels/kernel.h"

namespace gneiss::kernels {

template <class T, Space S = Space::kHost>
struct MseArgs {
  ConstMatrixView<T, S> logits;
  ConstMatrixView<float, S> targets;
  SpanIn<const NodeId, S> rows;  ///< the rows that count, ascending
  MatrixView<T, S> loss;
  MatrixView<T, S> dlogits;
  std::int64_t labelled = 0;  ///< labelled_entries(targets, rows), which every call counts where it is 0
};

/// Mean over the labelled entries of `rows` of (z - t)²; NaN targets are unlabelled.
/// Shapes    logits, targets, dlogits: [n,c]; loss: [1,1]. Aliasing dlogits may be logits; without it (no rows) only
/// the loss is made. Sums in f64, fixed order. Errors kShape
template <class T>
void mse(const Context& context, const MseArgs<T>& args);

template <class T>
std::span<const Variant<MseArgs<T>>> mse_variants();

}  // namespace gneiss::kernels
