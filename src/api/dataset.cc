// Dataset and its description as the public headers have them, over data::Dataset.
#include "gneiss/dataset.h"

#include <cmath>

#include "api/impl.h"
#include "base/error.h"
#include "base/json.h"
#include "base/parallel.h"
#include "data/generate.h"
#include "data/info.h"
#include "data/load.h"
#include "data/validate.h"
#include "jobs/options.h"

namespace gneiss {
namespace {

constexpr std::size_t kShownClasses = 20;

std::string percent(double share) { return fmt::format("{:.3g} %", 100 * share); }

std::string class_sizes(const data::DatasetInfo& info) {
  std::string text;
  for (std::size_t c = 0; c < std::min(info.class_sizes.size(), kShownClasses); ++c)
    text += fmt::format("{}{}", c == 0 ? "" : " ", info.class_sizes[c]);
  return info.class_sizes.size() > kShownClasses ? text + " …" : text;
}

std::string describe_info(const data::DatasetInfo& info) {
  std::string text = fmt::format("{} ({})\n", info.name, info.format);
  const auto line = [&](const char* name, const std::string& value) {
    text += fmt::format("  {:18}{}\n", name, value);
  };
  line("nodes", fmt::format("{}  ({} isolated)", info.nodes, info.isolated_nodes));
  line("edges", fmt::format("{}  ({} undirected pairs, {} self loops, {} parallel){}{}", info.edges,
                            info.undirected_edges, info.self_loops, info.parallel_edges,
                            info.symmetric ? ", symmetric" : "", info.weighted ? ", weighted" : ""));
  line("in-degree", fmt::format("mean {:.3g}, largest {}", info.mean_in_degree, info.max_in_degree));
  line("features",
       fmt::format("{}  ({} non-zeros, {}, {})", info.features, info.feature_nonzeros, percent(info.feature_density),
                   info.features_sparse ? "sparse" : "dense, " + info.feature_dtype));
  line("labels", fmt::format("{}, {} classes, {} unlabelled", data::label_kind_name(info.label_kind), info.classes,
                             info.unlabelled));
  if (!info.class_sizes.empty()) line("class sizes", class_sizes(info));
  if (!std::isnan(info.homophily)) line("homophily", fmt::format("{:.4f}", info.homophily));
  line("split", fmt::format("{} train, {} validation, {} test  (of {} splits)", info.train, info.val, info.test,
                            info.num_splits));
  line("memory", fmt::format("{:.2f} MiB", static_cast<double>(info.bytes) / (1 << 20)));
  for (const std::string& note : info.notes) line("note", note);
  return text;
}

}  // namespace

Dataset::Dataset(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Dataset::Dataset(Dataset&& other) noexcept = default;
Dataset& Dataset::operator=(Dataset&& other) noexcept = default;
Dataset::~Dataset() = default;

const std::string& Dataset::name() const { return impl_->dataset->name; }
std::int64_t Dataset::num_nodes() const { return impl_->dataset->num_nodes(); }
std::int64_t Dataset::num_edges() const { return impl_->dataset->graph.num_edges(); }
std::int64_t Dataset::num_features() const { return impl_->dataset->features.cols; }
std::int64_t Dataset::num_classes() const { return impl_->dataset->labels.num_classes; }

const std::vector<std::string>& Dataset::notes() const { return impl_->dataset->notes; }

std::string Dataset::describe() const { return describe_info(data::info(*impl_->dataset)); }

std::string Dataset::to_json() const {
  const data::DatasetInfo info = data::info(*impl_->dataset);
  Json json;
  json["name"] = info.name;
  json["format"] = info.format;
  json["nodes"] = info.nodes;
  json["edges"] = info.edges;
  json["undirected_edges"] = info.undirected_edges;
  json["self_loops"] = info.self_loops;
  json["parallel_edges"] = info.parallel_edges;
  json["isolated_nodes"] = info.isolated_nodes;
  json["max_in_degree"] = info.max_in_degree;
  json["mean_in_degree"] = info.mean_in_degree;
  json["symmetric"] = info.symmetric;
  json["weighted"] = info.weighted;
  json["features"] = info.features;
  json["feature_nonzeros"] = info.feature_nonzeros;
  json["feature_density"] = info.feature_density;
  json["features_sparse"] = info.features_sparse;
  json["feature_dtype"] = info.feature_dtype;
  json["labels"] = data::label_kind_name(info.label_kind);
  json["classes"] = info.classes;
  json["class_sizes"] = info.class_sizes;
  json["class_names"] = info.class_names;
  json["unlabelled"] = info.unlabelled;
  json["split"] = Json::object({{"train", info.train}, {"val", info.val}, {"test", info.test}});
  json["num_splits"] = info.num_splits;
  json["homophily"] = info.homophily;
  json["suggested_metric"] = info.suggested_metric;
  json["bytes"] = info.bytes;
  json["notes"] = info.notes;
  return json.dump(2);
}

std::vector<DatasetFinding> Dataset::validate(bool allow_nan) const {
  data::ValidateOptions options;
  options.allow_nan = allow_nan;
  options.threads = available_threads();
  std::vector<DatasetFinding> findings;
  for (const data::Finding& finding : data::validate(*impl_->dataset, options)) {
    findings.push_back({finding.severity == data::Severity::kError, finding.message});
  }
  return findings;
}

void Dataset::save(const std::string& path, bool force) const {
  data::save(*impl_->dataset, path, force, available_threads());
}

Dataset load_dataset(const RunConfig& config) {
  auto impl = std::make_unique<Dataset::Impl>();
  const settings::Config& settings = config.impl().config;
  impl->dataset = std::make_shared<const data::Dataset>(
      data::load(jobs::resolve_data(settings), jobs::load_options(settings, 0, 1)));
  impl->loaded_by = settings;
  return Dataset(std::move(impl));
}

DatasetSizes write_dataset(const RunConfig& config, const std::string& path, bool force) {
  const settings::Config& settings = config.impl().config;
  data::LoadOptions options = jobs::load_options(settings, 0, 1);
  const std::string what = jobs::resolve_data(settings);
  data::Dataset dataset;
  if (settings.has("train.mem")) {
    options.max_bytes = settings.integer("train.mem");
    dataset = data::generate_folder(what, options, path, force);
  } else {
    dataset = data::load(what, options);
    data::save(dataset, path, force, available_threads());
  }
  return {dataset.num_nodes(), dataset.graph.num_edges(), dataset.features.cols, dataset.labels.num_classes};
}

std::vector<NamedSummary> dataset_formats() {
  std::vector<NamedSummary> list;
  for (const data::FormatInfo& format : data::data_formats()) list.push_back({format.name, format.summary});
  return list;
}

std::vector<NamedSummary> dataset_generators() {
  std::vector<NamedSummary> list = {
      {"karate", "Zachary's karate club: 34 nodes, two communities"},
      {"dcsbm", "planted communities with power-law degrees and features: dcsbm:nodes=1000,classes=5"},
      {"rmat", "a recursive-matrix graph: rmat:scale=14,edge_factor=16"}};
  for (const data::Preset& preset : data::presets()) list.push_back({preset.name, preset.summary});
  return list;
}

}  // namespace gneiss
