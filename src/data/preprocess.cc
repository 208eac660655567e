// Transforms work row by row on dense features or on stored values. Renaming nodes permutes all arrays by one order,
// large features through scratch files.
#include "data/preprocess.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <exception>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/file_pages.h"
#include "base/names.h"
#include "base/parallel.h"
#include "base/prefetch.h"
#include "data/given.h"
#include "graph/reorder.h"

namespace gneiss::data {
namespace {

graph::Graph rebuild(const graph::Graph& graph, const graph::BuildOptions& options) {
  const auto m = static_cast<std::size_t>(graph.num_edges());
  graph::EdgeList edges{Buffer<NodeId>::copy_of(graph.sources()), Buffer<NodeId>(m),
                        Buffer<float>::copy_of(graph.weights())};
  const auto offsets = graph.offsets();
  for (std::size_t v = 0; v + 1 < offsets.size(); ++v) {
    std::fill(edges.dst.begin() + offsets[v], edges.dst.begin() + offsets[v + 1], static_cast<NodeId>(v));
  }
  return graph::build_graph(edges, graph.num_nodes(), options);
}

/// The least entry, zeros that are not stored included.
double least_entry(const Features& features) {
  const std::span<const float> values = features.sparse ? features.values.span() : features.dense.span();
  const bool all_stored = !features.sparse || features.nonzeros() == features.rows * features.cols;
  double least = all_stored ? std::numeric_limits<double>::infinity() : 0;
  for (const float value : values) least = std::min(least, static_cast<double>(value));
  return std::isfinite(least) ? least : 0;
}

/// Sums in f64, in row order, so that the result has one value.
void normalize_rows(double least, Features* features) {
  const auto scale = [&](std::span<float> row) {
    double sum = 0;
    for (const float value : row) sum += value - least;
    const double divisor = std::max(sum, 1.0);
    for (float& value : row) value = static_cast<float>((value - least) / divisor);
  };
  for (std::int64_t r = 0; r < features->rows; ++r) {
    const auto row = static_cast<std::size_t>(r);
    if (features->sparse) {
      const auto begin = static_cast<std::size_t>(features->offsets[row]);
      scale(features->values.span().subspan(begin, static_cast<std::size_t>(features->offsets[row + 1]) - begin));
    } else {
      const auto cols = static_cast<std::size_t>(features->cols);
      scale(features->dense.span().subspan(row * cols, cols));
    }
  }
}

void binarize(Features* features) {
  for (float& value : features->sparse ? features->values.span() : features->dense.span()) {
    if (value > 0) value = 1.0F;
  }
}

/// Population mean and deviation over `rows`, two passes.
void measure_columns(std::span<const NodeId> rows, const Features& features, FeatureStatistics* statistics) {
  const auto cols = static_cast<std::size_t>(features.cols);
  std::vector<double>& mean = statistics->mean;
  std::vector<double>& scale = statistics->scale;
  mean.assign(cols, 0);
  scale.assign(cols, 0);
  const auto count = static_cast<double>(rows.size());
  const auto row_of = [&](NodeId r) { return features.dense.data() + static_cast<std::size_t>(r) * cols; };
  for (const NodeId r : rows) {
    const float* row = row_of(r);
    for (std::size_t c = 0; c < cols; ++c) mean[c] += row[c];
  }
  for (double& value : mean) value /= count;
  for (const NodeId r : rows) {
    const float* row = row_of(r);
    for (std::size_t c = 0; c < cols; ++c) scale[c] += (row[c] - mean[c]) * (row[c] - mean[c]);
  }
  for (double& value : scale) value = value > 0 ? 1.0 / std::sqrt(value / count) : 0.0;
}

void standardize(const FeatureStatistics& statistics, Features* features) {
  const auto cols = static_cast<std::size_t>(features->cols);
  for (std::size_t r = 0; r < static_cast<std::size_t>(features->rows); ++r) {
    float* row = features->dense.data() + r * cols;
    for (std::size_t c = 0; c < cols; ++c)
      row[c] = static_cast<float>((row[c] - statistics.mean[c]) * statistics.scale[c]);
  }
}

/// The nodes that a standardisation measures.
std::vector<NodeId> measured_rows(const std::string& norm, std::span<const NodeId> train, std::int64_t rows) {
  if (norm != "standard") {
    if (!train.empty()) return {train.begin(), train.end()};
    throw Error(ErrorCode::kUsage, "train-standard needs training nodes, the split has none", {},
                "use standard, or give a split");
  }
  std::vector<NodeId> all(static_cast<std::size_t>(rows));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

template <class T>
Buffer<T> pick_rows(const Buffer<T>& source, std::span<const NodeId> nodes, std::size_t width) {
  Buffer<T> out(nodes.size() * width);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::copy_n(source.begin() + static_cast<std::size_t>(nodes[i]) * width, width, out.begin() + i * width);
  }
  return out;
}

/// Chosen rows of a compressed matrix; `map` renumbers columns, -1 drops them (empty: columns stay).
void pick_sparse_rows(std::span<const EdgeId> offsets, std::span<const NodeId> indices, std::span<const float> values,
                      std::span<const NodeId> nodes, std::span<const NodeId> map, Buffer<EdgeId>* out_offsets,
                      Buffer<NodeId>* out_indices, Buffer<float>* out_values) {
  const auto column = [&](EdgeId k) {
    const NodeId c = indices[static_cast<std::size_t>(k)];
    return map.empty() ? c : map[static_cast<std::size_t>(c)];
  };
  *out_offsets = Buffer<EdgeId>::zeros(nodes.size() + 1);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto v = static_cast<std::size_t>(nodes[i]);
    EdgeId kept = 0;
    for (EdgeId k = offsets[v]; k < offsets[v + 1]; ++k) kept += column(k) >= 0 ? 1 : 0;
    (*out_offsets)[i + 1] = (*out_offsets)[i] + kept;
  }
  const auto total = static_cast<std::size_t>((*out_offsets)[nodes.size()]);
  *out_indices = Buffer<NodeId>(total);
  *out_values = Buffer<float>(values.empty() ? 0 : total);
  std::size_t at = 0;
  for (const NodeId node : nodes) {
    const auto v = static_cast<std::size_t>(node);
    for (EdgeId k = offsets[v]; k < offsets[v + 1]; ++k) {
      if (column(k) < 0) continue;
      if (!values.empty()) (*out_values)[at] = values[static_cast<std::size_t>(k)];
      (*out_indices)[at++] = column(k);
    }
  }
}

/// Row i becomes what row order[i] was, along the cycles of the permutation: no second copy of the rows.
template <class T>
void permute_in_place(std::span<const NodeId> order, std::size_t width, Buffer<T>* rows) {
  std::vector<bool> done(order.size(), false);
  std::vector<T> first(width);
  const auto row = [&](std::size_t i) { return rows->begin() + i * width; };
  for (std::size_t start = 0; start < order.size(); ++start) {
    if (done[start]) continue;
    std::copy_n(row(start), width, first.begin());
    std::size_t to = start;
    for (auto from = static_cast<std::size_t>(order[to]); from != start; from = static_cast<std::size_t>(order[to])) {
      std::copy_n(row(from), width, row(to));
      done[to] = true;
      to = from;
    }
    std::copy_n(first.begin(), width, row(to));
    done[to] = true;
  }
}

/// Values, of which a second copy is small beside the graph; along the cycles each waits for the one before.
template <class T>
void permute_to_copy(std::span<const NodeId> order, int threads, Buffer<T>* values) {
  constexpr std::int64_t kGrain = 65536;
  Buffer<T> moved(values->size());
  parallel_chunks(threads, static_cast<std::int64_t>(order.size()), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t v = begin; v < end; ++v)
      moved[static_cast<std::size_t>(v)] = (*values)[static_cast<std::size_t>(order[static_cast<std::size_t>(v)])];
  });
  *values = std::move(moved);
}

