// One door to every data set: a generator's name, a file or a folder in any known format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"

namespace gneiss::data {

/// What overrules the reading of text tables. Columns are given by name or, from 1, by number.
struct TableOptions {
  std::string separator;       ///< comma, tab, semicolon, space, pipe; "" = as the first rows say
  std::string decimal;         ///< point or comma; "" = as the first rows say
  std::optional<bool> header;  ///< of an edge list: its first row names columns
  std::string source_column;   ///< of an edge list
  std::string target_column;
  std::string weight_column;
  std::string id_column;     ///< of feature and label files: the node of a row
  std::string label_column;  ///< of a label file; left out of a feature file
};

struct LoadOptions {
  std::string format = "auto";  ///< one of data_format_names(), or "auto": by content

  /// Which nodes train, validate and test: "" = the format's own (see docs), "public", "0".."9" = the K-th of the
  /// file's splits, "random" = 20 a class / 500 / 1000, "shchur" = 20 a class / 30 a class / the rest, "ratio:60/20/20"
  /// = parts of the labelled nodes, "none".
  std::string split;
  bool own_split_only = false;   ///< take the split if the data bring it, else none: nothing is drawn or refused
  std::uint64_t seed = 0;        ///< random splits, and generators whose spec names no seed
  std::uint64_t split_draw = 0;  ///< which of a seed's random splits: another one of the same data for each number
  int threads = 1;               ///< never changes a result

  std::optional<bool> to_undirected;      ///< add every edge's reverse; unset = the format's habit in PyG
  std::optional<bool> remove_self_loops;  ///< unset = the format's habit in PyG
  bool coalesce = false;                  ///< merge parallel edges
  bool add_self_loops = false;
  bool ignore_weights = false;
  bool largest_component = false;  ///< keep only the largest weakly connected component

  std::optional<bool> binarize;          ///< non-zero features become 1; unset = the format's habit in PyG
  std::string feature_norm = "none";     ///< none, row, standard, train-standard or binary
  FeatureStatistics feature_statistics;  ///< of other data, for the same norm: used instead of this data's own
  std::string feature_form = "auto";     ///< auto = as read; dense; sparse
  std::string feature_dtype = "f32";     ///< f32, bf16 or f16: how dense features are kept, after all else

  std::filesystem::path features_path;  ///< edge lists and matrices: .npy, or text rows (see docs)
  std::filesystem::path labels_path;    ///< likewise
  std::filesystem::path train_ids;      ///< any format: files of node ids, or masks, that replace the split
  std::filesystem::path val_ids;
  std::filesystem::path test_ids;
  std::string label_kind = "auto";  ///< of labels_path: auto, class, multi or regression
  TableOptions tables;

  /// A Gneiss folder that was cut into so many parts keeps its edges and features in their files, unread, where no
  /// option asks for all of them: who takes a part reads and checks it (data/parts.h). 0: everything is read.
  int parts = 0;

  /// The same of any Gneiss folder, for who goes through it row by row; its checksums are looked at all the same, and
  /// options that ask for all are refused.
  bool in_files = false;

  bool verify_checksums = true;  ///< of a Gneiss folder's files; costs about a second per gigabyte
  bool allow_nan = false;        ///< accept NaN and infinity in features
  std::int64_t max_bytes = 0;    ///< refuse data larger than this; 0 = the memory that the process may use
};

/// Loads `what`: a generator spec ("karate", "dcsbm:nodes=1000,classes=5"), a preset ("ogbn-arxiv:scale=0.1"), or a
/// path. Errors: kUsage for unknown names, options and values (with the nearest known one); kBadData for content.
Dataset load(const std::string& what, const LoadOptions& options = {});

/// Makes the data set of a generator's spec and writes the folder that load() and save() would, byte for byte, within
/// `options.max_bytes` of memory (0 = what the process may use): a part of the edges and a few rows of features are
/// there at a time. Returns the data set without values of its features. Errors: kUsage for what is no generator, and
/// for options that need all edges or features at once, naming them; kOutOfMemory with a number that is enough;
/// otherwise as load() and save().
Dataset generate_folder(const std::string& spec, const LoadOptions& options, const std::filesystem::path& path,
                        bool force = false);

/// Formats that can be read, for help and documentation: name and one line each.
struct FormatInfo {
  std::string name;
  std::string summary;
};
const std::vector<FormatInfo>& data_formats();
std::vector<std::string> data_format_names();

/// Does `what` name a Gneiss folder, or its manifest?
bool is_gneiss_folder(const std::filesystem::path& what);

/// Writes a data set as a Gneiss folder: manifest.json and mappable .npy arrays. The folder appears whole or not at
/// all. Errors: kUsage when `path` exists and `force` is not set (or is no Gneiss folder even then); kDisk.
void save(const Dataset& dataset, const std::filesystem::path& path, bool force = false, int threads = 1);

}  // namespace gneiss::data
