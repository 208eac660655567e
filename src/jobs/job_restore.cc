// From a run folder back to a model that predicts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/json.h"
#include "base/process.h"
#include "data/given.h"
#include "data/info.h"
#include "data/readers.h"
#include "jobs/device_choice.h"
#include "jobs/job.h"
#include "jobs/model_file.h"
#include "jobs/options.h"
#include "jobs/run_facts.h"
#include "runs/run_folder.h"
#include "train/planned_bytes.h"

namespace gneiss::jobs {
namespace {

namespace fs = std::filesystem;

/// Settings that name files of the training's own nodes, or how these lie, and say nothing about a model.
constexpr const char* kOfItsNodes[] = {"data.features",  "data.labels",  "data.format",
                                       "data.train_ids", "data.val_ids", "data.test_ids"};

/// True if both are one data set: one generator, or one place on disk.
bool same_data(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return a == b || fs::equivalent(a, b, ignored);
}

/// The settings of a run folder, completed by those of a command.
struct RunConfig {
  settings::Config config;
  bool other = false;            ///< the command names other data
  fs::path ids[3];               ///< the training's files of training, validation and test nodes
  bool split_is_theirs = false;  ///< the command says nothing of a split
};

/// The run's settings with its own copy of the model and the split of the saved weights. Other data come without the
/// training's files.
RunConfig run_config(const fs::path& run, const ModelFile& model, const settings::Config& overrides) {
  settings::Config saved;
  saved.load_yaml(run / "config.yaml");
  const std::string trained_on = saved.text("data.name");
  const auto complete = [&] {
    settings::Config config;
    config.merge(saved);
    config.set("model.name", fs::absolute(run / "model.gneiss").string(), settings::Origin::kFlag, run.string());
    const std::string where = model.path().string();
    if (!model.split().empty()) config.set("data.split", model.split(), settings::Origin::kFile, where);
    config.set("data.seed", model.data_seed(), settings::Origin::kFile, where);
    config.merge(overrides);
    return config;
  };
  RunConfig result;
  result.config = complete();
  result.split_is_theirs = !overrides.is_set("data.split") && !overrides.is_set("data.train_ids");
  result.other = overrides.is_set("data.name") && !same_data(resolve_data(result.config), trained_on);
  if (!result.other) return result;
  for (int part = 0; const char* key : {"data.train_ids", "data.val_ids", "data.test_ids"})
    result.ids[part++] = saved.text(key);
  for (const char* key : kOfItsNodes) saved.unset(key);
  result.config = complete();
  return result;
}

/// Data without labels can still be predicted: every node is unlabelled, and one stands in as training node.
void stand_in_labels(const std::string& kind, std::int64_t classes, data::Labels* labels, std::size_t nodes) {
  *labels = {};
  labels->num_classes = classes;
  if (kind == "multi" || kind == "regression") {
    labels->kind = kind == "multi" ? data::LabelKind::kMulti : data::LabelKind::kRegression;
    labels->targets = Buffer<float>(nodes * static_cast<std::size_t>(classes));
    std::fill(labels->targets.begin(), labels->targets.end(), std::numeric_limits<float>::quiet_NaN());
    return;
  }
  labels->kind = data::LabelKind::kSingle;
  labels->classes = Buffer<std::int32_t>(nodes);
  std::fill(labels->classes.begin(), labels->classes.end(), -1);
}

void check_features(const ModelFile& model, const RunFacts& facts, const data::Dataset& dataset) {
  const std::int64_t features = model.features();
  if (dataset.features.empty() && features > 0) {
    const std::string theirs = facts.features_file.empty()
                                   ? std::string()
                                   : fmt::format("; the training took its own from {}", facts.features_file);
    throw Error(ErrorCode::kBadData,
                fmt::format("no features: the model takes {} a node, and '{}' brings none", features, dataset.name),
                dataset.name, "give those of these nodes with --features FILE" + theirs);
  }
  check_feature_names(facts.feature_names, dataset);
  if (dataset.features.cols == features) return;
  throw Error(ErrorCode::kBadData,
              fmt::format("the model takes {} features, '{}' has {}", features, dataset.name, dataset.features.cols),
              model.path().string(), "give the data set that the model was trained on, or one with the same features");
}

/// Labels as the model has them; those that cannot be are an error if they are needed, and no labels otherwise.
void fit_labels(const ModelFile& model, const RunFacts& facts, bool need_labels, Restored* restored) {
  data::Dataset& dataset = *restored->dataset;
  data::Labels& labels = dataset.labels;
  const std::int64_t classes = model.classes();
  restored->labelled = labels.kind != data::LabelKind::kNone;
  if (need_labels && !restored->labelled) {
    throw Error(ErrorCode::kBadData, fmt::format("no labels: there is nothing to score '{}' against", dataset.name),
                dataset.name, "give those of these nodes with --labels FILE, or use gneiss predict");
  }
  const std::string kind = facts.known          ? facts.label_kind
                           : restored->labelled ? data::label_kind_name(labels.kind)
                                                : "single";
  const bool single = kind == "single";
  const bool same_kind = restored->labelled && data::label_kind_name(labels.kind) == kind;
  if (same_kind && !single) match_columns(restored->class_names, need_labels, &dataset);
  const bool fits = same_kind && (single || labels.num_classes == classes);
  if (!fits) {
    if (need_labels) {
      throw Error(ErrorCode::kBadData,
                  fmt::format("the model predicts {} values of kind '{}', '{}' has {} of kind '{}'", classes, kind,
                              dataset.name, labels.num_classes, data::label_kind_name(labels.kind)),
                  model.path().string(), "give labels of the kind that the model was trained with");
    }
    restored->labelled = false;
    stand_in_labels(kind, classes, &labels, static_cast<std::size_t>(dataset.num_nodes()));
  } else if (single) {
    match_classes(names_of_classes(restored->class_names, classes), need_labels, &dataset);
  }
}

/// What is unlike the training, or cannot be known.
void compare(const settings::Config& config, const RunFacts& facts, bool other, Restored* restored) {
  const data::Dataset& dataset = *restored->dataset;
  const std::string& norm = config.text("data.normalize_features");
  const auto warn = [&](std::string text) { restored->warnings.push_back(std::move(text)); };
  if (!facts.known) {
    if (other && (norm == "standard" || norm == "train-standard" || norm == "row"))
      warn(
          fmt::format("this run folder keeps no statistics of its features: those of '{}' are normalised ({}) by their "
                      "own, so predictions may be wrong; train again to keep them",
                      dataset.name, norm));
    if (other && restored->class_names.empty())
      warn("this run folder keeps no names of classes: they are taken to be the numbers 0, 1, …");
    return;
  }
  if (!other) {
    if (restored->labelled && facts.fingerprint != fingerprint(dataset))
      warn(fmt::format("'{}' has changed since the training", dataset.name));
    return;
  }
  if (config.flag("data.largest_component") && config.origin("data.largest_component") != settings::Origin::kFlag)
    warn("only the largest component is predicted, as in training; --no-largest-component takes all nodes");
  const bool edges = dataset.graph.num_edges() > 0;
  if (edges && facts.symmetric && !dataset.graph.symmetric())
    warn(
        "the training's graph had every edge in both directions, these edges have one; --to-undirected adds the other");
  if (edges && facts.weighted != dataset.graph.weighted())
    warn(facts.weighted ? "the training's edges had weights, these have none and count as 1"
                        : "the training's edges had no weights, these have; --ignore-weights drops them");
}

/// A session that evaluates the whole graph at once if that fits, else layer by layer in what memory is left, with a
/// warning. On a device the whole graph is evaluated at once.
std::unique_ptr<train::Session<float>> evaluating_session(const settings::Config& config,
                                                          std::shared_ptr<runtime::Device> device,
                                                          const data::Dataset& dataset,
                                                          std::vector<std::string>* warnings) {
  train::SessionOptions options = session_options(config, dataset);
  options.loss.evaluation_only = true;
  if (device != nullptr) {
    run_on(std::move(device), &options);
    return std::make_unique<train::Session<float>>(dataset, options);
  }
  // Large features of a file are not in memory yet.
  const bool absent = can_rest(dataset.features.dense) || can_rest(dataset.features.halves);
  const std::int64_t left = memory_limit(config) - current_rss_bytes() - (absent ? dataset.features.bytes() : 0);
  if (!config.has("train.mem")) options.passes.limit_name = "the memory of this machine";
  options.passes.excess_bytes = [&dataset, left, options](const ir::Plan& plan) {
    return train::planned_bytes(plan, train::label_bytes(dataset.labels), options).peak_of_kept() - left;
  };
  std::exception_ptr at_once;
  try {
    return std::make_unique<train::Session<float>>(dataset, options);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kOutOfMemory) throw;
    at_once = std::current_exception();
  }
  options.by_layers = true;
  const auto by_layers = [&](std::int64_t room) {
    auto session = std::make_unique<train::Session<float>>(dataset, options);
    session->fit_evaluation(room - session->evaluation_bytes());
    warnings->push_back(fmt::format("{} does not hold the whole graph's evaluation at once; {}",
                                    options.passes.limit_name, session->describe_evaluation()));
    return session;
  };
  try {
    return by_layers(left);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kUnsupported) std::rethrow_exception(at_once);  // the model has no such parts
    if (error.code() == ErrorCode::kOutOfMemory && absent)
      options.feature_file = data::FeatureFile::of(dataset.features, data::FileReads::kRing, page_cache_bytes(config));
    if (options.feature_file == nullptr) throw;
  }
  return by_layers(left + dataset.features.bytes());
}

