// Layer normalisation in the two modes of PyG.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/batch_norm.h"
#include "kernels/kernel.h"

namespace gneiss::kernels {

template <class T, Space S = Space::kHost>
struct LayerNormArgs {
  bool graph_mode = false;
  ConstMatrixView<T, S> x;
  ConstMatrixView<T, S> gamma;
  ConstMatrixView<T, S> beta;
  double eps = 1e-5;
  MatrixView<T, S> y;
  MatrixView<T, S> mean;
  MatrixView<T, S> var;
};

/// Normalises per row (node) or over the whole matrix (graph), then scales and shifts columns.
///   node:  y = (x - mean_r) / sqrt(var_r + eps) * gamma + beta           mean, var: [n,1]
///   graph: y = (x - mean) / (sqrt(var) + eps) * gamma + beta             mean, var: [1,1]
/// Shapes    x, y: [n,d]; gamma, beta: [1,d]. Aliasing y overlaps nothing. Bitwise equal for any number of threads.
/// Errors kShape Source    pyg nn/norm/layer_norm.py
template <class T>
void layer_norm(const Context& context, const LayerNormArgs<T>& args);

template <class T>
std::span<const Variant<LayerNormArgs<T>>> layer_norm_variants();

}  // namespace gneiss::kernels
