// The parameters of a model: values, gradients and running statistics, each in one flat buffer.
//
// They stand outside the executor, so that a plan for training and a plan for evaluation share them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/matrix_view.h"
#include "ir/plan.h"

namespace gneiss::runtime {

template <class T>
class Parameters {
 public:
  /// All zeros, laid out as `plan` says. Any plan of the same model lays them out alike.
  explicit Parameters(const ir::Plan& plan);

  std::span<T> values() { return values_.span(); }
  std::span<const T> values() const { return values_.span(); }
  std::span<T> gradients() { return gradients_.span(); }
  std::span<const T> gradients() const { return gradients_.span(); }
  std::span<T> states() { return states_.span(); }
  std::span<const T> states() const { return states_.span(); }

  /// Parameter or state `i` of program.params: [rows, cols].
  MatrixView<T> value(std::size_t i);
  MatrixView<const T> value(std::size_t i) const { return const_cast<Parameters*>(this)->value(i); }
  /// The gradient of trained parameter `i`.
  MatrixView<const T> gradient(std::size_t i) const;

  /// Throws kInternal unless `plan` has the same parameters in the same places.
  void check(const ir::Plan& plan) const;

 private:
  /// Where one of them lies.
  struct Slot {
    std::string name;
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    std::int64_t offset = 0;  ///< in values, within its buffer
    bool trainable = true;
    bool operator==(const Slot&) const = default;
  };
  static std::vector<Slot> slots_of(const ir::Plan& plan);

  std::vector<Slot> slots_;
  Buffer<T> values_;
  Buffer<T> gradients_;
  Buffer<T> states_;
};

extern template class Parameters<float>;
extern template class Parameters<double>;

}  // namespace gneiss::runtime
