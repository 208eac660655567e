// What each exchange moves, and modelled seconds of one sum by each.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "exchange/exchange.h"
#include "exchange/machine.h"
#include "exchange/resources.h"
#include "exchange/simulate.h"
#include "exchange/workload.h"
#include "graph/graph.h"
#include "partition/traffic.h"

namespace gneiss::exchange {

/// What one device does in one sum, in numbers: what modelled seconds go by.
struct SumSize {
  std::int64_t rows = 0;                ///< own
  std::int64_t local_edges = 0;         ///< from own nodes
  std::int64_t remote_edges = 0;        ///< from others'
  std::vector<std::int64_t> halo_rows;  ///< [devices] distinct rows of device p that it reads
  std::vector<std::int64_t> edge_rows;  ///< [devices] edges from device p
  std::int64_t largest_part = 0;        ///< the most rows that a device owns
};
SumSize size_of(const partition::PartTraffic& part, std::int64_t largest_part);

/// Seconds of one sum by closed forms: bytes over rates, and what hides behind what. Exchanges of plans: the first
/// three.
double modelled_seconds(Exchange exchange, const SumSize& size, std::int64_t columns, const Machine& machine);
/// Of halo, fine and, where kernels add rows as they come (`streams`), stream: the one with the least modelled seconds
/// for the busiest device.
Exchange choose_exchange(std::span<const SumSize> devices, std::int64_t columns, const Machine& machine,
                         bool streams = true);

/// Seconds of one sum on one device, simulated over its tables.
///   tuning   of fine; the others run with whole rows' pieces of its size
Simulated simulate_exchange(Exchange exchange, const graph::Graph& graph, std::span<const std::int64_t> starts,
                            int device, std::int64_t columns, const Tuning& tuning, const Machine& machine,
                            int threads);

}  // namespace gneiss::exchange
