// Nodes are cut into runs of about equal work. What each exchange would take is modelled for every device; a sum is
// through when the last one is.
#include "jobs/device_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "exchange/tuner.h"
#include "exchange/workload.h"
#include "partition/contiguous.h"
#include "partition/owners.h"

namespace gneiss::jobs {
namespace {

using exchange::Exchange;
using RowsOf = std::vector<std::int64_t> partition::PartTraffic::*;

constexpr double kValueBytes = sizeof(float);

double longest(Exchange exchange, const std::vector<exchange::SumSize>& sizes, const DevicePlan& plan) {
  double seconds = 0;
  for (const exchange::SumSize& size : sizes)
    seconds = std::max(seconds, exchange::modelled_seconds(exchange, size, plan.columns, plan.machine));
  return seconds;
}

/// An estimate from above: each row ends with a piece that is not full.
std::int64_t units_of(const partition::PartTraffic& part, const exchange::Tuning& tuning) {
  return exchange::num_units(part.local_edges / tuning.piece + part.nodes,
                             part.remote_edges / tuning.piece + part.nodes, tuning.dist);
}

std::string pairs(const DevicePlan& plan, RowsOf rows) {
  std::string text = fmt::format("  {:>8}", "from");
  for (std::size_t p = 0; p < plan.parts.size(); ++p) text += fmt::format(" {:>9}", fmt::format("to {}", p));
  text += '\n';
  for (std::size_t from = 0; from < plan.parts.size(); ++from) {
    text += fmt::format("  {:>8}", from);
    for (const partition::PartTraffic& part : plan.parts)
      text += fmt::format(" {:9.3f}", 1e-6 * static_cast<double>((part.*rows)[from] * plan.columns) * kValueBytes);
    text += '\n';
  }
  return text;
}

}  // namespace

DevicePlan plan_devices(const graph::Graph& graph, int devices, const std::string& machine, std::int64_t columns) {
  DevicePlan plan;
  plan.machine = exchange::find_machine(machine);
  plan.columns = columns;
  plan.parts =
      partition::part_traffic(graph, partition::owners_of(partition::contiguous(graph.offsets(), devices)), devices);
  std::int64_t largest = 0;
  for (const partition::PartTraffic& part : plan.parts) largest = std::max(largest, part.nodes);
  std::vector<exchange::SumSize> sizes;
  for (const partition::PartTraffic& part : plan.parts) sizes.push_back(exchange::size_of(part, largest));
  plan.halo_seconds = longest(Exchange::kHalo, sizes, plan);
  plan.stream_seconds = longest(Exchange::kStream, sizes, plan);
  plan.fine_seconds = longest(Exchange::kFine, sizes, plan);
  plan.chosen = exchange::choose_exchange(sizes, columns, plan.machine);
  const auto fits = [&](const exchange::Tuning& t) {
    return exchange::resources_of(t, columns, 1, plan.machine.gpu).refused.empty();
  };
  const double degree =
      static_cast<double>(graph.num_edges()) / static_cast<double>(std::max<std::int64_t>(1, graph.num_nodes()));
  plan.tuning = exchange::Tuner(degree, fits).current();
  const auto busiest = std::max_element(plan.parts.begin(), plan.parts.end(),
                                        [](const auto& a, const auto& b) { return a.edges() < b.edges(); });
  plan.resources = exchange::resources_of(plan.tuning, columns, units_of(*busiest, plan.tuning), plan.machine.gpu);
  return plan;
}

std::string describe(const DevicePlan& plan) {
  std::string text =
      fmt::format("{} devices of {} ({:.0f} GB/s, {:.1f} us), parts of about equal work\n\n", plan.parts.size(),
                  plan.machine.name, 1e-9 * plan.machine.bytes_per_second, 1e6 * plan.machine.seconds);
  text +=
      fmt::format("  {:>8} {:>10} {:>12} {:>12} {:>10}\n", "device", "nodes", "local edges", "remote edges", "ghosts");
  for (std::size_t p = 0; p < plan.parts.size(); ++p) {
    const partition::PartTraffic& part = plan.parts[p];
    text += fmt::format("  {:>8} {:>10} {:>12} {:>12} {:>10}\n", p, part.nodes, part.local_edges, part.remote_edges,
                        std::accumulate(part.halo_rows.begin(), part.halo_rows.end(), std::int64_t{0}));
  }
  text += fmt::format("\n  MB of one sum over rows of {} columns, each row once for a device (halo):\n", plan.columns);
  text += pairs(plan, &partition::PartTraffic::halo_rows);
  text += "\n  the same with a row for every edge (fine-grained, as MGG's published code):\n";
  text += pairs(plan, &partition::PartTraffic::edge_rows);
  text += fmt::format(
      "\n  modelled seconds of one sum: rows at once {:.3g} (halo), owner by owner {:.3g} (stream), edge by edge "
      "{:.3g} (fine); {} is the shortest\n",
      plan.halo_seconds, plan.stream_seconds, plan.fine_seconds, exchange::name_of(plan.chosen));
  text += fmt::format(
      "  a fine-grained kernel on {}: pieces of {} edges, {} warps a block, {} rows under way a warp; {} bytes of "
      "shared memory a block,\n  about {} blocks, {} on an SM at once, occupancy {:.0f} %\n",
      plan.machine.gpu.name, plan.tuning.piece, plan.tuning.warps, plan.tuning.stages, plan.resources.shared_bytes,
      plan.resources.blocks, plan.resources.blocks_per_sm, 100 * plan.resources.occupancy);
  return text;
}

}  // namespace gneiss::jobs
