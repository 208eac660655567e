// Writing NumPy .npz archives: .npy arrays as stored members of a ZIP file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gneiss::data {

/// What a .npy file begins with, padded so that the data behind it begin at a multiple of `alignment`, at least 128.
std::string npy_header(const std::string& descr, const std::vector<std::int64_t>& shape, std::size_t alignment);

/// Writes an archive of stored arrays, all or nothing. Members appear in the order in which they are added; their bytes
/// must stay until commit(). The same arrays give the same file.
class NpzWriter {
 public:
  explicit NpzWriter(std::filesystem::path path) : path_(std::move(path)) {}
  /// Adds an array of one dimension; `descr` is its NumPy type, such as "<i8".
  template <class T>
  void add(const std::string& name, const std::string& descr, std::span<const T> values) {
    add_bytes(name, descr, static_cast<std::int64_t>(values.size()), std::as_bytes(values));
  }
  /// Errors: kDisk; kUnsupported beyond the 4 GiB that a plain ZIP archive holds.
  void commit();

 private:
  struct Member {
    std::string name;
    std::string header;  ///< of the .npy
    std::span<const std::byte> data;
    std::uint32_t crc = 0;
    std::uint64_t offset = 0;

    std::uint64_t bytes() const { return header.size() + data.size(); }
  };
  void add_bytes(const std::string& name, const std::string& descr, std::int64_t size, std::span<const std::byte> data);

  std::filesystem::path path_;
  std::vector<Member> members_;
};

}  // namespace gneiss::data
