// Sums and copies over groups of columns.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel.h"

namespace gneiss::kernels {

enum class ColumnGroups : std::uint8_t { kSumGroups, kExpandGroups, kSumHeads, kTileHeads };

template <class T, Space S = Space::kHost>
struct ColumnGroupsArgs {
  ColumnGroups fn = ColumnGroups::kSumGroups;
  std::int64_t heads = 1;
  ConstMatrixView<T, S> x;
  MatrixView<T, S> y;
  ConstMatrixView<T, S> weights = {};  ///< kSumGroups only, or no rows
};

/// With w = [heads, d] columns, column h·d + c:
///   kSumGroups     y[:,h] = sum over c of x[:, h·d+c]          x: [n, heads·d] -> y: [n, heads]
///                  with weights [n or 1, heads·d]: of x * weights, an inner product for each head
///   kExpandGroups  y[:, h·d+c] = x[:,h]                        x: [n, heads]   -> y: [n, heads·d]
///   kSumHeads      y[:,c] = sum over h of x[:, h·d+c]          x: [n, heads·d] -> y: [n, d]
///   kTileHeads     y[:, h·d+c] = x[:,c]                        x: [n, d]       -> y: [n, heads·d]
/// Aliasing  y overlaps nothing. Errors kShape
template <class T>
void column_groups(const Context& context, const ColumnGroupsArgs<T>& args);

template <class T>
std::span<const Variant<ColumnGroupsArgs<T>>> column_groups_variants();

}  // namespace gneiss::kernels
