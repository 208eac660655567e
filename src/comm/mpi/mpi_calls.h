// What calls of MPI have in common here: errors, limits, and whether MPI still runs.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace gneiss::comm {

/// Of the process, because its exit asks for it.
struct MpiLife {
  bool open = false;    ///< MPI still runs: an exit would leave the others waiting
  bool failed = false;  ///< what the ranks did has ended with an error

  /// May things that all ranks give back together be given back? Not on the way out with an error: others would not
  /// come.
  bool ends_well() const;
};
MpiLife& mpi_life();

/// What MPI says of a status.
std::string words_of(int status);
/// Throws kPeerLost, with MPI's words, unless a call has succeeded.
void check(int status, const char* what);

/// How long a rank waits for the others: GNEISS_RANK_SECONDS, or ten minutes.
std::chrono::seconds time_limit();
/// Bytes of one message or get at most: GNEISS_MPI_MESSAGE_BYTES, or 1 GiB.
std::int64_t message_limit();

/// Which rank this is, and what it waits for.
struct Waiting {
  int rank = 0;
  int ranks = 1;
  const char* what = "";
  std::string late;  ///< the ranks that have not come, for people
};
/// Throws kPeerLost where the time is over.
[[noreturn]] void throw_late(const Waiting& waiting);

}  // namespace gneiss::comm
