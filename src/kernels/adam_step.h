// Adam and AdamW over a flat range of parameters.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel.h"

namespace gneiss::kernels {

template <class T, Space S = Space::kHost>
struct AdamStepArgs {
  std::int64_t step = 1;
  double lr = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  bool decoupled = false;
  SpanIn<T, S> w;
  SpanIn<const T, S> g;
  SpanIn<T, S> m;
  SpanIn<T, S> v;
};

/// torch.optim.Adam (weight decay added to the gradient) or AdamW (`decoupled`: w shrinks by lr * weight_decay first).
/// Shapes    all [n]; step counts from 1. Errors kShape. Source: Kingma & Ba 2015; Loshchilov & Hutter 2019
template <class T>
void adam_step(const Context& context, const AdamStepArgs<T>& args);

template <class T>
std::span<const Variant<AdamStepArgs<T>>> adam_step_variants();

}  // namespace gneiss::kernels
