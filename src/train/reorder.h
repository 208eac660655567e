// Which order the nodes are put in before training.
//
// An aggregation gathers a row per edge. Where all rows together are larger than the caches, it takes the longer the
// farther apart the ends of edges lie in memory, so a graph whose nodes are numbered at random may gain from another
// order.
#pragma once

#include <cstdint>
#include <string>

#include "cost/cost.h"
#include "epochs/records.h"
#include "graph/reorder.h"
#include "ir/program.h"

namespace gneiss::train {

/// Columns of the widest matrix that the program gathers by edges; 0 if it gathers none. A product counts with the
/// narrower of its two sides, as the order of both is to choose; features themselves, whose sums are made once, count
/// only if nothing else is gathered.
std::int64_t gathered_width(const ir::Program& program);

/// Finds the order that `method` (none, degree, rcm, clusters or auto) asks for; `order` is left empty if nodes stay
/// where they are.
///   auto: clusters, if the graph is too sparse for tiles of sources to pay, at least kLeastEpochs epochs will run,
///   and gathers of rows of `width` floats are modelled to take kLeastSaving less by `rates`; else none
epochs::ReorderReport choose_order(const graph::Graph& graph, const std::string& method, std::int64_t width,
                                   std::int64_t epochs, const cost::Rates& rates, int threads, graph::Order* order);

/// One line for people, e.g. "clusters (edges within 8192 nodes: 0.3 % before, 12.2 % after, within 65536: 2.7 %, 51.9
/// %; 2.10 s)".
std::string describe(const epochs::ReorderReport& report);

}  // namespace gneiss::train
