// From a program to a plan: kernels, bands of rows and places in memory, for what the plan is to run on.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "cost/cost.h"
#include "ir/plan.h"
#include "planner/source_tiles.h"
#include "planner/split_bands.h"
#include "planner/stream_features.h"

namespace gneiss::planner {

/// What a plan runs on.
enum class Target : std::uint8_t { kCpu, kDevice };

/// What the passes on plans go by.
struct LayoutOptions {
  SourceTiling source_tiles = SourceTiling::kAuto;
  cost::Rates rates = cost::default_rates();  ///< what choices by modelled time and the plan's times go by
  SplitLimits split_limits;
  FileRoom file_room;  ///< what need not be in memory
  StreamLimits stream_limits;
  std::int64_t feature_bytes = 0;  ///< of the features as the data set holds them
  std::set<std::string> disabled;  ///< names of passes that are not to run
};

inline constexpr const char* kFuseRows = "fuse_rows";
inline constexpr const char* kFuseEpilogues = "fuse_epilogues";
inline constexpr const char* kSplitBands = "split_bands";

/// One pass on a plan.
struct PlanPass {
  const char* name;     ///< nullptr: bookkeeping between passes, which always runs and which no report shows
  bool optional;        ///< it may be switched off
  const char* purpose;  ///< for people
  void (*run)(ir::Plan* plan, const LayoutOptions& options, std::vector<std::string>* decisions);
};

/// The passes that lay a program out for `target`, in order. The plan has nothing but its program and what is known of
/// its data; after the last pass it can run.
std::span<const PlanPass> layout_for(Target target);

}  // namespace gneiss::planner
