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
  bool validation = false;  ///< there are validation nodes, whose loss evaluation wants too
};

/// Appends the loss of "train_logits": outputs "loss" and "dlogits". With validation nodes evaluation gets the loss of
/// "logits" over these: output "val_loss".
ir::Program add_loss(const ir::Program& program, const LossSpec& loss);

}  // namespace gneiss::passes
