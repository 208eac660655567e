// Nodes are cut into runs of about equal work. What each exchange would take is modelled for every device; a sum is
// through when the last one is.
#include "jobs/device_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <optional>
#include <utility>

#include "base/error.h"
#include "exchange/workload.h"
#include "jobs/card_plan.h"
#include "jobs/options.h"
#include "jobs/tuned_numbers.h"
#include "partition/contiguous.h"
#include "partition/owners.h"
#include "train/rank_plan.h"

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

/// Devices that are threads here: a get wakes a thread, which reads and writes each row by the memory's rate.
exchange::Machine this_machine(const cost::Rates& rates) {
  constexpr double kBytes = 1 << 28;
  constexpr std::int64_t kCache = std::int64_t{1} << 20;
  exchange::Machine machine;
  machine.name = "this machine";
  machine.gpu.name = "threads";
  machine.gpu.memory_bytes_per_second = kBytes / cost::stream_seconds(rates, kBytes);
  machine.gpu.cache_bytes_per_second = kCache / cost::cached_stream_seconds(rates, kCache);
  machine.gpu.cache_bytes = kCache;
  machine.bytes_per_second = machine.gpu.memory_bytes_per_second / 2;
  machine.seconds = 5e-6;
  machine.hides = false;
  return machine;
}

/// The first numbers of the tuner: pieces of about the mean degree, and as many warps and rows under way as fit. None
/// where rows are too wide for one warp.
std::optional<exchange::Tuning> first_tuning(const graph::Graph& graph, const exchange::Tuner::Allowed& fits) {
  const double degree =
      static_cast<double>(graph.num_edges()) / static_cast<double>(std::max<std::int64_t>(1, graph.num_nodes()));
  exchange::Tuning tuning = exchange::Tuner(degree, [](const exchange::Tuning&) { return true; }).current();
  while (tuning.warps > 1 && !fits(tuning)) tuning.warps /= 2;
  if (!fits(tuning)) tuning.stages = 1;
  if (!fits(tuning)) return {};
  return tuning;
}

/// Virtual devices run any numbers within these; blocks hold more units than an SM's, as a get costs them more.
bool runs_on_threads(const exchange::Tuning& tuning) {
  const auto within = [](int number, int most) { return number >= 1 && number <= most; };
  return within(tuning.piece, exchange::kMostTuning.piece) && within(tuning.dist, exchange::kMostTuning.dist) &&
         within(tuning.warps, 64) && within(tuning.stages, exchange::kMostTuning.stages);
}

