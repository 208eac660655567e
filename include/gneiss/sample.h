// The mini-batches that a training would see.
#pragma once

#include <cstdint>
#include <string>

#include "gneiss/config.h"

namespace gneiss {

/// Which batches of an epoch, and where they go.
struct SampleRequest {
  std::int64_t epoch = 1;     ///< from 1
  std::int64_t batches = -1;  ///< the first of the epoch; -1: all
  std::string nodes_file;     ///< ids, one a line, that are the seeds in this order; empty: the training nodes
  std::string out;            ///< folder for batch_000000.npz …; empty: nothing is written
  bool force = false;         ///< replace batches that lie there
};

struct SampleResult {
  std::string text;  ///< what was sampled, and how large batches are
  std::string json;
  std::int64_t batches = 0;
};

/// Samples as the settings `batch.` say. Errors: kUsage, kBadData, kOutOfMemory, kDisk; no batch is left on disk then.
SampleResult sample_batches(const RunConfig& config, const SampleRequest& request);

}  // namespace gneiss
