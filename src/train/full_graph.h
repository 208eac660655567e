// The full-graph driver: epochs, evaluation, early stopping and the choice of the best weights of one run.
//
// An epoch is one forward and backward pass over the whole graph and one update, or a pass over mini-batches; an
// evaluation is one inference pass, its validation loss and the scores of all three parts. The weights of the best
// evaluation are kept and put back at the end. After the first epoch nothing is allocated: all records have their place
// before.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "data/dataset.h"
#include "epochs/early_stopping.h"
#include "epochs/metrics.h"
#include "epochs/position.h"
#include "epochs/records.h"
#include "epochs/schedule.h"
#include "train/batches.h"
#include "train/session.h"

namespace gneiss::train {

struct FullGraphOptions {
  std::int64_t epochs = 200;
  std::int64_t eval_every = 1;
  std::int64_t patience = 0;  ///< evaluations without progress, 0 = never stop early
  epochs::Monitor monitor = epochs::Monitor::kMetric;
  epochs::Metric metric = epochs::Metric::kAccuracy;
  double lr = 0.01;
  epochs::ScheduleConfig schedule;
  BatchTraining* batches = nullptr;      ///< an epoch is a pass over mini-batches; null: one step on the whole graph
  std::span<const float> first_weights;  ///< a snapshot that a run begins with; empty: they are drawn from its seed
};

/// How a run is watched, on the calling thread. Nothing here may throw.
struct Watcher {
  std::function<void(const epochs::EpochRecord&)> on_epoch;
  /// Asked after every step: an epoch, or a mini-batch. True ends the training there.
  std::function<bool()> should_stop;
  /// Told where the run stands after a step, its record of the epochs before, and whether it is to stop. What the
  /// session holds is then what a Start needs.
  std::function<void(const epochs::Position&, const epochs::RunRecord&, bool stops)> after_step = {};
};

/// Where a run goes on.
struct Start {
  epochs::Position position;
  epochs::RunRecord record;             ///< of the epochs before
  TrainingState<const float> training;  ///< the optimizer's steps are those that `steps` counts
  std::int64_t optimizer_steps = 0;
  minibatch::BatchShape room;  ///< of BatchTraining
};

/// Errors: kBadData if there is no labelled training node, or a part has no defined score (rocauc of a single class).
void check_split(const data::Dataset& dataset, const data::Split& split, epochs::Metric metric);

/// The score of the session's logits over `rows`, which alone are read where logits lie in a file; NaN of no rows.
double score(const Session<float>& session, epochs::Evaluator* evaluator, std::span<const NodeId> rows);

/// Throws kNumeric if a loss ("training", "validation") is NaN or infinite.
void check_loss(double loss, std::string_view which, std::uint64_t seed, std::int64_t epoch);

/// Trains one run from fresh weights of `seed` or the given ones, or goes on at `start`, with its best weights in
/// `best_weights` and the same bits at the end as without the interruption; `best_weights` receives the snapshot of the
/// best epoch (the last one when there is nothing to validate on). The session is left with these weights and their
/// logits. Errors: kNumeric naming run seed and epoch when a loss is NaN or infinite.
epochs::RunRecord train_run(Session<float>& session, const data::Split& split, const FullGraphOptions& options,
                            epochs::Evaluator& evaluator, std::uint64_t seed, const Watcher& watcher,
                            std::span<float> best_weights, const Start* start = nullptr);

}  // namespace gneiss::train
