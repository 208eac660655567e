// Views of numeric data: where it lies, how many rows and columns, which memory space.
//
// A view owns nothing. The memory space is part of the type, so a host view cannot reach a device kernel by mistake.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "base/ids.h"
#include "base/space.h"

namespace gneiss {

/// A row-major matrix: element (r, c) lies at data[r * stride + c]. If thread_stride is not 0, only a band of its rows
/// exists at a time, one for each thread that works on it, that many elements apart.
template <class T, Space S = Space::kHost>
struct MatrixView {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t stride = 0;
  std::int64_t thread_stride = 0;

  MatrixView() = default;
  MatrixView(T* data_in, std::int64_t rows_in, std::int64_t cols_in, std::int64_t stride_in)
      : data(data_in), rows(rows_in), cols(cols_in), stride(stride_in) {}
  MatrixView(T* data_in, std::int64_t rows_in, std::int64_t cols_in) : MatrixView(data_in, rows_in, cols_in, cols_in) {}
  /// A mutable view is usable wherever a read-only one is asked for.
  template <class U>
  requires(std::is_same_v<const U, T> && !std::is_const_v<U>)
      MatrixView(const MatrixView<U, S>& other)  // NOLINT(google-explicit-constructor)
      : data(other.data),
        rows(other.rows),
        cols(other.cols),
        stride(other.stride),
        thread_stride(other.thread_stride) {}

  T* row(std::int64_t r) const { return data + r * stride; }
  T& at(std::int64_t r, std::int64_t c) const { return data[r * stride + c]; }
  /// Rows [begin, end).
  MatrixView band(std::int64_t begin, std::int64_t end) const {
    return {data + begin * stride, end - begin, cols, stride};
  }
  std::int64_t size() const { return rows * cols; }
  bool empty() const { return rows == 0 || cols == 0; }
  bool contiguous() const { return stride == cols || rows <= 1; }
};

template <class T, Space S = Space::kHost>
using ConstMatrixView = MatrixView<const T, S>;

/// How large the pattern of a sparse matrix is.
struct PatternSizes {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t entries = 0;
};

/// Pattern of a sparse matrix in compressed rows. `slots` names, for each stored entry, its place in an array of values
/// kept in another order (a transpose); empty means entry k uses value k.
template <Space S>
struct SparsePatternIn {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  SpanIn<const EdgeId, S> offsets;  ///< [rows + 1]
  SpanIn<const NodeId, S> indices;  ///< [nnz], a column each
  SpanIn<const EdgeId, S> slots;    ///< [nnz] or empty
  /// Of some rows of a pattern, its sizes: kernels of cards share out the entries of a row by them, so that each row
  /// has the same bits whichever rows are beside it. No rows: this is the whole.
  PatternSizes part_of = {};

  /// Rows [begin, end): entries keep their places, so that offsets do not start at 0.
  SparsePatternIn band(std::int64_t begin, std::int64_t end) const {
    const auto count = static_cast<std::size_t>(end - begin) + 1;
    return {end - begin, cols, offsets.subspan(static_cast<std::size_t>(begin), count), indices, slots, part_of};
  }
  std::int64_t nonzeros() const { return static_cast<std::int64_t>(indices.size()); }
  EdgeId slot(EdgeId k) const { return slots.empty() ? k : slots[static_cast<std::size_t>(k)]; }
};
using SparsePattern = SparsePatternIn<Space::kHost>;

/// The entries of one row whose columns lie in one tile.
struct RowSegment {
  EdgeId first = 0;  ///< its first entry in the pattern; the others follow
  std::int32_t row = 0;
  std::int32_t length = 0;
};

/// Where a task over a run of segments starts.
struct SegmentChunk {
  std::int64_t segment = 0;
  std::int64_t id = 0;
};

/// A SparsePattern once more, cut into tiles of columns: tile after tile, rows ascending within a tile. The first
/// tile has a segment for every row, the others for rows with entries in them. Of a part of a pattern the spans have
/// room for all of it, and the last chunk says where it ends.
template <Space S>
struct TiledPatternIn {
  std::int64_t tile_cols = 0;          ///< columns of a tile, at most 65536; 0: there is no tiled pattern
  SpanIn<const std::uint16_t, S> ids;  ///< [nnz] column - first column of the tile, segment after segment
  SpanIn<const RowSegment, S> segments;
  SpanIn<const SegmentChunk, S> chunks;       ///< [chunks + 1], about equal in entries, none across a border of tiles
  SpanIn<const std::int64_t, S> tile_chunks;  ///< [tiles + 1] the first chunk of each tile

  bool empty() const { return tile_cols == 0; }
  std::int64_t num_tiles() const { return static_cast<std::int64_t>(tile_chunks.size()) - 1; }
};
using TiledPattern = TiledPatternIn<Space::kHost>;

}  // namespace gneiss
