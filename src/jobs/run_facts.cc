// Reads and writes data.json, and gives labels of other data the numbers of the model's classes.
#include "jobs/run_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/names.h"
#include "base/visible.h"
#include "settings/settings.h"

namespace gneiss::jobs {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 28;

/// A name as it is compared: numbers by value.
std::string key_of(const std::string& name) {
  double value = 0;
  return settings::parse_real(name, &value) ? fmt::format("{}", value) : name;
}

/// A few of many names.
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 10;
  std::vector<std::string> shown;
  for (const std::string& name : names) {
    if (shown.size() == kMost) return join(shown, ", ") + fmt::format(" … ({} in all)", names.size());
    shown.push_back(visible(name, 40));
  }
  return join(shown, ", ");
}

std::vector<double> reals(const Json& list) {
  std::vector<double> values;
  for (const Json& value : list.elements()) values.push_back(value.real());
  return values;
}

void fill(const Json& json, RunFacts* facts) {
  facts->label_kind = json.at("label_kind").text();
  for (const Json& name : json.at("class_names").elements()) facts->class_names.push_back(name.text());
  facts->metric = json.at("metric").text();
  facts->features_file = json.at("features_file").text();
  facts->labels_file = json.at("labels_file").text();
  for (const Json& name : json.at("feature_names").elements()) facts->feature_names.push_back(name.text());
  const Json& normalisation = json.at("normalisation");
  data::FeatureStatistics& statistics = facts->statistics;
  statistics.norm = normalisation.at("name").text();
  statistics.binary_first = normalisation.at("binary_first").boolean();
  statistics.least = normalisation.at("least").real();
  statistics.mean = reals(normalisation.at("mean"));
  statistics.scale = reals(normalisation.at("scale"));
  facts->symmetric = json.at("symmetric").boolean();
  facts->weighted = json.at("weighted").boolean();
  facts->fingerprint = json.at("fingerprint").text();
  facts->known = true;
}

/// "1st", "2nd", "3rd", "4th", "11th".
std::string ordinal(std::size_t number) {
  const bool teens = number % 100 / 10 == 1;
  const std::size_t last = teens ? 0 : number % 10;
  return fmt::format("{}{}", number, last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th");
}

}  // namespace

std::string fingerprint(const data::Dataset& dataset) {
  const data::Labels& labels = dataset.labels;
  std::vector<std::int64_t> counts(static_cast<std::size_t>(std::max<std::int64_t>(labels.num_classes, 0)), 0);
  for (const std::int32_t label : labels.classes) {
    if (label >= 0 && label < labels.num_classes) ++counts[static_cast<std::size_t>(label)];
  }
  return fmt::format("nodes {} edges {} features {} classes {}", dataset.num_nodes(), dataset.graph.num_edges(),
                     dataset.features.cols, fmt::join(counts, ","));
}

std::string to_json(const RunFacts& facts) {
  Json json;
  json["label_kind"] = facts.label_kind;
  json["class_names"] = facts.class_names;
  json["metric"] = facts.metric;
  json["features_file"] = facts.features_file;
  json["labels_file"] = facts.labels_file;
  json["feature_names"] = facts.feature_names;
  json["normalisation"] = Json::object({{"name", facts.statistics.norm},
                                        {"binary_first", facts.statistics.binary_first},
                                        {"least", facts.statistics.least},
                                        {"mean", facts.statistics.mean},
                                        {"scale", facts.statistics.scale}});
  json["symmetric"] = facts.symmetric;
  json["weighted"] = facts.weighted;
  json["fingerprint"] = facts.fingerprint;
  return json.dump(1) + "\n";
}

RunFacts parse_facts(std::string_view text, const std::string& where) {
  RunFacts facts;
  fill(Json::parse(text, where), &facts);
  return facts;
}

RunFacts read_facts(const std::filesystem::path& run) {
  RunFacts facts;
  const std::filesystem::path path = run / "data.json";
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return facts;
  try {
    fill(Json::parse(read_file(path, kMaxBytes), path.string()), &facts);
  } catch (const Error& error) {
    throw Error(ErrorCode::kBadData, "damaged: " + error.message(), path.string(),
                "copy the run folder again; without this file a run folder opens as one of 0.1.0 did");
  }
  if (facts.statistics.mean.size() != facts.statistics.scale.size())
    throw Error(
        ErrorCode::kBadData,
        fmt::format("{} means and {} scales of features", facts.statistics.mean.size(), facts.statistics.scale.size()),
        path.string(), "copy the run folder again");
  return facts;
}

