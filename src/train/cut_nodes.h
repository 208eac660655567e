// Deals the nodes of a data set out to ranks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "graph/reorder.h"
#include "partition/choose.h"
#include "partition/report.h"

namespace gneiss::train {

/// How nodes are dealt out to ranks.
struct Cutting {
  std::string method = "contiguous";  ///< one of partition::cut_methods()
  partition::EpochModel model;        ///< what `auto` compares by
};

struct NodeCut {
  std::vector<std::int64_t> starts;         ///< [parts + 1] first nodes of the parts
  graph::Order order;                       ///< the old name of each node; empty if all kept theirs
  std::string method;                       ///< by which it was made; empty: the data set had such parts
  std::string description;                  ///< how, for people
  std::vector<partition::Refusal> refused;  ///< what `auto` could not try
};

/// How nodes are to be named so that parts are runs of them and each part's interior nodes come first. A data set that
/// was cut into as many parts keeps those. Errors: as partition::cut_graph.
NodeCut find_cut(int parts, const Cutting& cutting, int threads, const data::Dataset& dataset);
/// The same, and renames the nodes so.
NodeCut cut_nodes(int parts, const Cutting& cutting, int threads, data::Dataset* dataset);

/// By which processes compare their cuts.
std::uint64_t cut_hash(const data::Dataset& dataset, std::span<const std::int64_t> starts);

}  // namespace gneiss::train
