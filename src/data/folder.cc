// Our own folder: manifest.json beside .npy arrays whose data are page-aligned, so that NumPy (and we) can map them.
//
//   in_indptr.npy i64 [n + 1], in_indices.npy i32 [m]   in-edges by destination: sources of node v are
//                                                       in_indices[in_indptr[v] : in_indptr[v + 1]]
//   edge_weight.npy f32 [m]                             optional, in the same order
//   features.npy f32 [n, F]                             or features_indptr i64, features_indices i32, features_data f32
//                                                       (f16, or bf16 as u2, where the manifest's features.dtype says
//                                                       so)
//   labels.npy i32 [n] (one class, -1 = none) or f32 [n, C] (many labels or regression, NaN = none)
//   {train,val,test}_idx.npy i32                        or {train,val,test}_mask.npy bool [n]
//   orig_id.npy i64 [n], node_names.npy S [n]           optional
//   part_starts.npy i64 [parts + 1]                     optional: nodes lie by parts of a cut
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/file_pages.h"
#include "data/checksum.h"
#include "data/half_features.h"
#include "data/manifest.h"
#include "data/parts.h"
#include "data/readers.h"
#include "data/validate.h"

namespace gneiss::data {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& where, const std::string& message, const std::string& hint = {}) {
  throw Error(ErrorCode::kBadData, message, where, hint);
}

NpyArray checked_length(NpyArray array, std::int64_t length, const char* what) {
  if (array.dim(0) != length || array.shape.empty()) {
    fail(array.where, fmt::format("expected {} {}, got shape {}", length, what, shape_text(array)));
  }
  return array;
}

/// Does the manifest know that the graph is symmetric? Only if the files are those that its writer looked at, weights
/// included.
std::optional<bool> known_symmetry(const fs::path& folder, const Manifest& manifest, const LoadOptions& options) {
  if (!manifest.symmetric || !options.verify_checksums) return {};
  for (const char* name : {"in_indptr.npy", "in_indices.npy", "edge_weight.npy"}) {
    if (fs::exists(folder / name) && !manifest.files.contains(name)) return {};
  }
  return true;
}

/// Yes too where the offsets are wrong: the graph's own check names the place.
bool rows_ascend(std::span<const EdgeId> offsets, std::span<const NodeId> sources) {
  for (std::size_t v = 0; v + 1 < offsets.size(); ++v) {
    const bool inside =
        offsets[v] >= 0 && offsets[v] <= offsets[v + 1] && offsets[v + 1] <= static_cast<EdgeId>(sources.size());
    if (!inside) return true;
    if (!std::is_sorted(sources.begin() + offsets[v], sources.begin() + offsets[v + 1])) return false;
  }
  return true;
}

/// Sources within a row may stand in any order in a hand-made folder; ours are sorted.
graph::Graph read_graph(const fs::path& folder, std::int64_t declared_nodes, std::optional<bool> symmetric,
                        int threads) {
  const NpyArray offsets_array = load_npy(folder / "in_indptr.npy");
  const NpyArray indices_array = load_npy(folder / "in_indices.npy");
  expect_dims(offsets_array, 1, "in-edge offsets [nodes + 1]");
  expect_dims(indices_array, 1, "sources [edges]");
  if (offsets_array.count < 1) fail(offsets_array.where, "in-edge offsets must hold at least one number");
  const std::int64_t nodes = checked_node_count(offsets_array.count - 1, "nodes", offsets_array.where);
  if (declared_nodes >= 0 && declared_nodes != nodes) {
    fail(offsets_array.where, fmt::format("offsets for {} nodes, but the manifest says {}", nodes, declared_nodes));
  }
  Buffer<EdgeId> offsets = to_int64(offsets_array);
  Buffer<NodeId> sources = ids_in_file(indices_array);
  const bool fit = static_cast<std::int64_t>(sources.size()) == indices_array.count &&
                   graph::fit_graph(nodes, offsets, sources, threads);
  if (!fit) sources = to_ids(indices_array, nodes, threads);
  Buffer<float> weights;
  const fs::path weight_path = folder / "edge_weight.npy";
  if (fs::exists(weight_path))
    weights = to_floats(checked_length(load_npy(weight_path), indices_array.count, "edge weights"));
  if (fit)
    return graph::Graph::of_fitting(nodes, std::move(offsets), std::move(sources), std::move(weights), symmetric,
                                    threads);
  try {
    if (rows_ascend(offsets, sources))
      return {nodes, std::move(offsets), std::move(sources), std::move(weights), symmetric, threads};
    graph::EdgeList edges = csr_edges(offsets_array, indices_array, nullptr, nodes, threads);
    std::swap(edges.src, edges.dst);
    edges.weight = std::move(weights);
    return graph::build_graph(edges, nodes, {.threads = threads});
  } catch (const Error& error) {
    throw Error(ErrorCode::kBadData, error.message(), error.where().empty() ? folder.string() : error.where(),
                error.hint());
  }
}

