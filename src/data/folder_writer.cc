// Arrays go to a folder beside the target, which then takes its name.
#include "data/folder_writer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/remove.h"
#include "data/load.h"
#include "data/npy.h"

namespace gneiss::data {
namespace {

namespace fs = std::filesystem;

void write_names(const std::vector<std::string>& names, FolderWriter* writer) {
  std::size_t width = 1;
  for (const std::string& name : names) width = std::max(width, name.size());
  std::string packed(width * names.size(), '\0');
  for (std::size_t i = 0; i < names.size(); ++i) names[i].copy(packed.data() + i * width, width);
  writer->write("node_names", fmt::format("|S{}", width), {static_cast<std::int64_t>(names.size())},
                std::span<const char>(packed));
}

/// What nodes have besides.
void write_nodes(const Dataset& d, FolderWriter* writer) {
  const Labels& l = d.labels;
  if (l.kind == LabelKind::kSingle) writer->write("labels", "<i4", l.classes.span());
  if (l.kind == LabelKind::kMulti || l.kind == LabelKind::kRegression)
    writer->write("labels", "<f4", {d.num_nodes(), l.num_classes}, l.targets.span());
  const std::pair<const char*, const std::vector<NodeId>*> parts[] = {
      {"train_idx", &d.split.train}, {"val_idx", &d.split.val}, {"test_idx", &d.split.test}};
  for (const auto& [name, ids] : parts) {
    if (!ids->empty()) writer->write(name, "<i4", std::span<const NodeId>(*ids));
  }
  if (!d.orig_id.empty()) writer->write("orig_id", "<i8", std::span<const std::int64_t>(d.orig_id));
  if (!d.node_names.empty()) write_names(d.node_names, writer);
  if (!d.part_starts.empty()) writer->write("part_starts", "<i8", std::span<const std::int64_t>(d.part_starts));
}

void check_target(const fs::path& path, bool force) {
  if (!fs::exists(path)) return;
  if (!force)
    throw Error(ErrorCode::kUsage, fmt::format("'{}' exists", path.string()), path.string(),
                "give another path, or --force to replace it");
  const bool ours = fs::is_directory(path) && (fs::exists(path / "manifest.json") || fs::is_empty(path));
  if (!ours) {
    throw Error(ErrorCode::kUsage,
                fmt::format("'{}' exists and is not a Gneiss folder; it is not replaced", path.string()), path.string(),
                "give another path");
  }
  if (fs::exists(path / "manifest.json")) read_manifest(path);
}

/// Removes its folder unless told to keep it.
struct TemporaryFolder {
  fs::path path;
  bool keep = false;
  ~TemporaryFolder() {
    if (!keep) remove_quietly(path);
  }
};

void save_checked(const Dataset& dataset, const fs::path& path, bool force, int threads,
                  const std::function<void(FolderWriter*)>& write_rows_of) {
  const fs::path target = path.has_filename() ? path : path.parent_path();
  check_target(target, force);
  TemporaryFolder temporary{target.string() + fmt::format(".tmp-{}", getpid())};
  make_folder(temporary.path);
  Manifest manifest;
  manifest.name = dataset.name;
  manifest.source = dataset.format;
  manifest.num_nodes = dataset.num_nodes();
  manifest.symmetric = dataset.graph.symmetric();
  manifest.label_kind = dataset.labels.kind;
  manifest.num_classes = dataset.labels.num_classes;
  manifest.class_names = dataset.class_names;
  manifest.notes = dataset.notes;
  manifest.suggested_metric = dataset.suggested_metric;
  FolderWriter writer(temporary.path, &manifest, threads);
  write_rows_of(&writer);
  write_nodes(dataset, &writer);
  write_file(temporary.path / "manifest.json", manifest_text(manifest, dataset));

  std::error_code error;
  TemporaryFolder old{target.string() + fmt::format(".old-{}", getpid())};
  if (fs::exists(target)) fs::rename(target, old.path, error);
  if (!error) fs::rename(temporary.path, target, error);
  if (error) {
    std::error_code lost;
    if (fs::exists(old.path)) fs::rename(old.path, target, lost);
    old.keep = static_cast<bool>(lost);  // rather under another name than not at all
    throw Error(ErrorCode::kDisk, fmt::format("cannot write '{}': {}", target.string(), error.message()),
                target.string());
  }
  temporary.keep = true;
}

}  // namespace

void write_edges(const graph::Graph& graph, FolderWriter* writer) {
  writer->write("in_indptr", "<i8", graph.offsets());
  writer->write("in_indices", "<i4", graph.sources());
  if (graph.weighted()) writer->write("edge_weight", "<f4", graph.weights());
}

void write_edges_and_features(const Dataset& d, FolderWriter* writer) {
  write_edges(d.graph, writer);
  const Features& f = d.features;
  if (f.sparse) {
    writer->write("features_indptr", "<i8", f.offsets.span());
    writer->write("features_indices", "<i4", f.indices.span());
    writer->write("features_data", "<f4", f.values.span());
  } else if (!f.empty()) {
    if (f.dtype == HalfType::kNone) {
      writer->write("features", "<f4", {f.rows, f.cols}, f.dense.span());
    } else {
      writer->write("features", f.dtype == HalfType::kBf16 ? "<u2" : "<f2", {f.rows, f.cols}, f.halves.span());
    }
  }
}

void FolderWriter::record(const std::string& name, std::uint32_t crc) {
  const std::string file = name + ".npy";
  manifest_.files[file] = {fs::file_size(folder_ / file), crc};
}

void FolderWriter::write_bytes(const std::string& file, const std::string& descr,
                               const std::vector<std::int64_t>& shape, std::span<const std::byte> values) {
  const std::uint32_t crc = write_npy(folder_ / file, descr, shape, values, threads_);
  manifest_.files[file] = {fs::file_size(folder_ / file), crc};
}

void save_folder(const Dataset& dataset, const fs::path& path, bool force, int threads,
                 const std::function<void(FolderWriter* writer)>& write_rows) {
  try {
    save_checked(dataset, path, force, threads, write_rows);
  } catch (const fs::filesystem_error& error) {
    throw Error(ErrorCode::kDisk, fmt::format("cannot write '{}': {}", path.string(), error.code().message()),
                path.string(), "check the path and its permissions");
  }
}

void save(const Dataset& dataset, const fs::path& path, bool force, int threads) {
  save_folder(dataset, path, force, threads, [&](FolderWriter* writer) { write_edges_and_features(dataset, writer); });
}

}  // namespace gneiss::data
