// Whole jobs, from settings to results: train, plan, and what a run folder is good for afterwards.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"
#include "jobs/card_plan.h"
#include "jobs/device_plan.h"
#include "jobs/given_data.h"
#include "jobs/plan_batches.h"
#include "jobs/rank_plan.h"
#include "runs/report.h"
#include "settings/config.h"
#include "train/session.h"

namespace gneiss::jobs {

/// How a training is watched; all may be empty, none may throw.
struct JobWatcher {
  /// Nothing was read yet, and processes are there: from here on there may be threads. Without it there are none.
  std::function<void()> on_begin;
  /// The job is about to train: data set and plan are known.
  std::function<void(const runs::Report& so_far)> on_start;
  std::function<void(std::int64_t run, const epochs::EpochRecord& epoch)> on_epoch;
  /// Asked after every epoch, and every mini-batch; true ends the training there with everything saved.
  std::function<bool()> should_stop;
  /// Something went wrong that does not stop the training.
  std::function<void(const std::string& text)> on_warning;
};

/// Trains as the settings say and writes the run folder. When interrupted, runs that have not begun are left out.
/// `given`, if there is one, stands for the data set that the settings name. Errors: as the settings, the data, the
/// model and the disk give reason to; nothing is left on disk then but the last checkpoint, if there was one.
runs::Report train(settings::Config config, const JobWatcher& watcher, GivenData given = {});

/// Goes on with the training of a run folder from its last checkpoint, to the same bits as without the interruption;
/// none if the training is complete. `overrides` may say where the data lie now, on how many threads to run and how
/// often to keep checkpoints; `given` as in train. Errors: as runs::find_unfinished and train; kUsage for other
/// settings; kBadData if data or model are others now.
std::optional<runs::Report> resume(const std::filesystem::path& run, const settings::Config& overrides,
                                   const JobWatcher& watcher, GivenData given = {});

/// A plan and what it was made for.
struct PlanReport {
  std::string model;
  std::string dataset;
  ir::Plan plan;
  std::int64_t parameters = 0;
  std::int64_t data_bytes = 0;
  std::string feature_dtype;  ///< f32, bf16 or f16
  int threads = 0;
  std::int64_t session_bytes = 0;    ///< what training allocates beyond the data
  std::int64_t freed_bytes = 0;      ///< of that and of the data, once what is done once is done
  std::int64_t baseline_bytes = 0;   ///< the process before any data
  std::int64_t load_peak_bytes = 0;  ///< while the data were read
  std::int64_t peak_bytes = 0;
  std::string rates;              ///< which rates the times below and the choices go by
  double setup_seconds = 0;       ///< modelled: what runs once
  double epoch_seconds = 0;       ///< modelled: forward, backward and update
  double evaluation_seconds = 0;  ///< modelled: one evaluation
  std::vector<std::string> warnings;
  epochs::ReorderReport reorder;
  std::string defaults;  ///< one line about those chosen for the data; empty if there are none
  std::vector<std::pair<std::string, std::string>> printed;  ///< programs after the passes asked for
  std::optional<DevicePlan> devices;                         ///< how several devices would share the graph
  std::optional<CardPlan> card;                              ///< of a plan for a card: what it takes of that
  std::optional<BatchPlanReport> batches;                    ///< of mini-batches; what stands above is their evaluation
  std::optional<RankPlan> ranks;                             ///< what several ranks would take
};
/// Loads the data and plans the training without allocating it. `print_after`: names of passes whose result is wanted.
PlanReport plan(settings::Config config, const std::vector<std::string>& print_after, GivenData given = {});
std::string describe(const PlanReport& report);
std::string to_json(const PlanReport& report, int indent = 2);

/// What writing a program decided and made.
struct SynthReport {
  std::string model;
  std::string dataset;
  std::vector<std::string> files;  ///< names in the folder
  std::int64_t steps = 0;          ///< kernel calls of all phases
  std::string defaults;            ///< one line about those chosen for the data; empty if there are none
  std::vector<std::string> warnings;
};
/// Plans the training as `train` with the same settings would, and writes it as a program for `target` into `folder`.
/// Errors: kUsage for an unknown target, a folder that is taken, and settings that programs do not follow; as train for
/// the rest.
SynthReport synthesize(settings::Config config, std::string_view target, const std::filesystem::path& folder,
                       bool force);

/// A model from a run folder on a data set.
struct Restored {
  settings::Config config;
  std::unique_ptr<data::Dataset> dataset;
  std::unique_ptr<train::Session<float>> session;  ///< holds logits and embedding
  std::vector<std::string> class_names;
  data::Split split;                  ///< what an evaluation scores; empty parts stay empty
  bool labelled = false;              ///< the data brought labels
  std::vector<std::string> warnings;  ///< what cannot be known, is unlike the training, or does not fit in memory
};
/// Rebuilds the trained model and runs it once. `overrides` win over the run's settings. Where they name another data
/// set, the training's files of features, labels and splits stay out of it, classes are matched by name, and features
/// are normalised by the training's statistics. `need_labels`: refuse data without labels, and labels that the model
/// does not know. `given`, if there is one, is the data set that the settings then name. Errors: kBadData for a folder
/// that is no run or does not fit the data.
Restored restore(const std::filesystem::path& run, const settings::Config& overrides, bool need_labels = false,
                 const GivenData& given = {});

/// Scores of a run folder's model on its split.
struct EvalReport {
  std::string metric;
  epochs::Scores scores;
  double val_loss = 0;
};
EvalReport evaluate(Restored& restored);
std::string to_json(const EvalReport& report, int indent = 2);

}  // namespace gneiss::jobs