/// Features stored in 16 bits: taken as they are where nothing needs them wider, so that no f32 copy is ever made.
Features half_features(const NpyArray& array, HalfType type, bool as_stored) {
  const DType expected = type == HalfType::kBf16 ? DType::kU16 : DType::kF16;
  if (array.type != expected || array.fortran) {
    fail(array.where, fmt::format("the manifest says that features are {}, the array is no row-major '<{}'",
                                  half_name(type), type == HalfType::kBf16 ? "u2" : "f2"));
  }
  expect_dims(array, 2, "features [nodes, width]");
  Features features;
  features.rows = checked_node_count(array.dim(0), "feature rows", array.where);
  features.cols = checked_node_count(array.dim(1), "feature columns", array.where);
  features.halves = to_halves(array);
  features.dtype = type;
  if (!as_stored) widen_features(&features);
  return features;
}

/// May features that are stored as `type` stay so? Not if they are to be changed or are wanted otherwise.
bool keeps_type(const LoadOptions& options, HalfType type) {
  return half_type(options.feature_dtype) == type && !options.largest_component && !options.binarize.value_or(false) &&
         options.feature_norm == "none" && options.feature_form != "sparse";
}

Features read_features(const fs::path& folder, const Manifest& manifest, std::int64_t nodes, const LoadOptions& options,
                       bool by_parts) {
  if (fs::exists(folder / "features.npy")) {
    const NpyArray array = checked_length(load_npy(folder / "features.npy"), nodes, "feature rows");
    const HalfType type = manifest.feature_dtype;
    return type == HalfType::kNone ? dense_features(array) : half_features(array, type, keeps_type(options, type));
  }
  if (!fs::exists(folder / "features_indptr.npy")) return {};
  if (by_parts) return sparse_features_in_files(folder, manifest);
  const NpyArray indices = load_npy(folder / "features_indices.npy");
  const Buffer<std::int64_t> columns = to_int64(indices);
  const std::int64_t widest = columns.empty() ? 0 : *std::max_element(columns.begin(), columns.end());
  return sparse_features(load_npy(folder / "features_indptr.npy"), indices, load_npy(folder / "features_data.npy"),
                         nodes, checked_node_count(widest, "feature columns", indices.where) + 1, options.threads);
}

Labels read_labels(const fs::path& folder, const Manifest& manifest, std::int64_t nodes) {
  Labels labels;
  const fs::path path = folder / "labels.npy";
  if (!fs::exists(path)) return labels;
  const NpyArray array = checked_length(load_npy(path), nodes, "labels");
  labels.kind = manifest.label_kind;
  if (labels.kind == LabelKind::kNone) labels.kind = array.shape.size() == 1 ? LabelKind::kSingle : LabelKind::kMulti;
  labels.num_classes = manifest.num_classes;
  if (labels.kind != LabelKind::kSingle) {
    labels.num_classes = array.shape.size() == 1 ? 1 : array.dim(1);
    if (array.shape.size() > 2) expect_dims(array, 2, "labels [nodes, tasks]");
    labels.targets = to_floats(array);
    return labels;
  }
  expect_dims(array, 1, "labels [nodes]");
  const Buffer<std::int64_t> values = to_int64(array);
  labels.classes = Buffer<std::int32_t>(values.size());
  const std::int64_t largest = values.empty() ? -1 : *std::max_element(values.begin(), values.end());
  if (labels.num_classes == 0)
    labels.num_classes = checked_node_count(std::max<std::int64_t>(largest, -1) + 1, "classes", array.where);
  for (std::size_t v = 0; v < values.size(); ++v) {
    if (values[v] < -1 || values[v] >= labels.num_classes) {
      fail(array.where, fmt::format("label of node {} is {}, outside 0..{} (-1 = unlabelled)", v, values[v],
                                    labels.num_classes - 1));
    }
    labels.classes[v] = static_cast<std::int32_t>(values[v]);
  }
  return labels;
}

