// The JSON is built by nlohmann's ordered object, so that members stand in the order of the struct; NaN becomes null.
#include "runs/report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "settings/config.h"

namespace gneiss::runs {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(number(value));
  return list;
}

Json part_json(const Report& report, double epochs::Scores::*part) {
  const PartReport scores = part_report(report, part);
  return {
      {report.metric,
       {{"mean", number(scores.mean_std.mean)}, {"std", number(scores.mean_std.std)}, {"runs", numbers(scores.runs)}}}};
}

Json losses(const epochs::RunRecord& run) {
  Json list = Json::array();
  for (const epochs::EpochRecord& epoch : run.epochs) list.push_back(number(epoch.loss));
  return list;
}

/// A setting's value as a JSON value of its type.
Json setting_json(const std::string& key, const std::string& value) {
  const settings::Setting* setting = settings::find_setting(key);
  if (setting != nullptr &&
      (setting->type == settings::SettingType::kText || setting->type == settings::SettingType::kChoice))
    return value;
  if (setting != nullptr &&
      (setting->type == settings::SettingType::kTextList || setting->type == settings::SettingType::kRealList))
    return settings::split_list(value);
  return std::visit([](const auto& v) { return Json(v); }, settings::guess_arg(value));
}

}  // namespace

PartReport part_report(const Report& report, double epochs::Scores::*part) {
  PartReport result;
  for (const epochs::RunRecord& run : report.runs) result.runs.push_back(run.best.*part);
  result.mean_std = epochs::mean_std(result.runs);
  return result;
}

SecondsReport epoch_seconds(const Report& report) {
  std::vector<double> seconds;
  for (const epochs::RunRecord& run : report.runs) {
    for (std::size_t e = run.epochs.size() > 1 ? 1 : 0; e < run.epochs.size(); ++e)
      seconds.push_back(run.epochs[e].seconds);
  }
  if (seconds.empty()) return {};
  std::sort(seconds.begin(), seconds.end());
  const std::size_t n = seconds.size();
  return {(seconds[(n - 1) / 2] + seconds[n / 2]) / 2, seconds.front(), seconds.back()};
}

std::string to_json(const epochs::ReorderReport& report) {
  return Json{{"asked", report.asked},
              {"method", report.method},
              {"reason", report.reason},
              {"seconds", report.seconds},
              {"same_block_before", number(report.same_block_before)},
              {"same_block_after", number(report.same_block_after)},
              {"same_region_before", number(report.same_region_before)},
              {"same_region_after", number(report.same_region_after)}}
      .dump();
}

std::string to_json(const Report& report, int indent) {
  Json json;
  json["version"] = report.version;
  json["model"] = report.model;
  json["dataset"] = report.dataset;
  json["metric"] = report.metric;
  json["test"] = part_json(report, &epochs::Scores::test);
  json["val"] = part_json(report, &epochs::Scores::val);
  json["train"] = part_json(report, &epochs::Scores::train);
  const SecondsReport seconds = epoch_seconds(report);
  json["epoch_seconds"] = {{"median", seconds.median}, {"min", seconds.min}, {"max", seconds.max}};
  json["load_seconds"] = report.load_seconds;
  json["start_seconds"] = report.start_seconds;
  json["reorder"] = Json::parse(to_json(report.reorder));
  json["train_seconds"] = report.train_seconds;
  json["peak_rss_bytes"] = report.peak_rss_bytes;
  json["plan_peak_bytes"] = report.plan_peak_bytes;
  json["data_bytes"] = report.data_bytes;
  json["feature_dtype"] = report.feature_dtype;
  json["feature_bytes_saved"] = report.feature_bytes_saved;
  json["parameters"] = report.parameters;
  json["nodes"] = report.nodes;
  json["edges"] = report.edges;
  json["features"] = report.features;
  json["classes"] = report.classes;
  json["threads"] = report.threads;
  json["runs"] = report.runs.size();
  json["saved_run"] = report.saved_run;
  json["interrupted"] = report.interrupted;
  json["run_folder"] = report.run_folder.empty() ? Json(nullptr) : Json(report.run_folder);
  json["best_epoch"] = Json::array();
  json["epochs"] = Json::array();
  json["seeds"] = Json::array();
  json["losses"] = Json::array();
  for (const epochs::RunRecord& run : report.runs) {
    json["best_epoch"].push_back(run.best_epoch);
    json["epochs"].push_back(run.epochs.size());
    json["seeds"].push_back(run.seed);
    json["losses"].push_back(losses(run));
  }
  json["loss"] = report.runs.empty() ? Json::array() : losses(report.runs.front());
  json["config"] = Json::object();
  for (const auto& [key, value] : report.config) json["config"][key] = setting_json(key, value);
  json["defaults"] = report.defaults;
  json["notes"] = report.notes;
  json["warnings"] = report.warnings;
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace gneiss::runs