/// Ascending; `size` is above all of them.
void sort_ids(std::size_t size, std::vector<NodeId>* ids) {
  std::vector<std::int32_t> count(size, 0);
  for (const NodeId v : *ids) ++count[static_cast<std::size_t>(v)];
  auto at = ids->begin();
  for (std::size_t v = 0; v < size; ++v) at = std::fill_n(at, count[v], static_cast<NodeId>(v));
}

/// Calls body(task) for each task, on up to `threads` threads; the first error of the least task is thrown when all are
/// through.
template <class Body>
void parallel_throwing(int threads, std::int64_t tasks, const Body& body) {
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(tasks));
  parallel_tasks(threads, tasks, [&](std::int64_t task, int) {
    try {
      body(task);
    } catch (...) {
      errors[static_cast<std::size_t>(task)] = std::current_exception();
    }
  });
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

/// New files for the rows of one, as many to each of a few threads.
template <class T>
class RowFiles {
 public:
  /// `most`: files.
  RowFiles(std::int64_t rows, std::int64_t width, int most) : rows_(rows), width_(width) {
    constexpr std::int64_t kMostFiles = 8;
    const std::int64_t page_rows = sysconf(_SC_PAGESIZE);  // whole pages, whatever the width
    file_rows_ = num_chunks(num_chunks(rows, std::clamp<std::int64_t>(most, 1, kMostFiles)), page_rows) * page_rows;
    for (std::int64_t file = 0; file < num_chunks(rows, file_rows_); ++file) {
      files_.emplace_back(static_cast<std::uint64_t>(rows_of(file) * row_bytes()),
                          static_cast<std::uint64_t>(file * file_rows_ * row_bytes()));
    }
  }

