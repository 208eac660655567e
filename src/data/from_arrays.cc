// The number of nodes first, from whichever array tells it; then each part by itself, checked against that number.
#include "data/from_arrays.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "data/given.h"
#include "data/labels.h"
#include "data/readers.h"

namespace gneiss::data {
namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

[[noreturn]] void fail(const std::string& where, const std::string& message, const std::string& hint) {
  throw Error(ErrorCode::kBadData, message, where, hint);
}

/// Calls body(); errors that say what is wrong with an element get a hint what to do.
template <class Body>
auto with_hint(const char* hint, const Body& body) {
  try {
    return body();
  } catch (const Error& error) {
    throw Error(error.code(), error.message(), error.where(), error.hint().empty() ? hint : error.hint());
  }
}

constexpr const char* kNodesHint =
    "edges name nodes by their row in x and y, from 0; give num_nodes if there are nodes behind the last row";

bool row_major(const NpyArray& array) { return !array.fortran || array.shape.size() < 2; }

/// The elements where they lie, if they lie as wanted and stay; nothing else.
template <class T>
Buffer<T> where_it_lies(const GivenArray& array, DType type) {
  const auto address = reinterpret_cast<std::uintptr_t>(array.values.data.data());
  const bool fits = array.keeper != nullptr && array.values.type == type && row_major(array.values) && !array.packed &&
                    address % alignof(T) == 0 && array.values.count > 0;
  if (!fits) return {};
  return lend<T>(array.keeper,
                 {reinterpret_cast<const T*>(array.values.data.data()), static_cast<std::size_t>(array.values.count)});
}

class Maker {
 public:
  explicit Maker(GivenArrays arrays) : given_(std::move(arrays)) {}

  Dataset make() {
    out_.name = given_.name;
    out_.format = "arrays";
    check_arguments();
    nodes_ = count_nodes();
    make_graph();
    make_features();
    if (given_.labels) make_labels(given_.labels->values);
    make_split();
    return std::move(out_);
  }

 private:
  void note_copy(const GivenArray& array, const char* form) {
    out_.notes.push_back(fmt::format("{} was copied: {} would be read where it lies", array.values.where, form));
  }

  static void check_rows(const GivenRows& rows, const char* name, bool need_values) {
    if (!rows.given() || (rows.offsets && rows.indices && (rows.values || !need_values))) return;
    throw Error(ErrorCode::kUsage,
                fmt::format("{} needs offsets (indptr) and indices{}", name, need_values ? " and values (data)" : ""),
                name, "give all arrays of the compressed matrix");
  }

  void check_arguments() const {
    if (given_.num_nodes < -1)
      throw Error(ErrorCode::kUsage, fmt::format("expected a number of nodes, got {}", given_.num_nodes), "num_nodes",
                  "-1 counts them from the arrays");
    check_rows(given_.out_edges, "csr", false);
    check_rows(given_.in_edges, "csc", false);
    check_rows(given_.sparse_features, "x", true);
    const int forms =
        (given_.edge_index ? 1 : 0) + (given_.out_edges.given() ? 1 : 0) + (given_.in_edges.given() ? 1 : 0);
    if (forms > 1)
      throw Error(ErrorCode::kUsage, "the edges are given in more than one form", "edge_index, csr, csc",
                  "give one of edge_index, csr and csc");
    if (given_.edge_weight && !given_.edge_index)
      throw Error(ErrorCode::kUsage, "edge_weight goes with edge_index, which is not given", "edge_weight",
                  "weights of a compressed matrix are its values");
    if (given_.features && given_.sparse_features.given())
      throw Error(ErrorCode::kUsage, "the features are given both densely and as compressed rows", "x",
                  "give one of them");
    const std::vector<std::string> kinds = {"auto", "class", "multi", "regression"};
    if (std::find(kinds.begin(), kinds.end(), given_.label_kind) == kinds.end())
      throw Error(ErrorCode::kUsage, fmt::format("unknown kind of labels '{}'", given_.label_kind), "label_kind",
                  unknown_name_hint(given_.label_kind, kinds));
    if (!given_.edge_index) return;
    const NpyArray& edges = given_.edge_index->values;
    if (edges.shape.size() == 2 && edges.shape[0] == 2) return;
    const bool turned = edges.shape.size() == 2 && edges.shape[1] == 2;
    fail(edges.where, fmt::format("expected shape (2, edges), got {}", shape_text(edges)),
         turned ? "give the array transposed, edge_index.T" : "row 0 has the sources, row 1 the destinations");
  }

