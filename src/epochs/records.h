// What a training keeps of its epochs and runs, for whoever reports it.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace gneiss::epochs {

/// Scores of the three parts of a split.
struct Scores {
  double train = 0;
  double val = 0;
  double test = 0;
};

/// What one epoch did. Scores and val_loss are NaN in epochs without an evaluation, and for empty parts.
struct EpochRecord {
  std::int64_t epoch = 0;  ///< from 1
  double loss = 0;         ///< of the training nodes, before the update
  double lr = 0;
  double seconds = 0;       ///< forward, backward and update
  double eval_seconds = 0;  ///< inference and scores
  bool evaluated = false;
  bool best = false;  ///< the best evaluation so far
  double val_loss = 0;
  Scores scores;
};

/// What one run did.
struct RunRecord {
  std::uint64_t seed = 0;
  std::vector<EpochRecord> epochs;
  std::int64_t best_epoch = 0;
  Scores best;                 ///< scores of the kept weights
  double best_val_loss = 0;    ///< as the monitor sees it: with the penalty for kObjective
  bool stopped_early = false;  ///< patience ran out
  bool interrupted = false;    ///< should_stop said so
};

/// Which order the nodes were put in, what that cost and what it changed.
struct ReorderReport {
  std::string asked = "none";   ///< the setting
  std::string method = "none";  ///< what was done: none, degree, rcm or clusters
  std::string reason;           ///< why, when the choice was automatic
  double seconds = 0;           ///< of finding the order, and of renaming if that was done
  // Shares of edges whose ends lie in one cluster of kClusterNodes, and in one of kRegionNodes; NaN if not measured.
  double same_cluster_before = std::numeric_limits<double>::quiet_NaN();
  double same_cluster_after = std::numeric_limits<double>::quiet_NaN();
  double same_region_before = std::numeric_limits<double>::quiet_NaN();
  double same_region_after = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace gneiss::epochs