std::vector<NodeId> read_part(const fs::path& folder, const std::string& part, std::int64_t nodes) {
  const fs::path ids_path = folder / (part + "_idx.npy");
  const fs::path mask_path = folder / (part + "_mask.npy");
  if (fs::exists(mask_path)) {
    const NpyArray mask = checked_length(load_npy(mask_path), nodes, "mask entries");
    expect_dims(mask, 1, "a mask [nodes]");
    return mask_ids(to_bools(mask));
  }
  if (!fs::exists(ids_path)) return {};
  const NpyArray array = load_npy(ids_path);
  expect_dims(array, 1, "node ids");
  const Buffer<NodeId> ids = to_ids(array, nodes);
  std::vector<NodeId> out(ids.begin(), ids.end());
  if (!std::is_sorted(out.begin(), out.end())) std::sort(out.begin(), out.end());
  const auto twice = std::adjacent_find(out.begin(), out.end());
  if (twice != out.end()) fail(array.where, fmt::format("node {} is listed twice", *twice));
  return out;
}

std::vector<std::int64_t> read_part_starts(const fs::path& path, std::int64_t nodes) {
  const NpyArray array = load_npy(path);
  expect_dims(array, 1, "first nodes of parts [parts + 1]");
  const Buffer<std::int64_t> values = to_int64(array);
  std::vector<std::int64_t> starts(values.begin(), values.end());
  if (starts.size() < 2 || starts.front() != 0 || starts.back() != nodes ||
      !std::is_sorted(starts.begin(), starts.end())) {
    fail(array.where, fmt::format("first nodes of parts must ascend from 0 to {}", nodes),
         "make the folder again with gneiss data partition");
  }
  return starts;
}

void check_sizes(const fs::path& folder, const Manifest& manifest) {
  for (const auto& [name, record] : manifest.files) {
    const std::string path = (folder / name).string();
    std::error_code error;
    const std::uintmax_t size = fs::file_size(path, error);
    if (error)
      fail(path, "the manifest lists this file, but it is not there",
           "the folder is incomplete; copy or convert it again");
    if (size != record.bytes) {
      fail(path, fmt::format("the file has {} bytes, the manifest says {}", size, record.bytes),
           "the folder is damaged; copy or convert it again");
    }
  }
}

/// May edges and features stay unread? If not, and the folder has the parts that are asked for, a note says why.
void read_by_parts(const fs::path& folder, const Manifest& manifest, const LoadOptions& options, Dataset* out) {
  const bool cut = options.parts != 0 && is_cut_into(options.parts, folder, manifest);
  if (!options.in_files && !cut) return;
  const std::string option = asks_for_all(options, manifest);
  if (!option.empty() && options.in_files) {
    throw Error(ErrorCode::kUsage,
                fmt::format("{} looks at all edges or features, which are to stay in their files", option),
                folder.string(), "apply it first: gneiss data convert writes a folder of what it makes");
  }
  if (!option.empty()) {
    out->notes.push_back(fmt::format("{} looks at all edges or features: every rank reads the whole data set", option));
    return;
  }
  out->by_parts = true;
  out->allows_nan = options.allow_nan;
  out->files_hash = files_hash(manifest);
}

