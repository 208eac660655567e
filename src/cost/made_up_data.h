// Graphs and features to measure kernels with.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/buffer.h"
#include "base/ids.h"
#include "base/matrix_view.h"
#include "base/random.h"

namespace gneiss::cost {

inline Buffer<float> random_values(std::int64_t size) {
  RandomStream random(1, 1);
  Buffer<float> values(static_cast<std::size_t>(size));
  for (float& value : values) value = uniform_float(random.next()) - 0.5F;
  return values;
}

/// Rows of `degree` neighbours each, drawn with a skew (a source's chance falls with the root of its rank, ranks are
/// scattered over memory) and sorted within a row, as real graphs have it: hubs stay in a cache, which draws without a
/// skew would deny.
struct Neighbours {
  static constexpr std::int64_t kDegree = 16;

  std::int64_t rows = 0;
  std::int64_t sources = 0;
  std::int64_t degree = 0;
  Buffer<EdgeId> offsets;
  Buffer<NodeId> indices;

  Neighbours(std::int64_t rows_wanted, std::int64_t sources_wanted, std::int64_t degree_wanted = kDegree)
      : rows(rows_wanted),
        sources(sources_wanted),
        degree(degree_wanted),
        offsets(static_cast<std::size_t>(rows + 1)),
        indices(static_cast<std::size_t>(rows * degree)) {
    constexpr std::uint64_t kScatter = 2654435761U;  // a prime: ranks stay apart
    RandomStream random(2, 2);
    for (NodeId& index : indices) {
      const double u = uniform_float(random.next());
      const auto rank = static_cast<std::uint64_t>(u * u * static_cast<double>(sources));
      index = static_cast<NodeId>(rank * kScatter % static_cast<std::uint64_t>(sources));
    }
    for (std::int64_t r = 0; r <= rows; ++r) offsets[static_cast<std::size_t>(r)] = r * degree;
    for (std::int64_t r = 0; r < rows; ++r) std::sort(indices.begin() + r * degree, indices.begin() + (r + 1) * degree);
  }
  SparsePattern pattern() const { return {rows, sources, offsets, indices, {}}; }
  double edges() const { return static_cast<double>(indices.size()); }
};

/// kRows x kCols with entries spread evenly over each row.
struct SparseFeatures {
  static constexpr std::int64_t kRows = 8192;
  static constexpr std::int64_t kCols = 4096;

  std::int64_t per_row;
  Buffer<EdgeId> offsets;
  Buffer<NodeId> indices;
  Buffer<float> values;

  explicit SparseFeatures(double density)
      : per_row(std::max<std::int64_t>(1, static_cast<std::int64_t>(density * static_cast<double>(kCols)))),
        offsets(kRows + 1),
        indices(static_cast<std::size_t>(kRows * per_row)),
        values(random_values(kRows * per_row)) {
    RandomStream random(3, 3);
    const std::int64_t stride = kCols / per_row;
    for (std::int64_t r = 0; r <= kRows; ++r) offsets[static_cast<std::size_t>(r)] = r * per_row;
    for (std::int64_t k = 0; k < kRows * per_row; ++k) {
      const std::int64_t first = k % per_row * kCols / per_row;
      const auto within = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(stride)));
      indices[static_cast<std::size_t>(k)] = static_cast<NodeId>(first + within);
    }
  }
  SparsePattern pattern() const { return {kRows, kCols, offsets, indices, {}}; }
};

}  // namespace gneiss::cost
