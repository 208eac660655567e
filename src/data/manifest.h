// The manifest of a Gneiss folder. Internal to this folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace gneiss::data {

struct FileRecord {
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;
};

/// What manifest.json says. Arrays that a folder may hold are found by their file names; `files` lists those written.
struct Manifest {
  std::string name;
  std::string source;  ///< format that the data came from
  std::int64_t num_nodes = 0;
  bool symmetric = false;  ///< what the writer found; taken for granted where the checksums of the edges' files agree
  std::int64_t feature_width = 0;            ///< sparse features may end in columns that no row uses
  HalfType feature_dtype = HalfType::kNone;  ///< of features.npy; bf16 stands there as u2, which NumPy has no type for
  LabelKind label_kind = LabelKind::kNone;
  std::int64_t num_classes = 0;
  std::vector<std::string> class_names;
  std::vector<std::string> notes;
  std::string suggested_metric;
  std::map<std::string, FileRecord> files;
};

/// Reads and checks folder/manifest.json. Errors: kBadData naming the key.
Manifest read_manifest(const std::filesystem::path& folder);
/// The manifest as JSON text; `dataset` adds the numbers that are there to be read by people.
std::string manifest_text(const Manifest& manifest, const Dataset& dataset);

}  // namespace gneiss::data
