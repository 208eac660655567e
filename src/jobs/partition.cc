// Sums are modelled by the rates of this machine, or of the part of it that a rank has (train.ranks_per_node).
#include "jobs/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/process.h"
#include "base/sweep.h"
#include "data/load.h"
#include "data/parts.h"
#include "data/preprocess.h"
#include "data/save_renamed.h"
#include "jobs/options.h"
#include "jobs/rank_machine.h"

namespace gneiss::jobs {
namespace {

constexpr int kMostParts = 1024;

void check(const PartitionRequest& request) {
  if (request.parts < 1 || request.parts > kMostParts) {
    throw Error(ErrorCode::kUsage, fmt::format("expected 1 to {} parts, got {}", kMostParts, request.parts), "--parts");
  }
  GNEISS_CHECK(request.columns >= 1, ErrorCode::kUsage, "--columns: expected at least 1, got {}", request.columns);
}

/// With --mem, edges and features stay in their files, whatever their size.
data::Dataset load_to_cut(const settings::Config& config) {
  const std::string name = resolve_data(config);
  data::LoadOptions options = load_options(config, 0, 1);
  if (!config.has("train.mem")) return data::load(name, options);
  if (!data::is_gneiss_folder(name)) {
    throw Error(ErrorCode::kUsage, fmt::format("within --mem a Gneiss folder is cut, and '{}' is none", name), "--mem",
                "gneiss data convert or generate makes one; or leave --mem out");
  }
  options.in_files = true;
  options.threads = 1;
  options.max_bytes = std::numeric_limits<std::int64_t>::max();
  return data::load(name, options);
}

/// Nobody has looked at edges that stay in their file.
void check_rows_in_files(const data::Dataset& dataset) {
  data::check_all_in_edges(dataset);
  if (!dataset.features.sparse) return;
  constexpr std::int64_t kRows = 4096;
  const std::span<const EdgeId> offsets = dataset.features.offsets;
  Sweep<NodeId> columns(dataset.features.indices);
  for (std::int64_t begin = 0; begin < dataset.num_nodes(); begin += kRows) {
    const std::int64_t end = std::min(begin + kRows, dataset.num_nodes());
    data::check_feature_rows(dataset, begin, end);
    columns.at(offsets[static_cast<std::size_t>(begin)], offsets[static_cast<std::size_t>(end)]);
  }
}

/// What --mem leaves for rows on their way from file to file, once all arrays of nodes are there.
std::int64_t room_for_rows(std::int64_t limit, const data::Dataset& dataset, std::int64_t parts) {
  // An owner for each of three cuts and one in the making, work, marks; then orders both ways, offsets and ids.
  constexpr std::int64_t kOfNode = 72;
  constexpr std::int64_t kOfEntry = 24;                      // of the longest row
  constexpr std::int64_t kOfPair = 48;                       // of parts, of three cuts
  constexpr std::int64_t kWindows = std::int64_t{12} << 20;  // of files as they are read
  const std::int64_t n = dataset.num_nodes();
  std::int64_t longest = 0;
  for (std::size_t v = 0; v < static_cast<std::size_t>(n); ++v)
    longest = std::max(longest, dataset.graph.offsets()[v + 1] - dataset.graph.offsets()[v]);
  const std::int64_t of_node = kOfNode + (dataset.features.sparse ? 16 : 0);
  const std::int64_t taken = current_rss_bytes() + of_node * n + kOfEntry * longest + kOfPair * parts * parts +
                             static_cast<std::int64_t>(dataset.labels.targets.size_bytes()) + kWindows;
  const std::int64_t least = data::least_buffer_bytes(2 * parts);  // interior nodes and others
  if (limit - taken >= least) return limit - taken;
  throw Error(ErrorCode::kOutOfMemory,
              fmt::format("--mem {}: to cut {} nodes into {} parts takes {} bytes, edges and features in their files",
                          limit, n, parts, taken + least),
              dataset.name, "allow more; what is needed grows with nodes and parts, not with edges and features");
}

/// Writes the chosen cut; `room`: as room_for_rows, where edges and features stay in their files.
void write_cut(const partition::Owners& owners, const PartitionRequest& request, int threads,
               std::optional<std::int64_t> room, data::Dataset* dataset) {
  partition::PartOrder by_part = partition::order_by_part(dataset->graph, owners, static_cast<int>(request.parts));
  if (room) {
    data::rename_nodes(by_part.order, 1, dataset);
    dataset->part_starts = std::move(by_part.starts);
    data::save_renamed(*dataset, by_part.order, *room, request.out, request.force);
    return;
  }
  data::permute(by_part.order, threads, dataset);
  dataset->part_starts = std::move(by_part.starts);
  data::save(*dataset, request.out, request.force);
}

/// MB that all parts fetch in one sum.
double megabytes(const partition::CutReport& report, double columns) {
  return 1e-6 * static_cast<double>(report.ghosts) * columns * sizeof(float);
}

}  // namespace

PartitionReport partition_data(const settings::Config& config, const PartitionRequest& request) {
  check(request);
  data::Dataset dataset = load_to_cut(config);
  std::optional<std::int64_t> room;
  if (config.has("train.mem")) {
    room = room_for_rows(config.integer("train.mem"), dataset, request.parts);
    check_rows_in_files(dataset);
  }
  PartitionReport report;
  report.dataset = dataset.name;
  report.nodes = dataset.num_nodes();
  report.edges = dataset.graph.num_edges();
  report.parts = static_cast<int>(request.parts);
  const auto sharing = static_cast<int>(std::min(request.parts, config.integer("train.ranks_per_node")));
  const RankMachine machine = rank_machine(config, sharing);
  report.rates =
      machine.use.warning.empty() ? "rates of " + machine.use.rates.source : "default rates: " + machine.use.warning;
  report.network = machine.network.source;
  report.model = epoch_model(machine, dataset.graph, request.columns);
  const int threads = thread_count(config);
  const partition::CutOptions options{.parts = report.parts, .threads = threads, .in_file = room.has_value()};
  if (request.method == "auto") {
    report.cuts = partition::all_cuts(dataset.graph, options, report.model, &report.refused);
    report.taken = partition::best_cut(report.cuts);
  } else {
    report.cuts.push_back(partition::cut_graph(dataset.graph, request.method, options, report.model));
  }
  if (!request.out.empty()) {
    write_cut(report.chosen().owners, request, threads, room, &dataset);
    report.out = request.out.string();
  }
  for (partition::Cut& cut : report.cuts) cut.owners = {};
  return report;
}

std::string describe(const PartitionReport& report) {
  std::string text =
      fmt::format("{}: {} nodes, {} edges, {} parts\n\n", report.dataset, report.nodes, report.edges, report.parts);
  text += fmt::format("  {:<12} {:>7} {:>10} {:>10} {:>7} {:>8} {:>12}\n", "method", "cut %", "copies", "MB a sum",
                      "load", "seconds", "epoch, s");
  for (const partition::Cut& cut : report.cuts) {
    const double cut_share =
        report.edges == 0 ? 0 : 100 * static_cast<double>(cut.report.cut_edges) / static_cast<double>(report.edges);
    text += fmt::format("{} {:<12} {:>7.2f} {:>10} {:>10.2f} {:>7.3f} {:>8.2f} {:>12.4g}\n",
                        &cut == &report.chosen() ? '*' : ' ', cut.method, cut_share, cut.report.ghosts,
                        megabytes(cut.report, report.model.columns), cut.report.load_ratio, cut.seconds,
                        cut.report.epoch_seconds);
  }
  for (const partition::Refusal& refusal : report.refused)
    text += fmt::format("  {:<12} not possible: {}\n", refusal.method, refusal.reason);
  for (const partition::Cut& cut : report.cuts) {
    if (!cut.remark.empty()) text += fmt::format("  {:<12} took {}\n", cut.method, cut.remark);
  }
  text += fmt::format(
      "\n  load: the busiest part over the mean, at least {:.3f} for this graph; MB and modelled epoch for {:.0f} "
      "columns,\n  {:.3g} GB/s and {:.3g} us a message ({}); sums by {}\n\n",
      report.chosen().report.least_ratio, report.model.columns, 1e-9 * report.model.bytes_per_second,
      1e6 * report.model.latency, report.network, report.rates);
  text +=
      fmt::format("  {:>8} {:>10} {:>12} {:>12} {:>10}\n", "part", "nodes", "local edges", "remote edges", "copies");
  const std::vector<partition::PartTraffic>& parts = report.chosen().report.parts;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    text += fmt::format("  {:>8} {:>10} {:>12} {:>12} {:>10}\n", p, parts[p].nodes, parts[p].local_edges,
                        parts[p].remote_edges, parts[p].ghosts());
  }
  if (!report.out.empty()) text += fmt::format("\n{}: train on it with --ranks {}\n", report.out, report.parts);
  return text;
}

