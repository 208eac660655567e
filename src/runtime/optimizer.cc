// Runs of the flat buffer with one weight decay are updated by one kernel call each.
#include "runtime/optimizer.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "kernels/adam_step.h"
#include "kernels/clip_norm.h"
#include "kernels/sgd_step.h"

namespace gneiss::runtime {

template <class T>
Optimizer<T>::Optimizer(const OptimizerConfig& config, std::vector<ParameterRange> ranges, std::int64_t num_values)
    : config_(config), ranges_(std::move(ranges)) {
  const auto size = static_cast<std::size_t>(num_values);
  if (state_values(config) >= 1) first_ = Buffer<T>::zeros(size);
  if (state_values(config) >= 2) second_ = Buffer<T>::zeros(size);
}

template <class T>
int Optimizer<T>::state_values(const OptimizerConfig& config) {
  if (config.kind == OptimizerKind::kSgd) return config.momentum != 0 ? 1 : 0;
  return 2;
}

template <class T>
void Optimizer<T>::reset() {
  std::fill(first_.begin(), first_.end(), T{0});
  std::fill(second_.begin(), second_.end(), T{0});
  step_ = 0;
}

template <class T>
double penalty(const OptimizerConfig& config, std::span<const ParameterRange> ranges, std::span<const T> values) {
  if (config.kind == OptimizerKind::kAdamW) return 0;
  double sum = 0;
  for (const ParameterRange& range : ranges) {
    if (range.weight_decay == 0) continue;
    double squares = 0;
    for (const T value : values.subspan(static_cast<std::size_t>(range.begin), static_cast<std::size_t>(range.size))) {
      squares += static_cast<double>(value) * static_cast<double>(value);
    }
    sum += range.weight_decay / 2 * squares;
  }
  return sum;
}

template <class T>
void Optimizer<T>::step(const kernels::Context& context, double lr, std::span<T> values, std::span<T> gradients) {
  if (config_.clip_norm > 0) {
    double norm = 0;
    kernels::clip_norm<T>(context, {config_.clip_norm, gradients, &norm});
  }
  ++step_;
  for (const ParameterRange& range : ranges_) {
    const auto begin = static_cast<std::size_t>(range.begin);
    const auto size = static_cast<std::size_t>(range.size);
    const auto part = [&](Buffer<T>& buffer) {
      return buffer.empty() ? std::span<T>() : buffer.span().subspan(begin, size);
    };
    const std::span<T> w = values.subspan(begin, size);
    const std::span<const T> g = gradients.subspan(begin, size);
    if (config_.kind == OptimizerKind::kSgd) {
      kernels::sgd_step<T>(context,
                           {step_, lr, config_.momentum, range.weight_decay, config_.nesterov, w, g, part(first_)});
    } else {
      kernels::adam_step<T>(context, {step_, lr, config_.beta1, config_.beta2, config_.eps, range.weight_decay,
                                      config_.kind == OptimizerKind::kAdamW, w, g, part(first_), part(second_)});
    }
  }
}

template double penalty(const OptimizerConfig&, std::span<const ParameterRange>, std::span<const float>);
template double penalty(const OptimizerConfig&, std::span<const ParameterRange>, std::span<const double>);
template class Optimizer<float>;
template class Optimizer<double>;

}  // namespace gneiss::runtime
