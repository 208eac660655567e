// `gneiss plan`: everything that training decides and needs, before any of it is allocated.
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "jobs/card_deal.h"
#include "jobs/device_choice.h"
#include "jobs/job.h"
#include "jobs/options.h"
#include "jobs/plan_batches.h"
#include "jobs/rank_machine.h"
#include "jobs/workload.h"
#include "train/planned_bytes.h"

namespace gneiss::jobs {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

std::string mib(std::int64_t bytes) { return fmt::format("{:10.2f} MiB", static_cast<double>(bytes) / kMiB); }

struct MemoryRow {
  const char* name;
  std::int64_t bytes;
};

std::vector<MemoryRow> memory_rows(const PlanReport& report) {
  const ir::Plan& plan = report.plan;
  std::int64_t graphs = 0;
  std::int64_t tiles = 0;
  for (const ir::GraphUse& use : plan.graph_uses) {
    graphs += use.bytes;
    tiles += use.tile_bytes;
  }
  tiles += plan.loss_tile_bytes();
  const std::int64_t bands = plan.band_bytes * report.threads;
  const std::int64_t listed =
      graphs + tiles + plan.feature_transpose_bytes + plan.constant_bytes + plan.arena_bytes + bands;
  return {{"process before any data", report.baseline_bytes},
          {"data set", report.data_bytes},
          {"derived graphs and transposes", graphs},
          {"edges cut by sources", tiles},
          {"transposed features", plan.feature_transpose_bytes},
          {"constants computed once", plan.constant_bytes},
          {"others, in a file and not in memory", plan.file_bytes},
          {"arena of intermediate values", plan.arena_bytes},
          {"of it, workspace of kernels too", plan.workspace_bytes},
          {"bands of rows, on all threads", bands},
          {"parameters, gradients, optimizer", report.session_bytes - listed},
          {"of all that, freed after the setup", report.freed_bytes},
          {"while reading the data", report.load_peak_bytes},
          {"peak, driver and libraries included", report.peak_bytes}};
}

/// When a part goes: "after step 3 (degree)", …
std::string moment_of(const ir::Release& release, const ir::Plan& plan) {
  if (release.after == ir::Release::kAtOnce) return "before structures are made";
  if (release.after == ir::Release::kBeforeSetup) return "before the setup";
  if (release.after == ir::Release::kAfterSetup) return "after the setup";
  const ir::Op& op = plan.program.ops[static_cast<std::size_t>(plan.steps[static_cast<std::size_t>(release.after)].op)];
  return fmt::format("after step {} of the setup ({})", release.after, ir::traits(op.kind).name);
}

std::string name_of(const ir::Release& release, const ir::Plan& plan) {
  const bool of_graph = release.what == ir::Released::kGivenEdges || release.what == ir::Released::kInEdges ||
                        release.what == ir::Released::kOutEdges;
  const std::string of = of_graph ? " of " + plan.program.graphs[static_cast<std::size_t>(release.graph)].name : "";
  return std::string(ir::released_name(release.what)) + of;
}

/// The optimizer reads values and gradients, writes values, and does both with its state.
void predict_times(const train::SessionOptions& options, PlanReport* report) {
  const ir::Plan& plan = report->plan;
  const int sweeps = 3 + 2 * runtime::Optimizer<float>::state_values(options.optimizer);
  const double update = cost::stream_seconds(options.passes.rates, static_cast<double>(plan.parameter_bytes) * sweeps);
  report->setup_seconds = plan.seconds(ir::Phase::kSetup);
  report->epoch_seconds = plan.seconds(ir::Phase::kForward) + plan.seconds(ir::Phase::kBackward) + update;
  report->evaluation_seconds = plan.seconds(ir::Phase::kInference);
}

/// What training would make; where this machine has too little memory for it, what one with enough would, and a
/// warning. Mini-batches need no plan of the whole graph.
train::Blueprint blueprint_of(const settings::Config& config, const Workload& workload, train::SessionOptions* options,
                              PlanReport* report) {
  try {
    return train::make_blueprint(workload.dataset(), *options);
  } catch (const Error& error) {
    const bool batches = trains_batches(config);
    if (error.code() != ErrorCode::kOutOfMemory || (config.has("train.mem") && !batches)) throw;
    report->warnings.push_back(fmt::format(
        "{}: {} ({})",
        batches ? "the training would evaluate layer by layer; the whole graph at once, which is shown here, needs more"
                : "this plan is one for a machine with more memory",
        error.message(), error.where()));
  }
  report->printed.clear();
  options->passes.excess_bytes = nullptr;
  return train::make_blueprint(workload.dataset(), *options);
}

}  // namespace

