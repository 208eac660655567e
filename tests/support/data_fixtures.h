// Files for tests of the readers: made byte by byte, so that each part can be wrong on purpose.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/error.h"
#include "data/dataset.h"

namespace gneiss::testing {

/// A folder of its own, removed at the end.
class TempFolder {
 public:
  TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder();

  const std::filesystem::path& path() const { return path_; }
  /// Writes a file below the folder and returns its path.
  std::filesystem::path write(const std::string& name, std::string_view content) const;

 private:
  std::filesystem::path path_;
};

/// A variable of the environment that has another value for a while.
class Environment {
 public:
  Environment(std::string name, const std::string& value);
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment();

 private:
  std::string name_;
  std::optional<std::string> before_;
};

/// Runs `action` and returns the error it throws; a test failure (and an error of code kInternal) if it throws none.
Error error_of(const std::function<void()>& action);

/// The folder of a real data set, from $GNEISS_DATA or ../shared/data beside the sources; nothing if it is not there.
std::optional<std::filesystem::path> real_data(const std::string& name);

/// A small input under tests/data.
std::string test_data(const std::string& name);

/// Edges with the ids of the file, "a>b" or, weighted, "a>b 0.5"; sorted.
std::vector<std::string> named_edges(const data::Dataset& dataset);

template <class T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// A buffer's elements, for matchers.
template <class T>
std::vector<T> list(const Buffer<T>& buffer) {
  return {buffer.begin(), buffer.end()};
}
template <class T>
std::vector<T> list(std::span<const T> values) {
  return {values.begin(), values.end()};
}

/// A version 1 .npy file with this header dict.
std::string npy_with_header(const std::string& dict, const std::string& data);
/// A .npy file; `shape` as in Python, e.g. "(2, 3)".
std::string npy(const std::string& descr, const std::string& shape, const std::string& data, bool fortran = false);
std::string npy_f4(const std::string& shape, const std::vector<float>& values);
std::string npy_i4(const std::string& shape, const std::vector<std::int32_t>& values);
std::string npy_i8(const std::string& shape, const std::vector<std::int64_t>& values);
std::string npy_bool(const std::string& shape, const std::vector<std::uint8_t>& values);

/// A member of a ZIP archive; the optional fields override what is true.
struct ZipPart {
  std::string name;
  std::string content;
  bool deflate = false;
  std::optional<std::string> local_name;
  std::optional<std::uint32_t> crc;
  std::optional<std::uint64_t> bytes;         ///< uncompressed size in the directory and the local header
  std::optional<std::uint64_t> local_bytes;   ///< in the local header only
  std::optional<std::uint64_t> packed_bytes;  ///< compressed size in both
  std::optional<std::uint16_t> method;
  std::optional<std::uint32_t> offset;  ///< of the local header, in the directory
  std::uint16_t flags = 0;
  bool zip64 = false;  ///< sizes in ZIP64 fields
};
std::string zip(const std::vector<ZipPart>& parts, std::optional<std::uint16_t> entries = {});
/// An .npz archive of stored members.
std::string npz(const std::vector<std::pair<std::string, std::string>>& members, bool deflate = false);

std::string deflate_raw(const std::string& content);
std::string gzip(const std::string& content);

/// Writes pickles of protocol 2 as Python 2, NumPy and SciPy did.
class PickleWriter {
 public:
  PickleWriter() : text_("\x80\x02") {}
  PickleWriter& op(std::string_view bytes);
  PickleWriter& integer(std::int32_t value);
  PickleWriter& string(std::string_view value);
  PickleWriter& array(const std::string& type, const std::vector<std::int32_t>& shape, const std::string& data);
  PickleWriter& matrix(std::int32_t rows, std::int32_t cols, const std::vector<std::int32_t>& offsets,
                       const std::vector<std::int32_t>& indices, const std::vector<float>& values);
  /// defaultdict(list) of neighbour lists: list v belongs to key v.
  PickleWriter& adjacency(const std::vector<std::vector<std::int32_t>>& lists);
  std::string finish() const { return text_ + "."; }

 private:
  std::string text_;
};

/// A Planetoid set "tiny" of 8 nodes: allx rows 0..4 (x = 0, 1), test.index 7, 5 (6 is missing), 3 classes, 4 features.
/// Edges 0-1 (twice), 1-2, 2-2, 3-4, 5-7. Returns the folder.
std::filesystem::path write_planetoid(const TempFolder& folder, const std::string& name = "tiny");

/// The members of a gnn-benchmark archive of 3 nodes: edges 0->1, 1->2, 2->2; features [[1, 0], [0, 3], [0, 0]]; labels
/// 0, 1, 1.
std::vector<std::pair<std::string, std::string>> gnn_benchmark_members();
/// The members of a heterophilous archive of 4 nodes: edges 0-1, 1-2, 2-3; 2 features; classes 0, 1, 0, 1; two splits.
std::vector<std::pair<std::string, std::string>> heterophilous_members();

}  // namespace gneiss::testing
