#include "train/reorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace gneiss::train {
namespace {

// Gathered rows of this size and less are served from the third-level cache in any order.
constexpr std::int64_t kCacheBytes = std::int64_t{16} << 20;
// Edges of a row that end in one block of sources, from which on kernels do better to walk the graph by such blocks.
constexpr double kBlockedEdges = 15;
// Finding an order takes as long as some 4 epochs and saves a fifth to a quarter of each.
constexpr double kLeastRise = 0.20;
constexpr std::int64_t kLeastEpochs = 50;

/// Why the automatic choice does not look for an order at all; empty if it does.
std::string reason_to_stay(const graph::Graph& graph, std::int64_t width) {
  if (width == 0 || graph.num_edges() == 0) return "nothing is gathered";
  const auto n = static_cast<double>(graph.num_nodes());
  const double row_bytes = n * static_cast<double>(width) * sizeof(float);
  if (row_bytes <= static_cast<double>(kCacheBytes))
    return fmt::format("gathered rows of {:.1f} MiB fit in a cache", row_bytes / (1 << 20));
  const double degree = static_cast<double>(graph.num_edges()) / n;
  if (degree * static_cast<double>(graph::kBlockNodes) / n >= kBlockedEdges)
    return "the graph is dense: every block of rows meets every other";
  return {};
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

ReorderReport choose_order(const graph::Graph& graph, const std::string& method, std::int64_t width,
                           std::int64_t epochs, int threads, graph::Order* order) {
  order->clear();
  ReorderReport report;
  report.asked = method;
  report.same_block_before = report.same_block_after = std::nan("");
  if (method == "none") return report;
  const bool is_auto = method == "auto";
  if (is_auto) report.reason = reason_to_stay(graph, width);
  if (is_auto && report.reason.empty() && epochs < kLeastEpochs)
    report.reason = fmt::format("{} epochs would not win it back", epochs);
  if (!report.reason.empty()) return report;

  const auto start = std::chrono::steady_clock::now();
  report.same_block_before = report.same_block_after = graph::same_block_share(graph);
  if (is_auto && report.same_block_before + kLeastRise > 1) {
    report.reason = "neighbours lie close together as it is";
  } else {
    *order = find_order(graph, method, threads);
    report.same_block_after = graph::same_block_share(graph, graph::inverse_order(*order));
    report.method = is_auto ? "clusters" : method;
  }
  if (is_auto && report.method == "clusters" && report.same_block_after - report.same_block_before < kLeastRise) {
    report.reason =
        fmt::format("clusters would bring only {:.1f} % of edges within a block", 100 * report.same_block_after);
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