  std::int64_t count() const { return static_cast<std::int64_t>(files_.size()); }
  std::int64_t row_bytes() const { return width_ * static_cast<std::int64_t>(sizeof(T)); }
  /// Rows of all files but the last.
  std::int64_t file_rows() const { return file_rows_; }
  std::int64_t rows_of(std::int64_t file) const { return std::min(file_rows_, rows_ - file * file_rows_); }

  void write(std::int64_t file, const T* rows, std::int64_t count) {
    files_[static_cast<std::size_t>(file)].write(rows, static_cast<std::size_t>(count * row_bytes()));
  }
  Buffer<T> map() const {
    const auto mapped = std::make_shared<const MappedFile>(ScratchFile::map_in_a_row(files_));
    auto* const data = reinterpret_cast<T*>(const_cast<std::byte*>(mapped->bytes().data()));
    const auto size = static_cast<std::size_t>(rows_ * width_);
    if (files_.size() != 1) return Buffer<T>::within(mapped, data, size);
    const ScratchFile& file = files_.front();
    const std::shared_ptr<const void> keeper(data, ScratchPages{mapped, file.open_again(), file.start()});
    return Buffer<T>::within(keeper, data, size);
  }

 private:
  std::int64_t rows_;
  std::int64_t width_;
  std::int64_t file_rows_;
  std::deque<ScratchFile> files_;
};

/// Rows of a file move to others in their new order. The first is read front to back for each of a few windows of the
/// others, of which memory holds one; pages that were read are given back.
template <class T>
void move_by_windows(std::span<const NodeId> order, std::int64_t width, int threads, std::int64_t window_bytes,
                     const Buffer<T>& rows, RowFiles<T>* files) {
  constexpr std::int64_t kWindows = 8;
  constexpr std::int64_t kChunkBytes = std::int64_t{4} << 20;
  const auto n = static_cast<std::int64_t>(order.size());
  const graph::Order position = graph::inverse_order(order, threads);
  const std::int64_t file_rows = files->file_rows();
  const std::int64_t fitting = window_bytes / (files->count() * files->row_bytes());
  const std::int64_t window_rows =  // of each file
      window_bytes == 0 ? num_chunks(file_rows, kWindows) : std::clamp<std::int64_t>(fitting, 1, file_rows);
  Buffer<T> window(static_cast<std::size_t>(files->count() * window_rows * width));
  for (std::int64_t first = 0; first < file_rows; first += window_rows) {
    parallel_chunks(threads, n, kChunkBytes / files->row_bytes() + 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t v = begin; v < end; ++v) {
        const std::int64_t to = position[static_cast<std::size_t>(v)];
        const std::int64_t file = to / file_rows;
        const std::int64_t row = to - file * file_rows - first;
        if (row < 0 || row >= window_rows) continue;
        std::copy_n(rows.begin() + v * width, width, window.begin() + (file * window_rows + row) * width);
      }
      give_back_tail(const_cast<T*>(rows.begin()) + begin * width, 0,
                     static_cast<std::size_t>((end - begin) * files->row_bytes()));
    });
    parallel_throwing(threads, files->count(), [&](std::int64_t file) {
      const std::int64_t count = std::min(window_rows, files->rows_of(file) - first);
      if (count > 0) files->write(file, window.begin() + file * window_rows * width, count);
    });
  }
}

