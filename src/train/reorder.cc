#include "train/reorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace gneiss::train {
namespace {

// Edges of a row that end in one block of sources, from which on kernels do better to walk the graph by such blocks.
constexpr double kBlockedEdges = 15;
// Finding an order takes as long as some 4 epochs.
constexpr std::int64_t kLeastEpochs = 50;
// What has to be saved of the time of gathers, themselves a fifth to nine tenths of an epoch.
constexpr double kLeastSaving = 0.20;
// The share of edges within a block to what it was early on, at most (graph::early_cluster_share).
constexpr double kMostGrowth = 3;

/// The modelled time of gathers by how many edges have both ends in one block of nodes.
class GatherModel {
 public:
  GatherModel(const passes::Rates& rates, const graph::Graph& graph, std::int64_t width) {
    const auto columns = static_cast<double>(width);
    const double row_bytes = columns * sizeof(float);
    near_ = 1 / rates.gather.at(columns, static_cast<double>(std::min(graph.num_nodes(), graph::kBlockNodes)) * row_bytes);
    far_ = 1 / rates.gather.at(columns, static_cast<double>(graph.num_nodes()) * row_bytes);
  }
  /// The share of the time that is saved when the share of edges within a block goes from `before` to `after`.
  double saving(double before, double after) const {
    const double seconds = before * near_ + (1 - before) * far_;
    return (after - before) * (far_ - near_) / seconds;
  }

 private:
  double near_;  ///< of a byte of the block at hand
  double far_;   ///< of a byte from anywhere
};

/// Why the automatic choice does not look for an order at all; empty if it does.
std::string reason_to_stay(const graph::Graph& graph, std::int64_t width, const GatherModel& gathers) {
  const auto n = static_cast<double>(graph.num_nodes());
  if (gathers.saving(0, 1) < kLeastSaving)
    return fmt::format("gathered rows of {:.1f} MiB come as from a cache", n * static_cast<double>(width) * sizeof(float) / (1 << 20));
  const double degree = static_cast<double>(graph.num_edges()) / n;
  if (degree * static_cast<double>(graph::kBlockNodes) / n >= kBlockedEdges)
    return "the graph is dense: every block of rows meets every other";
  return {};
}

/// The same by a look at the edges, and at the first rounds of the search, the whole of which takes five times as long.
std::string reason_not_to_search(const graph::Graph& graph, double before, const GatherModel& gathers, int threads) {
  if (gathers.saving(before, 1) < kLeastSaving) return "neighbours lie close together as it is";
  const double early = graph::early_cluster_share(graph, threads);
  if (gathers.saving(before, std::min(1.0, kMostGrowth * early)) >= kLeastSaving) return {};
  return fmt::format("clusters would bring few edges within a block ({:.1f} % after three rounds)", 100 * early);
}

graph::Order find_order(const graph::Graph& graph, const std::string& method, int threads) {
  if (method == "degree") return graph::degree_order(graph);
  if (method == "rcm") return graph::rcm_order(graph);
  return graph::cluster_order(graph, threads);
}

}  // namespace

std::int64_t gathered_width(const ir::Program& program) {
  std::int64_t width = 0;
  for (const ir::Op& op : program.ops) {
    const bool gathers =
        op.kind == ir::OpKind::gather_src || op.kind == ir::OpKind::gather_dst || op.kind == ir::OpKind::spmm;
    if (gathers) width = std::max(width, program.type(op.results.front()).cols);
  }
  return width;
}

ReorderReport choose_order(const graph::Graph& graph, const std::string& method, std::int64_t width, std::int64_t epochs,
                           const passes::Rates& rates, int threads, graph::Order* order) {
  order->clear();
  ReorderReport report;
  report.asked = method;
  if (method == "none") return report;
  const bool is_auto = method == "auto";
  if (is_auto && (width == 0 || graph.num_edges() == 0)) {
    report.reason = "nothing is gathered";
    return report;
  }
  const GatherModel gathers(rates, graph, std::max<std::int64_t>(1, width));
  if (is_auto) report.reason = reason_to_stay(graph, width, gathers);
  if (is_auto && report.reason.empty() && epochs < kLeastEpochs)
    report.reason = fmt::format("{} epochs would not win it back", epochs);
  if (!report.reason.empty()) return report;

  const auto start = std::chrono::steady_clock::now();
  report.same_block_before = report.same_block_after = graph::same_block_share(graph);
  if (is_auto) report.reason = reason_not_to_search(graph, report.same_block_before, gathers, threads);
  if (report.reason.empty()) {
    *order = find_order(graph, method, threads);
    report.same_block_after = graph::same_block_share(graph, graph::inverse_order(*order));
    report.method = is_auto ? "clusters" : method;
  }
  if (is_auto && report.method == "clusters" && gathers.saving(report.same_block_before, report.same_block_after) < kLeastSaving) {
    report.reason = fmt::format("clusters would bring only {:.1f} % of edges within a block", 100 * report.same_block_after);
    report.method = "none";
    report.same_block_after = report.same_block_before;
    order->clear();
  }
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

std::string describe(const ReorderReport& report) {
  if (report.method == "none") {
    return report.reason.empty() ? "as given" : fmt::format("as given: {} ({:.2f} s)", report.reason, report.seconds);
  }
  return fmt::format("{} ({:.1f} % of edges within {} nodes before, {:.1f} % after; {:.2f} s)", report.method,
                     100 * report.same_block_before, graph::kBlockNodes, 100 * report.same_block_after, report.seconds);
}

}  // namespace gneiss::train
