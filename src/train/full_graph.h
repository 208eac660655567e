// The full-graph driver: epochs, evaluation, early stopping and the choice of the best weights of one run.
//
// An epoch is one forward and backward pass over the whole graph and one update; an evaluation is one inference pass,
// its validation loss and the scores of all three parts. The weights of the best evaluation are kept and put back at
// the end. After the first epoch nothing is allocated: all records have their place before.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "data/dataset.h"
#include "train/early_stopping.h"
#include "train/metrics.h"
#include "train/schedule.h"
#include "train/session.h"

namespace gneiss::train {

struct FullGraphOptions {
  std::int64_t epochs = 200;
  std::int64_t eval_every = 1;
  std::int64_t patience = 0;  ///< evaluations without progress, 0 = never stop early
  Monitor monitor = Monitor::kMetric;
  Metric metric = Metric::kAccuracy;
  double lr = 0.01;
  ScheduleConfig schedule;
};

struct Scores {
  double train = 0;
  double val = 0;
  double test = 0;
};

/// What one epoch did. Scores and val_loss are NaN in epochs without an evaluation, and for empty parts.
struct EpochRecord {
  std::int64_t epoch = 0;  ///< from 1
  double loss = 0;         ///< of the training nodes, before the update
  double lr = 0;
  double seconds = 0;       ///< forward, backward and update
  double eval_seconds = 0;  ///< inference and scores
  bool evaluated = false;
  bool best = false;  ///< the best evaluation so far
  double val_loss = 0;
  Scores scores;
};

struct RunRecord {
  std::uint64_t seed = 0;
  std::vector<EpochRecord> epochs;
  std::int64_t best_epoch = 0;
  Scores best;                 ///< scores of the kept weights
  double best_val_loss = 0;    ///< as the monitor sees it: with the penalty for kObjective
  bool stopped_early = false;  ///< patience ran out
  bool interrupted = false;    ///< should_stop said so
};

/// How a run is watched. Neither may throw; both are called between epochs, on the calling thread.
struct Watcher {
  std::function<void(const EpochRecord&)> on_epoch;
  std::function<bool()> should_stop;
};

/// Errors: kBadData if there is no labelled training node, or a part has no defined score (rocauc of a single class).
void check_split(const data::Dataset& dataset, const data::Split& split, Metric metric);

/// Trains one run from fresh weights of `seed`; `best_weights` receives the snapshot of the best epoch (the last one
/// when there is nothing to validate on). The session is left with these weights and their logits. Errors: kNumeric
/// naming run seed and epoch when a loss is NaN or infinite.
RunRecord train_run(Session<float>& session, const data::Split& split, const FullGraphOptions& options,
                    Evaluator& evaluator, std::uint64_t seed, const Watcher& watcher, std::span<float> best_weights);

}  // namespace gneiss::train