/// The data set, with the parts of its nodes that an evaluation scores. Data that only lie at another place are the
/// training's, with its split; other data without a split of their own are scored as a whole.
void load_data(const RunFacts& facts, std::int64_t run, const GivenData& given, RunConfig* settings,
               Restored* restored) {
  const std::string name = resolve_data(settings->config);
  const auto load = [&](const data::LoadOptions& with) {
    if (given.dataset == nullptr) return data::load(name, with);
    return given.as_loaded ? data::share(given.dataset) : data::load_given(given.dataset, with);
  };
  data::LoadOptions options = load_options(settings->config, run, 1);
  if (facts.known) options.feature_statistics = facts.statistics;
  const data::LoadOptions as_in_training = options;
  const bool free_split = settings->other && settings->split_is_theirs;
  options.own_split_only = free_split;
  if (free_split) options.split.clear();
  restored->dataset = std::make_unique<data::Dataset>(load(options));
  data::Dataset& dataset = *restored->dataset;
  if (settings->other && facts.known && fingerprint(dataset) == facts.fingerprint) {
    settings->other = false;
    if (free_split) {
      options = as_in_training;
      options.train_ids = settings->ids[0];
      options.val_ids = settings->ids[1];
      options.test_ids = settings->ids[2];
      dataset = load(options);
    }
  }
  restored->split = dataset.split;
  const bool no_split = dataset.split.train.empty() && dataset.split.val.empty() && dataset.split.test.empty();
  if (!free_split || !settings->other || !no_split) return;
  restored->split.test.resize(static_cast<std::size_t>(dataset.num_nodes()));
  std::iota(restored->split.test.begin(), restored->split.test.end(), 0);
}

}  // namespace

