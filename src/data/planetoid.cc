// Planetoid: ind.<name>.{x,tx,allx,y,ty,ally,graph,test.index}, Python-2 pickles and one text file.
//
// Rules as PyG has them: nodes 0..len(allx)-1 are the rows of allx and ally; row i of tx and ty belongs to the i-th id
// of test.index, in file order; train = the first len(y) nodes, val = the next 500, test = test.index; self loops
// removed, duplicate edges merged. Ids missing from test.index (CiteSeer) get a zero row and no label, where PyG gives
// them class 0: they are in no split, so no published number depends on it. NELL's relation nodes get one identity
// column each. Source: pyg torch_geometric/io/planetoid.py; [yang2016planetoid].
#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/names.h"
#include "data/pickle.h"
#include "data/readers.h"
#include "data/text.h"

namespace gneiss::data {
namespace {

constexpr std::int64_t kValidationNodes = 500;

/// One opened part: its bytes and what they hold.
struct Part {
  MappedFile file;
  Pickle pickle;
  explicit Part(const std::filesystem::path& path) : file(path), pickle(file.bytes(), path.string()) {}
};

[[noreturn]] void fail(const std::string& where, const std::string& message, const std::string& hint = {}) {
  throw Error(ErrorCode::kBadData, message, where, hint);
}

/// "…/ind.cora" from a folder, a prefix or any of the parts.
std::filesystem::path find_prefix(const std::filesystem::path& path) {
  static const std::vector<std::string> kParts = {".x", ".tx", ".allx", ".y", ".ty", ".ally", ".graph", ".test.index"};
  const auto strip = [](const std::filesystem::path& file) -> std::optional<std::filesystem::path> {
    const std::string name = file.filename().string();
    if (!name.starts_with("ind.")) return std::nullopt;
    for (const std::string& part : kParts) {
      if (name.ends_with(part)) return file.parent_path() / name.substr(0, name.size() - part.size());
    }
    return std::nullopt;
  };
  if (!std::filesystem::is_directory(path)) return strip(path).value_or(path);
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    const auto prefix = strip(entry.path());
    if (prefix && std::find(found.begin(), found.end(), prefix->string()) == found.end())
      found.push_back(prefix->string());
  }
  std::sort(found.begin(), found.end());
  if (found.empty()) fail(path.string(), "the folder holds no Planetoid files (ind.<name>.graph and its companions)");
  if (found.size() > 1)
    fail(path.string(), fmt::format("the folder holds {} Planetoid sets", found.size()),
         "name one: " + join(found, ", "));
  return found[0];
}

std::filesystem::path part_path(const std::filesystem::path& prefix, const std::string& part) {
  return prefix.string() + "." + part;
}

void check_parts(const std::filesystem::path& prefix) {
  std::vector<std::string> missing;
  for (const char* part : {"x", "tx", "allx", "y", "ty", "ally", "graph", "test.index"}) {
    const auto path = part_path(prefix, part);
    if (!std::filesystem::exists(path)) missing.push_back(path.filename().string());
  }
  if (!missing.empty()) {
    fail(prefix.parent_path().string(),
         fmt::format("this Planetoid set is incomplete: {} missing", join(missing, ", ")),
         "all eight parts are needed: x tx allx y ty ally graph test.index");
  }
}

std::vector<std::int64_t> read_test_index(const std::filesystem::path& path) {
  std::vector<std::int64_t> ids;
  LineReader lines(path);
  std::string_view line;
  while (lines.next(&line)) {
    const std::string_view text = trim(line);
    std::int64_t id = 0;
    if (text.empty()) continue;
    if (!parse_int(text, &id) || id < 0)
      fail(lines.where(), fmt::format("expected a node id, got '{}'", excerpt(text)));
    ids.push_back(id);
  }
  return ids;
}

/// For each node its row in allx or tx: r >= 0 is row r of allx, -1 none, -2 - r row r of tx.
std::vector<std::int64_t> node_rows(std::int64_t nodes, std::int64_t labelled, const std::vector<std::int64_t>& test,
                                    const std::string& where) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(nodes), -1);
  for (std::int64_t v = 0; v < labelled; ++v) rows[static_cast<std::size_t>(v)] = v;
  for (std::size_t i = 0; i < test.size(); ++i) {
    std::int64_t& row = rows[static_cast<std::size_t>(test[i])];
    if (row != -1) fail(where, fmt::format("node {} occurs twice or is not a test node (line {})", test[i], i + 1));
    row = -2 - static_cast<std::int64_t>(i);
  }
  return rows;
}

