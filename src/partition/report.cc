// Everything follows from what each part reads.
#include "partition/report.h"

#include <algorithm>

namespace gneiss::partition {
namespace {

double work_of(const PartTraffic& part, const EpochModel& model) {
  return static_cast<double>(part.edges()) + model.node_work * static_cast<double>(part.nodes);
}

}  // namespace

double epoch_seconds(const std::vector<PartTraffic>& parts, const EpochModel& model) {
  double slowest = 0;
  for (const PartTraffic& part : parts) {
    const auto partners = std::count_if(part.halo_rows.begin(), part.halo_rows.end(), [](auto n) { return n > 0; });
    const double bytes = static_cast<double>(part.ghosts()) * model.columns * sizeof(float);
    const double copies = static_cast<double>(partners) * model.latency + bytes / model.bytes_per_second;
    slowest = std::max(slowest, model.sums * (work_of(part, model) * model.seconds_per_work + copies));
  }
  const auto ranks = static_cast<double>(parts.size());
  const double ring = 2 * (ranks - 1) * (model.latency + model.parameter_bytes / ranks / model.bytes_per_second);
  return slowest + ring;
}

CutReport report_cut(const graph::Graph& graph, const Owners& owners, int parts, const EpochModel& model) {
  CutReport report;
  report.parts = part_traffic(graph, owners, parts);
  const double mean_nodes = static_cast<double>(graph.num_nodes()) / parts;
  double all = 0;
  double busiest = 0;
  for (const PartTraffic& part : report.parts) {
    report.cut_edges += part.remote_edges;
    report.ghosts += part.ghosts();
    const double off = static_cast<double>(part.nodes) - mean_nodes;
    report.size_variance += off * off;
    report.most_edges = std::max(report.most_edges, part.edges());
    all += work_of(part, model);
    busiest = std::max(busiest, work_of(part, model));
  }
  double heaviest = 0;
  for (std::size_t v = 0; v < owners.size(); ++v) {
    heaviest = std::max(heaviest, static_cast<double>(graph.offsets()[v + 1] - graph.offsets()[v]) + model.node_work);
  }
  if (all > 0) {
    report.load_ratio = busiest * parts / all;
    report.least_ratio = std::max(1.0, heaviest * parts / all);
  }
  report.epoch_seconds = epoch_seconds(report.parts, model);
  return report;
}

}  // namespace gneiss::partition
