// Training, plans and what a run folder is good for, over jobs/.
#include "gneiss/train.h"

#include <algorithm>

#include "api/impl.h"
#include "base/error.h"
#include "base/file.h"
#include "comm/launch.h"
#include "data/given.h"
#include "jobs/job.h"
#include "jobs/options.h"
#include "jobs/write_output.h"
#include "passes/pipeline.h"
#include "runs/run_folder.h"
#include "runs/safetensors.h"
#include "train/reorder.h"

namespace gneiss {
namespace {

PartScores part_scores(const runs::Report& report, double epochs::Scores::*part) {
  const runs::PartReport scores = runs::part_report(report, part);
  return {scores.mean_std.mean, scores.mean_std.std, scores.runs};
}

TrainingStart training_start(const runs::Report& report) {
  TrainingStart start;
  start.model = report.model;
  start.dataset = report.dataset;
  start.metric = report.metric;
  start.nodes = report.nodes;
  start.edges = report.edges;
  start.features = report.features;
  start.classes = report.classes;
  start.parameters = report.parameters;
  start.runs = report.planned_runs;
  start.epochs = report.planned_epochs;
  start.plan_peak_bytes = report.plan_peak_bytes;
  start.threads = report.threads;
  if (report.reorder.seconds > 0) start.node_order = train::describe(report.reorder);
  start.defaults = report.defaults;
  start.notes = report.notes;
  start.warnings = report.warnings;
  return start;
}

jobs::JobWatcher job_watcher(const Progress& progress) {
  jobs::JobWatcher watcher;
  if (progress.on_start) {
    watcher.on_start = [&progress](const runs::Report& report) { progress.on_start(training_start(report)); };
  }
  if (progress.on_epoch) {
    watcher.on_epoch = [&progress](std::int64_t run, const epochs::EpochRecord& e) {
      progress.on_epoch({run, e.epoch, e.loss, e.val_loss, e.scores.train, e.scores.val, e.scores.test,
                         e.seconds + e.eval_seconds, e.evaluated, e.best});
    };
  }
  watcher.on_begin = progress.on_begin;
  watcher.should_stop = progress.should_stop;
  watcher.on_warning = progress.on_warning;
  return watcher;
}

TrainResult train_result(const runs::Report& report) {
  TrainResult result;
  result.model = report.model;
  result.dataset = report.dataset;
  result.metric = report.metric;
  result.train = part_scores(report, &epochs::Scores::train);
  result.val = part_scores(report, &epochs::Scores::val);
  result.test = part_scores(report, &epochs::Scores::test);
  for (const epochs::RunRecord& run : report.runs) {
    result.losses.emplace_back();
    for (const epochs::EpochRecord& epoch : run.epochs) result.losses.back().push_back(epoch.loss);
    result.best_epochs.push_back(run.best_epoch);
  }
  const runs::SecondsReport seconds = runs::epoch_seconds(report);
  result.epoch_seconds_median = seconds.median;
  result.epoch_seconds_min = seconds.min;
  result.epoch_seconds_max = seconds.max;
  result.load_seconds = report.load_seconds;
  result.train_seconds = report.train_seconds;
  result.parameters = report.parameters;
  result.data_bytes = report.data_bytes;
  result.plan_peak_bytes = report.plan_peak_bytes;
  result.peak_rss_bytes = report.peak_rss_bytes;
  result.saved_run = report.saved_run;
  result.interrupted = report.interrupted;
  result.can_go_on = report.can_go_on;
  result.rank = report.rank;
  result.run_folder = report.run_folder;
  result.advice = report.advice;
  result.routes = report.routes_text;
  result.json = runs::to_json(report);
  return result;
}

/// A matrix of the caller's own.
Array own_matrix(MatrixView<const float> matrix) {
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(matrix.size()));
  for (std::int64_t r = 0; r < matrix.rows; ++r)
    values.insert(values.end(), matrix.row(r), matrix.row(r) + matrix.cols);
  return array_from(std::move(values), {matrix.rows, matrix.cols});
}

Array own_probabilities(const jobs::Restored& restored) {
  const MatrixView<const float> logits = restored.session->logits();
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(logits.size()));
  for (std::int64_t v = 0; v < logits.rows; ++v) {
    for (const double p : jobs::probabilities(restored, v)) values.push_back(static_cast<float>(p));
  }
  return array_from(std::move(values), {logits.rows, logits.cols});
}

