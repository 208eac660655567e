// A data set cut into parts for several ranks, and what `auto` compares cuts by.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "partition/choose.h"
#include "settings/config.h"

namespace gneiss::jobs {

struct PartitionRequest {
  std::int64_t parts = 2;
  std::string method = "auto";
  std::int64_t columns = 64;  ///< of the rows that ranks would send
  std::filesystem::path out;  ///< empty: nothing is written
  bool force = false;
};

struct PartitionReport {
  std::string dataset;
  std::int64_t nodes = 0;
  std::int64_t edges = 0;
  int parts = 0;
  partition::EpochModel model;
  std::string rates;                 ///< whose rates sums are modelled by, for people
  std::string network;               ///< where the network comes from, for people
  std::vector<partition::Cut> cuts;  ///< those that were tried; owners are dropped
  std::size_t taken = 0;
  std::vector<partition::Refusal> refused;
  std::string out;

  const partition::Cut& chosen() const { return cuts[taken]; }
};

/// See gneiss/partition.h. Errors: kUsage, kUnsupported, and as reading and writing the data.
PartitionReport partition_data(const settings::Config& config, const PartitionRequest& request);

std::string describe(const PartitionReport& report);
std::string to_json(const PartitionReport& report);

}  // namespace gneiss::jobs
