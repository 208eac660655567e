// Stages are weighed alike over some epochs and then forgotten little by little, so that a machine that grows busier
// shows. With that alone a plan could swing between two whose stages disturb each other in different ways: what an
// epoch really took decides between them, once.
#include "schedule/replanner.h"

#include <algorithm>
#include <utility>

namespace gneiss::schedule {
namespace {

constexpr std::int64_t kRemembered = 400;  // stages of a kind
constexpr double kWorthIt = 0.97;          // of the predicted epoch

bool same(const Plan& a, const Plan& b) {
  return a.cpu_batches == b.cpu_batches && a.cbs == b.cbs && a.gbs == b.gbs && a.host_slabs == b.host_slabs &&
         a.copies == b.copies && a.uva_first == b.uva_first && a.uva_alone == b.uva_alone;
}

}  // namespace

Replanner::Replanner(Profile profile, PlanOptions options)
    : options_(std::move(options)), profile_(std::move(profile)), planned_(make_plan(profile_, options_)) {}

bool Replanner::observe(const Record& run) {
  if (std::ssize(run.order) < planned_.plan.batches || planned_.plan.batches == 0) return false;
  take_means(run);
  shortest_ = shortest_ == 0 ? run.epoch : std::min(shortest_, run.epoch);
  predict();
  if (settled_) return false;
  if (before_ && shortest_ >= before_->epoch) {
    planned_ = std::move(before_->planned);
    shortest_ = before_->epoch;
    before_.reset();
    settled_ = true;
    ++changes_;
    predict();
    return true;
  }
  Planned other = make_plan(profile_, options_);
  const double saved = static_cast<double>(other.epoch) / static_cast<double>(planned_.epoch);
  if (same(other.plan, planned_.plan) || saved > kWorthIt) return false;
  before_ = {std::move(planned_), shortest_};
  planned_ = std::move(other);
  shortest_ = 0;
  ++changes_;
  return true;
}

/// What did not run keeps its time.
void Replanner::take_means(const Record& run) {
  const MeasuredStages stages = contended_stages(run, planned_.plan);
  const auto take = [&](Action action, Nanoseconds* time) {
    const auto kind = static_cast<std::size_t>(action);
    const MeasuredStage& stage = stages[kind];
    if (stage.count == 0) return;
    const double part = static_cast<double>(stage.count) / static_cast<double>(stage.count + seen_[kind]);
    *time = from_ms(to_ms(*time) + part * (stage.mean_ms - to_ms(*time)));
    seen_[kind] = std::min(kRemembered, seen_[kind] + stage.count);
  };
  StageTimes& times = profile_.times;
  take(Action::kPrepareOnCpu, &times.cpu_batch);
  take(Action::kCopy, &times.dma);
  take(Action::kPrepareOnDevice, &times.device_batch);
  take(Action::kTrain, &times.train);
  if (seen_[static_cast<std::size_t>(Action::kPrepareOnDevice)] > 0) times.uva = times.device_batch;
}

void Replanner::predict() {
  planned_.bound = lower_bound(profile_, options_.batches);
  planned_.epoch = simulate(planned_.plan, profile_, false).epoch;
}

}  // namespace gneiss::schedule