PlanReport plan(settings::Config config, const std::vector<std::string>& print_after, GivenData given) {
  check_ranks(config, rank_count(config));
  check_exchange(config, true);
  check_peer_memory(config);
  const bool for_card = plans_for_card(config);
  if (!for_card) check_no_card(config);
  if (for_card && trains_batches(config)) {
    throw Error(ErrorCode::kUnsupported, "mini-batches do not run on cards yet", config.where("device.name"),
                "use --device sim:v100 or cpu, or leave out --batch-size");
  }
  if (for_card) check_card_of_several(config);
  const std::vector<int> card_of = for_card ? deal_described_cards(config) : std::vector<int>();
  Workload workload(&config, PlanFor::kThisMachine, std::move(given));
  PlanReport report;
  train::SessionOptions options = workload.session();
  if (for_card) plan_for_device(described_bytes(config), &options);
  options.passes.print_after.insert(print_after.begin(), print_after.end());
  options.passes.print = [&](std::string_view pass, const std::string& text) {
    report.printed.emplace_back(pass, text);
  };
  if (trains_batches(config)) options.loss.evaluation_only = true;
  train::Blueprint blueprint = blueprint_of(config, workload, &options, &report);
  report.model = config.text("model.name");
  report.dataset = workload.dataset().name;
  report.plan = std::move(blueprint.plan);
  if (trains_batches(config)) report.batches = plan_batches(config, workload);
  for (const ir::Param& param : report.plan.program.params)
    report.parameters += param.trainable ? param.rows * param.cols : 0;
  report.data_bytes = workload.dataset().bytes();
  report.feature_dtype = half_name(workload.dataset().features.dtype);
  const train::PlannedBytes planned =
      train::planned_bytes(report.plan, train::label_bytes(workload.dataset().labels), options);
  report.threads = train::threads_of(options);
  report.session_bytes = planned.total;
  report.freed_bytes = planned.total - planned.steps + planned.data_after_setup;
  report.reorder = workload.reorder();
  report.defaults = workload.defaults();
  report.baseline_bytes = workload.baseline_bytes();
  report.load_peak_bytes = workload.load_peak_bytes();
  report.peak_bytes = workload.peak_bytes(report.plan);
  report.rates = options.passes.rates.source;
  report.warnings.insert(report.warnings.begin(), options.warnings.begin(), options.warnings.end());
  predict_times(options, &report);
  const bool several_on_cards = for_card && device_count(config) > 1;
  if (for_card && !several_on_cards) {
    report.card = plan_card(config, workload.dataset(), report.plan, options);
    report.peak_bytes = report.card->layout.bytes;
  }
  if (const int ranks = rank_count(config); ranks > 1) {
    const RanksToPlan wanted = {.ranks = ranks,
                                .per_node = static_cast<int>(config.integer("train.ranks_per_node")),
                                .method = config.text("train.partition"),
                                .columns = workload.gathered_width(),
                                .exchange = rank_exchange(config)};
    report.ranks = plan_ranks(workload.take_dataset(), options, config, wanted);
    return report;
  }
  if (const int devices = device_count(config); devices > 1 && !report.batches) {
    report.devices = plan_devices(workload.dataset().graph, devices, config.text("train.machine"),
                                  train::gathered_width(blueprint.compiled.program));
    report.devices->trains_by =
        training_exchange(config, Sharers{devices, false, cards_of(card_of).size() > 1, {}}, options.passes.rates,
                          workload.dataset().graph, blueprint.compiled.program, workload.gathered_width());
    report.devices->equal_blocks = takes_nvshmem(config);
    const train::Cutting cutting = {
        config.text("train.partition"),
        epoch_model(rank_machine(config, 1), workload.dataset().graph, workload.gathered_width())};
    plan_training(workload.take_dataset(), options, cutting, &*report.devices);
    if (several_on_cards) {
      report.card = plan_cards(config, card_of, report.devices->bytes);
      report.peak_bytes = report.card->layout.bytes;
    }
  }
  return report;
}

