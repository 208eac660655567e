// One loop: step, evaluate when it is due, record, and stop when patience runs out or somebody asks. The best weights
// are copied out when they are found and put back at the end.
#include "train/full_graph.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"

namespace gneiss::train {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// True if among `nodes` some task has two classes.
bool has_two_classes(const data::Labels& labels, const std::vector<NodeId>& nodes) {
  const bool single = labels.kind == data::LabelKind::kSingle;
  const std::int64_t tasks = single ? 1 : labels.num_classes;
  for (std::int64_t task = 0; task < tasks; ++task) {
    bool seen[2] = {false, false};
    for (const NodeId v : nodes) {
      if (single) {
        seen[labels.classes[static_cast<std::size_t>(v)] == 1 ? 1 : 0] = true;
      } else {
        const float target = labels.targets[static_cast<std::size_t>(v * tasks + task)];
        if (!std::isnan(target)) seen[target > 0.5F ? 1 : 0] = true;
      }
    }
    if (seen[0] && seen[1]) return true;
  }
  return false;
}

}  // namespace

double score(const Session<float>& session, epochs::Evaluator* evaluator, std::span<const NodeId> rows) {
  if (rows.empty()) return kNaN;
  if (evaluator->counts()) {
    const std::span<const double> counts = session.count_scores(rows, evaluator->counts_by_class());
    if (!counts.empty()) return evaluator->score_of(counts);
  }
  if (!session.logits_come_by_rows()) return evaluator->score(session.logits(), rows);
  const Buffer<float> read = session.logits_of(rows);
  const data::Labels labels = data::labels_of(session.dataset().labels, rows);
  epochs::Evaluator of_rows(evaluator->metric(), labels);
  std::vector<NodeId> all(rows.size());
  std::iota(all.begin(), all.end(), NodeId{0});
  const auto count = std::ssize(rows);
  return of_rows.score({read.data(), count, std::ssize(read.span()) / count}, all);
}

namespace {

/// One run in progress.
struct Run {
  Session<float>& session;
  const data::Split& split;
  const FullGraphOptions& options;
  epochs::Evaluator& evaluator;
  const Watcher& watcher;
  std::span<float> best_weights;
  epochs::RunRecord* record;

  epochs::Scores score() const {
    const auto part = [&](const std::vector<NodeId>& rows) { return train::score(session, &evaluator, rows); };
    return {part(split.train), part(split.val), part(split.test)};
  }

  /// The validation loss that progress is judged by.
  double judged_loss(const epochs::EpochRecord& epoch) const {
    return epoch.val_loss + (options.monitor == epochs::Monitor::kObjective ? session.penalty() : 0);
  }

  void keep(const epochs::EpochRecord& epoch) const {
    session.save_snapshot(best_weights);
    record->best_epoch = epoch.epoch;
    record->best = epoch.scores;
    record->best_val_loss = judged_loss(epoch);
  }

  /// Inference, scores and validation loss into `epoch`.
  void evaluate(epochs::EpochRecord* epoch) const {
    const auto start = Clock::now();
    session.evaluate();
    if (session.scores_here()) epoch->scores = score();
    double scores[] = {epoch->scores.train, epoch->scores.val, epoch->scores.test};
    session.share(scores);
    epoch->scores = {scores[0], scores[1], scores[2]};
    if (!split.val.empty()) {
      epoch->val_loss = session.validation_loss();
      check_loss(epoch->val_loss, "validation", record->seed, epoch->epoch);
    }
    epoch->evaluated = true;
    epoch->eval_seconds = seconds_since(start);
  }

  /// After a step: is the run to stop? All ranks do what rank 0 is told.
  bool ask(const epochs::Position& position) const {
    double stops[] = {watcher.should_stop && watcher.should_stop() ? 1.0 : 0.0};
    session.share(stops);
    if (watcher.after_step) watcher.after_step(position, *record, stops[0] != 0);
    return stops[0] != 0;
  }

  /// The steps of an epoch that are not done yet.
  void step(epochs::Position* position) const {
    const auto start = Clock::now();
    epochs::EpochRecord& epoch = position->epoch;
    const double before = epoch.seconds;
    const auto after = [&](const epochs::StepSums& sums) {
      position->sums = sums;
      epoch.seconds = before + seconds_since(start);
      record->interrupted = ask(*position);
      return record->interrupted;
    };
    if (options.batches != nullptr) {
      epoch.loss = options.batches->epoch(epoch.epoch, epoch.lr, position->sums, after);
      check_loss(epoch.loss, "training", record->seed, epoch.epoch);
    } else if (position->sums.steps == 0) {
      epoch.loss = session.step(static_cast<std::uint64_t>(epoch.epoch), epoch.lr);
      check_loss(epoch.loss, "training", record->seed, epoch.epoch);
      after({1, epoch.loss, 1});
    } else {
      epoch.loss = position->sums.loss;
    }
  }

