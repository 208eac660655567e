// A graph cut into parts, for training on several ranks.
#pragma once

#include <cstdint>
#include <string>

#include "gneiss/config.h"

namespace gneiss {

struct PartitionRequest {
  std::int64_t parts = 2;  ///< 1 to 1024
  Worded<PartitionMethod> method = PartitionMethod::kAuto;
  std::int64_t columns = 64;  ///< of the rows that ranks would send, for modelled times
  std::string out;            ///< folder to write; empty: nothing is written
  bool force = false;         ///< replace a Gneiss folder of that name
};

struct PartitionResult {
  std::string text;  ///< a table: each way to cut that was tried, then the parts of the one taken
  std::string json;
  std::string method;  ///< that was taken
};

/// Cuts the data set that `data.name` names. `auto` tries all ways and takes, of those with even loads, the one with
/// the least modelled epoch on ranks with the network of `train.network`. The folder holds the data set with its nodes
/// renamed so that each part is a run of them; training on as many ranks keeps the parts, and results name nodes as
/// before. Errors: kUsage, kBadData, kOutOfMemory, kDisk; kUnsupported if the graph cannot be cut that way.
PartitionResult partition_dataset(const RunConfig& config, const PartitionRequest& request);

}  // namespace gneiss