Features join_features(const Pickle::Matrix& allx, const Pickle::Matrix& tx, const std::vector<std::int64_t>& rows,
                       bool identity) {
  const Features known = sparse_features(allx.offsets, allx.indices, allx.values, allx.rows, allx.cols, 1);
  const Features test = sparse_features(tx.offsets, tx.indices, tx.values, tx.rows, tx.cols, 1);
  const auto length = [](const Features& part, std::int64_t r) {
    return part.offsets[static_cast<std::size_t>(r) + 1] - part.offsets[static_cast<std::size_t>(r)];
  };
  Features out;
  out.sparse = true;
  out.rows = static_cast<std::int64_t>(rows.size());
  out.cols = allx.cols;
  out.offsets = Buffer<EdgeId>::zeros(rows.size() + 1);
  for (std::size_t v = 0; v < rows.size(); ++v) {
    const std::int64_t r = rows[v];
    const EdgeId own = r >= 0 ? length(known, r) : r == -1 ? (identity ? 1 : 0) : length(test, -2 - r);
    out.offsets[v + 1] = out.offsets[v] + own;
  }
  const auto total = static_cast<std::size_t>(out.offsets[rows.size()]);
  out.indices = Buffer<NodeId>(total);
  out.values = Buffer<float>(total);
  for (std::size_t v = 0; v < rows.size(); ++v) {
    const auto at = static_cast<std::size_t>(out.offsets[v]);
    if (rows[v] == -1) {
      if (!identity) continue;
      out.indices[at] = static_cast<NodeId>(out.cols++);
      out.values[at] = 1.0F;
      continue;
    }
    const Features& part = rows[v] >= 0 ? known : test;
    const auto from =
        static_cast<std::size_t>(part.offsets[static_cast<std::size_t>(rows[v] >= 0 ? rows[v] : -2 - rows[v])]);
    const auto count = static_cast<std::size_t>(out.offsets[v + 1]) - at;
    std::copy_n(part.indices.begin() + from, count, out.indices.begin() + at);
    std::copy_n(part.values.begin() + from, count, out.values.begin() + at);
  }
  return out;
}

/// Class of each row of a one-hot array: the first largest entry, -1 for a row of zeros.
std::vector<std::int32_t> one_hot_classes(const NpyArray& array) {
  expect_dims(array, 2, "one-hot labels [nodes, classes]");
  const Buffer<float> values = to_floats(array);
  std::vector<std::int32_t> classes(static_cast<std::size_t>(array.dim(0)), -1);
  const auto width = static_cast<std::size_t>(array.dim(1));
  for (std::size_t r = 0; r < classes.size(); ++r) {
    float best = 0;
    for (std::size_t c = 0; c < width; ++c) {
      if (values[r * width + c] > best) {
        best = values[r * width + c];
        classes[r] = static_cast<std::int32_t>(c);
      }
    }
  }
  return classes;
}

