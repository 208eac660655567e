// Times are those of the busiest device: its bytes over what it can receive, and one latency for each device it reads
// from; devices read at once.
#include "jobs/device_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/error.h"
#include "base/names.h"
#include "partition/contiguous.h"
#include "partition/owners.h"

namespace gneiss::jobs {
namespace {

constexpr double kValueBytes = sizeof(float);

using RowsOf = std::vector<std::int64_t> partition::PartTraffic::*;

double seconds_of(const DevicePlan& plan, RowsOf rows) {
  double longest = 0;
  for (const partition::PartTraffic& part : plan.parts) {
    const std::vector<std::int64_t>& read = part.*rows;
    const double bytes = static_cast<double>(std::accumulate(read.begin(), read.end(), std::int64_t{0})) *
                         static_cast<double>(plan.columns) * kValueBytes;
    const auto partners = std::count_if(read.begin(), read.end(), [](std::int64_t n) { return n > 0; });
    longest =
        std::max(longest, bytes / plan.machine.bytes_per_second + static_cast<double>(partners) * plan.machine.seconds);
  }
  return longest;
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

const std::vector<Machine>& machines() {
  // NVIDIA's data sheets: A100 has 600 GB/s of NVLink both ways, V100 300; PCIe 4.0 x16 moves 32 GB/s one way, of which
  // some 25 are reached. Latencies as MGG (OSDI 2023) and Tartan (IISWC 2018) measured them.
  static const std::vector<Machine> known = {
      {"dgx-a100", 300e9, 2e-6}, {"dgx-v100", 150e9, 3e-6}, {"pcie4", 25e9, 5e-6}};
  return known;
}

DevicePlan plan_devices(const graph::Graph& graph, int devices, const std::string& machine, std::int64_t columns) {
  const auto found =
      std::find_if(machines().begin(), machines().end(), [&](const Machine& m) { return m.name == machine; });
  if (found == machines().end()) {
    std::vector<std::string> names;
    for (const Machine& known : machines()) names.push_back(known.name);
    throw Error(ErrorCode::kUsage, fmt::format("unknown machine '{}'", machine), "--machine",
                unknown_name_hint(machine, names));
  }
  DevicePlan plan;
  plan.machine = *found;
  plan.columns = columns;
  plan.parts =
      partition::part_traffic(graph, partition::owners_of(partition::contiguous(graph.offsets(), devices)), devices);
  plan.halo_seconds = seconds_of(plan, &partition::PartTraffic::halo_rows);
  plan.edge_seconds = seconds_of(plan, &partition::PartTraffic::edge_rows);
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
  text += fmt::format("\n  modelled seconds on the links: halo {:.3g}, a row for every edge {:.3g}\n",
                      plan.halo_seconds, plan.edge_seconds);
  return text;
}

}  // namespace gneiss::jobs
