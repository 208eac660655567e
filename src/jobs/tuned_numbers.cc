// One small JSON file for each machine, beside its rates: a list of four numbers by key.
#include "jobs/tuned_numbers.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/hash_bytes.h"
#include "base/json.h"
#include "cost/rates_file.h"

namespace gneiss::jobs {
namespace {

namespace fs = std::filesystem;

/// As the rates of the machine, by another name; empty if there is no home.
fs::path tuned_path() {
  const fs::path rates = cost::rates_path(cost::this_machine());
  return rates.empty() ? fs::path() : rates.parent_path() / ("exchange-" + rates.filename().string());
}

Json read_all(const fs::path& path) {
  std::error_code failed;
  if (path.empty() || !fs::exists(path, failed)) return Json::object();
  return Json::parse(read_file(path), path.string());
}

exchange::Tuning tuning_from(const Json::List& numbers) {
  GNEISS_CHECK(numbers.size() == 4, ErrorCode::kBadData, "{} numbers of the tuner instead of 4", numbers.size());
  const auto number = [&](std::size_t i, int most) {
    const std::int64_t value = numbers.at(i).integer();
    GNEISS_CHECK(value >= 1 && value <= most, ErrorCode::kBadData, "{} is no number of the tuner", value);
    return static_cast<int>(value);
  };
  constexpr int kMost = 1024;
  return {number(0, kMost), number(1, kMost), number(2, kMost), number(3, kMost)};
}

}  // namespace

std::string tuned_key(const graph::Graph& graph, const ir::Program& model, std::int64_t columns, int devices) {
  std::set<std::string> reductions;
  for (const ir::Op& op : model.ops) {
    if (op.attrs.has("fn") && ir::traits(op.kind).name == std::string_view("segment_reduce"))
      reductions.insert(op.attrs.text("fn", ""));
  }
  std::string key =
      fmt::format("{:016x} {} {}", hash_bytes(graph.offsets().data(), graph.offsets().size_bytes()), columns, devices);
  for (const std::string& reduction : reductions) key += ' ' + reduction;
  return key;
}

std::optional<exchange::Tuning> load_tuned(const std::string& key, std::string* warning) {
  try {
    const Json all = read_all(tuned_path());
    for (const Json::Member& member : all.members()) {
      if (member.key == key) return tuning_from(member.value.elements());
    }
  } catch (const Error& error) {
    *warning = fmt::format("the tuner looks for its numbers anew: {}", error.what());
  }
  return {};
}

std::string save_tuned(const std::string& key, const exchange::Tuning& tuning) {
  const fs::path path = tuned_path();
  if (path.empty()) return "there is no cache folder: $XDG_CACHE_HOME and $HOME are not set";
  Json all = Json::object();
  try {
    all = read_all(path);
  } catch (const Error&) {  // damaged: written anew
  }
  try {
    make_folder(path.parent_path());
    all[key] = std::vector<int>{tuning.piece, tuning.dist, tuning.warps, tuning.stages};
    write_file(path, all.dump(1) + "\n");
  } catch (const Error& error) {
    return error.message();
  }
  return {};
}

}  // namespace gneiss::jobs
