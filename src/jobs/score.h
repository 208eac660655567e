// How well scores foretell which rows batches will read: `gneiss data score`.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "settings/config.h"

namespace gneiss::jobs {

struct ScoreRequest {
  std::string scores = "auto";        ///< names, or auto: all, and the best of them by batches apart
  std::int64_t epochs = 2;            ///< that are held out to measure on
  std::int64_t presample_epochs = 2;  ///< that the score presample counts over
  std::int64_t iterations = 0;        ///< of the weighted reverse PageRank; 0: as many as hops
  double damping = 0.85;              ///< of both reverse PageRanks
};

/// Parts of the nodes that are taken to be hot.
inline constexpr std::array<double, 4> kHotShares = {0.01, 0.05, 0.10, 0.25};

struct ScoreRow {
  std::string name;
  std::array<double, kHotShares.size()> hits{};  ///< share of the rows read that would have been hot
  double seconds = 0;                            ///< to score and sort
};

struct ScoreReport {
  std::string dataset;
  std::string sampling;
  std::int64_t epochs = 0;
  std::int64_t batches = 0;  ///< of all epochs
  std::int64_t rows = 0;     ///< that these read
  std::vector<ScoreRow> scores;
  ScoreRow oracle;                                    ///< seconds: sampling the held-out epochs
  bool is_auto = false;                               ///< the best was asked for
  std::array<std::string, kHotShares.size()> chosen;  ///< by share
  ScoreRow chosen_hits;                               ///< seconds: of all scores and of sampling to choose by
  std::int64_t choice_batches = 0;
};

/// Scores the nodes and measures the scores on held-out epochs of the sampler, those that a training with this seed
/// begins with. With `train.mem` features of a Gneiss folder are not read, and edges are the pages of its file.
/// Errors: kUsage for unknown scores, numbers that make no sense, or a data set without training nodes; kOutOfMemory
/// with a number that is enough.
ScoreReport score(const settings::Config& config, const ScoreRequest& request);

std::string describe(const ScoreReport& report);
std::string to_json(const ScoreReport& report);

}  // namespace gneiss::jobs