Restored restore(const fs::path& run, const settings::Config& overrides, bool need_labels, const GivenData& given) {
  if (!runs::is_run_folder(run)) {
    throw Error(ErrorCode::kBadData, "there is no run folder here (config.yaml, model.gneiss, model.safetensors)",
                run.string(), "gneiss train writes one and says where");
  }
  Restored restored;
  std::shared_ptr<runtime::Device> device = choose_device(overrides, &restored.warnings);
  const ModelFile model(run);
  const RunFacts facts = read_facts(run);
  RunConfig settings = run_config(run, model, overrides);
  settings::Config& config = settings.config;
  if (facts.known && !config.is_set("train.metric"))
    config.set("train.metric", facts.metric, settings::Origin::kFile, run.string());
  if (facts.known && settings.other && !overrides.is_set("data.binarize"))
    config.set("data.binarize", facts.statistics.binary_first ? "true" : "false", settings::Origin::kFile,
               run.string());
  restored.class_names = facts.known ? facts.class_names : model.class_names();
  load_data(facts, model.run(), given, &settings, &restored);
  data::Dataset& dataset = *restored.dataset;
  check_features(model, facts, dataset);
  compare(config, facts, settings.other, &restored);
  fit_labels(model, facts, need_labels, &restored);
  if (dataset.split.train.empty() && dataset.num_nodes() > 0) dataset.split.train = {0};
  restored.session = evaluating_session(config, std::move(device), dataset, &restored.warnings);
  model.load_into(restored.session.get());
  restored.session->evaluate();
  restored.config = std::move(settings.config);
  return restored;
}

EvalReport evaluate(Restored& restored) {
  data::Dataset& dataset = *restored.dataset;
  const train::FullGraphOptions options = full_graph_options(restored.config, dataset);
  dataset.split = restored.split;
  const data::Split split = epochs::labelled_split(dataset);
  epochs::Evaluator evaluator(options.metric, dataset.labels,
                              train::threads_of(session_options(restored.config, dataset)));
  const auto score = [&](const std::vector<NodeId>& rows) { return train::score(*restored.session, &evaluator, rows); };
  EvalReport report;
  report.metric = epochs::metric_name(options.metric);
  report.scores = {score(split.train), score(split.val), score(split.test)};
  report.val_loss = restored.session->validation_loss();
  return report;
}

std::string to_json(const EvalReport& report, int indent) {
  Json json;
  json["metric"] = report.metric;
  json["test"] = Json::object({{report.metric, report.scores.test}});
  json["val"] = Json::object({{report.metric, report.scores.val}});
  json["train"] = Json::object({{report.metric, report.scores.train}});
  json["val_loss"] = report.val_loss;
  return json.dump(indent);
}

}  // namespace gneiss::jobs