  std::int64_t count_nodes() const {
    std::int64_t nodes = given_.num_nodes;
    const char* said_by = "num_nodes";
    const auto rows = [&](const char* by, std::int64_t count) {
      if (nodes < 0) {
        nodes = count;
        said_by = by;
      } else if (nodes != count) {
        fail(by, fmt::format("{} has {} rows, {} says {} nodes", by, count, said_by, nodes),
             "give one row for each node, in the order of the nodes");
      }
    };
    if (given_.features) {
      with_hint("give one row of numbers for each node; one number a node is x.reshape(-1, 1)",
                [&] { expect_dims(given_.features->values, 2, "features [nodes, width]"); });
      rows("x", given_.features->values.dim(0));
    }
    if (given_.sparse_features.given()) rows("x", given_.sparse_features.offsets->values.count - 1);
    if (given_.labels) rows("y", given_.labels->values.dim(0));
    if (given_.in_edges.given()) rows("csc", given_.in_edges.offsets->values.count - 1);
    if (given_.out_edges.given()) rows("csr", given_.out_edges.offsets->values.count - 1);
    if (nodes < 0 && given_.edge_index) {
      const Buffer<std::int64_t> ids = to_int64(given_.edge_index->values);
      nodes = ids.empty() ? 0 : *std::max_element(ids.begin(), ids.end()) + 1;
    }
    if (nodes < 0)
      throw Error(ErrorCode::kUsage, "nothing says how many nodes there are", "num_nodes",
                  "give edge_index, x, y or num_nodes");
    return with_hint("number the nodes from 0, without gaps",
                     [&] { return checked_node_count(nodes, "nodes", said_by); });
  }

  void make_graph() {
    if (given_.in_edges.given() && take_in_edges()) return;
    if (given_.edge_index && (take_edge_index<std::int64_t>(DType::kI64) || take_edge_index<NodeId>(DType::kI32)))
      return;
    graph::EdgeList edges;
    std::string where = "edge_index";
    if (given_.edge_index) {
      edges = indexed_edges();
    } else if (given_.in_edges.given() || given_.out_edges.given()) {
      const bool in = given_.in_edges.given();
      const GivenRows& rows = in ? given_.in_edges : given_.out_edges;
      edges = with_hint(kNodesHint, [&] {
        return csr_edges(rows.offsets->values, rows.indices->values, rows.values ? &rows.values->values : nullptr,
                         nodes_, given_.threads);
      });
      if (in) std::swap(edges.src, edges.dst);
      where = in ? "csc" : "csr";
    }
    LoadOptions as_given;  // a temporary of it makes GCC 12 warn
    as_given.threads = given_.threads;
    out_.graph = data::make_graph(std::move(edges), nodes_, as_given, {}, where, &out_.notes);
  }

  /// In-edges that already are what a graph is made of.
  bool take_in_edges() {
    GivenRows& rows = given_.in_edges;
    if (rows.offsets->values.count != nodes_ + 1) return false;
    Buffer<EdgeId> offsets = where_it_lies<EdgeId>(*rows.offsets, DType::kI64);
    Buffer<NodeId> sources = where_it_lies<NodeId>(*rows.indices, DType::kI32);
    Buffer<float> weights = rows.values ? where_it_lies<float>(*rows.values, DType::kF32) : Buffer<float>();
    if (offsets.empty() || sources.empty() || !graph::fit_graph(nodes_, offsets, sources, given_.threads)) {
      note_copy(*rows.indices, "64-bit indptr with ascending 32-bit indices in each row");
      return false;
    }
    if (rows.values && weights.size() != sources.size()) {
      note_copy(*rows.values, "float32 with 64-bit indptr and ascending 32-bit indices");
      return false;
    }
    out_.graph = graph::Graph::of_fitting(nodes_, std::move(offsets), std::move(sources), std::move(weights), {},
                                          given_.threads);
    return true;
  }

