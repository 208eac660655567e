// Masked softmax cross-entropy and its gradient in one sweep.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel.h"

namespace gneiss::kernels {

template <class T, Space S = Space::kHost>
struct CrossEntropyArgs {
  ConstMatrixView<T, S> logits;
  SpanIn<const std::int32_t, S> labels;
  SpanIn<const NodeId, S> rows;  ///< the rows that count, ascending
  SpanIn<const float, S> class_weights;
  double label_smoothing = 0;
  MatrixView<T, S> loss;
  MatrixView<T, S> dlogits;
};

/// Scratch of any loss over n rows.
std::size_t loss_workspace_bytes(std::int64_t n);

/// Mean over `rows` of -sum_c q_c log softmax(z)_c and its gradient; rows outside the list get gradient 0.
///   q = (1 - smoothing) * onehot(label) + smoothing / classes; with class weights w the terms are weighted as torch
///   does (each class's term by w_c; the mean divides by the sum of w[label]). Labels of -1 are skipped.
/// Shapes    logits, dlogits: [n,c]; labels: [n] in -1..c-1; class_weights: [c] or empty; loss: [1,1].
/// Aliasing  dlogits may be logits; without it (no rows) only the loss is made. No counted row: loss 0, gradient 0.
/// Sums in f64, fixed order. Errors kShape. Source    torch.nn.functional.cross_entropy
template <class T>
void cross_entropy(const Context& context, const CrossEntropyArgs<T>& args);

template <class T>
std::span<const Variant<CrossEntropyArgs<T>>> cross_entropy_variants();

}  // namespace gneiss::kernels
