// Which format lies at a path. Internal to this folder.
#pragma once

#include <filesystem>
#include <string>

namespace gneiss::data {

struct Located {
  std::string format;
  std::filesystem::path path;  ///< the file or folder that the format's reader takes
};

/// Recognises a file by its first bytes and a folder by what it holds. Errors: kBadData when nothing matches (what was
/// looked for is listed) or several things do; kUsage with the nearest generator for a mere name that is none.
Located locate(const std::string& what);

}  // namespace gneiss::data
