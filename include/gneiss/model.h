// A model that is trained step by step, by a loop of the caller's own.
//
//   gneiss::Model model(dataset, config);
//   for (int epoch = 0; epoch < 200; ++epoch) {
//     const double loss = model.step();
//     if (model.evaluate().val > 0.9) break;
//   }
//   const gneiss::Array logits = model.logits();
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gneiss/array.h"
#include "gneiss/config.h"
#include "gneiss/dataset.h"
#include "gneiss/train.h"

namespace gneiss {

/// Scores of the weights at hand.
struct ModelScores {
  double train = 0;  ///< NaN where a part has no nodes
  double val = 0;
  double test = 0;
  double val_loss = 0;
};

/// Plan, weights and optimizer of a training on the whole graph, on the CPU. A loop that steps and evaluates as often
/// as train_model() does with the same settings gets its bits; early stopping and the choice of the best weights are
/// the caller's. Calls of one model are made one at a time.
class Model {
 public:
  /// Loads what the settings ask for, compiles, plans and draws the first weights, or takes those of train.init. The
  /// data set stays as it is. Settings of run folders (out.) and of the loop (train.patience) have nothing to do;
  /// schedules of the learning rate go by train.epochs. Errors: as train_model(); kUnsupported for mini-batches,
  /// several ranks or devices.
  Model(const Dataset& dataset, const RunConfig& config);
  explicit Model(const RunConfig& config);
  Model(Model&& other) noexcept;
  Model& operator=(Model&& other) noexcept;
  ~Model();

  /// Forward, loss, backward and one update at the rate of the settings' schedule. Returns the loss, which is that of
  /// the weights before the update. Errors: kNumeric if it is NaN or infinite; the weights are as before then.
  double step();
  /// The same at another rate.
  double step(double lr);
  /// Steps so far.
  std::int64_t steps() const;

  /// Scores and validation loss of the weights at hand, without dropout.
  ModelScores evaluate();
  /// What the scores are: accuracy, rocauc, rmse …
  std::string metric() const;

  /// What the last layer gives, [nodes, classes], and what enters it, [nodes, width], of the weights at hand; rows are
  /// in the order of the data set's nodes. The arrays keep their memory and do not change with the model.
  Array logits();
  Array embedding();

  /// Weights and running statistics under PyG's names, shapes and orientation, as they are now.
  std::vector<NamedArray> parameters() const;
  /// Puts weights in the place of those at hand: f32 or f64, dense. What the optimizer remembers stays. Errors:
  /// kBadData naming the first that is missing, that the model has not, or whose shape or type is another; kUsage for
  /// another value, after the first step, of one that is not trained (GIN's eps). Nothing has changed then.
  void load_parameters(const std::vector<NamedArray>& parameters);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gneiss
