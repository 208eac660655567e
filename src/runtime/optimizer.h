// Optimizers over one flat parameter buffer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "ir/program.h"
#include "kernels/kernel.h"

namespace gneiss::runtime {

enum class OptimizerKind : std::uint8_t { kSgd, kAdam, kAdamW };

struct OptimizerConfig {
  OptimizerKind kind = OptimizerKind::kAdam;
  double lr = 0.01;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
  bool decay_first_layer_only = false;  ///< weight decay on the parameters of layer 0 alone (the GCN paper's setting)
  double clip_norm = 0;                 ///< 0: no clipping
};

/// A run of parameters under one weight decay.
struct ParameterRange {
  std::int64_t begin = 0;
  std::int64_t size = 0;
  double weight_decay = 0;
};

/// What an optimizer remembers of its steps; a kind that keeps less leaves parts empty.
template <class T>
struct OptimizerState {
  std::span<T> first;   ///< momentum, or Adam's first moments: one a parameter value
  std::span<T> second;  ///< Adam's second moments
  std::int64_t* steps = nullptr;
};

/// State and update rule of one optimizer.
template <class T>
class Optimizer {
 public:
  Optimizer(const OptimizerConfig& config, std::vector<ParameterRange> ranges, std::int64_t num_values);

  /// One step in place at learning rate `lr`; gradients are clipped first if configured.
  void step(const kernels::Context& context, double lr, std::span<T> values, std::span<T> gradients);
  void reset();
  /// What it remembers, to be kept and put back; valid as long as the optimizer.
  OptimizerState<T> state() { return {first_.span(), second_.span(), &step_}; }
  /// Bytes of state per parameter value, in values: 2 for Adam, 1 for momentum, 0 for plain SGD.
  static int state_values(const OptimizerConfig& config);

 private:
  OptimizerConfig config_;
  std::vector<ParameterRange> ranges_;
  Buffer<T> first_;
  Buffer<T> second_;
  std::int64_t step_ = 0;
};

/// The term that weight decay stands for in the objective: half the decay times the squares of the values; 0 for
/// AdamW, whose decay is no term of the loss.
template <class T>
double penalty(const OptimizerConfig& config, std::span<const ParameterRange> ranges, std::span<const T> values);

extern template class Optimizer<float>;
extern template class Optimizer<double>;

}  // namespace gneiss::runtime
