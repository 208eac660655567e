// Gradient clipping by total norm.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel.h"

namespace gneiss::kernels {

template <class T, Space S = Space::kHost>
struct ClipNormArgs {
  double max_norm = 1;
  SpanIn<T, S> g;
  double* norm = nullptr;
};

/// Scratch for n values.
std::size_t clip_norm_workspace_bytes(std::int64_t n);

/// Scales g by min(1, max_norm / (norm + 1e-6)); *norm gets the norm before. Sum of squares in f64 in fixed chunks.
/// Shapes    g: [n]. Source: torch.nn.utils.clip_grad_norm_
template <class T>
void clip_norm(const Context& context, const ClipNormArgs<T>& args);

template <class T>
std::span<const Variant<ClipNormArgs<T>>> clip_norm_variants();

}  // namespace gneiss::kernels