/// Large arrays have to lie in their files as they are read.
void expect_in_files(const Dataset& dataset, const fs::path& folder) {
  constexpr std::size_t kLarge = std::size_t{4} << 20;
  const auto check = [&](const auto& values, const char* file) {
    if (values.size_bytes() < kLarge || pages_are_the_files(values.data(), values.size_bytes())) return;
    fail((folder / file).string(), "its numbers are not stored as they are read, and would have to be copied to memory",
         "make the folder again with gneiss data convert, or store the array as docs/data.md says");
  };
  check(dataset.graph.sources(), "in_indices.npy");
  check(dataset.graph.weights(), "edge_weight.npy");
  check(dataset.features.dense.span(), "features.npy");
  check(dataset.features.halves.span(), "features.npy");
  check(dataset.features.indices.span(), "features_indices.npy");
  check(dataset.features.values.span(), "features_data.npy");
}

}  // namespace

Dataset read_gneiss_folder(const fs::path& given, const LoadOptions& options) {
  const fs::path folder = given.filename() == "manifest.json" ? given.parent_path() : given;
  const Manifest manifest = read_manifest(folder);
  check_sizes(folder, manifest);
  Dataset out;
  read_by_parts(folder, manifest, options, &out);
  if (options.verify_checksums && (!out.by_parts || options.in_files)) {
    for (const Finding& finding : verify_files(folder, options.threads)) {
      fail(folder.string(), finding.message, "the folder is damaged; copy or convert it again");
    }
  }
  out.name = manifest.name;
  out.format = "gneiss";
  out.class_names = manifest.class_names;
  out.notes.insert(out.notes.begin(), manifest.notes.begin(), manifest.notes.end());
  out.suggested_metric = manifest.suggested_metric;
  out.graph = out.by_parts
                  ? graph_in_files(folder, manifest)
                  : read_graph(folder, manifest.num_nodes, known_symmetry(folder, manifest, options), options.threads);
  if (options.ignore_weights && out.graph.weighted()) {
    out.graph = graph::Graph(out.num_nodes(), Buffer<EdgeId>::copy_of(out.graph.offsets()),
                             Buffer<NodeId>::copy_of(out.graph.sources()), {}, {}, options.threads);
  }
  const std::int64_t nodes = out.num_nodes();
  out.features = read_features(folder, manifest, nodes, options, out.by_parts);
  if (out.features.sparse) out.features.cols = std::max(out.features.cols, manifest.feature_width);
  if (options.in_files) expect_in_files(out, folder);
  out.labels = read_labels(folder, manifest, nodes);
  out.split = {read_part(folder, "train", nodes), read_part(folder, "val", nodes), read_part(folder, "test", nodes)};
  if (fs::exists(folder / "orig_id.npy")) {
    const Buffer<std::int64_t> ids = to_int64(checked_length(load_npy(folder / "orig_id.npy"), nodes, "original ids"));
    out.orig_id.assign(ids.begin(), ids.end());
  }
  if (fs::exists(folder / "part_starts.npy")) out.part_starts = read_part_starts(folder / "part_starts.npy", nodes);
  if (fs::exists(folder / "node_names.npy"))
    out.node_names = to_strings(checked_length(load_npy(folder / "node_names.npy"), nodes, "names"));
  return out;
}

std::vector<Finding> verify_files(const fs::path& folder, int threads) {
  std::vector<Finding> findings;
  const Manifest manifest = read_manifest(folder);
  for (const auto& [name, record] : manifest.files) {
    try {
      const MappedFile file(folder / name);
      const auto bytes = file.bytes();
      const std::uint32_t crc = checksum(file, threads);
      if (bytes.size() != record.bytes || crc != record.crc) {
        findings.push_back(
            {Severity::kError, fmt::format("{}: {} bytes with checksum {:08x}, the manifest says {} bytes with {:08x}",
                                           name, bytes.size(), crc, record.bytes, record.crc)});
      }
    } catch (const Error& error) {
      findings.push_back({Severity::kError, error.message()});
    }
  }
  return findings;
}

}  // namespace gneiss::data