std::string to_json(const PartitionReport& report) {
  Json json;
  json["dataset"] = report.dataset;
  json["nodes"] = report.nodes;
  json["edges"] = report.edges;
  json["parts"] = report.parts;
  json["method"] = report.chosen().method;
  json["columns"] = report.model.columns;
  json["rates"] = report.rates;
  json["network"] = Json::object({{"bytes_per_second", report.model.bytes_per_second},
                                  {"latency", report.model.latency},
                                  {"source", report.network}});
  json["cuts"] = Json::list();
  for (const partition::Cut& cut : report.cuts) {
    const partition::CutReport& r = cut.report;
    Json halo = Json::list();
    for (const partition::PartTraffic& part : r.parts) {
      Json row = Json::list();
      for (const std::int64_t rows : part.halo_rows)
        row.push_back(static_cast<std::int64_t>(static_cast<double>(rows) * report.model.columns) * 4);
      halo.push_back(row);
    }
    Json made = Json::object({{"method", cut.method},
                              {"cut_edges", r.cut_edges},
                              {"ghosts", r.ghosts},
                              {"load_ratio", r.load_ratio},
                              {"least_load_ratio", r.least_ratio},
                              {"size_variance", r.size_variance},
                              {"most_edges", r.most_edges},
                              {"seconds", cut.seconds},
                              {"epoch_seconds", r.epoch_seconds},
                              {"halo_bytes", halo}});
    if (!cut.objective.empty()) made["objective"] = cut.objective;
    json["cuts"].push_back(made);
  }
  json["refused"] = Json::object();
  for (const partition::Refusal& refusal : report.refused) json["refused"][refusal.method] = refusal.reason;
  if (!report.out.empty()) json["out"] = report.out;
  return json.dump(2);
}

}  // namespace gneiss::jobs
