// NumPy .npz archives: named .npy members of a ZIP file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/npy.h"
#include "data/zip.h"

namespace gneiss::data {

class NpzFile {
 public:
  /// Opens an archive; reads no member yet. Errors: as ZipFile.
  explicit NpzFile(const std::filesystem::path& path, int threads = 1) : zip_(path, threads) {}

  const std::string& path() const { return zip_.path(); }
  /// Member names without ".npy".
  std::vector<std::string> names() const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// True if the member is there and is an array that can be read; object arrays and foreign files are not.
  bool readable(std::string_view name) const;
  /// Reads a member; stored ones are not copied. Errors: kBadData when it is absent (the hint lists what is there),
  /// holds Python objects, or is damaged.
  NpyArray array(std::string_view name) const;

 private:
  const ZipMember* find(std::string_view name) const;

  ZipFile zip_;
};

}  // namespace gneiss::data
