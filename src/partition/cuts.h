// The ways to cut a graph into parts, each callable alone. A part's work is the sum of its nodes' work: in-edges, and
// `node_work` for the node itself. All give the same parts in every run and for any number of threads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "partition/neighbours.h"
#include "partition/owners.h"

namespace gneiss::partition {

struct CutOptions {
  int parts = 1;
  double node_work = 1;  ///< of a node besides its in-edges, in edges
  int threads = 1;
  /// The edges lie in a file that is larger than the memory: ways that look here and there are not possible.
  bool in_file = false;
  double most_metis_work = 1e9;  ///< with more, METIS makes cut edges few instead of copies; see metis_work()
};

/// The work of each node, in edges.
std::vector<double> node_work(const graph::Graph& graph, const CutOptions& options);

/// Runs of the nodes as they are numbered, of about equal work.
Owners cut_contiguous(const graph::Graph& graph, const CutOptions& options);

/// The same of the nodes in the order of graph::cluster_order, so that neighbours fall into one part.
Owners cut_by_clusters(const graph::Graph& graph, const CutOptions& options);

/// Nodes by falling work, each to the part with the least so far: the most even load that is easy to have, whatever is
/// cut. The busiest part has at most 4/3 - 1/(3 parts) of the least possible. Source [graham1969lpt].
Owners cut_by_degree(const graph::Graph& graph, const CutOptions& options);

/// Whole components, the heaviest first, each into the fullest part that it still fits in. Cuts no edge.
/// Errors: kUnsupported if a component is heavier than a part may be, as the giant one of most graphs is.
Owners cut_components(const graph::Graph& graph, const Neighbours& neighbours, const CutOptions& options);

/// Nodes one after the other, three times over: each to the part that holds most of its neighbours, less a price that
/// grows with the part's load; no part above 1.05 of the mean load. Ids of any size, and memory for nodes alone.
/// Source [tsourakakis2014fennel], in passes as [nishimura2013restreaming].
Owners cut_by_stream(const graph::Graph& graph, const NeighbourRows& neighbours, const CutOptions& options);

/// A measure of what METIS does to make copies few. A node that moves changes what its neighbours' neighbours gain by
/// moving, each to any part:
///   parts * sum over v of degree(v)^2
/// 1e9 are some seconds. Cost: O(nodes).
double metis_work(const Neighbours& neighbours, int parts);

struct MetisCut {
  Owners owners;
  bool few_copies = true;  ///< what METIS made few: copies, else cut edges
  std::string remark;      ///< for people: why not copies; else empty
};

/// METIS (multilevel k-way, a node weighs its work): the least volume of copies, or where that would take long the
/// fewest cut edges; where a cut is not good enough, with looser balance, and at last by recursive bisection, which
/// counts cut edges. Good enough: no empty part, the busiest part within a tenth of the least possible, fewer edges cut
/// than nodes dealt out at random would.
/// Errors: kUnsupported if libmetis is not installed, its ids are too small for the graph, or no cut is good enough.
/// Source [karypis1998metis].
MetisCut cut_by_metis(const graph::Graph& graph, const Neighbours& neighbours, const CutOptions& options);

/// Is libmetis there? It is looked for when it is first asked for.
bool metis_is_there();

}  // namespace gneiss::partition
