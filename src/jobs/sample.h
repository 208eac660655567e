// The batches that a training would see, for people who debug and for checks from outside.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "minibatch/loader.h"
#include "settings/config.h"

namespace gneiss::jobs {

struct SampleRequest {
  std::int64_t epoch = 1;
  std::int64_t batches = -1;         ///< the first of the epoch; -1: all
  std::filesystem::path nodes_file;  ///< ids, one a line, that are the seeds in this order; empty: the training nodes
  std::filesystem::path out;         ///< folder for batch_000000.npz …; empty: nothing is written
  bool force = false;                ///< batches that lie there are replaced
};

/// A count over batches.
struct CountSpread {
  double mean = 0;
  double deviation = 0;  ///< standard deviation of the sample
  std::int64_t largest = 0;
};

struct SampleReport {
  std::string dataset;
  std::string sampling;  ///< method, semantics and fanout
  std::string table;     ///< how ids were found again
  std::int64_t batches_per_epoch = 0;
  std::int64_t batches = 0;
  std::int64_t seeds = 0;  ///< of all batches
  CountSpread nodes;
  CountSpread edges;  ///< picks of all hops
  std::int64_t slab_bytes = 0;
  std::int64_t grown = 0;  ///< batches beyond the probed size
  int threads = 0;
  double seconds = 0;
};

/// Samples batches of an epoch and writes each as an .npz file: seeds, nodes, and for each hop indptr, src and edge;
/// ids are those of the data's file. docs/batches.md says what they mean. Errors: kUsage for settings that do not go
/// together, a data set without training nodes, or a folder that holds something; kBadData for the nodes file, naming
/// the line; kDisk, with no batch left behind.
SampleReport sample(const settings::Config& config, const SampleRequest& request);

std::string describe(const SampleReport& report);
std::string to_json(const SampleReport& report);

}  // namespace gneiss::jobs
