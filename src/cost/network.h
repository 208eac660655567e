// How fast ranks talk, measured through the communicator that they train by.
#pragma once

#include <string>
#include <vector>

#include "comm/communicator.h"

namespace gneiss::cost {

/// A message takes its latency and its bytes over the rate.
struct Network {
  double bytes_per_second = 25e9;                       ///< that a rank receives, while it sends as many
  double latency = 2e-6;                                ///< seconds of a message
  std::string source = "a fast network, not measured";  ///< where it comes from, for people

  bool is_valid() const;
};

/// One call, as a rank of a training makes it.
struct NetworkCall {
  bool is_sum = false;  ///< of all ranks, as of a gradient; else rows to a rank and as many from one
  double bytes = 0;     ///< of the sum's values, or of the rows that come in
  double seconds = 0;   ///< measured: the lower quartile
};

/// What the model says of a call between `ranks` ranks. An exchange is one message. A sum has its pieces sent to whose
/// they are and its results back: 2 (ranks - 1) messages.
double call_seconds(const Network& network, const NetworkCall& call, int ranks);

struct MeasuredNetwork {
  Network network;
  int ranks = 2;
  std::vector<NetworkCall> calls;  ///< what it was fitted to
};

/// Exchanges with the rank half-way round and sums of all, of 64 bytes to 4 MiB, again and again: the latency and the
/// rate whose relative errors over all of them have the least squares. All ranks call it, at least two, and get the
/// same. Errors: those of the communicator.
MeasuredNetwork measure_network(comm::Communicator& communicator);

/// The latency and the rate with the least squares of relative errors. Neither gets below what the fastest call allows.
Network fit_network(const std::vector<NetworkCall>& calls, int ranks);

/// A table of the calls, measured and as the model has them.
std::string describe(const MeasuredNetwork& measured);

}  // namespace gneiss::cost
