// Writing our own folder: whole or not at all. Internal to this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/dataset.h"
#include "data/manifest.h"

namespace gneiss::data {

/// Writes arrays into one folder and keeps their records.
class FolderWriter {
 public:
  FolderWriter(std::filesystem::path folder, Manifest* manifest, int threads)
      : folder_(std::move(folder)), manifest_(*manifest), threads_(threads) {}

  template <class T>
  void write(const std::string& name, const std::string& descr, std::vector<std::int64_t> shape,
             std::span<const T> values) {
    write_bytes(name + ".npy", descr, shape, std::as_bytes(values));
  }
  template <class T>
  void write(const std::string& name, const std::string& descr, std::span<const T> values) {
    write(name, descr, {static_cast<std::int64_t>(values.size())}, values);
  }

  /// Where an array that somebody else writes belongs, and its record once it is there.
  std::filesystem::path path_of(const std::string& name) const { return folder_ / (name + ".npy"); }
  void record(const std::string& name, std::uint32_t crc);

 private:
  void write_bytes(const std::string& file, const std::string& descr, const std::vector<std::int64_t>& shape,
                   std::span<const std::byte> values);

  std::filesystem::path folder_;
  Manifest& manifest_;
  int threads_;
};

/// Edges, and dense or sparse features, as they are in memory.
void write_edges(const graph::Graph& graph, FolderWriter* writer);
void write_edges_and_features(const Dataset& dataset, FolderWriter* writer);

/// As save(); `write_rows` writes edges and features. Errors: as save().
void save_folder(const Dataset& dataset, const std::filesystem::path& path, bool force, int threads,
                 const std::function<void(FolderWriter* writer)>& write_rows);

}  // namespace gneiss::data
