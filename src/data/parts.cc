// Arrays of 1 MiB and more are mapped, and their pages come in when somebody reads them; smaller ones are copied as
// they are read. Whoever takes a part checks its rows alone, so that the pages of others' rows are never touched.
#include "data/parts.h"

#include <utility>

#include "base/error.h"
#include "base/hash_bytes.h"
#include "base/sweep.h"
#include "data/manifest.h"
#include "data/npy.h"
#include "data/readers.h"

namespace gneiss::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMakeAgain = "make the folder again with gneiss data partition";

[[noreturn]] void fail(const std::string& where, const std::string& message) {
  throw Error(ErrorCode::kBadData, message, where, kMakeAgain);
}

NpyArray array_of(const fs::path& path, std::int64_t length, const char* what) {
  NpyArray array = load_npy(path);
  expect_dims(array, 1, what);
  if (array.count != length) fail(array.where, fmt::format("expected {} {}, got {}", length, what, array.count));
  return array;
}

/// Offsets of rows; their ends say how many entries there are.
Buffer<EdgeId> offsets_in_file(const fs::path& path, std::int64_t rows, std::int64_t entries, const char* what) {
  const NpyArray array = array_of(path, rows + 1, what);
  Buffer<EdgeId> offsets = to_int64(array);
  const EdgeId last = offsets[offsets.size() - 1];
  if (offsets[0] != 0 || last != entries)
    fail(array.where, fmt::format("offsets go from {} to {}, but there are {} entries", offsets[0], last, entries));
  return offsets;
}

Buffer<NodeId> numbers_in_file(const NpyArray& array, std::int64_t bound) {
  Buffer<NodeId> mapped = ids_in_file(array);
  return mapped.empty() ? to_ids(array, bound) : std::move(mapped);
}

/// Are the rows [begin, end) runs of ascending numbers below `bound`?
void check_pattern(const std::string& name, const char* what, std::span<const EdgeId> offsets,
                   std::span<const NodeId> entries, std::int64_t bound, std::int64_t begin, std::int64_t end) {
  for (auto v = static_cast<std::size_t>(begin); v < static_cast<std::size_t>(end); ++v) {
    const EdgeId first = offsets[v];
    const EdgeId last = offsets[v + 1];
    if (first < 0 || first > last || last > static_cast<EdgeId>(entries.size())) {
      fail(name, fmt::format("the {} of node {} are entries {} to {} of {}", what, v, first, last, entries.size()));
    }
    for (EdgeId k = first; k < last; ++k) {
      const NodeId entry = entries[static_cast<std::size_t>(k)];
      if (entry < 0 || entry >= bound)
        fail(name, fmt::format("of the {} of node {} one is {}, outside 0..{}", what, v, entry, bound - 1));
      if (k > first && entries[static_cast<std::size_t>(k - 1)] > entry)
        fail(name, fmt::format("the {} of node {} do not ascend", what, v));
    }
  }
}

}  // namespace

bool is_cut_into(int parts, const fs::path& folder, const Manifest& manifest) {
  if (!fs::exists(folder / "part_starts.npy")) return false;
  for (const char* name : {"in_indptr.npy", "in_indices.npy", "edge_weight.npy"}) {
    if (fs::exists(folder / name) && !manifest.files.contains(name)) return false;
  }
  return load_npy(folder / "part_starts.npy").count == parts + 1;
}

std::string asks_for_all(const LoadOptions& options, const Manifest& manifest) {
  if (options.to_undirected.value_or(false) && !manifest.symmetric) return "--to-undirected";
  if (options.remove_self_loops.value_or(false)) return "--remove-self-loops";
  if (options.coalesce) return "--coalesce";
  if (options.add_self_loops) return "--add-self-loops";
  if (options.ignore_weights) return "--ignore-weights";
  if (options.largest_component) return "--largest-component";
  if (options.binarize.value_or(false)) return "--binarize";
  if (options.feature_norm != "none") return "--normalize-features";
  if (options.feature_form != "auto") return "--feature-form";
  if (half_type(options.feature_dtype) != manifest.feature_dtype) return "--feature-dtype";
  return {};
}

std::uint64_t files_hash(const Manifest& manifest) {
  std::uint64_t hash = 0;
  for (const auto& [name, record] : manifest.files) {
    const std::uint64_t numbers[] = {record.bytes, record.crc};
    hash = hash_bytes(numbers, sizeof(numbers), hash_bytes(name.data(), name.size(), hash));
  }
  return hash;
}

graph::Graph graph_in_files(const fs::path& folder, const Manifest& manifest) {
  const std::int64_t nodes = checked_node_count(manifest.num_nodes, "nodes", folder.string());
  const NpyArray indices = load_npy(folder / "in_indices.npy");
  expect_dims(indices, 1, "sources [edges]");
  Buffer<EdgeId> offsets = offsets_in_file(folder / "in_indptr.npy", nodes, indices.count, "in-edge offsets");
  Buffer<float> weights;
  if (fs::exists(folder / "edge_weight.npy"))
    weights = to_floats(array_of(folder / "edge_weight.npy", indices.count, "edge weights"));
  return graph::Graph::of_fitting(nodes, std::move(offsets), numbers_in_file(indices, nodes), std::move(weights),
                                  manifest.symmetric);
}

Features sparse_features_in_files(const fs::path& folder, const Manifest& manifest) {
  Features features;
  features.rows = manifest.num_nodes;
  features.cols = manifest.feature_width;
  features.sparse = true;
  const NpyArray indices = load_npy(folder / "features_indices.npy");
  features.offsets = offsets_in_file(folder / "features_indptr.npy", features.rows, indices.count, "feature offsets");
  features.indices = numbers_in_file(indices, features.cols);
  features.values = to_floats(array_of(folder / "features_data.npy", indices.count, "feature values"));
  return features;
}

void check_in_edges(const Dataset& dataset, std::int64_t begin, std::int64_t end) {
  check_pattern(dataset.name, "in-edges", dataset.graph.offsets(), dataset.graph.sources(), dataset.num_nodes(), begin,
                end);
}

void check_all_in_edges(const Dataset& dataset) {
  constexpr std::int64_t kRows = 4096;
  const std::span<const EdgeId> offsets = dataset.graph.offsets();
  Sweep<NodeId> edges(dataset.graph.sources());
  for (std::int64_t begin = 0; begin < dataset.num_nodes(); begin += kRows) {
    const std::int64_t end = std::min(begin + kRows, dataset.num_nodes());
    check_in_edges(dataset, begin, end);
    edges.at(offsets[static_cast<std::size_t>(begin)], offsets[static_cast<std::size_t>(end)]);
  }
}

void check_feature_rows(const Dataset& dataset, std::int64_t begin, std::int64_t end) {
  const Features& features = dataset.features;
  if (!features.sparse) return;
  check_pattern(dataset.name, "features", features.offsets, features.indices, features.cols, begin, end);
}

}  // namespace gneiss::data
