// What a training on a simulated machine tells of it: the plan before, the epoch after, and both as a trace.
#pragma once

#include <filesystem>
#include <string>

#include "base/json.h"
#include "tiers/scorer.h"
#include "train/batches.h"

namespace gneiss::jobs {

/// "simulated machine uk-sage-b: paper, …": one line about the plan.
std::string describe_plan(const train::RoutedEpoch& epoch);
/// Plan, last epoch, busy shares, bytes and what waited for what: lines for people.
std::string describe_epoch(const train::RoutedEpoch& epoch);
/// "hot rows: 500 of 5000 (10.0 %) by vip, …": one line about which rows devices keep.
std::string describe_hot_rows(const tiers::HotRows& hot, const tiers::TierMap& map);
/// "hot rows of the graph: 500 of 5000 (10.0 %), 0.12 MB on the fullest device".
std::string describe_hot_edges(const train::KeptEdges& kept, std::int64_t rows);
Json to_json(const train::RoutedEpoch& epoch);
/// What several devices read in their last epoch, from where: lines for people.
std::string describe_epoch(const train::ParallelEpoch& epoch);
Json to_json(const train::ParallelEpoch& epoch);
/// "features: 980.0 MB stay in FILE, …": one line about features that are read as batches need them.
std::string describe_place(const data::FeatureFile& file, const data::Features& features);
/// What was read of them: a line for people.
std::string describe_traffic(const data::FeatureFile& file);
Json to_json(const data::FeatureFile& file);
/// The plan and, once there is one, the last epoch's run, side by side. Errors: kDisk.
void write_trace(const std::filesystem::path& path, const train::RoutedEpoch& epoch);
/// Sums, gets and waits of devices that share the graph, a process each. Errors: kDisk.
void write_trace(const std::filesystem::path& path, const std::vector<const pgas::Timeline*>& devices);

}  // namespace gneiss::jobs