std::string describe(const PlanReport& report) {
  std::string text;
  for (const auto& [pass, program] : report.printed) text += fmt::format("--- after {} ---\n{}\n", pass, program);
  text += fmt::format("model {} on {}: {} parameters\n", report.model, report.dataset, report.parameters);
  if (!report.defaults.empty()) text += fmt::format("defaults for {}\n", report.defaults);
  text += fmt::format("order of nodes: {}\n", train::describe(report.reorder));
  text += fmt::format("features kept as {}", report.feature_dtype);
  const std::int64_t saved = report.plan.bytes_saved_by_halves();
  if (saved > 0)
    text +=
        fmt::format(": {:.2f} MiB less than f32, constants made from them included", static_cast<double>(saved) / kMiB);
  if (!report.plan.fit.empty()) text += fmt::format("\nmade to fit: {}", report.plan.fit);
  text += "\n\n";
  text += fmt::format("{:20} {:>9}  {:>6} {:>6}  decisions\n", "pass", "ms", "ops", "after");
  for (const ir::PassReport& pass : report.plan.passes) {
    text += fmt::format("{:20} {:9.3f}  {:6} {:6}", pass.name, pass.milliseconds, pass.ops_before, pass.ops_after);
    for (std::size_t i = 0; i < pass.decisions.size(); ++i)
      text += (i == 0 ? "  " : fmt::format("\n{:48}", "")) + pass.decisions[i];
    text += '\n';
  }
  text += '\n' + ir::describe(report.plan) + '\n';
  text += report.card ? describe(*report.card) : "memory\n";
  for (const MemoryRow& row : report.card ? std::vector<MemoryRow>() : memory_rows(report))
    text += fmt::format("  {:34}{}\n", row.name, mib(row.bytes));
  if (!report.plan.releases.empty() && !report.card) text += "\nfreed on the way\n";
  for (const ir::Release& release : report.card ? std::vector<ir::Release>() : report.plan.releases)
    text += fmt::format("  {:34}{}  {}\n", name_of(release, report.plan), mib(release.bytes),
                        moment_of(release, report.plan));
  const bool several_cards = report.card && report.devices;
  text += fmt::format("\nmodelled time{}, by rates of {}\n", several_cards ? " of one card with the whole graph" : "",
                      report.rates);
  const std::pair<const char*, double> times[] = {{"once, before the first epoch", report.setup_seconds},
                                                  {"an epoch: forward, backward, update", report.epoch_seconds},
                                                  {"an evaluation", report.evaluation_seconds}};
  for (const auto& [name, seconds] : times) text += fmt::format("  {:37}{:10.3f} ms\n", name, 1e3 * seconds);
  if (report.devices) text += '\n' + describe(*report.devices);
  if (report.batches) text += '\n' + describe(*report.batches);
  if (report.ranks) text += '\n' + describe(*report.ranks);
  return text;
}

