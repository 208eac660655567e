// The JSON is built by nlohmann's ordered object, so that members stand in the order of the struct; NaN becomes null.
#include "runs/report.h"

#include <algorithm>

#include "base/json.h"
#include "settings/config.h"

namespace gneiss::runs {
namespace {

Json part_json(const Report& report, double epochs::Scores::*part) {
  const PartReport scores = part_report(report, part);
  return Json::object(
      {{report.metric,
        Json::object({{"mean", scores.mean_std.mean}, {"std", scores.mean_std.std}, {"runs", scores.runs}})}});
}

Json losses(const epochs::RunRecord& run) {
  Json list = Json::list();
  for (const epochs::EpochRecord& epoch : run.epochs) list.push_back(epoch.loss);
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

Json json_of(const epochs::ReorderReport& report) {
  return Json::object({{"asked", report.asked},
                       {"method", report.method},
                       {"reason", report.reason},
                       {"seconds", report.seconds},
                       {"same_cluster_before", report.same_cluster_before},
                       {"same_cluster_after", report.same_cluster_after},
                       {"same_region_before", report.same_region_before},
                       {"same_region_after", report.same_region_after}});
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
  json["epoch_seconds"] = Json::object({{"median", seconds.median}, {"min", seconds.min}, {"max", seconds.max}});
  json["load_seconds"] = report.load_seconds;
  json["start_seconds"] = report.start_seconds;
  json["reorder"] = json_of(report.reorder);
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
  json["best_epoch"] = Json::list();
  json["epochs"] = Json::list();
  json["seeds"] = Json::list();
  json["losses"] = Json::list();
  for (const epochs::RunRecord& run : report.runs) {
    json["best_epoch"].push_back(run.best_epoch);
    json["epochs"].push_back(run.epochs.size());
    json["seeds"].push_back(run.seed);
    json["losses"].push_back(losses(run));
  }
  json["loss"] = report.runs.empty() ? Json::list() : losses(report.runs.front());
  json["config"] = Json::object();
  for (const auto& [key, value] : report.config) json["config"][key] = setting_json(key, value);
  json["defaults"] = report.defaults;
  if (!report.routes.is_null()) json["routes"] = report.routes;
  json["notes"] = report.notes;
  json["warnings"] = report.warnings;
  if (!report.advice.empty()) json["advice"] = report.advice;
  return json.dump(indent);
}

}  // namespace gneiss::runs
