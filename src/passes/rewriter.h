// Rebuilds a program op by op; the base of passes that change what they copy.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace gneiss::passes {

/// Copies a program under a map from old values to new ones. A pass walks the old ops, copies most with copy(), builds
/// others with builder() and binds their results with set().
class Rewriter {
 public:
  explicit Rewriter(const ir::Program& from);

  /// The new value that stands for an old one.
  ir::ValueId map(ir::ValueId old) const { return map_[static_cast<std::size_t>(old)]; }
  void set(ir::ValueId old, ir::ValueId now) { map_[static_cast<std::size_t>(old)] = now; }
  bool mapped(ir::ValueId old) const { return map(old) != ir::kNoValue; }

  /// Appends the op with mapped inputs and fresh results of the same types; returns the copy. Operands whose types have
  /// changed make the result types be inferred anew.
  ir::Op& copy(const ir::Op& op);
  /// The same with operands of the new program in place of the mapped ones, and with types inferred anew.
  ir::Op& copy_with(const ir::Op& op, const std::vector<ir::ValueId>& inputs);
  /// A builder whose phase and location are those of `op`.
  ir::Builder builder_at(const ir::Op& op);
  ir::Program& program() { return to_; }

  /// Maps parameters and outputs and returns the new program.
  ir::Program finish();

 private:
  ir::ValueId new_value(ir::ValueId old, const ir::Type& type);
  ir::Op& append(const ir::Op& op, const std::vector<ir::ValueId>& inputs, bool infer);

  const ir::Program& from_;
  ir::Program to_;
  std::vector<ir::ValueId> map_;
};

}  // namespace gneiss::passes