Labels join_labels(const NpyArray& ally, const NpyArray& ty, const std::vector<std::int64_t>& rows) {
  const std::vector<std::int32_t> known = one_hot_classes(ally);
  const std::vector<std::int32_t> test = one_hot_classes(ty);
  if (ally.dim(1) != ty.dim(1))
    fail(ty.where, fmt::format("{} classes, but {} has {}", ty.dim(1), ally.where, ally.dim(1)));
  Labels labels;
  labels.kind = LabelKind::kSingle;
  labels.num_classes = ally.dim(1);
  labels.classes = Buffer<std::int32_t>(rows.size());
  for (std::size_t v = 0; v < rows.size(); ++v) {
    const std::int64_t r = rows[v];
    labels.classes[v] = r >= 0    ? known[static_cast<std::size_t>(r)]
                        : r == -1 ? -1
                                  : test[static_cast<std::size_t>(-2 - r)];
  }
  return labels;
}

graph::EdgeList read_edges(const Pickle& pickle, std::size_t file_bytes, std::int64_t nodes) {
  const auto pairs = pickle.items(pickle.root());
  std::size_t count = 0;
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) count += pickle.items(pairs[i + 1]).size();
  // A neighbour takes at least a byte of the file, unless one list is hung under many keys to blow up memory.
  if (count > file_bytes)
    fail(pickle.where(), fmt::format("the neighbour lists hold {} entries in {} bytes", count, file_bytes));
  graph::EdgeList edges{Buffer<NodeId>(count), Buffer<NodeId>(count), {}};
  const auto id = [&](Pickle::Value value) {
    if (value.kind != Pickle::Kind::kInt || value.number < 0 || value.number >= nodes) {
      fail(pickle.where(), fmt::format("the neighbour lists name node {}, outside 0..{}", value.number, nodes - 1));
    }
    return static_cast<NodeId>(value.number);
  };
  std::size_t at = 0;
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const NodeId from = id(pairs[i]);
    for (const Pickle::Value neighbour : pickle.items(pairs[i + 1])) {
      edges.src[at] = from;
      edges.dst[at++] = id(neighbour);
    }
  }
  return edges;
}

std::vector<std::filesystem::path> geom_split_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  if (!std::filesystem::is_directory(folder)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".npz") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

Split public_split(std::int64_t train, std::int64_t labelled, const std::vector<std::int64_t>& test) {
  Split split;
  for (std::int64_t v = 0; v < train; ++v) split.train.push_back(static_cast<NodeId>(v));
  for (std::int64_t v = train; v < std::min(labelled, train + kValidationNodes); ++v)
    split.val.push_back(static_cast<NodeId>(v));
  split.test.assign(test.begin(), test.end());
  std::sort(split.test.begin(), split.test.end());
  return split;
}

/// The parts of a set, checked to belong together. `x` is the first rows of allx and is not needed.
struct Parts {
  Part tx, allx, y, ty, ally, links;
  std::string index_file;
  std::vector<std::int64_t> test;
  Pickle::Matrix allx_matrix, tx_matrix;
  NpyArray ally_array, ty_array;
  std::int64_t train = 0;
  std::int64_t nodes = 0;

  explicit Parts(const std::filesystem::path& prefix)
      : tx(part_path(prefix, "tx")),
        allx(part_path(prefix, "allx")),
        y(part_path(prefix, "y")),
        ty(part_path(prefix, "ty")),
        ally(part_path(prefix, "ally")),
        links(part_path(prefix, "graph")),
        index_file(part_path(prefix, "test.index").string()),
        test(read_test_index(index_file)),
        allx_matrix(allx.pickle.matrix(allx.pickle.root())),
        tx_matrix(tx.pickle.matrix(tx.pickle.root())),
        ally_array(ally.pickle.array(ally.pickle.root())),
        ty_array(ty.pickle.array(ty.pickle.root())),
        train(y.pickle.array(y.pickle.root()).dim(0)) {
    check_shapes();
    count_nodes();
  }

