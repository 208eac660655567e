// Arrays of a caller: memory that somebody else made and keeps.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gneiss/settings.h"

namespace gneiss {

/// Types of elements, in the byte order of this machine. kBool: one byte, 0 or 1.
enum class DType : std::uint8_t { kNone, kBool, kI8, kI16, kI32, kI64, kU8, kU16, kU32, kU64, kF16, kF32, kF64 };

/// A view of elements in memory, with what keeps that memory. An array without a type is not given.
struct Array {
  const void* data = nullptr;
  DType dtype = DType::kNone;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides_bytes;  ///< from one index to the next, per axis; empty: row by row, densely
  /// Held as long as the elements are read; what it deletes at its end may be what frees them. Null: the memory may go
  /// when the call returns that takes the array, which then copies it.
  std::shared_ptr<const void> keeper;

  bool given() const { return dtype != DType::kNone; }
};

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>)
    return DType::kBool;
  else if constexpr (std::is_same_v<T, float>)
    return DType::kF32;
  else if constexpr (std::is_same_v<T, double>)
    return DType::kF64;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 1)
    return std::is_signed_v<T> ? DType::kI8 : DType::kU8;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 2)
    return std::is_signed_v<T> ? DType::kI16 : DType::kU16;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 4)
    return std::is_signed_v<T> ? DType::kI32 : DType::kU32;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 8)
    return std::is_signed_v<T> ? DType::kI64 : DType::kU64;
  else
    return DType::kNone;
}

/// A view of `data`, row by row, of an array that outlives the call it is given to.
template <class T>
Array array_of(const T* data, std::vector<std::int64_t> shape) {
  static_assert(dtype_of<T>() != DType::kNone, "arrays hold booleans, whole numbers and floats");
  return {data, dtype_of<T>(), std::move(shape), {}, nullptr};
}

/// An array that takes `values` over and so is kept as long as anybody reads it. `shape`: {size} if it is empty.
template <class T>
Array array_from(std::vector<T> values, std::vector<std::int64_t> shape = {}) {
  static_assert(!std::is_same_v<T, bool>, "std::vector<bool> has no array; use std::uint8_t or array_of");
  auto kept = std::make_shared<const std::vector<T>>(std::move(values));
  if (shape.empty()) shape = {static_cast<std::int64_t>(kept->size())};
  Array array = array_of(kept->data(), std::move(shape));
  array.keeper = std::move(kept);
  return array;
}

/// Rows of a compressed matrix, as SciPy's CSR has them: entries of row r are at indptr[r] .. indptr[r + 1].
struct CompressedRows {
  Array indptr;   ///< [rows + 1], from 0
  Array indices;  ///< [entries]: columns
  Array values;   ///< [entries]; may be absent where all are 1

  bool given() const { return indptr.given() || indices.given() || values.given(); }
};

/// The arrays of a data set. What is not given is absent; nothing is converted that can be read as it lies.
struct DatasetArrays {
  std::string name = "arrays";
  std::int64_t num_nodes = -1;  ///< -1: as the other arrays say

  Array edge_index;    ///< [2, edges]: sources, destinations
  Array edge_weight;   ///< [edges]
  CompressedRows csr;  ///< or: row u lists the destinations of u, with weights as values
  CompressedRows csc;  ///< or: row v lists the sources of v; 64-bit indptr and ascending 32-bit indices are not copied

  Array x;                  ///< features [nodes, width]; f32 row by row is not copied
  CompressedRows sparse_x;  ///< or: row v lists the features of v
  std::int64_t sparse_x_columns = 0;

  /// Labels: [nodes] of whole numbers are classes (-1: unlabelled), of floats a regression; [nodes, columns] of 0 and 1
  /// are one class a node if each row has exactly one 1, else many labels a node; other numbers are a regression.
  Array y;
  LabelKind label_kind = LabelKind::kAuto;
  std::vector<std::string> class_names;

  Array train_mask;  ///< [nodes] of kBool, or node numbers; a split is drawn where no part is given
  Array val_mask;
  Array test_mask;
};

}  // namespace gneiss
