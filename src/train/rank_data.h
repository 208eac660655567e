// A rank's part of a data set: its nodes with their in-edges, features and labels, and what it knows of the others.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/halo.h"
#include "data/dataset.h"
#include "exchange/exchange.h"
#include "exchange/resources.h"
#include "exchange/tuner.h"
#include "graph/graph.h"
#include "passes/loss.h"
#include "pgas/space.h"
#include "pgas/symmetric_heap.h"

namespace gneiss::runtime {
class Nvshmem;
}  // namespace gneiss::runtime

namespace gneiss::train {

/// What a session has to know when it is one rank of several.
struct RankPart {
  comm::Communicator* communicator = nullptr;
  comm::HaloPlan halo;
  pgas::Space* space = nullptr;                             ///< of a device that fetches others' rows; else null
  std::shared_ptr<pgas::SymmetricHeap> heap;                ///< of a device that is a process; else null
  runtime::Nvshmem* nvshmem = nullptr;                      ///< of such a one: see runtime::DeviceRank
  exchange::Exchange exchange = exchange::Exchange::kHalo;  ///< how it takes up rows that it sums
  exchange::Tuning tuning;                                  ///< of the exchange fine
  exchange::Tuner* tuner = nullptr;                         ///< of fine, while its numbers are looked for; else null
  std::vector<std::int64_t> starts;                         ///< [ranks + 1]: first nodes of the ranks' ranges
  std::vector<std::int64_t> ids;                            ///< what keys random draws, of own nodes and then of ghosts
  /// Places of own nodes and ghosts in the data set as it came, if edges into a node are to have its order; else empty.
  std::vector<std::int64_t> order;
  bool in_order = false;  ///< there is an order, of no places where a device has no nodes
  /// The out-edges of own nodes turned round, over the same columns, if gradients are to go along them; else null. The
  /// session brings its rows into `order`.
  std::shared_ptr<graph::Graph> reversed;
  double loss_share = 1;      ///< of what the mean loss over all training nodes divides by
  double val_loss_share = 1;  ///< likewise of the validation loss
  bool validates = false;     ///< there are labelled validation nodes, here or elsewhere
  // Of the whole graph: what all ranks choose by.
  std::int64_t edges = 0;
  std::int64_t feature_nonzeros = 0;
  bool weighted = false;
  bool symmetric = false;
  bool ids_fit = true;  ///< into indices of values (int32)

  std::int64_t nodes() const { return starts.back(); }
};

struct RankData {
  data::Dataset dataset;  ///< own nodes; its graph has columns for ghosts too, its split no test nodes
  RankPart part;
};

/// Do devices that fetch rows have the out-edges of their nodes too? Gradients then go along these by halo, and
/// aggregations have one device's bits both ways. A graph that is its own transpose needs none, and of data that are
/// read by parts nobody has others' edges.
bool is_cut_both_ways(const data::Dataset& whole, exchange::Exchange how);

/// The part of rank `rank`, without what only the ranks together know: the lists of its halo, its shares of losses, and
/// of feature_nonzeros only its own. Of edges and features no row of others is read. Of the halo there are the numbers
/// of own, interior and ghost rows. `*ghosts`: the nodes that its ghosts are. `both_ways`: the part has out-edges too,
/// which takes the edges of all others; interior rows then have no ghost at either end.
RankData cut_part(const data::Dataset& whole, std::span<const std::int64_t> starts, int rank,
                  std::vector<NodeId>* ghosts, bool both_ways = false);

/// The part of the communicator's rank. All ranks call it, with the same data set and starts.
///   class_weights  of the cross entropy; empty: all one
///   both_ways      as in cut_part
RankData cut_dataset(const data::Dataset& whole, std::span<const std::int64_t> starts, comm::Communicator& communicator,
                     passes::LossSpec::Kind loss, std::span<const float> class_weights, bool both_ways = false);

/// What the mean loss of these rows divides by: labelled nodes by their classes' weights, or labelled entries.
double loss_weight(const data::Labels& labels, std::span<const NodeId> rows, passes::LossSpec::Kind loss,
                   std::span<const float> class_weights);

}  // namespace gneiss::train