std::vector<std::string> names_of_classes(const std::vector<std::string>& names, std::int64_t count) {
  if (!names.empty()) return names;
  std::vector<std::string> numbers;
  for (std::int64_t c = 0; c < count; ++c) numbers.push_back(std::to_string(c));
  return numbers;
}

void match_classes(const std::vector<std::string>& names, bool strict, data::Dataset* dataset) {
  data::Labels& labels = dataset->labels;
  std::map<std::string, std::int32_t> number;
  for (std::size_t c = 0; c < names.size(); ++c) number.emplace(key_of(names[c]), static_cast<std::int32_t>(c));
  const std::vector<std::string> given = names_of_classes(dataset->class_names, labels.num_classes);
  std::vector<std::int32_t> to(static_cast<std::size_t>(labels.num_classes), -1);
  for (std::size_t c = 0; c < to.size() && c < given.size(); ++c) {
    const auto found = number.find(key_of(given[c]));
    if (found != number.end()) to[c] = found->second;
  }
  for (std::size_t v = 0; v < labels.classes.size(); ++v) {
    std::int32_t& label = labels.classes[v];
    if (label < 0 || label >= labels.num_classes) continue;
    const auto old = static_cast<std::size_t>(label);
    label = to[old];
    if (label >= 0 || !strict) continue;
    throw Error(ErrorCode::kBadData,
                fmt::format("the label '{}' of '{}' is no class of the model, which knows {}", visible(given[old], 40),
                            dataset->name, some_of(names)),
                fmt::format("node {}", v), "leave the labels of nodes empty that are not to be scored");
  }
  labels.num_classes = static_cast<std::int64_t>(names.size());
  dataset->class_names = names;
}

void check_feature_names(const std::vector<std::string>& names, const data::Dataset& dataset) {
  const std::vector<std::string>& given = dataset.feature_names;
  if (names.empty() || given.empty() || given == names) return;
  std::size_t c = 0;
  while (c + 1 < std::min(names.size(), given.size()) && names[c] == given[c]) ++c;
  const bool moved = std::is_permutation(names.begin(), names.end(), given.begin(), given.end());
  throw Error(
      ErrorCode::kBadData,
      fmt::format("the features of '{}' are {} than the model's: the {} of them is '{}' here and '{}' in training",
                  dataset.name, moved ? "in another order" : "others", ordinal(c + 1), visible(given[c], 40),
                  visible(names[c], 40)),
      dataset.name, "write the same columns in the same order: " + some_of(names));
}

void match_columns(const std::vector<std::string>& names, bool strict, data::Dataset* dataset) {
  data::Labels& labels = dataset->labels;
  const std::vector<std::string>& given = dataset->class_names;
  if (names.empty() || static_cast<std::int64_t>(given.size()) != labels.num_classes || given == names) return;
  const auto known = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const auto stranger = std::find_if_not(given.begin(), given.end(), known);
  if (stranger != given.end() && strict)
    throw Error(ErrorCode::kBadData,
                fmt::format("the column '{}' of the labels of '{}' is none that the model predicts: {}",
                            visible(*stranger, 40), dataset->name, some_of(names)),
                dataset->name, "leave the column out");
  const auto nodes = static_cast<std::size_t>(dataset->num_nodes());
  Buffer<float> targets(nodes * names.size());
  std::fill(targets.begin(), targets.end(), std::numeric_limits<float>::quiet_NaN());
  for (std::size_t c = 0; c < names.size(); ++c) {
    const auto found = static_cast<std::size_t>(std::find(given.begin(), given.end(), names[c]) - given.begin());
    if (found == given.size()) continue;
    for (std::size_t v = 0; v < nodes; ++v) targets[v * names.size() + c] = labels.targets[v * given.size() + found];
  }
  labels.targets = std::move(targets);
  labels.num_classes = static_cast<std::int64_t>(names.size());
  dataset->class_names = names;
}

}  // namespace gneiss::jobs
