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
  bool validation = false;       ///< there are validation nodes, whose loss evaluation wants too
  bool evaluation_only = false;  ///< no step is trained by this plan
};

/// Appends the loss of "train_logits": outputs "loss" and "dlogits". With validation nodes evaluation gets the loss of
/// "logits" over these: output "val_loss". Where nothing is trained, that is all.
ir::Program add_loss(const ir::Program& program, const LossSpec& loss);

}  // namespace gneiss::passes