 private:
  void check_shapes() const {
    const auto equal = [](std::int64_t a, std::int64_t b, const char* what, const char* other,
                          const std::string& where) {
      if (a == b) return;
      fail(where, fmt::format("{} has {} and {} has {}; these parts do not belong together", what, a, other, b));
    };
    equal(allx_matrix.cols, tx_matrix.cols, "allx (columns)", "tx", tx.pickle.where());
    equal(allx_matrix.rows, ally_array.dim(0), "allx (rows)", "ally", ally.pickle.where());
    equal(tx_matrix.rows, ty_array.dim(0), "tx (rows)", "ty", ty.pickle.where());
    equal(tx_matrix.rows, static_cast<std::int64_t>(test.size()), "tx (rows)", "test.index (lines)", index_file);
    if (train > allx_matrix.rows) {
      fail(y.pickle.where(), fmt::format("{} training nodes, but allx has {} rows", train, allx_matrix.rows));
    }
  }

  /// Every node has a key in the graph's dict, isolated ones too, so a test id beyond it is a mistake.
  void count_nodes() {
    const auto listed = static_cast<std::int64_t>(links.pickle.items(links.pickle.root()).size() / 2);
    nodes = checked_node_count(std::max(listed, allx_matrix.rows), "nodes", links.pickle.where());
    const std::int64_t last = test.empty() ? -1 : *std::max_element(test.begin(), test.end());
    if (last >= nodes) fail(index_file, fmt::format("test node {} is outside 0..{}", last, nodes - 1));
  }
};

}  // namespace

int count_geom_splits(const std::filesystem::path& folder) {
  return static_cast<int>(geom_split_files(folder / "geom_gcn_splits").size());
}

Split read_geom_split(const std::filesystem::path& folder, int index, std::int64_t nodes) {
  const NpzFile file(geom_split_files(folder / "geom_gcn_splits").at(static_cast<std::size_t>(index)));
  const auto part = [&](const char* name) {
    const NpyArray mask = file.array(name);
    expect_dims(mask, 1, "a mask [nodes]");
    if (mask.count != nodes)
      fail(mask.where, fmt::format("the mask has {} entries, the graph {} nodes", mask.count, nodes));
    return mask_ids(to_bools(mask));
  };
  return {part("train_mask"), part("val_mask"), part("test_mask")};
}

Dataset read_planetoid(const std::filesystem::path& path, const LoadOptions& options) {
  const std::filesystem::path prefix = find_prefix(path);
  const std::filesystem::path folder = prefix.parent_path();
  check_parts(prefix);
  const Parts parts(prefix);
  Dataset out;
  out.name = prefix.filename().string().substr(std::min<std::size_t>(4, prefix.filename().string().size()));
  out.format = "planetoid";
  const std::vector<std::int64_t> rows = node_rows(parts.nodes, parts.allx_matrix.rows, parts.test, parts.index_file);
  const bool identity = out.name.starts_with("nell");
  const auto bare = std::count(rows.begin(), rows.end(), -1);
  if (bare > 0) {
    out.notes.push_back(identity ? fmt::format("{} relation nodes got an identity column each", bare)
                                 : fmt::format("{} nodes have no features and no label", bare));
  }
  checked_node_count(parts.allx_matrix.cols + (identity ? bare : 0), "feature columns", parts.allx.pickle.where());
  out.features = join_features(parts.allx_matrix, parts.tx_matrix, rows, identity);
  out.labels = join_labels(parts.ally_array, parts.ty_array, rows);
  const Part& links = parts.links;
  const FormatHabits habits{.remove_self_loops = true, .coalesce = true};
  out.graph = make_graph(read_edges(links.pickle, links.file.bytes().size(), parts.nodes), parts.nodes, options, habits,
                         links.pickle.where(), &out.notes);
  const int drawn = count_geom_splits(folder);
  out.num_splits = std::max(1, drawn);
  const int index = split_index(options.split, drawn, prefix.string());
  out.split = index >= 0 ? read_geom_split(folder, index, parts.nodes)
                         : public_split(parts.train, parts.allx_matrix.rows, parts.test);
  return out;
}

}  // namespace gneiss::data
