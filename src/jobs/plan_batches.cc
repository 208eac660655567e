// The same functions that a training begins with, without an executor.
#include "jobs/plan_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/error.h"
#include "epochs/metrics.h"
#include "jobs/options.h"
#include "jobs/workload.h"
#include "passes/to_blocks.h"
#include "schedule/plan.h"

namespace gneiss::jobs {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

std::string line(const char* name, std::int64_t bytes, const std::string& what = "") {
  return fmt::format("  {:34}{:10.2f} MiB{}\n", name, static_cast<double>(bytes) / kMiB,
                     what.empty() ? "" : "  " + what);
}

/// Reads by a split that was made for this order, or by counting which rows of a mean batch are hot.
PredictedReads predict(const schedule::BatchSize& batch, const tiers::TierMap& map) {
  const double shared = map.devices == 1 ? 1 : 1.0 / static_cast<double>(map.devices);
  const double copies = batch.hot_rows * (map.pooled == 0 ? 1 : 0);
  const double pooled = batch.hot_rows - copies;
  return {copies + shared * pooled, (1 - shared) * pooled, batch.rows - batch.hot_rows};
}

/// What rows of the graph a device keeps, and which share of the pieces that sampling reads they are.
void count_graph(std::span<const tiers::GraphRow> rows, std::int64_t hot, const train::BatchOptions& options,
                 BatchPlanReport* report) {
  const std::span<const tiers::GraphRow> kept = rows.first(static_cast<std::size_t>(hot));
  for (const tiers::GraphRow& row : kept) report->graph_reads_on_devices += row.reads;
  for (const tiers::GraphRow& row : rows.subspan(kept.size())) report->graph_reads_on_host += row.reads;
  report->graph_rows = hot;
  report->graph_bytes = train::dealt_bytes(kept, train::owners_of_graph(options.links(), options.devices));
}

}  // namespace

BatchPlanReport plan_batches(const settings::Config& config, const Workload& workload) {
  const data::Dataset& dataset = workload.dataset();
  const language::CompileResult& compiled = *workload.session().compiled;
  const std::int32_t hops = passes::count_hops(compiled.program);
  const train::BatchOptions options = batch_options(config, hops);
  train::check_fanout(hops, options.sampler);
  const int threads = thread_count(config);
  std::optional<minibatch::OriginalOrder> sorted;
  const minibatch::InEdges<NodeId> edges =
      minibatch::in_edges(dataset.graph, dataset.orig_id, threads, &sorted, minibatch::EdgeSlots::kOfWeights);
  const minibatch::Sampler<NodeId> sampler(edges, options.sampler, threads);
  const std::vector<NodeId> seeds = epochs::labelled_split(dataset).train;
  const train::BatchSource source{dataset, sampler, seeds, options.batch_size,
                                  static_cast<std::uint64_t>(config.integer("train.seed"))};
  BatchPlanReport report;
  report.sampling = sampler.describe();
  report.batch_size = options.batch_size;
  report.devices = options.devices;
  const std::int64_t all = options.batch_size * options.devices;
  report.steps = (std::ssize(seeds) + all - 1) / all;
  report.plan = train::plan_batches(compiled.program, train::probed_room(source), dataset, workload.session(), options);
  const tiers::HotRows& hot = workload.hot_rows();
  const std::int64_t memory = options.device ? options.device->memory_bytes : -1;
  report.budget = train::device_budget(report.plan, dataset, memory, options.device ? options.device->plan.gbs : 0);
  report.as_fits = hot.count == train::kAsManyHotRowsAsFit;
  const std::int64_t hot_edges = hot_edge_count(config, dataset.num_nodes());
  std::vector<tiers::GraphRow> graph_rows;
  if (hot_edges != 0) graph_rows = train::hot_graph_rows(source, threads);
  const tiers::Split split = train::split_memory(
      {report.budget, options.devices, hot.count, hot.heat, hot_edges, graph_rows}, options.links());
  report.tier_map = split.map(report.budget.rows, options.devices);
  if (report.as_fits) report.reads = {split.own_rows, split.peer_rows, split.host_rows};
  count_graph(graph_rows, split.graph_rows, options, &report);
  const schedule::BatchSize batch =
      train::mean_batch(source, report.plan, report.tier_map.replicated + report.tier_map.pooled);
  if (!report.as_fits) report.reads = predict(batch, report.tier_map);
  report.link_bytes = report.reads.host * batch.row_read_bytes;
  report.all_bytes = report.reads.all() * batch.row_read_bytes;
  if (!options.device && options.devices == 1) return report;
  const schedule::Machine& machine = options.links();
  report.machine = options.device && options.device->machine == nullptr && options.devices == 1
                       ? options.device->profile.name
                       : std::string(machine.name);
  const tiers::ReadSeconds seconds = train::read_seconds(machine, report.budget.row_bytes);
  report.read_seconds =
      report.reads.own * seconds.own + report.reads.peer * seconds.peer + report.reads.host * seconds.host;
  if (options.devices > 1) return report;
  schedule::PlanOptions asked = options.device->plan;
  asked.batches = report.steps;
  const schedule::Profile profile = train::stage_times(*options.device, batch);
  report.epoch_seconds = schedule::to_seconds(schedule::make_plan(profile, asked).epoch);
  return report;
}