  /// Fresh weights, or those of a start.
  void begin(const Start* start) const {
    session.reset(record->seed);
    if (!options.first_weights.empty()) session.load_snapshot(options.first_weights);
    BatchTraining* const batches = options.batches;
    if (start == nullptr) {
      if (batches != nullptr) batches->restart(record->seed);
      return;
    }
    const TrainingState<float> here = session.training_state();
    const auto copy = [](std::span<const float> from, std::span<float> to) {
      GNEISS_ASSERT(from.size() == to.size(), "{} values in the place of {}", from.size(), to.size());
      std::copy(from.begin(), from.end(), to.begin());
    };
    copy(start->training.values, here.values);
    copy(start->training.states, here.states);
    copy(start->training.optimizer.first, here.optimizer.first);
    copy(start->training.optimizer.second, here.optimizer.second);
    *here.optimizer.steps = start->optimizer_steps;
    session.send_training_state();
    if (batches == nullptr) return;
    batches->make_room(start->room);
    batches->restart(record->seed, start->position.epoch.epoch, start->position.sums.steps);
  }
};

}  // namespace

void check_loss(double loss, std::string_view which, std::uint64_t seed, std::int64_t epoch) {
  if (std::isfinite(loss)) return;
  throw Error(ErrorCode::kNumeric, fmt::format("the {} loss is {}", which, std::isnan(loss) ? "NaN" : "infinite"),
              fmt::format("epoch {} of the run with seed {}", epoch, seed),
              "lower --lr, set --clip-norm, or look for huge feature values (gneiss data validate)");
}

void check_split(const data::Dataset& dataset, const data::Split& split, epochs::Metric metric) {
  if (split.train.empty()) {
    throw Error(
        ErrorCode::kBadData,
        fmt::format("no labelled node to train on (the split has {} training nodes)", dataset.split.train.size()),
        dataset.name, "choose another --split, e.g. --split random or --split ratio:60/20/20");
  }
  if (metric != epochs::Metric::kRocAuc) return;
  const std::pair<const char*, const std::vector<NodeId>*> parts[] = {
      {"training", &split.train}, {"validation", &split.val}, {"test", &split.test}};
  for (const auto& [name, nodes] : parts) {
    if (nodes->empty() || has_two_classes(dataset.labels, *nodes)) continue;
    throw Error(ErrorCode::kBadData, fmt::format("rocauc is undefined on the {} nodes: they hold a single class", name),
                dataset.name, "use --metric accuracy or another --split");
  }
}

epochs::RunRecord train_run(Session<float>& session, const data::Split& split, const FullGraphOptions& options,
                            epochs::Evaluator& evaluator, std::uint64_t seed, const Watcher& watcher,
                            std::span<float> best_weights, const Start* start) {
  epochs::RunRecord record;
  if (start != nullptr) record = start->record;
  record.seed = seed;
  record.epochs.reserve(static_cast<std::size_t>(options.epochs));
  const bool validates = !split.val.empty();
  const bool up = options.monitor == epochs::Monitor::kMetric && epochs::higher_is_better(options.metric);
  epochs::EarlyStopping stopping(options.monitor, epochs::higher_is_better(options.metric), options.patience);
  epochs::Schedule schedule(options.schedule, options.lr, options.epochs, up);
  if (start != nullptr) stopping.restore(start->position.stopping);
  if (start != nullptr) schedule.restore(start->position.schedule);
  const Run run{session, split, options, evaluator, watcher, best_weights, &record};
  run.begin(start);
  const std::int64_t first = start == nullptr ? 1 : start->position.epoch.epoch;
  for (std::int64_t e = first; e <= options.epochs; ++e) {
    epochs::Position position;
    position.stopping = stopping.state();
    position.schedule = schedule.state();
    if (start != nullptr && e == first) position = start->position;
    epochs::EpochRecord& epoch = position.epoch;
    epoch.epoch = e;
    epoch.lr = schedule.lr(e - 1);
    epoch.val_loss = kNaN;
    epoch.scores = {kNaN, kNaN, kNaN};
    run.step(&position);
    const bool last = e == options.epochs || record.interrupted;
    if (e % options.eval_every == 0 || last) {
      run.evaluate(&epoch);
      const double val_loss = run.judged_loss(epoch);
      epoch.best = !validates || stopping.observe(epoch.scores.val, val_loss);
      if (epoch.best && (validates || last)) run.keep(epoch);
      if (validates) schedule.observe(options.monitor == epochs::Monitor::kMetric ? epoch.scores.val : val_loss);
    }
    record.epochs.push_back(epoch);
    if (watcher.on_epoch) watcher.on_epoch(epoch);
    record.stopped_early = validates && stopping.should_stop();
    if (last || record.stopped_early) break;
  }
  const epochs::EpochRecord& last = record.epochs.back();
  if (!last.evaluated || record.best_epoch != last.epoch) {  // else the best weights and their outputs are at hand
    session.load_snapshot(best_weights);
    session.evaluate();
  }
  return record;
}

}  // namespace gneiss::train
