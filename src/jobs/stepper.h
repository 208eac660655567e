// A model that is trained step by step, by a loop of the caller's own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/matrix_view.h"
#include "epochs/metrics.h"
#include "epochs/records.h"
#include "epochs/schedule.h"
#include "jobs/given_data.h"
#include "jobs/workload.h"
#include "runs/safetensors.h"
#include "settings/config.h"
#include "train/session.h"

namespace gneiss::jobs {

/// Data, plan, weights and optimizer of a training on the whole graph, on the host. Steps and evaluations in the rhythm
/// of `train` with the same settings have its bits; when to evaluate, to stop and to keep weights, the caller decides.
class Stepper {
 public:
  /// `given`, if there is one, stands for the data set that the settings name. Errors: as train; kUnsupported for
  /// mini-batches, several ranks or devices, and checkpoints.
  explicit Stepper(settings::Config config, GivenData given = {});

  /// One epoch: forward, loss, backward and update, at the rate `lr` or that of the settings' schedule. Returns the
  /// loss before the update. Errors: kNumeric if it is NaN or infinite; the weights are as before then.
  double step(std::optional<double> lr = {});
  std::int64_t steps() const { return steps_; }

  struct Evaluation {
    epochs::Scores scores;
    double val_loss = 0;  ///< NaN without validation nodes
  };
  /// Scores of the weights at hand. The first one after a step is what a plateau schedule goes by.
  Evaluation evaluate();

  /// Of the weights at hand, in the order of the data set's nodes, row by row.
  std::vector<float> logits();
  std::vector<float> embedding();

  std::vector<runs::Tensor> weights() const;
  /// Puts weights in the place of those at hand; what the optimizer remembers stays. Errors: kBadData naming the first
  /// that the model has not, that is missing, or has another shape; kUsage for another value, after the first step, of
  /// what nothing trains and is computed with once. Nothing has changed then.
  void load_weights(const runs::SafeTensors& weights);

  const Workload& workload() const { return workload_; }
  const train::Session<float>& session() const { return *session_; }
  epochs::Metric metric() const { return workload_.driver().metric; }

 private:
  void infer();
  std::vector<float> in_given_order(MatrixView<const float> matrix) const;

  settings::Config config_;
  Workload workload_;
  std::unique_ptr<train::Session<float>> session_;
  data::Split split_;
  std::optional<epochs::Evaluator> evaluator_;
  std::optional<epochs::Schedule> schedule_;
  std::uint64_t seed_ = 0;
  std::int64_t steps_ = 0;
  bool inferred_ = false;  ///< the session holds the outputs of the weights at hand
  bool observed_ = true;   ///< the schedule knows of the last step
};

}  // namespace gneiss::jobs
