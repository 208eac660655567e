// Numbers that have to come back to the last bit are written as the shortest text that reads back as they were; JSON
// has no infinity, and early stopping begins with one.
#include "runs/checkpoint.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <tuple>

#include "base/error.h"
#include "base/file.h"
#include "base/hash_bytes.h"
#include "base/json.h"

namespace gneiss::runs {
namespace {

static_assert(std::endian::native == std::endian::little, "checkpoints are written as numbers lie in memory");

constexpr std::string_view kMagic = "GNEISSCP";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kPrefix = 24;

std::string text_of(double value) { return fmt::format("{}", value); }

double real_of(const Json& json) { return std::strtod(json.text().c_str(), nullptr); }

Json json_of(const epochs::Scores& scores) {
  return Json::list({text_of(scores.train), text_of(scores.val), text_of(scores.test)});
}

epochs::Scores scores_of(const Json& json) {
  const Json::List& list = json.elements();
  GNEISS_CHECK(list.size() == 3, ErrorCode::kBadData, "{} scores", list.size());
  return {real_of(list[0]), real_of(list[1]), real_of(list[2])};
}

Json json_of(const epochs::RunRecord& record) {
  return Json::object({{"seed", record.seed},
                       {"best_epoch", record.best_epoch},
                       {"best", json_of(record.best)},
                       {"best_val_loss", text_of(record.best_val_loss)},
                       {"stopped_early", record.stopped_early}});
}

epochs::RunRecord record_of(const Json& json) {
  epochs::RunRecord record;
  record.seed = json.at("seed").size();
  record.best_epoch = json.at("best_epoch").integer();
  record.best = scores_of(json.at("best"));
  record.best_val_loss = real_of(json.at("best_val_loss"));
  record.stopped_early = json.at("stopped_early").boolean();
  return record;
}

Json json_of(const epochs::Position& position) {
  const auto& [epoch, sums, stopping, schedule] = position;
  return Json::object({{"epoch", epoch.epoch},
                       {"seconds", text_of(epoch.seconds)},
                       {"steps", sums.steps},
                       {"loss", text_of(sums.loss)},
                       {"seeds", text_of(sums.seeds)},
                       {"stopping", Json::object({{"seen", stopping.seen},
                                                  {"best_metric", text_of(stopping.best_metric)},
                                                  {"best_loss", text_of(stopping.best_loss)},
                                                  {"without_progress", stopping.without_progress}})},
                       {"schedule", Json::object({{"plateau_lr", text_of(schedule.plateau_lr)},
                                                  {"best", text_of(schedule.best)},
                                                  {"has_best", schedule.has_best},
                                                  {"bad", schedule.bad}})}});
}

epochs::Position position_of(const Json& json) {
  epochs::Position position;
  position.epoch.epoch = json.at("epoch").integer();
  position.epoch.seconds = real_of(json.at("seconds"));
  position.sums = {json.at("steps").integer(), real_of(json.at("loss")), real_of(json.at("seeds"))};
  const Json& stopping = json.at("stopping");
  position.stopping = {stopping.at("seen").boolean(), real_of(stopping.at("best_metric")),
                       real_of(stopping.at("best_loss")), stopping.at("without_progress").integer()};
  const Json& schedule = json.at("schedule");
  position.schedule = {real_of(schedule.at("plateau_lr")), real_of(schedule.at("best")),
                       schedule.at("has_best").boolean(), schedule.at("bad").integer()};
  return position;
}

Json json_of(const minibatch::BatchShape& shape) {
  return Json::object({{"hops", shape.hops},
                       {"nodes", std::vector<std::int64_t>(shape.nodes.begin(), shape.nodes.end())},
                       {"edges", std::vector<std::int64_t>(shape.edges.begin(), shape.edges.end())},
                       {"bytes", shape.bytes}});
}

template <std::size_t N>
void fill(const Json& json, std::array<std::int64_t, N>* numbers) {
  const Json::List& list = json.elements();
  GNEISS_CHECK(list.size() == N, ErrorCode::kBadData, "{} numbers in the place of {}", list.size(), N);
  for (std::size_t i = 0; i < N; ++i) (*numbers)[i] = list[i].integer();
}

minibatch::BatchShape shape_of(const Json& json) {
  minibatch::BatchShape shape;
  shape.hops = static_cast<int>(json.at("hops").integer());
  fill(json.at("nodes"), &shape.nodes);
  fill(json.at("edges"), &shape.edges);
  shape.bytes = json.at("bytes").integer();
  return shape;
}

/// The header; `sizes` are those of the arrays.
Json json_of(const Checkpoint& at, const std::vector<std::uint64_t>& sizes) {
  Json json;
  json["training"] = at.training;
  json["version"] = at.version;
  json["settings"] = at.settings;
  json["defaults"] = at.defaults;
  json["model_hash"] = at.model_hash;
  json["data_hash"] = at.data_hash;
  json["plan_hash"] = at.plan_hash;
  json["node_order"] = at.node_order;
  json["run"] = at.run;
  json["position"] = json_of(at.position);
  json["records"] = Json::list();
  for (const epochs::RunRecord& record : at.records) json["records"].push_back(json_of(record));
  json["saved_run"] = at.saved_run;
  json["facts"] = at.facts;
  json["optimizer_steps"] = at.optimizer_steps;
  json["room"] = json_of(at.room);
  json["metrics"] = Json::object({{"bytes", at.metrics.bytes}, {"hash", at.metrics.hash}});
  json["arrays"] = sizes;
  return json;
}

Checkpoint checkpoint_of(const Json& json) {
  Checkpoint at;
  at.training = json.at("training").size();
  at.version = json.at("version").text();
  at.settings = json.at("settings").text();
  at.defaults = json.at("defaults").text();
  at.model_hash = json.at("model_hash").size();
  at.data_hash = json.at("data_hash").size();
  at.plan_hash = json.at("plan_hash").size();
  at.node_order = json.at("node_order").text();
  at.run = json.at("run").integer();
  at.position = position_of(json.at("position"));
  for (const Json& record : json.at("records").elements()) at.records.push_back(record_of(record));
  GNEISS_CHECK(std::ssize(at.records) == at.run + 1, ErrorCode::kBadData, "{} records of {} runs", at.records.size(),
               at.run + 1);
  at.saved_run = json.at("saved_run").integer();
  at.facts = json.at("facts").text();
  at.optimizer_steps = json.at("optimizer_steps").integer();
  at.room = shape_of(json.at("room"));
  at.metrics = {json.at("metrics").at("bytes").size(), json.at("metrics").at("hash").size()};
  return at;
}

template <class Arrays>
auto in_order(Arrays& arrays) {
  return std::array{&arrays.values, &arrays.states, &arrays.first, &arrays.second, &arrays.best, &arrays.saved};
}

template <class T>
T read_at(std::string_view bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& why, const std::string& hint) {
  throw Error(ErrorCode::kBadData, why, path.string(), hint);
}

constexpr const char* kDamaged = "it was damaged after it was written: copy the folder again, or train anew";

/// The header's JSON, once version and size are what they should be.
Json header_of(std::string_view bytes, const std::filesystem::path& path) {
  if (bytes.size() < kPrefix || !bytes.starts_with(kMagic))
    refuse(path,
           bytes.size() < kPrefix ? fmt::format("a checkpoint cut off after {} bytes", bytes.size())
                                  : std::string("this is no checkpoint of gneiss"),
           kDamaged);
  const auto version = read_at<std::uint32_t>(bytes, kMagic.size());
  if (version != kVersion)
    refuse(path, fmt::format("a checkpoint of format {}; this gneiss reads format {}", version, kVersion),
           "go on with the gneiss that wrote it, or train anew");
  const auto header = read_at<std::uint32_t>(bytes, kMagic.size() + 4);
  const auto whole = read_at<std::uint64_t>(bytes, kMagic.size() + 8);
  if (whole != bytes.size() || kPrefix + header + sizeof(std::uint64_t) > whole)
    refuse(path, fmt::format("the checkpoint has {} bytes, it should have {}", bytes.size(), whole), kDamaged);
  return Json::parse(bytes.substr(kPrefix, header), "its header");
}

/// Fills the arrays, once they end where the file does and its hash is right.
void read_arrays(std::string_view bytes, const Json& header, const std::filesystem::path& path,
                 CheckpointArrays<std::vector<float>>* arrays) {
  const Json::List& sizes = header.at("arrays").elements();
  const auto list = in_order(*arrays);
  std::size_t from = kPrefix + read_at<std::uint32_t>(bytes, kMagic.size() + 4);
  const std::size_t end = bytes.size() - sizeof(std::uint64_t);
  if (sizes.size() != list.size()) refuse(path, fmt::format("a checkpoint of {} arrays", sizes.size()), kDamaged);
  std::uint64_t hash = hash_bytes(bytes.data(), from);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::size_t size = sizes[i].size();
    if (size > (end - from) / sizeof(float)) refuse(path, "arrays go beyond the end of the checkpoint", kDamaged);
    list[i]->resize(size);
    if (size > 0) std::memcpy(list[i]->data(), bytes.data() + from, size * sizeof(float));
    hash = hash_bytes(list[i]->data(), size * sizeof(float), hash);
    from += size * sizeof(float);
  }
  if (from != end || hash != read_at<std::uint64_t>(bytes, end))
    refuse(path, "the checkpoint does not hold what was written", kDamaged);
}

}  // namespace