std::string to_json(const PlanReport& report, int indent) {
  Json json;
  json["model"] = report.model;
  json["dataset"] = report.dataset;
  json["parameters"] = report.parameters;
  json["defaults"] = report.defaults;
  json["plan_peak_bytes"] = report.peak_bytes;
  json["load_peak_bytes"] = report.load_peak_bytes;
  json["data_bytes"] = report.data_bytes;
  json["feature_dtype"] = report.feature_dtype;
  json["feature_bytes_saved"] = report.plan.bytes_saved_by_halves();
  json["session_bytes"] = report.session_bytes;
  json["freed_bytes"] = report.freed_bytes;
  json["arena_bytes"] = report.plan.arena_bytes;
  json["workspace_bytes"] = report.plan.workspace_bytes;
  json["band_bytes"] = report.plan.band_bytes * report.threads;
  json["constant_bytes"] = report.plan.constant_bytes;
  json["file_bytes"] = report.plan.file_bytes;
  json["rates"] = report.rates;
  json["predicted_seconds"] = Json::object(
      {{"setup", report.setup_seconds}, {"epoch", report.epoch_seconds}, {"evaluation", report.evaluation_seconds}});
  json["warnings"] = report.warnings;
  json["reorder"] = runs::json_of(report.reorder);
  json["fit"] = report.plan.fit;
  json["passes"] = Json::list();
  for (const ir::PassReport& pass : report.plan.passes) {
    json["passes"].push_back(Json::object({{"name", pass.name},
                                           {"milliseconds", pass.milliseconds},
                                           {"ops_before", pass.ops_before},
                                           {"ops_after", pass.ops_after},
                                           {"decisions", pass.decisions}}));
  }
  json["steps"] = Json::list();
  for (const ir::Step& step : report.plan.steps) {
    const ir::Op& op = report.plan.program.ops[static_cast<std::size_t>(step.op)];
    std::int64_t bytes = 0;
    for (const ir::ValueId value : op.results) {
      if (value != ir::kNoValue) bytes += report.plan.placements[static_cast<std::size_t>(value)].bytes;
    }
    json["steps"].push_back(Json::object({{"op", ir::traits(op.kind).name},
                                          {"phase", ir::phase_name(op.phase)},
                                          {"variant", step.variant},
                                          {"result_bytes", bytes},
                                          {"flops", step.flops},
                                          {"traffic_bytes", step.bytes},
                                          {"predicted_seconds", step.seconds}}));
  }
  json["releases"] = Json::list();
  for (const ir::Release& release : report.plan.releases) {
    json["releases"].push_back(Json::object({{"what", name_of(release, report.plan)},
                                             {"bytes", release.bytes},
                                             {"when", moment_of(release, report.plan)}}));
  }
  if (report.ranks) {
    Json& ranks = json["ranks"];
    ranks["cut"] = report.ranks->cut;
    ranks["per_node"] = report.ranks->per_node;
    ranks["bytes_per_second"] = report.ranks->network.bytes_per_second;
    ranks["latency"] = report.ranks->network.latency;
    ranks["network"] = report.ranks->network.source;
    ranks["rates"] = report.ranks->rates;
    ranks["advised"] = report.ranks->advised;
    ranks["table"] = Json::list();
    for (const RanksEstimate& row : report.ranks->table) {
      ranks["table"].push_back(Json::object({{"ranks", row.ranks},
                                             {"exchange", exchange::name_of(row.exchange)},
                                             {"bytes", row.bytes},
                                             {"ghosts", row.ghosts},
                                             {"sent_bytes", row.sent_bytes},
                                             {"epoch_seconds", row.epoch_seconds()},
                                             {"compute_seconds", row.compute_seconds},
                                             {"communicate_seconds", row.communicate_seconds},
                                             {"hidden_seconds", row.hidden_seconds()},
                                             {"exposed_seconds", row.exposed_seconds}}));
    }
  }
  for (const auto& [pass, program] : report.printed) json["printed"][pass] = program;
  if (report.card) {
    Json& card = json["card"];
    card["name"] = report.card->card;
    card["memory_bytes"] = report.card->memory_bytes;
    card["bytes"] = report.card->layout.bytes;
    card["parts"] = Json::list();
    for (const runtime::DevicePart& part : report.card->layout.parts)
      card["parts"].push_back(Json::object({{"what", part.what}, {"bytes", part.bytes}}));
    const std::vector<int> cards = cards_of(report.card->card_of);
    if (!cards.empty() && cards[0] >= 0) {
      const std::vector<std::int64_t> bytes = bytes_by_card(*report.card);
      card["of_device"] = report.card->card_of;
      card["cards"] = Json::list();
      for (std::size_t i = 0; i < cards.size(); ++i)
        card["cards"].push_back(Json::object({{"card", cards[i]}, {"bytes", bytes[i]}}));
    }
  }
  if (report.batches) json["batches"] = to_json(*report.batches);
  if (report.devices) {
    Json& devices = json["devices"];
    devices["machine"] = report.devices->machine.name;
    devices["columns"] = report.devices->columns;
    devices["halo_seconds"] = report.devices->halo_seconds;
    devices["stream_seconds"] = report.devices->stream_seconds;
    devices["fine_seconds"] = report.devices->fine_seconds;
    devices["exchange"] = exchange::name_of(report.devices->chosen);
    devices["trains_by"] = exchange::name_of(report.devices->trains_by.how);
    // What a device fetches from each other one in one run of a phase.
    devices["fetched_bytes"] = Json::list();
    for (const std::vector<exchange::Fetch>& fetches : report.devices->fetches) {
      Json device;
      for (const ir::Phase phase :
           {ir::Phase::kSetup, ir::Phase::kForward, ir::Phase::kBackward, ir::Phase::kInference})
        device[ir::phase_name(phase)] = exchange::bytes_from(fetches, phase);
      devices["fetched_bytes"].push_back(std::move(device));
    }
    devices["bytes"] = report.devices->bytes;
    devices["exchange_bytes"] = report.devices->exchange_bytes;
    devices["parts"] = Json::list();
    for (const partition::PartTraffic& part : report.devices->parts) {
      devices["parts"].push_back(Json::object({{"nodes", part.nodes},
                                               {"local_edges", part.local_edges},
                                               {"remote_edges", part.remote_edges},
                                               {"halo_rows_from", part.halo_rows},
                                               {"edge_rows_from", part.edge_rows}}));
    }
  }
  return json.dump(indent);
}

}  // namespace gneiss::jobs
