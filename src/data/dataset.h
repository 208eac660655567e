// A dataset in memory: graph, node features, labels, splits, and where each node came from.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/file_pages.h"
#include "base/half.h"
#include "base/ids.h"
#include "base/matrix_view.h"
#include "graph/graph.h"

namespace gneiss::data {

/// Node features, dense row-major in f32 or in 16 bits, or compressed sparse rows; exactly one of the forms is filled.
struct Features {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  bool sparse = false;
  HalfType dtype = HalfType::kNone;  ///< of dense features; kNone: f32
  Buffer<float> dense;               ///< [rows * cols] when !sparse, in f32
  Buffer<std::uint16_t> halves;      ///< [rows * cols] when !sparse, in 16 bits
  Buffer<EdgeId> offsets;            ///< [rows + 1] when sparse
  Buffer<NodeId> indices;            ///< [nnz] columns, ascending within a row
  Buffer<float> values;              ///< [nnz]

  bool empty() const { return cols == 0; }
  /// Of a row of dense ones, as it is stored.
  std::int64_t row_bytes() const {
    return cols * static_cast<std::int64_t>(dtype == HalfType::kNone ? sizeof(float) : sizeof(std::uint16_t));
  }
  ConstMatrixView<float> view() const { return {dense.data(), rows, cols}; }
  SparsePattern pattern() const { return {rows, cols, offsets, indices, {}}; }
  std::int64_t nonzeros() const;
  std::int64_t bytes() const;

  /// Moves dense values out of a file's pages, see base/file_pages.h.
  void settle(int threads) {
    gneiss::settle(&dense, threads);
    gneiss::settle(&halves, threads);
  }
  /// Frees the values of features that nobody reads any more; rows and columns stay known.
  void drop_values();
};

/// What a normalisation of features learnt from them: part of a model, since other data must be treated alike.
struct FeatureStatistics {
  std::string norm;           ///< the normalisation it belongs to; empty: none was learnt
  bool binary_first = false;  ///< values above 0 became 1 before
  double least = 0;           ///< row: the least entry
  std::vector<double> mean;   ///< standard, train-standard: of each column
  std::vector<double> scale;  ///< likewise: 1 / deviation, 0 for a constant column
};

enum class LabelKind : std::uint8_t { kNone, kSingle, kMulti, kRegression };

/// What is to be predicted.
struct Labels {
  LabelKind kind = LabelKind::kNone;
  Buffer<std::int32_t> classes;  ///< kSingle: [n], -1 = unlabelled
  Buffer<float> targets;         ///< kMulti: [n * num_classes] 0/1, NaN = unlabelled; kRegression: [n * num_classes]
  std::int64_t num_classes = 0;  ///< classes, tasks or outputs

  std::int64_t bytes() const { return static_cast<std::int64_t>(classes.size_bytes() + targets.size_bytes()); }
};

/// The labels of `rows` alone, in their order.
Labels labels_of(const Labels& labels, std::span<const NodeId> rows);

/// Node ids of each part, ascending, disjoint.
struct Split {
  std::vector<NodeId> train;
  std::vector<NodeId> val;
  std::vector<NodeId> test;
};

struct Dataset {
  std::string name;
  std::string format;  ///< the reader or generator it came from
  graph::Graph graph;
  Features features;
  Labels labels;
  Split split;
  std::vector<std::int64_t> orig_id;      ///< node id in the file; empty = identity
  std::vector<std::string> class_names;   ///< may be empty
  std::vector<std::string> notes;         ///< what the reader did or found odd, for `data info`
  std::vector<std::string> doubts;        ///< those of the notes that `data validate` warns of
  std::vector<std::int64_t> part_starts;  ///< [parts + 1] first nodes, if nodes lie by parts of a cut; else empty
  bool by_parts = false;         ///< edges and features lie in files, and nobody has looked at them (data/parts.h)
  bool allows_nan = false;       ///< by parts: features may be NaN or infinite
  std::uint64_t files_hash = 0;  ///< by parts: of the files' checksums in the manifest, which nobody has compared
  int num_splits = 1;            ///< splits that the file offers (`--split K`)
  std::vector<std::string> node_names;     ///< ids that were text in the file; empty when they were numbers
  std::vector<std::string> feature_names;  ///< of the columns, where a table's header names them; else empty
  FeatureStatistics feature_statistics;    ///< what features were normalised by
  std::string suggested_metric;  ///< the metric that the set is judged by, e.g. "rocauc"; empty = the task's usual one

  std::int64_t num_nodes() const { return graph.num_nodes(); }
  std::int64_t bytes() const;
};

}  // namespace gneiss::data