Array own_classes(const jobs::Restored& restored) {
  if (restored.dataset->labels.kind != data::LabelKind::kSingle) return {};
  const MatrixView<const float> logits = restored.session->logits();
  std::vector<std::int32_t> classes;
  for (std::int64_t v = 0; v < logits.rows; ++v) classes.push_back(epochs::predicted_class(logits, v));
  return array_from(std::move(classes));
}

jobs::Restored restore(const std::string& run_folder, const settings::Config& overrides, const Dataset* dataset,
                       bool need_labels) {
  if (dataset == nullptr) return jobs::restore(run_folder, overrides, need_labels);
  OnDataset on = on_dataset(*dataset, overrides);
  if (!dataset->impl().of_arrays) on.given = {};  // loaded as in the training, which may have chosen another split
  return jobs::restore(run_folder, on.config, need_labels, on.given);
}

/// Writes `text` to `out`, or gives it back when there is no such name.
std::string deliver(std::string text, const std::string& out) {
  if (out.empty()) return text;
  write_file(out, text);
  return {};
}

}  // namespace

OnDataset on_dataset(const Dataset& dataset, const settings::Config& config) {
  const Dataset::Impl& impl = dataset.impl();
  const std::string where = "the data set in memory";
  if (config.is_set("data.name"))
    throw Error(ErrorCode::kUsage,
                fmt::format("'{}' is named, and a data set is given in memory", config.text("data.name")),
                config.where("data.name"), "leave one of them out");
  OnDataset on;
  if (impl.of_arrays) {
    on.config.merge(config);
    on.config.set("data.name", std::string(data::kGivenPrefix) + impl.dataset->name, settings::Origin::kFlag, where);
    on.given = {impl.dataset, false};
    return on;
  }
  on.config.merge(impl.loaded_by);
  on.config.merge(config);
  const std::vector<settings::Setting>& all = settings::settings();
  const bool as_loaded = std::none_of(all.begin(), all.end(), [&](const settings::Setting& setting) {
    return setting.key.starts_with("data.") && config.is_set(setting.key);
  });
  if (as_loaded) on.given = {impl.dataset, true};
  return on;
}

TrainResult train_model(const RunConfig& config, const Progress& progress) {
  const jobs::JobWatcher watcher = job_watcher(progress);
  return train_result(jobs::train(config.impl().config, watcher));
}

TrainResult train_model(const Dataset& dataset, const RunConfig& config, const Progress& progress) {
  const jobs::JobWatcher watcher = job_watcher(progress);
  OnDataset on = on_dataset(dataset, config.impl().config);
  return train_result(jobs::train(std::move(on.config), watcher, std::move(on.given)));
}

static TrainResult resumed(const std::string& run_folder, const settings::Config& overrides, const Progress& progress,
                           jobs::GivenData given) {
  const std::optional<runs::Report> report =
      jobs::resume(run_folder, overrides, job_watcher(progress), std::move(given));
  if (report) return train_result(*report);
  TrainResult complete;
  complete.was_complete = true;
  complete.rank = comm::find_launch().rank;
  complete.run_folder = run_folder;
  complete.json = read_file(std::filesystem::path(run_folder) / "report.json");
  return complete;
}

TrainResult resume_training(const std::string& run_folder, const RunConfig& overrides, const Progress& progress) {
  return resumed(run_folder, overrides.impl().config, progress, {});
}

TrainResult resume_training(const Dataset& dataset, const std::string& run_folder, const RunConfig& overrides,
                            const Progress& progress) {
  if (!dataset.impl().of_arrays) return resume_training(run_folder, overrides, progress);
  OnDataset on = on_dataset(dataset, overrides.impl().config);
  return resumed(run_folder, on.config, progress, std::move(on.given));
}

