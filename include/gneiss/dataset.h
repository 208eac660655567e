// Data sets: load, make of arrays, look at, check, convert, save.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gneiss/array.h"
#include "gneiss/config.h"

namespace gneiss {

/// What is wrong with a data set.
struct DatasetFinding {
  bool is_error = false;  ///< else a warning
  std::string message;
};

/// A format or a generator, for help.
struct NamedSummary {
  std::string name;
  std::string summary;
};

/// A data set in memory.
class Dataset {
 public:
  Dataset(Dataset&& other) noexcept;
  Dataset& operator=(Dataset&& other) noexcept;
  ~Dataset();

  /// Makes a data set of arrays in memory. Dense features in f32 row by row, and edges by destination (csc) in the
  /// types that a graph has, are read where they lie for as long as the data set or a training of it needs them; they
  /// must not change meanwhile, and are never written. Everything else is converted once.
  /// Errors: kBadData naming the argument, the first element that is wrong, and what to do; kUsage for arguments that
  /// do not go together; kOutOfMemory.
  static Dataset from_arrays(const DatasetArrays& arrays);

  /// The arrays of this data set, edges by destination (csc); parts of the split are node numbers. They are read only
  /// and keep their memory. Features in 16 bits are widened.
  DatasetArrays arrays() const;

  const std::string& name() const;
  std::int64_t num_nodes() const;
  std::int64_t num_edges() const;
  std::int64_t num_features() const;
  std::int64_t num_classes() const;
  /// What was done to the data on the way in, and what was copied.
  const std::vector<std::string>& notes() const;

  /// Numbers and notes as people read them.
  std::string describe() const;
  /// The same as one JSON object: nodes, edges, features, feature_nonzeros, classes and more.
  std::string to_json() const;
  /// Everything that training would stumble over; empty = nothing.
  std::vector<DatasetFinding> validate(bool allow_nan = false) const;
  /// Writes a Gneiss folder: manifest.json and arrays that NumPy can map. It appears whole or not at all.
  /// Errors: kUsage if `path` exists and `force` is not set; kDisk.
  void save(const std::string& path, bool force = false) const;

  struct Impl;
  explicit Dataset(std::unique_ptr<Impl> impl);
  const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// Loads what `data.name` of the config names, with its other `data.` settings. Errors: kUsage, kBadData, kOutOfMemory.
Dataset load_dataset(const RunConfig& config);

/// What a data set that was written has.
struct DatasetSizes {
  std::int64_t nodes = 0;
  std::int64_t edges = 0;
  std::int64_t features = 0;
  std::int64_t classes = 0;
};

/// Loads what `data.name` names and writes a Gneiss folder, as load_dataset and Dataset::save do. With `train.mem` the
/// name is a generator's, and that much memory is taken: the folder is the same, byte for byte.
/// Errors: as both; kUsage for options that need all edges or features at once; kOutOfMemory with a number that is
/// enough.
DatasetSizes write_dataset(const RunConfig& config, const std::string& path, bool force = false);

/// For programs, once: from now on the process says which file it was, and ends with the exit code of bad data or of a
/// failing disk, where a file that is mapped into memory becomes shorter or cannot be read. It takes over SIGBUS.
void name_unreadable_files();

/// Formats that can be read, and generators and presets that can be named.
std::vector<NamedSummary> dataset_formats();
std::vector<NamedSummary> dataset_generators();

}  // namespace gneiss
