// One sum over in-edges on one device of several, simulated warp by warp over the real tables of pieces.
//
// Three things serve in turn: the link, the device's memory and each SM's arithmetic. A warp asks, waits its turn, and
// goes on when it has what it asked for. Blocks go to SMs in order, as room comes. No clock is read: the same tables
// give the same times. What is not simulated: caches but for the share of rows that fit the L2, clocks that change, and
// other kernels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "exchange/machine.h"
#include "exchange/resources.h"
#include "exchange/workload.h"

namespace gneiss::exchange {

struct Launch {
  Tuning tuning;
  std::int64_t columns = 16;
  /// Remote rows are fetched while local pieces are summed up; false: a warp waits for each row before it goes on.
  bool overlap = true;
  /// Remote rows are here already, those of owner p from second arrivals[p] on: pieces of them are read from memory.
  /// For workloads that are cut by owner. Empty: rows are fetched one by one.
  std::vector<double> arrivals = {};
  /// Rows that the device reads from its own memory, of which the L2 holds some.
  std::int64_t table_rows = 0;
};

struct Simulated {
  double seconds = 0;
  double link_busy = 0;    ///< share of the time
  double memory_busy = 0;  ///< share of the time
  std::int64_t link_bytes = 0;
};

/// Bytes on the link of one row that is fetched alone: whole sectors of 32 bytes and a header of one.
constexpr std::int64_t fetched_bytes(std::int64_t columns) { return (columns * 4 + 31) / 32 * 32 + 32; }
/// Bytes of memory that reading a row takes: whole sectors.
constexpr std::int64_t read_bytes(std::int64_t columns) { return (columns * 4 + 31) / 32 * 32; }

/// Bytes a second at which a device reads rows of a table, of which the L2 holds what fits.
double read_rate(const Gpu& gpu, std::int64_t table_rows, std::int64_t columns);

/// Errors: kInternal if the tuning cannot be launched (resources_of says why).
Simulated simulate(const Workload& work, std::span<const Unit> units, const Launch& launch, const Machine& machine);

}  // namespace gneiss::exchange
