// One loop: step, evaluate when it is due, record, and stop when patience runs out or somebody asks. The best weights
// are copied out when they are found and put back at the end.
#include "train/full_graph.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace gneiss::train {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

void check_loss(double loss, const char* which, std::uint64_t seed, std::int64_t epoch) {
  if (std::isfinite(loss)) return;
  throw Error(ErrorCode::kNumeric, fmt::format("the {} loss is {}", which, std::isnan(loss) ? "NaN" : "infinite"),
              fmt::format("epoch {} of the run with seed {}", epoch, seed),
              "lower --lr, set --clip-norm, or look for huge feature values (gneiss data validate)");
}

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

/// One run in progress.
struct Run {
  Session<float>& session;
  const data::Split& split;
  const FullGraphOptions& options;
  epochs::Evaluator& evaluator;
  std::span<float> best_weights;
  epochs::RunRecord* record;

  epochs::Scores score() const {
    const auto part = [&](const std::vector<NodeId>& rows) {
      return rows.empty() ? kNaN : evaluator.score(session.logits(), rows);
    };
    return {part(split.train), part(split.val), part(split.test)};
  }

  /// The validation loss that progress is judged by.
  double judged_loss(const epochs::EpochRecord& epoch) const {
    return epoch.val_loss + (options.monitor == epochs::Monitor::kObjective ? session.penalty() : 0);
  }

  void keep(const epochs::EpochRecord& epoch) {
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

  void step(double lr, epochs::EpochRecord* epoch) const {
    const auto start = Clock::now();
    if (options.batches != nullptr) {
      epoch->loss = options.batches->epoch(epoch->epoch, lr);
      check_loss(epoch->loss, "training", record->seed, epoch->epoch);
    } else {
      epoch->loss = session.forward_backward(static_cast<std::uint64_t>(epoch->epoch));
      check_loss(epoch->loss, "training", record->seed, epoch->epoch);
      session.update(lr);
    }
    epoch->lr = lr;
    epoch->seconds = seconds_since(start);
  }
};

}  // namespace

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
                            std::span<float> best_weights) {
  epochs::RunRecord record;
  record.seed = seed;
  record.epochs.reserve(static_cast<std::size_t>(options.epochs));
  const bool validates = !split.val.empty();
  const bool up = options.monitor == epochs::Monitor::kMetric && epochs::higher_is_better(options.metric);
  epochs::EarlyStopping stopping(options.monitor, epochs::higher_is_better(options.metric), options.patience);
  epochs::Schedule schedule(options.schedule, options.lr, options.epochs, up);
  Run run{session, split, options, evaluator, best_weights, &record};
  session.reset(seed);
  if (options.batches != nullptr) options.batches->restart(seed);
  for (std::int64_t e = 1; e <= options.epochs; ++e) {
    epochs::EpochRecord epoch{.epoch = e, .val_loss = kNaN, .scores = {kNaN, kNaN, kNaN}};
    run.step(schedule.lr(e - 1), &epoch);
    double stops[] = {watcher.should_stop && watcher.should_stop() ? 1.0 : 0.0};
    session.share(stops);
    record.interrupted = stops[0] != 0;
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