/// The same in one pass, which gathers rows from all over the file: memory holds its pages meanwhile.
template <class T>
void move_at_once(std::span<const NodeId> order, std::int64_t width, int threads, const Buffer<T>& rows,
                  RowFiles<T>* files) {
  constexpr std::int64_t kMappedBytes = std::int64_t{16} << 20;
  constexpr std::int64_t kChunkBytes = std::int64_t{1} << 20;
  constexpr std::int64_t kAhead = 4;
  constexpr std::int64_t kLineBytes = 64;
  const std::int64_t row_bytes = files->row_bytes();
  T* const from = const_cast<T*>(rows.begin());  // pages are mapped and given back, nothing is written
  const auto row = [&](std::int64_t v) { return from + order[static_cast<std::size_t>(v)] * width; };
  parallel_chunks(threads, static_cast<std::int64_t>(order.size()), kMappedBytes / row_bytes + 1,
                  [&](std::int64_t begin, std::int64_t end) {
                    map_pages(from + begin * width, static_cast<std::size_t>((end - begin) * row_bytes), false);
                  });
  const std::int64_t chunk_rows = kChunkBytes / row_bytes + 1;
  parallel_throwing(threads, files->count(), [&](std::int64_t file) {
    std::vector<T> chunk(static_cast<std::size_t>(chunk_rows * width));
    std::int64_t begin = file * files->file_rows();
    for (const std::int64_t end = begin + files->rows_of(file); begin < end; begin += chunk_rows) {
      const std::int64_t count = std::min(chunk_rows, end - begin);
      for (std::int64_t i = 0; i < count; ++i) {
        if (begin + i + kAhead < end) {
          const auto* ahead = reinterpret_cast<const std::byte*>(row(begin + i + kAhead));
          for (std::int64_t byte = 0; byte < row_bytes; byte += kLineBytes) prefetch(ahead + byte);
        }
        std::copy_n(row(begin + i), width, chunk.begin() + i * width);
      }
      files->write(file, chunk.data(), count);
    }
  });
  give_back_tail(from, 0, rows.size_bytes());
}

template <class T>
void move_rows(std::span<const NodeId> order, std::int64_t width, int threads, const Moving& moving, Buffer<T>* rows) {
  if (rows->empty()) return;
  if (moving.features != Move::kInPlace && as_in_file(*rows)) {
    RowFiles<T> files(static_cast<std::int64_t>(order.size()), width, moving.readable ? 1 : threads);
    if (moving.features == Move::kToFile) {
      move_by_windows<T>(order, width, threads, moving.window_bytes, *rows, &files);
    } else {
      move_at_once<T>(order, width, threads, *rows, &files);
    }
    *rows = files.map();
    return;
  }
  if (width == 1) return permute_to_copy(order, threads, rows);
  permute_in_place(order, static_cast<std::size_t>(width), rows);
}

NodeId find_root(std::vector<NodeId>& parent, NodeId v) {
  while (parent[static_cast<std::size_t>(v)] != v) {
    NodeId& up = parent[static_cast<std::size_t>(v)];
    up = parent[static_cast<std::size_t>(up)];
    v = up;
  }
  return v;
}

}  // namespace

graph::Graph to_undirected(const graph::Graph& graph, int threads) {
  return rebuild(graph, {.to_undirected = true, .threads = threads});
}

graph::Graph coalesce(const graph::Graph& graph, int threads) {
  return rebuild(graph, {.coalesce = true, .threads = threads});
}

graph::Graph without_weights(const graph::Graph& graph, int threads) {
  return graph::Graph(graph.num_src(), Buffer<EdgeId>::copy_of(graph.offsets()),
                      Buffer<NodeId>::copy_of(graph.sources()), {}, {}, threads);
}

graph::Graph remove_self_loops(const graph::Graph& graph, int threads) {
  return rebuild(graph, {.remove_self_loops = true, .threads = threads});
}

std::vector<std::string> feature_norms() { return {"none", "row", "standard", "train-standard", "binary"}; }

