// Gradient rules: one function per op, named after it.
#pragma once

#include <vector>

#include "ir/program.h"

namespace gneiss::passes {

/// What a gradient rule sees: the op, the gradients of its results, and where to put those of its inputs.
class GradientContext {
 public:
  GradientContext(ir::Builder* builder, const ir::Op& op, std::vector<ir::ValueId>* gradients,
                  const std::vector<bool>& wanted)
      : builder_(builder), op_(op), gradients_(gradients), wanted_(wanted) {}

  const ir::Op& op() const { return op_; }
  ir::Builder& builder() { return *builder_; }
  ir::ValueId input(std::size_t i) const { return op_.inputs[i]; }
  ir::ValueId result(std::size_t i) const { return op_.results[i]; }
  /// Gradient of result i; kNoValue if nothing depends on it.
  ir::ValueId grad(std::size_t i = 0) const { return (*gradients_)[static_cast<std::size_t>(op_.results[i])]; }
  /// Does a parameter depend on input i?
  bool wants(std::size_t i) const { return wanted_[static_cast<std::size_t>(op_.inputs[i])]; }
  const ir::Type& type(ir::ValueId v) { return builder_->program().type(v); }

  /// Adds to the gradient of input i.
  void accumulate(std::size_t i, ir::ValueId gradient);
  /// Adds to the gradient of input i, summing over whatever broadcasting had repeated.
  void accumulate_broadcast(std::size_t i, ir::ValueId gradient);

 private:
  ir::Builder* builder_;
  const ir::Op& op_;
  std::vector<ir::ValueId>* gradients_;
  const std::vector<bool>& wanted_;
};

/// Runs the rule of the op's kind; false if there is none.
bool apply_gradient_rule(GradientContext& context);

}  // namespace gneiss::passes
