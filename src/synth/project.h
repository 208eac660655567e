// A written program as a folder.
#pragma once

#include <filesystem>
#include <span>

#include "synth/target.h"

namespace gneiss::synth {

/// Writes files into a folder, which is made with its parents. With `force` files of these names are replaced, others
/// stay. Errors: kUsage if the folder holds something and `force` is not set, or if it is a file; kDisk.
void write_project(const std::filesystem::path& folder, std::span<const SourceFile> files, bool force);

}  // namespace gneiss::synth