std::string describe(const BatchPlanReport& report) {
  const minibatch::BatchShape& room = report.plan.room;
  std::string text = fmt::format(
      "mini-batches: {} steps an epoch, each of {} seeds{}; {}\n", report.steps, report.batch_size * report.devices,
      report.devices > 1 ? fmt::format(" on {} devices", report.devices) : "", report.sampling);
  text += "  room for nodes after each hop:";
  for (int level = 0; level <= room.hops; ++level)
    text += fmt::format(" {}", room.nodes[static_cast<std::size_t>(level)]);
  text += "\n\nmemory of a device\n";
  const tiers::DeviceBudget& budget = report.budget;
  const tiers::TierMap& map = report.tier_map;
  if (budget.memory_bytes >= 0) text += line("all of it", budget.memory_bytes);
  text += line("a step, parameters, optimizer", budget.plan_bytes);
  text += line("batches", budget.slabs * budget.slab_bytes, fmt::format("{}, waiting or trained", budget.slabs));
  if (budget.memory_bytes >= 0)
    text += line("left for rows of features", std::max<std::int64_t>(0, tiers::bytes_left(budget)));
  text += line("rows that it keeps", tiers::device_rows(map, 0) * budget.row_bytes,
               fmt::format("{} of {}{}", tiers::device_rows(map, 0), map.rows,
                           report.devices > 1 ? fmt::format(": {} on each device, its part of {} that all share",
                                                            map.replicated, map.pooled)
                                              : ""));
  if (report.graph_rows > 0)
    text += line("rows of the graph that it keeps", report.graph_bytes,
                 fmt::format("{} of {}{}", report.graph_rows, map.rows, report.devices > 1 ? " on all devices" : ""));
  const PredictedReads& reads = report.reads;
  const auto share = [&](double rows) { return reads.all() == 0 ? 0 : 100 * rows / reads.all(); };
  text += fmt::format("\na batch of a device reads {:.0f} rows: {:.1f} % its own", reads.all(), share(reads.own));
  if (report.devices > 1) text += fmt::format(", {:.1f} % of other devices", share(reads.peer));
  text += fmt::format(", {:.1f} % from main memory ({:.2f} MB over the link, {:.2f} MB without hot rows)\n",
                      share(reads.host), 1e-6 * report.link_bytes, 1e-6 * report.all_bytes);
  if (const double pieces = report.graph_reads_on_devices + report.graph_reads_on_host; pieces > 0)
    text +=
        fmt::format("to sample it, a device reads {:.0f} pieces of the graph, {:.1f} % of them in devices' memories\n",
                    pieces, 100 * report.graph_reads_on_devices / pieces);
  if (!report.machine.empty())
    text +=
        fmt::format("on {}: {:.3f} ms to read them, one after the other\n", report.machine, 1e3 * report.read_seconds);
  if (report.epoch_seconds > 0) text += fmt::format("planned: {:.3f} s an epoch\n", report.epoch_seconds);
  return text;
}

Json to_json(const BatchPlanReport& report) {
  Json json;
  json["steps"] = report.steps;
  json["batch_size"] = report.batch_size;
  json["devices"] = report.devices;
  json["machine"] = report.machine;
  json["memory_bytes"] = report.budget.memory_bytes;
  json["plan_bytes"] = report.budget.plan_bytes;
  json["slabs"] = report.budget.slabs;
  json["slab_bytes"] = report.budget.slab_bytes;
  json["row_bytes"] = report.budget.row_bytes;
  json["replicated_rows"] = report.tier_map.replicated;
  json["shared_rows"] = report.tier_map.pooled;
  json["graph_rows"] = report.graph_rows;
  json["graph_bytes"] = report.graph_bytes;
  json["graph_reads"] =
      Json::object({{"devices", report.graph_reads_on_devices}, {"host", report.graph_reads_on_host}});
  json["reads"] = Json::object({{"own", report.reads.own}, {"peer", report.reads.peer}, {"host", report.reads.host}});
  json["link_bytes"] = report.link_bytes;
  json["link_bytes_without"] = report.all_bytes;
  json["read_seconds"] = report.read_seconds;
  json["epoch_seconds"] = report.epoch_seconds;
  return json;
}

}  // namespace gneiss::jobs
