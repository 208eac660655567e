// The automatic choice asks three times, each time with a better view: before the search, by sizes alone; after its
// first rounds, by how near edges came; at the end, by what was reached. Each time modelled gathers of all epochs have
// to be shorter by enough.
#include "train/reorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "planner/source_tiles.h"

namespace gneiss::train {
namespace {

// Finding an order takes as long as 3 to 10 epochs; longest where only regions bring edges together, which saves an
// eighth of an epoch of GCN.
constexpr std::int64_t kLeastEpochs = 50;
constexpr std::int64_t kLeastEpochsByRegion = 100;
// What has to be saved of the time of gathers, themselves a fifth to nine tenths of an epoch: in all epochs so many of
// them, and a share that rates can tell.
constexpr double kLeastSavedEpochs = 7.5;
constexpr double kLeastSaving = 0.03;
// The share of edges within a tile or region to what it was after the early rounds of the search, at most
// (graph::cluster_order).
constexpr double kMostGrowth = 2;

/// The modelled time of a sum along the edges, by how near to each other their ends are, over so many epochs.
class GatherModel {
 public:
  GatherModel(const cost::Rates& rates, const graph::Graph& graph, std::int64_t width, std::int64_t epochs)
      : rates_(rates),
        edges_(graph.num_edges()),
        nodes_(graph.num_nodes()),
        columns_(width),
        by_region_(epochs >= kLeastEpochsByRegion),
        least_saving_(std::max(kLeastSaving, kLeastSavedEpochs / static_cast<double>(std::max(kLeastEpochs, epochs)))) {
  }

  /// Is enough of the time saved when edges come as near as `after`?
  bool pays(const Near& before, const Near& after) const {
    return 1 - seconds(after) / seconds(before) >= least_saving_;
  }
  /// Do kernels that walk the graph by tiles of sources make up for edges that lie far apart?
  bool tiles_serve() const { return in_tiles({}) < whole({}); }
  double table_bytes() const { return static_cast<double>(nodes_ * columns_) * sizeof(float); }

 private:
  /// Whichever way the kernels take.
  double seconds(Near near) const {
    if (!by_region_) near.region = near.cluster;
    return std::min(whole(near), in_tiles(near));
  }
  double whole(const Near& near) const {
    const auto nodes = static_cast<double>(nodes_);
    return cost::gather_seconds(rates_, static_cast<double>(edges_), nodes, nodes, static_cast<double>(columns_), near);
  }
  double in_tiles(const Near& near) const {
    return planner::source_tiles_for(rates_, nodes_, nodes_, edges_, columns_, near).seconds;
  }

  const cost::Rates& rates_;
  std::int64_t edges_;
  std::int64_t nodes_;
  std::int64_t columns_;
  bool by_region_;
  double least_saving_;
};

/// Why the automatic choice does not look for an order at all; empty if it does.
std::string reason_to_stay(const GatherModel& gathers) {
  if (gathers.pays({}, {1, 1})) return {};
  return fmt::format("gathered rows of {:.1f} MiB come as from a cache{}", gathers.table_bytes() / (1 << 20),
                     gathers.tiles_serve() ? ", tile by tile" : "");
}

/// The same by a look at what the first rounds of the search have found.
std::string reason_to_stop(const Near& before, const Near& early, const GatherModel& gathers) {
  const auto grown = [](double share, double least) { return std::max(least, std::min(1.0, kMostGrowth * share)); };
  if (gathers.pays(before, {grown(early.cluster, 0), grown(early.region, before.region)})) return {};
  return fmt::format(
      "clusters would bring few edges together ({:.1f} % within {} nodes, {:.1f} % within {} after three rounds)",
      100 * early.cluster, kClusterNodes, 100 * early.region, kRegionNodes);
}

graph::Order find_order(const graph::Graph& graph, const std::string& method, int threads) {
  if (method == "degree") return graph::degree_order(graph);
  if (method == "rcm") return graph::rcm_order(graph);
  return graph::cluster_order(graph, threads);
}

}  // namespace

std::int64_t gathered_width(const ir::Program& program) {
  const std::vector<std::int32_t> makers = ir::producers(program);
  std::int64_t constant = 0;
  std::int64_t changing = 0;
  for (const ir::Op& op : program.ops) {
    const bool gathers =
        op.kind == ir::OpKind::gather_src || op.kind == ir::OpKind::gather_dst || op.kind == ir::OpKind::spmm;
    if (!gathers) continue;
    std::int64_t width = program.type(op.results.front()).cols;
    const ir::Op& maker = program.ops[static_cast<std::size_t>(makers[static_cast<std::size_t>(op.inputs.front())])];
    if (maker.kind == ir::OpKind::gemm) width = std::min(width, program.type(maker.inputs.front()).cols);
    std::int64_t& widest = maker.kind == ir::OpKind::input ? constant : changing;
    widest = std::max(widest, width);
  }
  return changing > 0 ? changing : constant;
}

epochs::ReorderReport choose_order(const graph::Graph& graph, const std::string& method, std::int64_t width,
                                   std::int64_t epochs, const cost::Rates& rates, int threads, graph::Order* order) {
  order->clear();
  epochs::ReorderReport report;
  report.asked = method;
  if (method == "none") return report;
  const bool is_auto = method == "auto";
  if (is_auto && (width == 0 || graph.num_edges() == 0)) {
    report.reason = "nothing is gathered";
    return report;
  }
  const GatherModel gathers(rates, graph, std::max<std::int64_t>(1, width), epochs);
  if (is_auto) report.reason = reason_to_stay(gathers);
  if (is_auto && report.reason.empty() && epochs < kLeastEpochs)
    report.reason = fmt::format("{} epochs would not win it back", epochs);
  if (!report.reason.empty()) return report;

  const auto start = std::chrono::steady_clock::now();
  const Near before = graph::near_edges(graph, {}, threads);
  Near after = before;
  if (!is_auto) {
    *order = find_order(graph, method, threads);
  } else if (!gathers.pays(before, {1, 1})) {
    report.reason = "neighbours lie close together as it is";
  } else {
    *order = graph::cluster_order(graph, threads, [&](std::span<const NodeId> early) {
      report.reason =
          reason_to_stop(before, graph::near_edges(graph, graph::inverse_order(early, threads), threads), gathers);
      return report.reason.empty();
    });
  }
  if (!order->empty()) {
    after = graph::near_edges(graph, graph::inverse_order(*order, threads), threads);
    report.method = is_auto ? "clusters" : method;
  }
  if (is_auto && report.method == "clusters" && !gathers.pays(before, after)) {
    report.reason = fmt::format("clusters would bring only {:.1f} % of edges within {} nodes, {:.1f} % within {}",
                                100 * after.cluster, kClusterNodes, 100 * after.region, kRegionNodes);
    report.method = "none";
    after = before;
    order->clear();
  }
  report.same_cluster_before = before.cluster;
  report.same_cluster_after = after.cluster;
  report.same_region_before = before.region;
  report.same_region_after = after.region;
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

std::string describe(const epochs::ReorderReport& report) {
  if (report.method == "none") {
    return report.reason.empty() ? "as given" : fmt::format("as given: {} ({:.2f} s)", report.reason, report.seconds);
  }
  return fmt::format(
      "{} (edges within {} nodes: {:.1f} % before, {:.1f} % after, within {}: {:.1f} %, {:.1f} %; {:.2f} s)",
      report.method, kClusterNodes, 100 * report.same_cluster_before, 100 * report.same_cluster_after, kRegionNodes,
      100 * report.same_region_before, 100 * report.same_region_after, report.seconds);
}

}  // namespace gneiss::train
