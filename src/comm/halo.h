// Rows of nodes and the copies of them that other ranks hold.
//
// A rank owns rows of its own nodes; what it reads of others' nodes besides are ghosts, one row each, behind its own:
// by owner, and of one owner in the order of their nodes. What a rank receives from another so lies together, and the
// list of rows to send is all that a plan has to keep.
// Source: the plan of hypre (par_csr_communication.h); PETSc SF for its two directions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "comm/communicator.h"

namespace gneiss::comm {

struct HaloPlan {
  std::int64_t owned = 0;
  std::int64_t ghosts = 0;
  std::int64_t interior = 0;             ///< own rows before the first that an edge from a ghost comes into
  std::int64_t interior_loss_rows = 0;   ///< training nodes among these rows
  std::vector<std::int64_t> receive_at;  ///< [ranks + 1]: ghosts by owner
  std::vector<std::int64_t> send_at;     ///< [ranks + 1]: places in send_rows by receiver
  std::vector<NodeId> send_rows;         ///< own rows that others hold copies of
  // For who reads in others' memory instead of being sent rows:
  std::vector<NodeId> ghost_rows;     ///< [ghosts] which of its owner's rows each is
  std::vector<std::int64_t> held_at;  ///< [ranks] the first row at which rank p holds copies of own rows

  std::int64_t sends() const { return static_cast<std::int64_t>(send_rows.size()); }
};

/// Asks the owners for the rows that this rank wants.
///   starts  [ranks + 1]: rank p owns the nodes [starts[p], starts[p + 1])
///   ghosts  nodes of others, ascending
/// All ranks call it. Errors: kInternal if a ghost is nobody's or the rank's own.
HaloPlan make_halo_plan(Communicator& communicator, std::span<const std::int64_t> starts,
                        std::span<const NodeId> ghosts);

}  // namespace gneiss::comm
