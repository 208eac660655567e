// Stochastic gradient descent with momentum over a flat range of parameters.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel.h"

namespace gneiss::kernels {

template <class T, Space S = Space::kHost>
struct SgdStepArgs {
  std::int64_t step = 1;
  double lr = 0.01;
  double momentum = 0;
  double weight_decay = 0;
  bool nesterov = false;
  SpanIn<T, S> w;
  SpanIn<const T, S> g;
  SpanIn<T, S> velocity;
};

/// g += weight_decay * w; v = momentum * v + (1 - dampening at step 1: v = g); w -= lr * (nesterov ? g + momentum * v :
/// v). Shapes    all [n]; velocity empty if momentum == 0. step counts from 1. Source: torch.optim.SGD. Errors kShape
template <class T>
void sgd_step(const Context& context, const SgdStepArgs<T>& args);

template <class T>
std::span<const Variant<SgdStepArgs<T>>> sgd_step_variants();

}  // namespace gneiss::kernels