void write_checkpoint(const std::filesystem::path& path, const Checkpoint& at,
                      const CheckpointArrays<std::span<const float>>& arrays) {
  std::vector<std::uint64_t> sizes;
  std::uint64_t array_bytes = 0;
  for (const std::span<const float>* array : in_order(arrays)) {
    sizes.push_back(array->size());
    array_bytes += array->size_bytes();
  }
  const std::string header = json_of(at, sizes).dump();
  const auto header_bytes = static_cast<std::uint32_t>(header.size());
  const std::uint64_t whole = kPrefix + header.size() + array_bytes + sizeof(std::uint64_t);
  std::string start(kMagic);
  start.append(reinterpret_cast<const char*>(&kVersion), sizeof(kVersion));
  start.append(reinterpret_cast<const char*>(&header_bytes), sizeof(header_bytes));
  start.append(reinterpret_cast<const char*>(&whole), sizeof(whole));
  start += header;
  AtomicFile file(path);
  file.write(start);
  std::uint64_t hash = hash_bytes(start.data(), start.size());
  for (const std::span<const float>* array : in_order(arrays)) {
    file.write(array->data(), array->size_bytes());
    hash = hash_bytes(array->data(), array->size_bytes(), hash);
  }
  file.write(&hash, sizeof(hash));
  file.commit();
}

LoadedCheckpoint read_checkpoint(const std::filesystem::path& path) {
  const std::string bytes = read_file(path);
  LoadedCheckpoint loaded;
  try {
    const Json header = header_of(bytes, path);
    read_arrays(bytes, header, path, &loaded.arrays);
    loaded.at = checkpoint_of(header);
  } catch (const Error& error) {
    if (error.where() == path.string()) throw;
    refuse(path, "the checkpoint's header is damaged: " + error.message(), kDamaged);
  }
  return loaded;
}

bool is_further(const Checkpoint& a, const Checkpoint& b) {
  const auto place = [](const Checkpoint& c) {
    return std::tuple(c.run, c.position.epoch.epoch, c.position.sums.steps);
  };
  return place(a) > place(b);
}

}  // namespace gneiss::runs
