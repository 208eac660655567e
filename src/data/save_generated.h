// Folders of generated data sets that memory does not hold.
#pragma once

#include <filesystem>

#include "base/half.h"
#include "data/generate.h"

namespace gneiss::data {

/// Writes the folder that save() writes of with_features(made) with dense features in `type`: some rows of features are
/// made, written and forgotten at a time, and edges that lie in a file are read front to back.
/// Memory  some MiB, or a row of features if that is more
/// Errors  as save()
void save_generated(const Generated& made, HalfType type, const std::filesystem::path& path, bool force, int threads);

}  // namespace gneiss::data
