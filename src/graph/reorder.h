// Orders of the nodes in which neighbours lie close together, so that the rows that an aggregation gathers are found in
// a cache more often.
//
// An order lists old node ids by new id: order[new] = old. Every function here gives the same order for any number of
// threads. None can change a result by more than rounding; what they change is the time of a gather.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/near.h"
#include "graph/graph.h"

namespace gneiss::graph {

using Order = std::vector<NodeId>;

/// Descending in-degree, equal degrees by id.
Order degree_order(const Graph& graph);

/// Reverse Cuthill-McKee over the undirected structure: breadth first from a node of least degree in each component,
/// neighbours by degree, the whole reversed. Isolated nodes come last in the search.
/// Cost      O(m log(largest degree)), on one thread; a directed graph is transposed for it
/// Source    [cuthill1969rcm], [george1981rcm]
Order rcm_order(const Graph& graph);

/// Is an order worth its search?
using OrderTest = std::function<bool(std::span<const NodeId> order)>;

/// Clusters by size-capped label propagation, one after the other, with clusters of clusters side by side.
///   a node joins the cluster, of at most kClusterNodes nodes, that holds most of its in-neighbours; where many nodes
///   have none, most of its neighbours in either direction
/// Within a cluster nodes keep their order.
///   goes_on   asked after three of five rounds, about half of the time, with the order that they would give; where it
///   says no, the order
///             returned is empty
/// Cost      5 rounds that read 8, 16, 24, 24 and 16 neighbours a node at most; for neighbours in either direction a
/// directed graph is transposed Source    [raghavan2007lpa], size cap as in [meyerhenke2014lpa]; how we differ:
/// clusters.cc
Order cluster_order(const Graph& graph, int threads, const OrderTest& goes_on = {});

/// The graph under new node ids. Parallel edges keep their order, edge weights stay with their edges.
/// Errors    kShape if `order` is not a permutation of the nodes
Graph permute(const Graph& graph, std::span<const NodeId> order, int threads);

/// The same of a graph that is not needed any more: where its edges are pages of a file (base/file_pages.h) they are
/// read front to back and given back on the way, so that memory holds edges once and not twice.
Graph permute_once(Graph&& graph, std::span<const NodeId> order, int threads);

/// new ids by old id. Errors: kShape if `order` is not a permutation of 0..size-1.
Order inverse_order(std::span<const NodeId> order, int threads = 1);

/// Of about a million edges, evenly spaced; 1 without edges. `position`: new id by old id; empty = as they are.
Near near_edges(const Graph& graph, std::span<const NodeId> position = {}, int threads = 1);

}  // namespace gneiss::graph
