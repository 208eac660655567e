// Tidying up in the file system.
#pragma once

#include <filesystem>

namespace gneiss {

/// Removes a file, or a folder with all that is in it, as far as that goes: for tidying up when something else has
/// failed, or is through.
void remove_quietly(const std::filesystem::path& path) noexcept;

}  // namespace gneiss
