// What may be wrong with a data set.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace gneiss::data {

enum class Severity { kWarning, kError };

struct Finding {
  Severity severity = Severity::kWarning;
  std::string message;
};

struct ValidateOptions {
  bool allow_nan = false;
  int threads = 1;
};

/// Looks at everything that training would stumble over: NaN and infinity in features (count and first row), labels out
/// of range, empty and overlapping splits, split ids outside the graph, no training nodes, no nodes, no edges, one
/// class, classes without a training node, isolated nodes. Never throws for what it finds.
std::vector<Finding> validate(const Dataset& dataset, const ValidateOptions& options = {});

/// Compares the files of a Gneiss folder with the sizes and checksums in its manifest. Errors: kBadData when there is
/// no readable manifest.
std::vector<Finding> verify_files(const std::filesystem::path& folder, int threads = 1);

/// Throws kBadData with count and first row when a feature or an edge weight is NaN or infinite, unless `allow_nan`.
void check_finite(const Dataset& dataset, bool allow_nan, int threads = 1);

}  // namespace gneiss::data
