// From a run folder back to a model that predicts.
#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "base/json.h"
#include "jobs/job.h"
#include "jobs/options.h"
#include "runs/run_folder.h"
#include "runs/safetensors.h"

namespace gneiss::jobs {
namespace {

namespace fs = std::filesystem;

const std::string& metadata(const runs::SafeTensors& model, const std::string& key, const fs::path& file) {
  const auto found = model.metadata.find(key);
  if (found == model.metadata.end()) {
    throw Error(ErrorCode::kBadData, fmt::format("the weights have no '{}' in their metadata", key), file.string(),
                "it was not written by gneiss train");
  }
  return found->second;
}

std::int64_t metadata_number(const runs::SafeTensors& model, const std::string& key, const fs::path& file) {
  const std::string& text = metadata(model, key, file);
  long long value = 0;
  if (!settings::parse_integer(text, &value) || value < 0 || value > (1LL << 31)) {
    throw Error(ErrorCode::kBadData, fmt::format("metadata '{}': expected a number, got '{}'", key, text.substr(0, 40)),
                file.string());
  }
  return value;
}

/// The run's settings with its own copy of the model and the split of the saved weights.
settings::Config run_config(const fs::path& run, const runs::SafeTensors& model, const settings::Config& overrides) {
  const fs::path weights = run / "model.safetensors";
  settings::Config saved;
  saved.load_yaml(run / "config.yaml");
  settings::Config config;
  config.merge(saved);
  config.set("model.name", fs::absolute(run / "model.gneiss").string(), settings::Origin::kFlag, run.string());
  const std::string& split = metadata(model, "gneiss.split", weights);
  if (!split.empty()) config.set("data.split", split, settings::Origin::kFile, weights.string());
  config.set("data.seed", metadata(model, "gneiss.data_seed", weights), settings::Origin::kFile, weights.string());
  config.merge(overrides);
  return config;
}

/// Data without labels can still be predicted: every node is unlabelled, and one stands in as training node.
void stand_in_labels(std::int64_t classes, data::Dataset* dataset) {
  const auto nodes = static_cast<std::size_t>(dataset->num_nodes());
  dataset->labels.kind = data::LabelKind::kSingle;
  dataset->labels.num_classes = classes;
  dataset->labels.classes = Buffer<std::int32_t>(nodes);
  std::fill(dataset->labels.classes.begin(), dataset->labels.classes.end(), -1);
}

void check_fit(const runs::SafeTensors& model, const data::Dataset& dataset, const fs::path& weights) {
  const std::int64_t features = metadata_number(model, "gneiss.features", weights);
  if (dataset.features.cols != features) {
    throw Error(ErrorCode::kBadData,
                fmt::format("the model takes {} features, '{}' has {}", features, dataset.name, dataset.features.cols),
                weights.string(), "give the data set that the model was trained on, or one with the same features");
  }
  const std::int64_t classes = metadata_number(model, "gneiss.classes", weights);
  if (dataset.labels.num_classes != classes) {
    throw Error(
        ErrorCode::kBadData,
        fmt::format("the model knows {} classes, '{}' has {}", classes, dataset.name, dataset.labels.num_classes),
        weights.string(), "give the data set that the model was trained on, or one with the same classes");
  }
}

void load_weights(const runs::SafeTensors& model, const fs::path& weights, train::Session<float>* session) {
  for (const ir::Param& param : session->params()) {
    const runs::Tensor* tensor = model.find(param.name);
    if (tensor == nullptr) {
      throw Error(ErrorCode::kBadData, fmt::format("the weights lack '{}'", param.name), weights.string(),
                  "the folder's model.gneiss and model.safetensors do not belong together");
    }
    std::vector<std::int64_t> shape = param.stored_shape;
    if (shape.empty()) shape = {param.rows, param.cols};
    if (tensor->shape != shape) {
      throw Error(ErrorCode::kBadData,
                  fmt::format("'{}' has shape [{}], the model needs [{}]", param.name, fmt::join(tensor->shape, ", "),
                              fmt::join(shape, ", ")),
                  weights.string(), "the folder's model.gneiss and model.safetensors do not belong together");
    }
    session->set_parameter(param.name, runs::to_f32(*tensor));
  }
}

std::vector<std::string> stored_class_names(const runs::SafeTensors& model, const fs::path& weights) {
  const auto found = model.metadata.find("gneiss.class_names");
  if (found == model.metadata.end()) return {};
  const Json names = Json::parse(found->second, weights.string() + ": gneiss.class_names");
  std::vector<std::string> texts;
  if (!names.is_list()) return {};
  for (const Json& name : names.elements()) texts.push_back(name.is_text() ? name.text() : name.dump());
  return texts;
}

}  // namespace

Restored restore(const fs::path& run, const settings::Config& overrides) {
  if (!runs::is_run_folder(run)) {
    throw Error(ErrorCode::kBadData, "there is no run folder here (config.yaml, model.gneiss, model.safetensors)",
                run.string(), "gneiss train writes one and says where");
  }
  const fs::path weights = run / "model.safetensors";
  const runs::SafeTensors model = runs::read_safetensors(weights);
  Restored restored;
  restored.config = run_config(run, model, overrides);
  settings::Config& config = restored.config;
  restored.dataset = std::make_unique<data::Dataset>(
      data::load(resolve_data(config), load_options(config, metadata_number(model, "gneiss.run", weights), 1)));
  data::Dataset& dataset = *restored.dataset;
  const std::int64_t classes = metadata_number(model, "gneiss.classes", weights);
  if (dataset.labels.kind == data::LabelKind::kNone) stand_in_labels(classes, &dataset);
  if (dataset.split.train.empty() && dataset.num_nodes() > 0) dataset.split.train = {0};
  check_fit(model, dataset, weights);
  restored.session = std::make_unique<train::Session<float>>(dataset, session_options(config, dataset));
  load_weights(model, weights, restored.session.get());
  restored.session->evaluate();
  restored.class_names = stored_class_names(model, weights);
  return restored;
}

EvalReport evaluate(Restored& restored) {
  const data::Dataset& dataset = *restored.dataset;
  const train::FullGraphOptions options = full_graph_options(restored.config, dataset);
  const data::Split split = epochs::labelled_split(dataset);
  epochs::Evaluator evaluator(options.metric, dataset.labels,
                              train::threads_of(session_options(restored.config, dataset)));
  const auto score = [&](const std::vector<NodeId>& rows) { return evaluator.score(restored.session->logits(), rows); };
  EvalReport report;
  report.metric = epochs::metric_name(options.metric);
  report.scores = {score(split.train), score(split.val), score(split.test)};
  report.val_loss = split.val.empty() ? std::nan("") : restored.session->loss_over(split.val);
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
