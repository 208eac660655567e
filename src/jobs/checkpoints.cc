// Model, data and plan are known by hashes. The settings are part of the checkpoint, so they need none.
#include "jobs/checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/hash_bytes.h"
#include "base/version.h"
#include "data/data_hash.h"
#include "ir/text.h"

namespace gneiss::jobs {
namespace {

std::uint64_t hash_of(const ir::Plan& plan, std::uint64_t before) {
  std::string text = ir::print(plan.program);
  for (const ir::Step& step : plan.steps) text += step.variant + (step.walks_tiles ? "/tiles " : " ");
  return hash_bytes(text.data(), text.size(), before);
}

/// A record without its epochs, which are in metrics.jsonl.
epochs::RunRecord without_epochs(const epochs::RunRecord& record) {
  epochs::RunRecord made;
  made.seed = record.seed;
  made.best_epoch = record.best_epoch;
  made.best = record.best;
  made.best_val_loss = record.best_val_loss;
  made.stopped_early = record.stopped_early;
  return made;
}

/// Of no meaning but that two trainings have two of them.
std::uint64_t draw_number() {
  std::random_device source;
  return std::uint64_t{source()} << 32 | source();
}

}  // namespace

std::uint64_t plan_hash(const ir::Plan& plan, const ir::Plan* blocks, const std::string& evaluation) {
  std::uint64_t hash = hash_of(plan, 0);
  if (blocks != nullptr) hash = hash_of(*blocks, hash);
  return hash_bytes(evaluation.data(), evaluation.size(), hash);
}

Checkpoints::Checkpoints(const settings::Config& config, std::optional<runs::Unfinished> from)
    : rhythm_(config), from_(std::move(from)), training_(from_ ? from_->checkpoint.at.training : draw_number()) {}

void Checkpoints::look_at_model(std::string_view text) {
  model_hash_ = hash_text(text);
  if (!from_) return;
  const runs::Checkpoint& at = from_->checkpoint.at;
  if (at.model_hash != model_hash_) {
    throw Error(ErrorCode::kBadData, "the model's text is another one than when the training began", where(),
                "put the text back as it was, or train anew");
  }
  if (at.version == version_text()) return;
  warnings_.push_back(fmt::format("the checkpoint is of gneiss {}; this is {}, whose results may differ by rounding",
                                  at.version, version_text()));
}

void Checkpoints::look_at_data(const data::Dataset& dataset, const std::string& node_order, std::int64_t run) {
  data_hash_ = data::data_hash(dataset);
  if (!from_ || run != first_run()) return;
  const runs::Checkpoint& at = from_->checkpoint.at;
  if (data_hash_ == at.data_hash) return;
  const bool same_order = at.node_order == node_order;
  throw Error(ErrorCode::kBadData,
              same_order ? std::string("the data are others than when the training began")
                         : fmt::format("the nodes lie in another order ({}) than when the training began ({}): the "
                                       "rates of the machine are others",
                                       node_order, at.node_order),
              dataset.name,
              same_order ? "put them back as they were, or train anew"
                         : "go on with the rates that were there when the training began, or train anew");
}

void Checkpoints::look_at_plan(std::uint64_t hash, std::int64_t run) {
  plan_hash_ = hash;
  if (!from_ || run != first_run() || plan_hash_ == from_->checkpoint.at.plan_hash) return;
  warnings_.push_back(
      "the plan is another one than when the training began (memory, rates or version of gneiss differ): results are "
      "equal to rounding, not to the bit");
}

void Checkpoints::take_up(runs::Report* report, RunFacts* best_facts) {
  if (!from_) return;
  const runs::Checkpoint& at = from_->checkpoint.at;
  std::vector<epochs::RunRecord> records = at.records;
  for (runs::RunEpochs& run : runs::read_metrics(from_->folder / "metrics.jsonl", at.metrics)) {
    const bool known = run.run >= 0 && run.run <= at.run;
    GNEISS_CHECK(known, ErrorCode::kBadData, "metrics.jsonl has a run {}, the checkpoint is in run {}", run.run,
                 at.run);
    records[static_cast<std::size_t>(run.run)].epochs = std::move(run.epochs);
  }
  start_.record = std::move(records.back());
  records.pop_back();
  report->runs = std::move(records);
  report->saved_run = at.saved_run;
  report->defaults = at.defaults;
  if (at.run > 0) *best_facts = parse_facts(at.facts, where());
  const runs::CheckpointArrays<std::vector<float>>& arrays = from_->checkpoint.arrays;
  start_.position = at.position;
  start_.training = {arrays.values, arrays.states, {arrays.first, arrays.second, nullptr}};
  start_.optimizer_steps = at.optimizer_steps;
  start_.room = at.room;
}

void Checkpoints::put_back(const train::TrainingState<float>& state, std::span<float> weights,
                           std::span<float> best_weights) const {
  if (!from_) return;
  const runs::CheckpointArrays<std::vector<float>>& arrays = from_->checkpoint.arrays;
  const bool fits = arrays.values.size() == state.values.size() && arrays.states.size() == state.states.size() &&
                    arrays.first.size() == state.optimizer.first.size() &&
                    arrays.second.size() == state.optimizer.second.size() && arrays.best.size() == weights.size() &&
                    arrays.saved.size() == best_weights.size();
  if (!fits) {
    throw Error(
        ErrorCode::kBadData,
        fmt::format("the checkpoint has {} parameters, the model {}", arrays.values.size(), state.values.size()),
        where(), "train anew");
  }
  std::copy(arrays.best.begin(), arrays.best.end(), weights.begin());
  std::copy(arrays.saved.begin(), arrays.saved.end(), best_weights.begin());
}

runs::Checkpoint Checkpoints::checkpoint_of(const TrainingMoment& moment) const {
  runs::Checkpoint at;
  at.training = training_;
  at.version = version_text();
  at.settings = moment.config.to_yaml();
  at.defaults = moment.report.defaults;
  at.model_hash = model_hash_;
  at.data_hash = data_hash_;
  at.plan_hash = plan_hash_;
  at.node_order = moment.report.reorder.method;
  at.run = moment.run;
  at.position = moment.position;
  for (const epochs::RunRecord& before : moment.report.runs) at.records.push_back(without_epochs(before));
  at.records.push_back(without_epochs(moment.record));
  at.saved_run = moment.report.saved_run;
  if (moment.run > 0) at.facts = to_json(moment.best_facts);
  at.optimizer_steps = *moment.state.optimizer.steps;
  at.room = moment.room;
  return at;
}

std::string Checkpoints::keep(const TrainingMoment& moment, runs::RunFolder* folder) {
  const train::TrainingState<const float>& state = moment.state;
  try {
    folder->checkpoint(checkpoint_of(moment), {state.values, state.states, state.optimizer.first,
                                               state.optimizer.second, moment.weights, moment.best_weights});
    failed_ = false;
    return {};
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kDisk) throw;
    if (std::exchange(failed_, true)) return {};
    return fmt::format("no checkpoint could be kept ({}); the training goes on{}", error.message(),
                       folder->has_checkpoint() ? ", and the checkpoint before this one is as it was" : "");
  }
}

}  // namespace gneiss::jobs
