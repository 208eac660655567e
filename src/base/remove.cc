// Removing what was begun: a failure on the way must not hide the one that led here, so nothing is thrown.
#include "base/remove.h"

#include <exception>
#include <system_error>

namespace gneiss {

void remove_quietly(const std::filesystem::path& path) noexcept {
  try {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  } catch (const std::exception&) {  // it takes memory to walk through a folder
  }
}

}  // namespace gneiss