  /// Two rows of ids of this type, read where they lie. False if they are others, or one of them is no node's.
  template <class Id>
  bool take_edge_index(DType type) {
    const NpyArray& index = given_.edge_index->values;
    if (index.type != type || !row_major(index) || reinterpret_cast<std::uintptr_t>(index.data.data()) % alignof(Id))
      return false;
    const std::span<const Id> ids(reinterpret_cast<const Id*>(index.data.data()),
                                  static_cast<std::size_t>(index.count));
    check_graph_memory(nodes_, index.dim(1), false, 0, index.where);
    const std::size_t edges = ids.size() / 2;
    std::optional<graph::Graph> graph =
        graph::graph_of_list(ids.first(edges), ids.last(edges), edge_weights(), nodes_, given_.threads);
    if (graph) out_.graph = *std::move(graph);
    return graph.has_value();
  }

  graph::EdgeList indexed_edges() const {
    const NpyArray& index = given_.edge_index->values;
    const auto edges = static_cast<std::size_t>(index.dim(1));
    auto ids =
        std::make_shared<Buffer<NodeId>>(with_hint(kNodesHint, [&] { return to_ids(index, nodes_, given_.threads); }));
    return {Buffer<NodeId>::within(ids, ids->data(), edges), Buffer<NodeId>::within(ids, ids->data() + edges, edges),
            edge_weights()};
  }

  Buffer<float> edge_weights() const {
    if (!given_.edge_weight) return {};
    const NpyArray& weights = given_.edge_weight->values;
    const std::int64_t edges = given_.edge_index->values.dim(1);
    if (weights.count != edges || (weights.shape.size() != 1 && weights.dim(0) != weights.count))
      fail(weights.where, fmt::format("{} of shape {} for {} edges", weights.where, shape_text(weights), edges),
           "give one weight for each edge, in the order of edge_index");
    return to_floats(weights);
  }

  void make_features() {
    if (given_.sparse_features.given()) {
      const GivenRows& rows = given_.sparse_features;
      out_.features = with_hint("x.indices names columns below x.shape[1]", [&] {
        return sparse_features(rows.offsets->values, rows.indices->values, rows.values->values, nodes_,
                               given_.feature_columns, given_.threads);
      });
      return;
    }
    if (!given_.features) return;
    const GivenArray& array = *given_.features;
    Features& features = out_.features;
    features.rows = nodes_;
    features.cols = checked_node_count(array.values.dim(1), "feature columns", "x");
    features.dense = where_it_lies<float>(array, DType::kF32);
    if (!features.dense.empty() || array.values.count == 0) return;
    features.dense =
        with_hint("give features as numbers, e.g. x.astype(numpy.float32)", [&] { return to_floats(array.values); });
    note_copy(array, "a row-major array of float32");
  }

  void make_labels(const NpyArray& y) {
    if (y.shape.size() > 2)
      fail(y.where, fmt::format("expected labels [nodes] or [nodes, columns], got {}", shape_text(y)),
           "give one row for each node");
    const std::int64_t columns = y.shape.size() == 2 ? y.dim(1) : 1;
    const std::string& kind = given_.label_kind;
    out_.class_names = given_.class_names;
    if (columns == 1 && (kind == "class" || (kind == "auto" && y.is_integer()))) return make_classes(y);
    const std::vector<double> values = to_doubles(y);
    if (columns > 1 && kind != "regression" && kind != "multi" && one_hot(values, columns)) return;
    const bool binary =
        std::all_of(values.begin(), values.end(), [](double v) { return std::isnan(v) || v == 0 || v == 1; });
    if (kind == "class")
      fail(y.where, fmt::format("labels of shape {} are no classes: not each row has exactly one 1", shape_text(y)),
           "give one number a node, or label_kind='multi' if a node has many labels");
    if (kind == "multi" && !binary) {
      const auto wrong =
          std::find_if(values.begin(), values.end(), [](double v) { return v != 0 && v != 1 && !std::isnan(v); });
      const std::int64_t at = wrong - values.begin();
      fail(y.where,
           fmt::format("element [{}, {}] is {}; with many labels each is 0, 1 or NaN", at / columns, at % columns,
                       *wrong),
           "label_kind='regression' takes any numbers");
    }
    Labels& labels = out_.labels;
    labels.kind =
        kind == "multi" || (kind == "auto" && columns > 1 && binary) ? LabelKind::kMulti : LabelKind::kRegression;
    labels.num_classes = columns;
    labels.targets = Buffer<float>(values.size());
    std::transform(values.begin(), values.end(), labels.targets.begin(),
                   [](double v) { return static_cast<float>(v); });
    if (kind == "auto" && columns == 1)
      out_.notes.push_back("y holds floats: a regression; label_kind='class' if the numbers are classes");
    check_names(columns);
  }

