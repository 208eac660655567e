// Checkpoints of a training: what one is taken of, whether a training may go on from one, and putting it back.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"
#include "ir/plan.h"
#include "jobs/checkpoint_rhythm.h"
#include "jobs/run_facts.h"
#include "runs/report.h"
#include "runs/run_folder.h"
#include "runs/unfinished.h"
#include "settings/config.h"
#include "train/full_graph.h"

namespace gneiss::jobs {

/// A training between two steps.
struct TrainingMoment {
  std::int64_t run;                  ///< under way, from 0
  const epochs::Position& position;  ///< in that run
  const epochs::RunRecord& record;
  const settings::Config& config;
  const runs::Report& report;  ///< of the runs before
  const RunFacts& best_facts;  ///< of the best of them
  train::TrainingState<const float> state;
  minibatch::BatchShape room;           ///< of mini-batches
  std::span<const float> weights;       ///< best of this run
  std::span<const float> best_weights;  ///< of the best run before
};

/// Of what decides about the bits of a training: programs and kernels of the plan and of that over mini-batches (null:
/// there are none), and how layers are evaluated by themselves (empty: they are not).
std::uint64_t plan_hash(const ir::Plan& plan, const ir::Plan* blocks, const std::string& evaluation);

class Checkpoints {
 public:
  /// `from`: where the training goes on; none: it begins. Errors: as CheckpointRhythm.
  Checkpoints(const settings::Config& config, std::optional<runs::Unfinished> from);

  const std::optional<runs::Unfinished>& from() const { return from_; }
  /// The run to begin or go on with.
  std::int64_t first_run() const { return from_ ? from_->checkpoint.at.run : 0; }
  /// Of the first run, or null if it begins.
  const train::Start* start(std::int64_t run) const { return from_ && run == first_run() ? &start_ : nullptr; }

  // What the training is about; with a checkpoint to go on from, others are refused (kBadData).
  void look_at_model(std::string_view text);
  /// Before a session frees what it can.
  void look_at_data(const data::Dataset& dataset, const std::string& node_order, std::int64_t run);
  /// By plan_hash. Another plan is warned of.
  void look_at_plan(std::uint64_t hash, std::int64_t run);

  /// Fills in the runs and epochs before the checkpoint. Errors: as runs::read_metrics.
  void take_up(runs::Report* report, RunFacts* best_facts);
  /// Puts the best weights in their places. Errors: kBadData where the arrays are of another model than `state`.
  void put_back(const train::TrainingState<float>& state, std::span<float> weights,
                std::span<float> best_weights) const;

  /// Asked after every step: is one to be kept?
  bool is_due(bool stops) { return rhythm_.is_due() || stops; }
  /// Writes one. A disk that fails does not stop a training: what to tell people then, if they do not know yet.
  std::string keep(const TrainingMoment& moment, runs::RunFolder* folder);

  /// What is unlike before, and does not keep the training from going on.
  std::vector<std::string>& warnings() { return warnings_; }

 private:
  std::string where() const { return (from_->folder / runs::kCheckpointName).string(); }
  runs::Checkpoint checkpoint_of(const TrainingMoment& moment) const;

  CheckpointRhythm rhythm_;
  std::optional<runs::Unfinished> from_;
  std::uint64_t training_;
  train::Start start_;  ///< its arrays are those of from_
  std::uint64_t model_hash_ = 0;
  std::uint64_t data_hash_ = 0;
  std::uint64_t plan_hash_ = 0;
  bool failed_ = false;  ///< the last one that was to be written
  std::vector<std::string> warnings_;
};

}  // namespace gneiss::jobs
