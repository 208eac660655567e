// A block of columns copied between matrices: concatenation and slicing.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel.h"

namespace gneiss::kernels {

template <class T, Space S = Space::kHost>
struct CopyColumnsArgs {
  ConstMatrixView<T, S> src;
  std::int64_t src_begin = 0;
  MatrixView<T, S> dst;
  std::int64_t dst_begin = 0;
  std::int64_t count = 0;
};

/// dst[:, dst_begin + j] = src[:, src_begin + j] for j < count.
/// Shapes    src, dst: same rows. Aliasing none. Errors kShape
template <class T>
void copy_columns(const Context& context, const CopyColumnsArgs<T>& args);

template <class T>
std::span<const Variant<CopyColumnsArgs<T>>> copy_columns_variants();

}  // namespace gneiss::kernels
