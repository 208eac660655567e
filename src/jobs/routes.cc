// Texts and numbers of how an epoch went: its schedule, where rows were read, and what that takes by a machine's rates.
#include "jobs/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/error.h"
#include "schedule/trace.h"

namespace gneiss::jobs {
namespace {

double part(schedule::Nanoseconds time, schedule::Nanoseconds whole) {
  return whole == 0 ? 0 : static_cast<double>(time) / static_cast<double>(whole);
}

const char* kind(const train::RoutedEpoch& epoch) {
  return epoch.threads ? "device of threads, profile" : "simulated machine";
}

double megabytes(std::int64_t bytes) { return static_cast<double>(bytes) / 1e6; }

bool has_hot_rows(const tiers::TierMap& map) { return map.replicated + map.pooled > 0; }

/// Rows that no device keeps, in main memory or in a file: a map has one of both.
tiers::TierCount cold_of(const tiers::TierTraffic& read) {
  tiers::TierCount both = read.of(tiers::Tier::kHost);
  both.add(read.of(tiers::Tier::kDisk));
  return both;
}

bool is_on_disk(const tiers::TierMap& map) { return map.replicated + map.pooled + map.host < map.rows; }

/// What one of several devices read: shared rows of its own memory count as its own.
struct DeviceReads {
  std::int64_t own_rows = 0;
  std::int64_t own_bytes = 0;
  std::int64_t peer_rows = 0;
  std::int64_t peer_bytes = 0;
  tiers::TierCount host;
};

DeviceReads reads_of(const train::ParallelEpoch& epoch, std::size_t device) {
  const tiers::TierTraffic& read = epoch.read[device];
  const tiers::TierCount& copies = read.of(tiers::Tier::kReplicated);
  const tiers::TierCount& shared = read.of(tiers::Tier::kPooled);
  const std::int64_t mine = device < read.pooled_bytes.size() ? read.pooled_bytes[device] : 0;
  const std::int64_t row_bytes = shared.rows == 0 ? 1 : shared.bytes / shared.rows;
  return {copies.rows + mine / row_bytes, copies.bytes + mine, shared.rows - mine / row_bytes, shared.bytes - mine,
          cold_of(read)};
}

/// By a machine's rates, one place after the other.
double seconds_of(const DeviceReads& reads, const schedule::Machine& machine) {
  constexpr double kPiece = 128;
  const double of_peers = reads.peer_bytes == 0 ? 0 : static_cast<double>(reads.peer_bytes) / machine.peer_link;
  return static_cast<double>(reads.own_bytes) / machine.device_memory + of_peers +
         kPiece * static_cast<double>(reads.host.pieces_128) / machine.link_reads;
}

/// Where the last epoch's rows came from.
std::string describe_tiers(const train::RoutedEpoch& epoch) {
  const tiers::TierCount& own = epoch.by_device.of(tiers::Tier::kReplicated);
  const tiers::TierCount read = cold_of(epoch.by_device);
  const tiers::TierCount gathered = cold_of(epoch.by_cpu);
  const std::int64_t rows = own.rows + read.rows + gathered.rows;
  return fmt::format(
      "  rows     {} an epoch: {} from the device's memory ({:.1f} %, {:.1f} MB), {} gathered by the CPU ({:.1f} MB), "
      "{} read through the link ({:.1f} MB){}\n",
      rows, own.rows, rows == 0 ? 0 : 100 * static_cast<double>(own.rows) / static_cast<double>(rows),
      megabytes(own.bytes), gathered.rows, megabytes(gathered.bytes), read.rows, megabytes(read.bytes),
      is_on_disk(epoch.tier_map) ? ", these two from their file" : "");
}

Json to_json(const tiers::TierCount& count) {
  return Json::object(
      {{"rows", count.rows}, {"bytes", count.bytes}, {"pieces_32", count.pieces_32}, {"pieces_128", count.pieces_128}});
}

/// What devices drew from: pooled rows are a device's, its own or another's.
std::string describe_drawn(const tiers::TierTraffic& drawn) {
  const tiers::TierCount& kept = drawn.of(tiers::Tier::kPooled);
  const tiers::TierCount& host = drawn.of(tiers::Tier::kHost);
  const std::int64_t rows = kept.rows + host.rows;
  return fmt::format(
      "rows of the graph: {} drawn from an epoch, {} in devices' memories ({:.1f} %, {:.1f} MB), {} through the link "
      "({:.1f} MB)",
      rows, kept.rows, rows == 0 ? 0 : 100 * static_cast<double>(kept.rows) / static_cast<double>(rows),
      megabytes(kept.bytes), host.rows, megabytes(host.bytes));
}

Json to_json(const train::KeptEdges& kept, std::span<const tiers::TierTraffic> drawn) {
  Json::List devices;
  for (const tiers::TierTraffic& of : drawn) {
    Json::List owners;
    for (const std::int64_t bytes : of.pooled_bytes) owners.emplace_back(bytes);
    devices.push_back(Json::object({{"devices", to_json(of.of(tiers::Tier::kPooled))},
                                    {"bytes_by_owner", owners},
                                    {"host", to_json(of.of(tiers::Tier::kHost))}}));
  }
  return Json::object({{"hot", kept.rows}, {"device_bytes", kept.device_bytes}, {"read", devices}});
}

}  // namespace

std::string describe_hot_edges(const train::KeptEdges& kept, std::int64_t rows) {
  return fmt::format("hot rows of the graph: {} of {} ({:.1f} %), {:.2f} MB on the fullest device", kept.rows, rows,
                     100 * static_cast<double>(kept.rows) / static_cast<double>(rows), megabytes(kept.device_bytes));
}

std::string describe_hot_rows(const tiers::HotRows& hot, const tiers::TierMap& map) {
  const std::int64_t count = map.replicated + map.pooled;
  std::string chosen;
  if (hot.batches > 0 && hot.hits_of == count)
    chosen = fmt::format(", best on {} batches apart: {:.1f} % of the rows they read", hot.batches, 100 * hot.hits);
  std::string held;
  if (map.devices > 1)
    held = fmt::format("; {} on each of {} devices, {} shared by them", map.replicated, map.devices, map.pooled);
  return fmt::format("hot rows: {} of {} ({:.1f} %) by {}{}; {:.2f} s{}", count, map.rows,
                     100 * static_cast<double>(count) / static_cast<double>(map.rows), tiers::score_name(hot.score),
                     chosen, hot.seconds, held);
}

std::string describe_epoch(const train::ParallelEpoch& epoch) {
  std::string text =
      fmt::format("{} devices, data parallel{}\n", epoch.devices, epoch.processes ? ", each a process" : "");
  const char* const cold = is_on_disk(epoch.tier_map) ? "their file" : "main memory";
  if (!has_hot_rows(epoch.tier_map)) text += fmt::format("  rows     all from {}\n", cold);
  if (epoch.kept_edges.rows > 0) {
    for (std::size_t d = 0; d < epoch.drawn.size(); ++d)
      text += fmt::format("  device {:<2} {}\n", d, describe_drawn(epoch.drawn[d]));
  }
  if (!has_hot_rows(epoch.tier_map)) return text;
  for (std::size_t d = 0; d < epoch.read.size(); ++d) {
    const DeviceReads reads = reads_of(epoch, d);
    text += fmt::format(
        "  device {:<2} {} rows an epoch: {} its own ({:.1f} MB), {} of other devices ({:.1f} MB), {} "
        "through the link from {} ({:.1f} MB)",
        d, reads.own_rows + reads.peer_rows + reads.host.rows, reads.own_rows, megabytes(reads.own_bytes),
        reads.peer_rows, megabytes(reads.peer_bytes), reads.host.rows, cold, megabytes(reads.host.bytes));
    if (epoch.machine != nullptr)
      text += fmt::format("; {:.3f} ms of reading", 1e3 * seconds_of(reads, *epoch.machine));
    text += '\n';
  }
  return text;
}

Json to_json(const train::ParallelEpoch& epoch) {
  Json json;
  json["devices"] = epoch.devices;
  json["processes"] = epoch.processes;
  json["replicated_rows"] = epoch.tier_map.replicated;
  json["shared_rows"] = epoch.tier_map.pooled;
  json["read"] = Json::list();
  if (epoch.kept_edges.rows > 0) json["graph"] = to_json(epoch.kept_edges, epoch.drawn);
  if (!has_hot_rows(epoch.tier_map)) return json;
  for (std::size_t d = 0; d < epoch.read.size(); ++d) {
    const tiers::TierTraffic& read = epoch.read[d];
    Json::List pairs;
    for (std::int64_t owner = 0; owner < epoch.devices; ++owner) {
      const auto at = static_cast<std::size_t>(owner);
      pairs.emplace_back(at < read.pooled_bytes.size() ? read.pooled_bytes[at] : 0);
    }
    Json device = Json::object({{"replicated", to_json(read.of(tiers::Tier::kReplicated))},
                                {"shared", to_json(read.of(tiers::Tier::kPooled))},
                                {"shared_bytes_by_owner", pairs},
                                {"host", to_json(cold_of(read))}});
    if (epoch.machine != nullptr) device["seconds"] = seconds_of(reads_of(epoch, d), *epoch.machine);
    json["read"].push_back(device);
  }
  return json;
}

std::string describe_place(const data::FeatureFile& file, const data::Features& features) {
  return fmt::format("features: {:.1f} MB stay in {}; batches and evaluations read their rows from there, by {}",
                     megabytes(features.bytes()), file.path(), file.describe_reads());
}

std::string describe_traffic(const data::FeatureFile& file) {
  const data::FeatureFile::Traffic traffic = file.traffic();
  return fmt::format(
      "features in a file: {} rows read ({:.1f} MB), with what lies between them {:.1f} MB in {} reads "
      "by {}, {:.1f} MB of it not in the system's cache\n",
      traffic.rows, megabytes(traffic.rows * file.row_bytes()), megabytes(traffic.bytes), traffic.reads,
      file.describe_reads(), megabytes(traffic.waited_bytes));
}

Json to_json(const data::FeatureFile& file) {
  const data::FeatureFile::Traffic traffic = file.traffic();
  return Json::object({{"path", file.path()},
                       {"rows", traffic.rows},
                       {"row_bytes", file.row_bytes()},
                       {"bytes", traffic.bytes},
                       {"reads", traffic.reads},
                       {"by", file.describe_reads()},
                       {"waited_bytes", traffic.waited_bytes}});
}

std::string describe_plan(const train::RoutedEpoch& epoch) {
  const schedule::Planned& planned = epoch.planned;
  const schedule::Plan& plan = planned.plan;
  return fmt::format(
      "{} {}: {}, {} batches by the CPU and {} by the device; epoch {:.3f} s predicted, {:.3f} s at "
      "least; "
      "{}",
      kind(epoch), epoch.profile.name, schedule::mode_name(plan.mode), plan.cpu_batches, plan.device_batches(),
      schedule::to_seconds(planned.epoch), schedule::to_seconds(planned.bound), planned.why);
}

std::string describe_epoch(const train::RoutedEpoch& epoch) {
  const schedule::StageTimes& times = epoch.profile.times;
  const std::string again =
      epoch.replanned == 0
          ? ""
          : fmt::format(
                "  again    the plan changed {} times, by the means of the stages: {:.3f} ms a batch of the CPU, "
                "{:.3f} of a copy, {:.3f} of the device, {:.3f} of a step\n",
                epoch.replanned, schedule::to_ms(times.cpu_batch), schedule::to_ms(times.dma),
                schedule::to_ms(times.route1()), schedule::to_ms(times.train));
  const std::string of = epoch.before == 0 ? "an epoch" : fmt::format("behind the first {} batches", epoch.before);
  return fmt::format("{} {}\n{}  run      {:.3f} s {}\n{}", kind(epoch), epoch.profile.name,
                     schedule::describe(epoch.planned) + again, schedule::to_seconds(epoch.run.epoch), of,
                     schedule::describe(epoch.run, epoch.profile, epoch.planned.plan)) +
         (has_hot_rows(epoch.tier_map) ? describe_tiers(epoch) : "") +
         (epoch.kept_edges.rows > 0 ? "  graph    " + describe_drawn(epoch.drawn) + "\n" : "");
}

Json to_json(const train::RoutedEpoch& epoch) {
  const schedule::Planned& planned = epoch.planned;
  const schedule::Plan& plan = planned.plan;
  const schedule::Record& run = epoch.run;
  const schedule::Nanoseconds of_workers = run.epoch * plan.workers;
  Json json = Json::object({{"profile", epoch.profile.name},
                            {"device", epoch.threads ? "host" : "sim"},
                            {"mode", schedule::mode_name(plan.mode)},
                            {"x", plan.x},
                            {"cbs", plan.cbs},
                            {"gbs", plan.gbs},
                            {"first_x", planned.first_x},
                            {"predicted_seconds", schedule::to_seconds(planned.epoch)},
                            {"bound_seconds", schedule::to_seconds(planned.bound)},
                            {"epoch_seconds", schedule::to_seconds(run.epoch)},
                            {"why", planned.why},
                            {"replanned", epoch.replanned}});
  const schedule::StageTimes& times = epoch.profile.times;
  json["stage_ms"] = Json::object({{"cpu_batch", schedule::to_ms(times.cpu_batch)},
                                   {"copy", schedule::to_ms(times.dma)},
                                   {"device_batch", schedule::to_ms(times.route1())},
                                   {"train", schedule::to_ms(times.train)}});
  if (epoch.before > 0) json["resumed_behind"] = epoch.before;
  json["batches"] = Json::object({{"cpu", run.batches[0]}, {"device", run.batches[1]}});
  json["bytes"] = Json::object(
      {{"cpu", run.batches[0] * epoch.profile.dma_bytes}, {"device", run.batches[1] * epoch.profile.uva_bytes}});
  json["busy"] = Json::object({{"cpu", part(run.cpu_busy, of_workers)},
                               {"link", part(run.link_busy, run.epoch)},
                               {"device", part(run.device_busy, run.epoch)}});
  if (has_hot_rows(epoch.tier_map)) {
    json["rows"] = Json::object({{"hot", epoch.tier_map.replicated},
                                 {"device", to_json(epoch.by_device.of(tiers::Tier::kReplicated))},
                                 {"link", to_json(cold_of(epoch.by_device))},
                                 {"cpu", to_json(cold_of(epoch.by_cpu))},
                                 {"copied_bytes", epoch.copied_bytes}});
  }
  if (epoch.kept_edges.rows > 0) json["graph"] = to_json(epoch.kept_edges, std::span(&epoch.drawn, 1));
  json["blocked"] = Json::object({{"device_for_cpu", part(run.device_waits_for_cpu, run.epoch)},
                                  {"device_for_link", part(run.device_waits_for_link, run.epoch)},
                                  {"cpu_for_room", part(run.cpu_waits_for_room, of_workers)}});
  return json;
}

void write_trace(const std::filesystem::path& path, const train::RoutedEpoch& epoch) {
  std::vector<schedule::Traced> schedules = {{"plan", &epoch.simulated}};
  if (!epoch.run.spans.empty()) schedules.emplace_back("run", &epoch.run);
  schedule::write_trace(path, schedules);
}

void write_trace(const std::filesystem::path& path, const std::vector<const pgas::Timeline*>& devices) {
  constexpr int kDevice = 1;  // tracks
  constexpr int kLink = 2;
  using Clock = pgas::Timeline::Clock;
  Clock::time_point start = Clock::time_point::max();
  std::vector<std::vector<pgas::Timeline::Span>> spans;
  for (const pgas::Timeline* device : devices) {
    spans.push_back(device->spans());
    for (const pgas::Timeline::Span& span : spans.back()) start = std::min(start, span.begin);
  }
  const auto since = [start](Clock::time_point time) {
    return static_cast<schedule::Nanoseconds>(std::chrono::nanoseconds(time - start).count());
  };
  schedule::TraceEvents events;
  for (std::size_t d = 0; d < spans.size(); ++d) {
    events.name("process_name", d + 1, 0, fmt::format("device {}", d));
    events.name("thread_name", d + 1, kDevice, "sums and waits");
    events.name("thread_name", d + 1, kLink, "link");
    for (const pgas::Timeline::Span& span : spans[d]) {
      const bool get = span.what == pgas::Activity::kGet;
      events.slice(d + 1, get ? kLink : kDevice, pgas::activity_name(span.what), since(span.begin), since(span.end),
                   get ? fmt::format(R"("from":{},"bytes":{})", span.from, span.bytes) : "");
    }
  }
  events.write(path);
}

}  // namespace gneiss::jobs