void normalize_features(const std::string& norm, std::span<const NodeId> train, std::int64_t max_bytes,
                        Features* features, FeatureStatistics* statistics) {
  const std::vector<std::string> known = feature_norms();
  if (std::find(known.begin(), known.end(), norm) == known.end()) {
    throw Error(ErrorCode::kUsage, fmt::format("unknown feature normalisation '{}'", norm), {},
                unknown_name_hint(norm, known));
  }
  if (norm == "none" || features->empty()) return;
  own_values(features);
  if (norm == "binary") return binarize(features);
  FeatureStatistics own;
  FeatureStatistics& used = statistics != nullptr ? *statistics : own;
  const bool given = used.norm == norm;
  used.norm = norm;
  if (norm == "row") {
    if (!given) used.least = least_entry(*features);
    if (used.least != 0) densify(max_bytes, features);
    return normalize_rows(used.least, features);
  }
  if (!given) {
    const std::vector<NodeId> rows = measured_rows(norm, train, features->rows);
    densify(max_bytes, features);
    measure_columns(rows, *features, &used);
  }
  if (static_cast<std::int64_t>(used.mean.size()) != features->cols) {
    throw Error(ErrorCode::kBadData,
                fmt::format("the model takes {} features, the data have {}", used.mean.size(), features->cols), {},
                "give features of the same columns as in training");
  }
  densify(max_bytes, features);
  standardize(used, features);
}

void densify(std::int64_t max_bytes, Features* features) {
  if (!features->sparse) return;
  const double bytes = static_cast<double>(features->rows) * static_cast<double>(features->cols) * sizeof(float);
  if (bytes > static_cast<double>(max_bytes)) {
    throw Error(ErrorCode::kOutOfMemory,
                fmt::format("dense features of {} x {} take {:.0f} bytes, the limit is {}", features->rows,
                            features->cols, bytes, max_bytes),
                {}, "keep them sparse (row or binary normalisation), or raise the limit");
  }
  const auto cols = static_cast<std::size_t>(features->cols);
  features->dense = Buffer<float>::zeros(static_cast<std::size_t>(features->rows) * cols);
  for (std::size_t r = 0; r < static_cast<std::size_t>(features->rows); ++r) {
    for (EdgeId k = features->offsets[r]; k < features->offsets[r + 1]; ++k) {
      features->dense[r * cols + static_cast<std::size_t>(features->indices[static_cast<std::size_t>(k)])] +=
          features->values[static_cast<std::size_t>(k)];
    }
  }
  features->sparse = false;
  features->offsets = {};
  features->indices = {};
  features->values = {};
}

void sparsify(Features* features) {
  if (features->sparse || features->empty()) return;
  const auto count = static_cast<std::size_t>(features->nonzeros());
  const auto cols = static_cast<std::size_t>(features->cols);
  features->offsets = Buffer<EdgeId>::zeros(static_cast<std::size_t>(features->rows) + 1);
  features->indices = Buffer<NodeId>(count);
  features->values = Buffer<float>(count);
  std::size_t at = 0;
  for (std::size_t r = 0; r < static_cast<std::size_t>(features->rows); ++r) {
    for (std::size_t c = 0; c < cols; ++c) {
      const float value = features->dense[r * cols + c];
      if (value == 0) continue;
      features->indices[at] = static_cast<NodeId>(c);
      features->values[at++] = value;
    }
    features->offsets[r + 1] = static_cast<EdgeId>(at);
  }
  features->sparse = true;
  features->dense = {};
}

std::vector<NodeId> largest_component(const graph::Graph& graph) {
  const auto n = static_cast<std::size_t>(graph.num_nodes());
  std::vector<NodeId> parent(n);
  std::iota(parent.begin(), parent.end(), 0);
  const auto offsets = graph.offsets();
  for (std::size_t v = 0; v < n; ++v) {
    for (EdgeId k = offsets[v]; k < offsets[v + 1]; ++k) {
      const NodeId a = find_root(parent, static_cast<NodeId>(v));
      const NodeId b = find_root(parent, graph.sources()[static_cast<std::size_t>(k)]);
      parent[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);  // the root is the smallest node
    }
  }
  std::vector<std::int64_t> size(n, 0);
  for (std::size_t v = 0; v < n; ++v) ++size[static_cast<std::size_t>(find_root(parent, static_cast<NodeId>(v)))];
  const auto best = static_cast<NodeId>(std::max_element(size.begin(), size.end()) - size.begin());
  std::vector<NodeId> nodes;
  for (std::size_t v = 0; v < n; ++v) {
    if (find_root(parent, static_cast<NodeId>(v)) == best) nodes.push_back(static_cast<NodeId>(v));
  }
  return nodes;
}

