// Rows between ranks: copies of others' rows in, what was made at the copies back, and sums over all ranks.
//
// These ops have no variants: what they do besides talking is copying and adding rows. All ranks run them in the same
// order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "comm/halo.h"
#include "kernels/kernel.h"
#include "pgas/space.h"

namespace gneiss::kernels {

template <class T>
struct HaloArgs {
  comm::Communicator* communicator = nullptr;
  const comm::HaloPlan* plan = nullptr;
  MatrixView<T> x;
  MatrixView<T> y;
  pgas::Space* space = nullptr;  ///< of a device that reads rows where others have them; null: rows are sent
};

/// Scratch of halo and halo_add, which pack `packed` rows: those sent to others and those received.
std::size_t halo_workspace_bytes(std::int64_t packed, std::int64_t cols, std::size_t value_bytes);

/// Copies the own rows and fetches those of the ghosts from their owners.
///   y[v,:] = x[v,:] for own rows; y[owned + i,:] = the row of ghost i
/// Shapes    x: [owned, d]; y: [owned + ghosts, d]. Aliasing: none.
/// Errors    kPeerLost
template <class T>
void halo(const Context& context, const HaloArgs<T>& args);

/// Sends the rows of the ghosts to their owners, which add them to their own: the adjoint of halo.
///   y[v,:] = x[v,:] + the rows that other ranks hold for v, in the order of the ranks
/// Shapes    x: [owned + ghosts, d]; y: [owned, d]. Aliasing: none. Equal bits in every run.
/// Errors    kPeerLost
template <class T>
void halo_add(const Context& context, const HaloArgs<T>& args);

/// Adds a matrix that every rank has, in the order of the ranks: y = sum over the ranks of x, the same everywhere.
/// Shapes    x, y: [r, d]. Aliasing: y may be x. Errors: kPeerLost
template <class T>
void rank_sum(const Context& context, const HaloArgs<T>& args);

}  // namespace gneiss::kernels
