// Rows between ranks: copies of others' rows in, what was made at the copies back, and sums and ranges over all ranks.
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

/// What the first half of an exchange started, for the second: a call of the communicator, or gets in a frame.
struct ExchangeUnderWay {
  comm::Request request;
  bool waited = false;  ///< of a call of the communicator: a sum that took up its rows has waited for it
  pgas::Frame frame = 0;
  pgas::Token last_get = 0;
};

template <class T>
struct HaloArgs {
  comm::Communicator* communicator = nullptr;
  const comm::HaloPlan* plan = nullptr;
  MatrixView<T> x;
  MatrixView<T> y;
  pgas::Space* space = nullptr;  ///< of a device that reads rows where others have them; null: rows are sent
  MatrixView<T> packed{};        ///< of the halves: rows to send and rows received, which last from start to wait
  ExchangeUnderWay* exchange = nullptr;  ///< of the halves: what was started
  bool only_shown = false;  ///< of halo_start with a space: whoever sums the rows up fetches them, as often as it likes
};

/// Scratch of halo and halo_add, which pack `packed` rows: those sent to others and those received.
std::size_t halo_workspace_bytes(std::int64_t packed, std::int64_t cols, std::size_t value_bytes);

/// Copies the own rows and fetches those of the ghosts from their owners: reals, or int32 (the halves too).
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

/// The first half of halo: copies the own rows and starts the exchange.
///   y[v,:] = x[v,:] for own rows; rows of ghosts are on their way until halo_wait
/// With a space all devices have come when it returns (with only_shown nothing is fetched then: rows of ghosts are not
/// written); the own rows of y, which others read, keep their values until
/// then, and packed is not used.
/// Shapes    x: [owned, d]; y: [owned + ghosts, d]; packed: [sends + ghosts, d], which nobody else touches until then.
/// Errors    kPeerLost
template <class T>
void halo_start(const Context& context, const HaloArgs<T>& args);

/// The second half: the rows of y's ghosts are there when it returns, and with a space all devices have theirs. x is
/// not used. Does nothing where rows that are sent were waited for before. Errors: kPeerLost
template <class T>
void halo_wait(const Context& context, const HaloArgs<T>& args);

/// The first half of halo_add: sends the rows of the ghosts, which must be there; own rows of x may come later. With a
/// space it shows them, and they keep their values until halo_add_wait.
/// Shapes    x: [owned + ghosts, d]; packed: [sends + ghosts, d]. Errors: kPeerLost
template <class T>
void halo_add_start(const Context& context, const HaloArgs<T>& args);

/// The second half: waits and adds, as halo_add does and with its bits.
/// Shapes    x: [owned + ghosts, d]; y: [owned, d]; packed: as halo_add_start had it. Errors: kPeerLost
template <class T>
void halo_add_wait(const Context& context, const HaloArgs<T>& args);

/// Adds a matrix that every rank has, in the order of the ranks: y = sum over the ranks of x, the same everywhere.
/// Shapes    x, y: [r, d]. Aliasing: y may be x. Errors: kPeerLost
template <class T>
void rank_sum(const Context& context, const HaloArgs<T>& args);

/// Scratch of rank_range.
std::size_t rank_range_workspace_bytes(std::int64_t ranks, std::int64_t cols, std::size_t value_bytes);

/// Finds the highest and the lowest of each column over the rows of all ranks, the same everywhere.
///   y[0,j] = max over ranks and rows r of x[r,j]; y[1,j] = the min. Of a NaN and a number, the number; -inf and inf
///   where there is no number at all
/// Shapes    x: [owned, d]; y: [2, d]. Aliasing: none. Errors: kPeerLost
template <class T>
void rank_range(const Context& context, const HaloArgs<T>& args);

}  // namespace gneiss::kernels
