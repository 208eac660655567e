// How near to each other the ends of edges lie, by node ids: what gathers along them can expect of a cache.
#pragma once

#include <cstdint>

namespace gneiss {

/// Nodes whose rows, of 32 floats each, fill the second-level cache of one core: the size of a cluster at most
/// (graph::cluster_order), and what locality is measured in.
inline constexpr std::int64_t kClusterNodes = 8192;
/// Nodes at most of a cluster of clusters, whose rows a shared cache may hold.
inline constexpr std::int64_t kRegionNodes = 8 * kClusterNodes;

/// Shares of edges with both ends in one cluster of kClusterNodes, and in one region of kRegionNodes.
struct Near {
  double cluster = 0;
  double region = 0;
};

}  // namespace gneiss
