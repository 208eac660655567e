// Rows go through a buffer: threads fill it, one writes it.
#include "data/save_generated.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "base/buffer.h"
#include "base/parallel.h"
#include "data/folder_writer.h"
#include "data/npy.h"

namespace gneiss::data {
namespace {

constexpr std::int64_t kBufferBytes = std::int64_t{4} << 20;

void write_dense(const Generated& made, HalfType type, int threads, FolderWriter* writer) {
  const Features& f = made.dataset.features;
  const std::int64_t at_once = std::clamp<std::int64_t>(kBufferBytes / (4 * f.cols), 1, f.rows);
  const std::int64_t grain = std::max<std::int64_t>(1, at_once / 64);
  Buffer<float> rows(static_cast<std::size_t>(at_once * f.cols));
  Buffer<std::uint16_t> halves(type == HalfType::kNone ? 0 : rows.size());
  const bool narrow = type != HalfType::kNone;
  const char* descr = !narrow ? "<f4" : type == HalfType::kBf16 ? "<u2" : "<f2";
  NpyStream file(writer->path_of("features"), descr, {f.rows, f.cols}, threads);
  for (std::int64_t first = 0; first < f.rows; first += at_once) {
    const std::int64_t count = std::min(at_once, f.rows - first);
    parallel_chunks(threads, count, grain, [&](std::int64_t begin, std::int64_t end) {
      made.fill_rows(first + begin, first + end, rows.data() + begin * f.cols);
      if (!narrow) return;
      for (auto i = static_cast<std::size_t>(begin * f.cols); i < static_cast<std::size_t>(end * f.cols); ++i)
        halves[i] = to_half(type, rows[i]);
    });
    const auto size = static_cast<std::size_t>(count * f.cols);
    file.append(narrow ? std::as_bytes(halves.span().first(size)) : std::as_bytes(rows.span().first(size)));
  }
  writer->record("features", file.finish());
}

void write_sparse(const Generated& made, int threads, FolderWriter* writer) {
  const Features& f = made.dataset.features;
  const EdgeId nonzeros = f.offsets[f.offsets.size() - 1];
  writer->write("features_indptr", "<i8", f.offsets.span());
  Buffer<NodeId> columns(kBufferBytes / sizeof(NodeId));
  NpyStream file(writer->path_of("features_indices"), "<i4", {nonzeros}, threads);
  NpyStream values(writer->path_of("features_data"), "<f4", {nonzeros}, threads);
  Buffer<float> ones(columns.size());
  std::fill(ones.begin(), ones.end(), 1.0F);
  for (std::int64_t first = 0; first < f.rows;) {
    const EdgeId base = f.offsets[static_cast<std::size_t>(first)];
    const auto beyond =
        std::upper_bound(f.offsets.begin() + first + 1, f.offsets.end(), base + static_cast<EdgeId>(columns.size()));
    const std::int64_t last = std::max<std::int64_t>(first + 1, beyond - f.offsets.begin() - 1);
    const auto count = static_cast<std::size_t>(f.offsets[static_cast<std::size_t>(last)] - base);
    if (count > columns.size()) {  // one long row
      columns = Buffer<NodeId>(count);
      ones = Buffer<float>(count);
      std::fill(ones.begin(), ones.end(), 1.0F);
    }
    parallel_chunks(threads, last - first, std::max<std::int64_t>(1, (last - first) / 8),
                    [&](std::int64_t begin, std::int64_t end) {
                      const EdgeId at = f.offsets[static_cast<std::size_t>(first + begin)] - base;
                      made.fill_columns(first + begin, first + end, f.offsets, columns.data() + at);
                    });
    file.append(std::as_bytes(columns.span().first(count)));
    values.append(std::as_bytes(ones.span().first(count)));
    first = last;
  }
  writer->record("features_indices", file.finish());
  writer->record("features_data", values.finish());
}

}  // namespace

void save_generated(const Generated& made, HalfType type, const std::filesystem::path& path, bool force, int threads) {
  save_folder(made.dataset, path, force, threads, [&](FolderWriter* writer) {
    if (!made.fill_rows && !made.fill_columns) return write_edges_and_features(made.dataset, writer);
    write_edges(made.dataset.graph, writer);
    made.fill_rows ? write_dense(made, type, threads, writer) : write_sparse(made, threads, writer);
  });
}

}  // namespace gneiss::data
