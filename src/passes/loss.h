// The loss that a training minimizes.
#pragma once

#include <cstdint>

#include "ir/program.h"

namespace gneiss::passes {

/// Which loss, and its parameters.
struct LossSpec {
  enum class Kind : std::uint8_t { kNone, kCrossEntropy, kBceWithLogits, kMse };
  Kind kind = Kind::kCrossEntropy;
  double label_smoothing = 0;
};

/// Appends the loss of "train_logits": outputs "loss" and "dlogits".
ir::Program add_loss(const ir::Program& program, const LossSpec& loss);

}  // namespace gneiss::passes
