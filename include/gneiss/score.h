// How well scores of the nodes foretell which rows mini-batches will read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gneiss/config.h"

namespace gneiss {

struct ScoreRequest {
  Worded<std::vector<HotScore>> scores = std::vector{HotScore::kAuto};  ///< kAuto: all, and a choice
  std::int64_t epochs = 2;                                              ///< that are held out to measure on
  std::int64_t presample_epochs = 2;                                    ///< that presample counts over
  std::int64_t iterations = 0;                                          ///< of wrpr; 0: as many as hops
  double damping = 0.85;                                                ///< of rpr and wrpr
};

struct ScoreResult {
  std::string text;  ///< hit rates at 1, 5, 10 and 25 % of the rows, beside the best that there can be
  std::string json;
};

/// Measures scores on batches drawn as the settings `batch.` say. Errors: kUsage, kBadData, kOutOfMemory.
ScoreResult score_nodes(const RunConfig& config, const ScoreRequest& request);

}  // namespace gneiss