exchange::Tuner::Allowed runs_on(const exchange::Gpu& gpu, std::int64_t columns) {
  return [gpu, columns](const exchange::Tuning& tuning) {
    return exchange::shared_bytes(tuning, columns) <= exchange::kMostShared &&
           exchange::resources_of(tuning, columns, 1, gpu).refused.empty();
  };
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

static TrainingExchange find_exchange(const settings::Config& config, const Sharers& sharers, const cost::Rates& rates,
                                      const graph::Graph& graph, std::int64_t columns) {
  TrainingExchange made;
  const std::string& asked = config.text("train.exchange");
  if (asked != "auto") {
    made.how = exchange::exchange_of(asked);
    made.why = "as asked for";
    if (made.how == Exchange::kStream && plans_for_card(config))
      made.why += "; kernels of cards have all rows before they sum, as by halo";
    return made;
  }
  const int devices = sharers.count;
  const bool named = config.origin("train.machine") == settings::Origin::kFlag || sharers.on_cards;
  exchange::Machine machine = named ? exchange::find_machine(config.text("train.machine")) : this_machine(rates);
  if (!named && plans_for_card(config)) machine.name = "a card that devices share";
  const std::vector<partition::PartTraffic> parts =
      partition::part_traffic(graph, partition::owners_of(partition::contiguous(graph.offsets(), devices)), devices);
  std::int64_t largest = 0;
  for (const partition::PartTraffic& part : parts) largest = std::max(largest, part.nodes);
  std::vector<exchange::SumSize> sizes;
  for (const partition::PartTraffic& part : parts) sizes.push_back(exchange::size_of(part, largest));
  made.how = exchange::choose_exchange(sizes, columns, machine, !plans_for_card(config));  // there stream is halo
  made.why = fmt::format("auto: a sum of {} columns is the shortest so on {}", columns, machine.name);
  return made;
}

TrainingExchange training_exchange(const settings::Config& config, const Sharers& sharers, const cost::Rates& rates,
                                   const graph::Graph& graph, const ir::Program& model, std::int64_t columns) {
  TrainingExchange made = find_exchange(config, sharers, rates, graph, columns);
  if (made.how != Exchange::kFine) return made;
  made.key = tuned_key(graph, model, columns, sharers.count) + (sharers.join_by_mpi ? " mpi" : "");
  made.tunes = runs_on_threads;
  if (plans_for_card(config)) {
    made.tunes = runs_on(exchange::find_machine(config.text("train.machine")).gpu, columns);
    made.key += " on " + sharers.card + (sharers.on_cards ? "" : ", shared");
  }
  const std::optional<exchange::Tuning> fits = first_tuning(graph, made.tunes);
  if (!fits && config.text("train.exchange") == "auto") {
    made.how = Exchange::kHalo;
    made.why = fmt::format("auto: rows of {} columns are too wide for the shared memory of a block, as fine needs it",
                           columns);
    return made;
  }
  GNEISS_CHECK(fits, ErrorCode::kUnsupported,
               "--exchange fine: a row of {} columns is too wide for the shared memory of a block; use --exchange halo",
               columns);
  const exchange::Tuning first = *fits;
  made.tuning = first;
  if (plans_for_card(config)) {  // what kernels add to what goes by piece and dist: bits must not depend on timings
    made.tunes = [runs = made.tunes, first](const exchange::Tuning& tuning) {
      return tuning.piece == first.piece && tuning.dist == first.dist && runs(tuning);
    };
    if (sharers.card.empty()) return made;
  }
  const std::optional<exchange::Tuning> kept = load_tuned(made.key, &made.warning);
  if (!kept || !made.tunes(*kept)) return made;
  made.tuning = *kept;
  made.tunes = nullptr;
  made.why += ", with numbers of the tuner from an earlier training";
  return made;
}

void plan_training(data::Dataset&& dataset, const train::SessionOptions& options, const train::Cutting& cutting,
                   DevicePlan* plan) {
  data::Dataset whole = std::move(dataset);
  const int devices = static_cast<int>(plan->parts.size());
  train::NodeCut cut = train::cut_nodes(devices, cutting, train::threads_of(options), &whole);
  plan->on_card = options.passes.target == planner::Target::kDevice;
  const std::vector<partition::PartTraffic> parts = partition::part_traffic(
      whole.graph, partition::owners_of(cut.starts), devices, train::is_cut_both_ways(whole, plan->trains_by.how));
  train::SessionOptions shared = options;
  shared.threads = std::max(1, train::threads_of(options) / devices);  // as a training shares them out
  const train::RankPlanner planner(whole, shared,
                                   train::PlannedExchange{true, plan->trains_by.how, plan->trains_by.tuning});
  for (int device = 0; device < devices; ++device) {
    train::PlannedRank planned = planner.plan(cut.starts, parts, device);
    plan->fetches.push_back(std::move(planned.fetches));
    plan->bytes.push_back(planned.bytes);
    plan->exchange_bytes.push_back(planned.exchange_bytes);
  }
  if (!plan->equal_blocks) return;
  std::int64_t block = 0;
  for (std::size_t d = 0; d < plan->bytes.size(); ++d)
    block = std::max(block, plan->bytes[d] - plan->exchange_bytes[d]);
  for (std::size_t d = 0; d < plan->bytes.size(); ++d) {
    const std::int64_t unused = block - (plan->bytes[d] - plan->exchange_bytes[d]);
    plan->bytes[d] += unused;
    plan->exchange_bytes[d] += unused;
  }
}

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
  const std::optional<exchange::Tuning> first = first_tuning(graph, runs_on(plan.machine.gpu, columns));
  if (!first) return plan;
  plan.tuning = *first;
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
  if (plan.on_card) text += "  (kernels here have all rows before they sum by stream too: auto takes halo or fine)\n";
  if (plan.resources.blocks == 0)
    text += fmt::format("  a fine-grained kernel on {}: none, a row is too wide for a block's shared memory\n",
                        plan.machine.gpu.name);
  else
    text += fmt::format(
        "  a fine-grained kernel on {}: pieces of {} edges, {} warps a block, {} rows under way a warp; {} bytes of "
        "shared memory a block,\n  about {} blocks, {} on an SM at once, occupancy {:.0f} %\n",
        plan.machine.gpu.name, plan.tuning.piece, plan.tuning.warps, plan.tuning.stages, plan.resources.shared_bytes,
        plan.resources.blocks, plan.resources.blocks_per_sm, 100 * plan.resources.occupancy);
  text +=
      fmt::format("\n  a training here: rows by {} ({})\n", exchange::name_of(plan.trains_by.how), plan.trains_by.why);
  if (plan.fetches.empty()) return text;
  text += plan.on_card
              ? "  MiB of its card that a device takes, and of these what others' rows take besides values (tables):\n "
              : "  MiB that a device takes, and of these what others' rows take besides values (edges in pieces):\n ";
  for (std::size_t d = 0; d < plan.bytes.size(); ++d)
    text += fmt::format(" {:.2f} ({:.2f})", static_cast<double>(plan.bytes[d]) / (1 << 20),
                        static_cast<double>(plan.exchange_bytes[d]) / (1 << 20));
  text += '\n';
  const auto moved = [&](std::initializer_list<ir::Phase> phases) {
    std::int64_t bytes = 0;
    for (const std::vector<exchange::Fetch>& device : plan.fetches) {
      for (const ir::Phase phase : phases) {
        for (const std::int64_t from : exchange::bytes_from(device, phase)) bytes += from;
      }
    }
    return 1e-6 * static_cast<double>(bytes);
  };
  text += fmt::format("  it moves {:.3f} MB once, {:.3f} MB in a step and {:.3f} MB in an evaluation; MB of a step:\n",
                      moved({ir::Phase::kSetup}), moved({ir::Phase::kForward, ir::Phase::kBackward}),
                      moved({ir::Phase::kInference}));
  text += fmt::format("  {:>8}", "from");
  for (std::size_t to = 0; to < plan.fetches.size(); ++to) text += fmt::format(" {:>9}", fmt::format("to {}", to));
  for (std::size_t from = 0; from < plan.fetches.size(); ++from) {
    text += fmt::format("\n  {:>8}", from);
    for (const std::vector<exchange::Fetch>& device : plan.fetches) {
      const std::int64_t bytes = device.empty() ? 0
                                                : exchange::bytes_from(device, ir::Phase::kForward)[from] +
                                                      exchange::bytes_from(device, ir::Phase::kBackward)[from];
      text += fmt::format(" {:9.3f}", 1e-6 * static_cast<double>(bytes));
    }
  }
  return text + '\n';
}

}  // namespace gneiss::jobs
