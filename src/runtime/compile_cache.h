// What compilers that run while a training runs share: the folder that keeps what they made, and what is said about
// their errors.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "runtime/host_compiler.h"

namespace gneiss::runtime {

/// `asked`, or $XDG_CACHE_HOME/gneiss/jit. Errors: kDisk if there is no such folder to be named.
std::filesystem::path cache_of(const std::filesystem::path& asked);

/// A file of the cache, named by a hash of all that it depends on; the key itself lies beside it.
class KeptFile {
 public:
  KeptFile(std::filesystem::path cache, std::string key, const std::string& ending);

  /// Was it made from this key? What is complete appears under its name, and nothing else does.
  bool is_there() const;
  const std::filesystem::path& path() const { return path_; }
  /// `compile` makes the file `made` in a folder of its own; several processes may do so at once. Errors: those of
  /// `compile`; kDisk if the cache cannot be written.
  void make(
      const std::function<void(const std::filesystem::path& folder, const std::filesystem::path& made)>& compile) const;

 private:
  std::filesystem::path cache_;
  std::string key_;
  std::filesystem::path path_;
  std::filesystem::path key_path_;
};

/// What a compiler says, the line of the text that it is about, and the line of the model above that.
std::string explain(const CppText& text, const std::string& output);

}  // namespace gneiss::runtime