Dataset induced(Dataset dataset, std::span<const NodeId> nodes, int threads) {
  if (static_cast<std::int64_t>(nodes.size()) == dataset.num_nodes()) return dataset;
  std::vector<NodeId> map(static_cast<std::size_t>(dataset.num_nodes()), -1);
  for (std::size_t i = 0; i < nodes.size(); ++i) map[static_cast<std::size_t>(nodes[i])] = static_cast<NodeId>(i);

  Buffer<EdgeId> offsets;
  Buffer<NodeId> sources;
  Buffer<float> weights;
  const graph::Graph& graph = dataset.graph;
  pick_sparse_rows(graph.offsets(), graph.sources(), graph.weights(), nodes, map, &offsets, &sources, &weights);
  dataset.graph = graph::Graph(static_cast<std::int64_t>(nodes.size()), std::move(offsets), std::move(sources),
                               std::move(weights), {}, threads);

  Features& features = dataset.features;
  if (features.sparse) {
    Features picked;
    pick_sparse_rows(features.offsets, features.indices, features.values, nodes, {}, &picked.offsets, &picked.indices,
                     &picked.values);
    features.offsets = std::move(picked.offsets);
    features.indices = std::move(picked.indices);
    features.values = std::move(picked.values);
  } else if (!features.empty()) {
    features.dense = pick_rows(features.dense, nodes, static_cast<std::size_t>(features.cols));
  }
  features.rows = features.empty() ? 0 : static_cast<std::int64_t>(nodes.size());
  Labels& labels = dataset.labels;
  if (!labels.classes.empty()) labels.classes = pick_rows(labels.classes, nodes, 1);
  if (!labels.targets.empty())
    labels.targets = pick_rows(labels.targets, nodes, static_cast<std::size_t>(labels.num_classes));

  for (auto* part : {&dataset.split.train, &dataset.split.val, &dataset.split.test}) {
    std::vector<NodeId> kept;
    for (const NodeId v : *part) {
      if (map[static_cast<std::size_t>(v)] >= 0) kept.push_back(map[static_cast<std::size_t>(v)]);
    }
    *part = std::move(kept);
  }
  std::vector<std::int64_t> orig_id;
  std::vector<std::string> names;
  for (const NodeId v : nodes) {
    orig_id.push_back(dataset.orig_id.empty() ? v : dataset.orig_id[static_cast<std::size_t>(v)]);
    if (!dataset.node_names.empty()) names.push_back(dataset.node_names[static_cast<std::size_t>(v)]);
  }
  dataset.orig_id = std::move(orig_id);
  dataset.node_names = std::move(names);
  dataset.part_starts.clear();
  return dataset;
}

void permute(std::span<const NodeId> order, int threads, Dataset* dataset, const Moving& moving) {
  dataset->graph = moving.edges_once ? graph::permute_once(std::move(dataset->graph), order, threads)
                                     : graph::permute(dataset->graph, order, threads);
  Features& features = dataset->features;
  if (features.sparse) {
    Features moved;
    pick_sparse_rows(features.offsets, features.indices, features.values, order, {}, &moved.offsets, &moved.indices,
                     &moved.values);
    features.offsets = std::move(moved.offsets);
    features.indices = std::move(moved.indices);
    features.values = std::move(moved.values);
  } else {
    own_values(&features);
    move_rows(order, features.cols, threads, moving, &features.dense);
    move_rows(order, features.cols, threads, moving, &features.halves);
  }
  rename_nodes(order, threads, dataset, moving);
}

void rename_nodes(std::span<const NodeId> order, int threads, Dataset* dataset, const Moving& moving) {
  move_rows(order, 1, threads, {}, &dataset->labels.classes);
  move_rows(order, dataset->labels.num_classes, threads, moving, &dataset->labels.targets);
  const graph::Order position = graph::inverse_order(order, threads);
  for (auto* part : {&dataset->split.train, &dataset->split.val, &dataset->split.test}) {
    for (NodeId& v : *part) v = position[static_cast<std::size_t>(v)];
    sort_ids(order.size(), part);
  }
  std::vector<std::int64_t> orig_id;
  std::vector<std::string> names;
  orig_id.reserve(order.size());
  for (const NodeId v : order) {
    orig_id.push_back(dataset->orig_id.empty() ? v : dataset->orig_id[static_cast<std::size_t>(v)]);
    if (!dataset->node_names.empty()) names.push_back(std::move(dataset->node_names[static_cast<std::size_t>(v)]));
  }
  dataset->orig_id = std::move(orig_id);
  dataset->node_names = std::move(names);
  dataset->part_starts.clear();
}

}  // namespace gneiss::data
