// Features, and what is made of them once, that stay in a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cost/cost.h"
#include "ir/plan.h"

namespace gneiss::planner {

/// What leaving features in their file has to be worth. The defaults keep small plans as they are.
struct StreamLimits {
  std::int64_t least_bytes = std::int64_t{256} << 20;  ///< 2 MiB for each of the most tasks of a band
  double most_time = 0.4;  ///< of a step, for all the memory of the steps; for a part of it, that part
  /// Smaller features are left in their file only where the setup does not bring them into memory all the same, and for
  /// less time.
  std::int64_t least_bytes_of_small = std::int64_t{128} << 20;
  double most_time_of_small = 0.08;
};

/// Where rows may lie besides in memory.
struct FileRoom {
  bool features = false;           ///< they are pages of a mapped file
  std::int64_t scratch_bytes = 0;  ///< for what the setup phase makes
};

/// Decides whether features that lie in a mapped file stay there (plan.features_streamed): each sweep over them then
/// maps the pages of a task's rows anew and gives them back, and memory holds those of the tasks under way. That needs
/// all ops after the setup to read features row by row, in bands. The same for results of the setup phase
/// (plan.file_constants), which it has to make row by row too: else all of them were in memory once anyway. Comes
/// between bind_kernels and fuse_rows.
void stream_features(ir::Plan* plan, const cost::Rates& rates, const FileRoom& room, const StreamLimits& limits,
                     std::vector<std::string>* decisions);

/// Does the op work on rows of values that stay in a file?
bool works_in_file(const ir::Plan& plan, const ir::Op& op);

}  // namespace gneiss::planner