static PlanResult plan_result(const jobs::PlanReport& report) {
  return {jobs::describe(report), jobs::to_json(report), report.peak_bytes, report.warnings};
}

PlanResult plan_training(const RunConfig& config, const std::vector<std::string>& print_after) {
  return plan_result(jobs::plan(config.impl().config, print_after));
}

PlanResult plan_training(const Dataset& dataset, const RunConfig& config, const std::vector<std::string>& print_after) {
  OnDataset on = on_dataset(dataset, config.impl().config);
  return plan_result(jobs::plan(std::move(on.config), print_after, std::move(on.given)));
}

std::vector<PassSummary> list_passes() {
  std::vector<PassSummary> list;
  for (const passes::PassInfo& pass : passes::list_passes()) list.push_back({pass.name, pass.optional, pass.purpose});
  return list;
}

std::vector<ModelArgument> model_arguments(const std::string& model) {
  std::vector<ModelArgument> list;
  for (const language::ModelParameter& parameter : language::model_parameters(jobs::model_source(model))) {
    list.push_back({parameter.name, parameter.type,
                    parameter.default_value ? settings::arg_text(*parameter.default_value) : "", parameter.doc,
                    parameter.choices});
  }
  return list;
}

std::vector<std::string> builtin_models() { return language::builtin_model_names(); }

std::string predict(const std::string& run_folder, const RunConfig& overrides, const OutputFormat& format,
                    const std::string& out, std::vector<std::string>* warnings) {
  const jobs::OutputOptions options{jobs::output_format(format.format.text(), out), format.probabilities};
  const jobs::Restored restored = jobs::restore(run_folder, overrides.impl().config);
  if (warnings != nullptr) *warnings = restored.warnings;
  return deliver(jobs::format_predictions(restored, options), out);
}

std::string embed(const std::string& run_folder, const RunConfig& overrides, const OutputFormat& format,
                  const std::string& out, std::vector<std::string>* warnings) {
  const jobs::OutputOptions options{jobs::output_format(format.format.text(), out), false};
  const jobs::Restored restored = jobs::restore(run_folder, overrides.impl().config);
  if (warnings != nullptr) *warnings = restored.warnings;
  return deliver(jobs::format_embedding(restored, options), out);
}

ModelOutputs model_outputs(const std::string& run_folder, const RunConfig& overrides, const Dataset* dataset) {
  const jobs::Restored restored = restore(run_folder, overrides.impl().config, dataset, false);
  ModelOutputs outputs;
  outputs.logits = own_matrix(restored.session->logits());
  outputs.probabilities = own_probabilities(restored);
  outputs.classes = own_classes(restored);
  outputs.embedding = own_matrix(restored.session->embedding());
  outputs.class_names = restored.class_names;
  outputs.warnings = restored.warnings;
  return outputs;
}

std::vector<NamedArray> model_parameters(const std::string& run_folder) {
  const std::filesystem::path folder = run_folder;
  if (!runs::is_run_folder(folder))
    throw Error(ErrorCode::kBadData, "there is no run folder here (config.yaml, model.gneiss, model.safetensors)",
                run_folder, "gneiss train writes one and says where");
  const std::filesystem::path file = folder / runs::kModelFile;
  return named_arrays(runs::read_safetensors(file).tensors, file.string());
}

void save_parameters(const std::vector<NamedArray>& parameters, const std::string& path) {
  write_file(path, runs::encode_safetensors({tensors_of(parameters), {{"format", "pt"}}}));
}

EvalResult evaluate(const std::string& run_folder, const RunConfig& overrides, const Dataset* dataset) {
  jobs::Restored restored = restore(run_folder, overrides.impl().config, dataset, true);
  const jobs::EvalReport report = jobs::evaluate(restored);
  return {report.metric,      report.scores.train, report.scores.val,
          report.scores.test, restored.warnings,   jobs::to_json(report)};
}

}  // namespace gneiss