  void make_classes(const NpyArray& y) {
    constexpr const char* kHint = "classes are whole numbers from 0; -1 is unlabelled";
    Buffer<std::int64_t> numbers;
    if (y.is_integer()) {
      numbers = to_int64(y);
    } else {
      const std::vector<double> values = to_doubles(y);
      numbers = Buffer<std::int64_t>(values.size());
      for (std::size_t v = 0; v < values.size(); ++v) {
        if (!std::isnan(values[v]) && (values[v] != std::floor(values[v]) || std::abs(values[v]) > 0x1p53))
          fail(y.where, fmt::format("element [{}] is {}, which is no class", v, values[v]), kHint);
        numbers[v] = std::isnan(values[v]) ? -1 : static_cast<std::int64_t>(values[v]);
      }
    }
    out_.labels = with_hint(kHint, [&] { return class_labels(numbers, y.where, &out_.class_names, &out_.notes); });
    check_names(out_.labels.num_classes);
  }

  /// One class a node from rows of 0 and 1 with exactly one 1.
  bool one_hot(const std::vector<double>& values, std::int64_t columns) {
    const auto width = static_cast<std::size_t>(columns);
    Buffer<std::int32_t> classes(static_cast<std::size_t>(nodes_));
    for (std::size_t v = 0; v < classes.size(); ++v) {
      const auto row = values.begin() + static_cast<std::ptrdiff_t>(v * width);
      const auto end = row + static_cast<std::ptrdiff_t>(width);
      const auto one = std::find(row, end, 1.0);
      if (one == end || std::count(row, end, 0.0) != columns - 1) return false;
      classes[v] = static_cast<std::int32_t>(one - row);
    }
    if (classes.empty()) return false;
    out_.labels.kind = LabelKind::kSingle;
    out_.labels.num_classes = columns;
    out_.labels.classes = std::move(classes);
    out_.notes.push_back("each row of y has exactly one 1: one class a node; label_kind='multi' if not");
    check_names(columns);
    return true;
  }

  void check_names(std::int64_t classes) const {
    const auto names = static_cast<std::int64_t>(out_.class_names.size());
    if (names == 0 || names == classes) return;
    fail("class_names", fmt::format("{} names for {} classes", names, classes),
         "give one name for each class, or none");
  }

  void make_split() {
    if (!given_.train && (given_.val || given_.test))
      throw Error(ErrorCode::kUsage, "validation or test nodes are given without training nodes", "train_mask",
                  "give train_mask as well");
    if (given_.train) out_.split.train = part(given_.train->values);
    if (given_.val) out_.split.val = part(given_.val->values);
    if (given_.test) out_.split.test = part(given_.test->values);
  }

  std::vector<NodeId> part(const NpyArray& array) const {
    if (array.shape.size() != 1)
      fail(array.where, fmt::format("expected one mask or list of nodes, got shape {}", shape_text(array)),
           "of several splits give one column, e.g. data.train_mask[:, 0]");
    if (array.type == DType::kBool) {
      if (array.count != nodes_)
        fail(array.where, fmt::format("a mask of {} for {} nodes", array.count, nodes_),
             "give one True or False a node");
      return mask_ids(to_bools(array));
    }
    const Buffer<NodeId> ids =
        with_hint("nodes are numbered from 0; a mask is an array of bool", [&] { return to_ids(array, nodes_); });
    std::vector<NodeId> sorted(ids.begin(), ids.end());
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end())
      fail(array.where, fmt::format("node {} is given twice", *twice),
           "a mask is an array of bool: give it as mask.astype(bool)");
    return sorted;
  }

  GivenArrays given_;
  Dataset out_;
  std::int64_t nodes_ = 0;
};

}  // namespace

Dataset from_arrays(GivenArrays arrays) {
  try {
    return Maker(std::move(arrays)).make();
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::kOutOfMemory, "not enough memory for a data set of these arrays", "arrays");
  }
}

}  // namespace gneiss::data
