// Tidying up in the file system.
#pragma once

#include <filesystem>
#include <string_view>

namespace gneiss {

/// Removes a file, or a folder with all that is in it, as far as that goes: for tidying up when something else has
/// failed, or is through.
void remove_quietly(const std::filesystem::path& path) noexcept;

/// What stands behind the name of a file while AtomicFile (base/file.h) writes it, and the number of the process.
inline constexpr std::string_view kBeingWritten = ".tmp-";

/// Removes the files that AtomicFile began in a folder whose process was killed. Nobody else may write there.
void remove_half_written(const std::filesystem::path& folder) noexcept;

}  // namespace gneiss
