// Training, plans and what a run folder is good for, over jobs/.
#include "gneiss/train.h"

#include "api/impl.h"
#include "base/file.h"
#include "jobs/job.h"
#include "jobs/options.h"
#include "jobs/write_output.h"
#include "passes/pipeline.h"
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
  watcher.should_stop = progress.should_stop;
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
  result.rank = report.rank;
  result.run_folder = report.run_folder;
  result.advice = report.advice;
  result.routes = report.routes_text;
  result.json = runs::to_json(report);
  return result;
}

/// Writes `text` to `out`, or gives it back when there is no such name.
std::string deliver(std::string text, const std::string& out) {
  if (out.empty()) return text;
  write_file(out, text);
  return {};
}

}  // namespace

TrainResult train_model(const RunConfig& config, const Progress& progress) {
  const jobs::JobWatcher watcher = job_watcher(progress);
  return train_result(jobs::train(config.impl().config, watcher));
}

PlanResult plan_training(const RunConfig& config, const std::vector<std::string>& print_after) {
  const jobs::PlanReport report = jobs::plan(config.impl().config, print_after);
  return {jobs::describe(report), jobs::to_json(report), report.peak_bytes, report.warnings};
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
                    parameter.default_value ? settings::arg_text(*parameter.default_value) : "", parameter.doc});
  }
  return list;
}

std::vector<std::string> builtin_models() { return language::builtin_model_names(); }

std::string predict(const std::string& run_folder, const RunConfig& overrides, const OutputFormat& format,
                    const std::string& out, std::vector<std::string>* warnings) {
  const jobs::OutputOptions options{jobs::output_format(format.format, out), format.probabilities};
  const jobs::Restored restored = jobs::restore(run_folder, overrides.impl().config);
  if (warnings != nullptr) *warnings = restored.warnings;
  return deliver(jobs::format_predictions(restored, options), out);
}

std::string embed(const std::string& run_folder, const RunConfig& overrides, const OutputFormat& format,
                  const std::string& out, std::vector<std::string>* warnings) {
  const jobs::OutputOptions options{jobs::output_format(format.format, out), false};
  const jobs::Restored restored = jobs::restore(run_folder, overrides.impl().config);
  if (warnings != nullptr) *warnings = restored.warnings;
  return deliver(jobs::format_embedding(restored, options), out);
}

EvalResult evaluate(const std::string& run_folder, const RunConfig& overrides) {
  jobs::Restored restored = jobs::restore(run_folder, overrides.impl().config, true);
  const jobs::EvalReport report = jobs::evaluate(restored);
  return {report.metric,      report.scores.train, report.scores.val,
          report.scores.test, restored.warnings,   jobs::to_json(report)};
}

}  // namespace gneiss
