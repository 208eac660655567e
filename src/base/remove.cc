// Removing what was begun: a failure on the way must not hide the one that led here, so nothing is thrown.
#include "base/remove.h"

#include <exception>
#include <string>
#include <system_error>

namespace gneiss {

void remove_quietly(const std::filesystem::path& path) noexcept {
  try {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  } catch (const std::exception&) {  // it takes memory to walk through a folder
  }
}

void remove_half_written(const std::filesystem::path& folder) noexcept {
  try {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
      if (entry.path().filename().string().find(kBeingWritten) != std::string::npos)
        std::filesystem::remove(entry.path(), ignored);
    }
  } catch (const std::exception&) {  // likewise
  }
}

}  // namespace gneiss
