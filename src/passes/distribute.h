// Pass "distribute": the program of one rank, which holds a part of the nodes and their in-edges.
#pragma once

#include <cstdint>
#include <vector>

#include "exchange/exchange.h"
#include "ir/program.h"

namespace gneiss::passes {

/// The part of one rank of several. What ranks must agree on is decided before this pass, from sizes of the whole
/// graph; after it a program has the sizes of the part.
struct Distribution {
  int ranks = 1;                         ///< 1: there is nothing to distribute
  std::int64_t owned = 0;                ///< nodes of the rank
  std::int64_t ghosts = 0;               ///< copies of others' nodes that its edges come from
  std::int64_t sends = 0;                ///< rows that it sends when every copy is refreshed
  std::vector<std::int64_t> edges = {};  ///< edges into its nodes, by graph of the program
  /// Edges out of its nodes, by graph: gradients can then go along those graphs turned round. Empty: there are none.
  std::vector<std::int64_t> reversed_edges = {};
  double loss_share = 1;              ///< its part of what the mean loss divides by
  double val_loss_share = 1;          ///< likewise of the validation loss
  std::int64_t feature_nonzeros = 0;  ///< of all nodes
  /// How devices that fetch rows take up those that they sum; halo for ranks that are sent rows.
  exchange::Exchange exchange = exchange::Exchange::kHalo;
  /// Rows and their gradients are to have the bits of one device: sums whose gradients can be fetched have a halo each,
  /// so that these are added in the order of that device. What forward would fetch twice so, cse joins.
  bool in_order = false;
  bool gives_range = false;  ///< attention is given the range of the scores of all nodes, for the same reason
  bool ids_fit = true;       ///< ids of all nodes fit into indices
};

/// Values of nodes become those of the rank's own. Where an op reads them at the sources of edges, `halo` adds the rows
/// of the ghosts; what ops sum up at sources goes back to the owners by `halo_add`. Sums over nodes or edges are added
/// over the ranks; batch norm and layer norm over the graph are written out, so that their statistics are those of all
/// nodes. Attention can be given the range of all nodes' scores by `rank_range`. Stands behind add_inference and before
/// the loss: differentiation makes what is sent on the way back.
/// Errors: kUnsupported for an op that only the whole graph can compute, with its line.
ir::Program distribute(const ir::Program& program, const Distribution& part);

/// The mean over the rank's labelled rows -> its part of the mean over all, which the ranks add up. Stands behind the
/// loss.
ir::Program share_loss(const ir::Program& program, const Distribution& part);

}  // namespace gneiss::passes
