// The session of a training without its loop: one call for each thing that an epoch is made of.
#include "jobs/stepper.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "jobs/device_choice.h"
#include "jobs/options.h"
#include "jobs/weights.h"
#include "train/full_graph.h"

namespace gneiss::jobs {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// What a loop of the caller's does not do.
settings::Config checked(settings::Config config) {
  struct Refused {
    std::string_view key;
    bool asked;
    const char* why;
  };
  const Refused refused[] = {
      {"batch.size", trains_batches(config), "it steps on the whole graph"},
      {"train.ranks", rank_count(config) > 1, "it runs on one rank"},
      {"train.devices", device_count(config) > 1, "it runs on one device"},
      {"train.runs", config.integer("train.runs") > 1, "it is one run"},
      {"out.checkpoint_every", config.has("out.checkpoint_every"), "it writes nothing"},
  };
  for (const Refused& option : refused) {
    if (!option.asked) continue;
    throw Error(ErrorCode::kUnsupported,
                fmt::format("--{} is not for a model that is stepped by its caller: {}",
                            settings::find_setting(option.key)->flag, option.why),
                config.where(option.key), "leave it out, or train with train_model");
  }
  refuse_device(config, "a model that is stepped by its caller");
  check_exchange(config, false);
  return config;
}

bool by_metric(const train::FullGraphOptions& driver) { return driver.monitor == epochs::Monitor::kMetric; }

}  // namespace

Stepper::Stepper(settings::Config config, GivenData given)
    : config_(checked(std::move(config))),
      workload_(&config_, PlanFor::kThisMachine, std::move(given), KeepOrder::kYes),
      seed_(static_cast<std::uint64_t>(config_.integer("train.seed"))) {
  const train::FullGraphOptions& driver = workload_.driver();
  workload_.rest_features();
  session_ = std::make_unique<train::Session<float>>(workload_.take_dataset(), workload_.session());
  const data::Dataset& dataset = session_->dataset();
  split_ = epochs::labelled_split(dataset);
  train::check_split(dataset, split_, driver.metric);
  if (config_.has("train.init")) load_init(runs::read_safetensors(init_file(config_)), config_, session_.get());
  evaluator_.emplace(driver.metric, dataset.labels, train::threads_of(workload_.session()));
  schedule_.emplace(driver.schedule, driver.lr, driver.epochs,
                    by_metric(driver) && epochs::higher_is_better(driver.metric));
}

double Stepper::step(std::optional<double> lr) {
  const std::int64_t epoch = steps_ + 1;
  inferred_ = false;
  const double loss = session_->forward_backward(static_cast<std::uint64_t>(epoch));
  train::check_loss(loss, "training", seed_, epoch);
  session_->update(lr ? *lr : schedule_->lr(epoch - 1));
  steps_ = epoch;
  observed_ = false;
  return loss;
}

void Stepper::infer() {
  if (!inferred_) session_->evaluate();
  inferred_ = true;
}

Stepper::Evaluation Stepper::evaluate() {
  infer();
  const auto score = [&](const std::vector<NodeId>& rows) {
    return rows.empty() ? kNaN : evaluator_->score(session_->logits(), rows);
  };
  Evaluation evaluation{{score(split_.train), score(split_.val), score(split_.test)}, kNaN};
  if (split_.val.empty()) return evaluation;
  evaluation.val_loss = session_->validation_loss();
  train::check_loss(evaluation.val_loss, "validation", seed_, steps_);
  if (std::exchange(observed_, true)) return evaluation;
  const train::FullGraphOptions& driver = workload_.driver();
  const double penalty = driver.monitor == epochs::Monitor::kObjective ? session_->penalty() : 0;
  schedule_->observe(by_metric(driver) ? evaluation.scores.val : evaluation.val_loss + penalty);
  return evaluation;
}

std::vector<float> Stepper::in_given_order(MatrixView<const float> matrix) const {
  const graph::Order& order = workload_.order();
  std::vector<float> values(static_cast<std::size_t>(matrix.size()));
  for (std::int64_t v = 0; v < matrix.rows; ++v) {
    const std::int64_t row = order.empty() ? v : order[static_cast<std::size_t>(v)];
    std::copy_n(matrix.row(v), matrix.cols, values.begin() + row * matrix.cols);
  }
  return values;
}

std::vector<float> Stepper::logits() {
  infer();
  return in_given_order(session_->logits());
}

std::vector<float> Stepper::embedding() {
  infer();
  return in_given_order(session_->embedding());
}

std::vector<runs::Tensor> Stepper::weights() const { return weight_tensors(*session_, steps_); }

void Stepper::load_weights(const runs::SafeTensors& weights) {
  const WeightsOrigin origin{"parameters", "give weights of the same model, as parameters() lists them"};
  refuse_unknown(weights, origin, *session_);
  std::vector<float> before(session_->snapshot_size());
  session_->save_snapshot(before);
  inferred_ = false;
  try {
    jobs::load_weights(weights, origin, session_.get());
  } catch (...) {
    session_->load_snapshot(before);
    throw;
  }
}

}  // namespace gneiss::jobs
