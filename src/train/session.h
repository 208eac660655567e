// One model on one dataset: compiled, planned, allocated and ready to step.
//
// A session owns the plan, the parameters and the executor; it knows nothing of epochs, files or scores. In f32 it is
// what training uses; in f64 it runs the same plan on the reference kernels, for gradient checks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/matrix_view.h"
#include "data/dataset.h"
#include "ir/plan.h"
#include "language/compile.h"
#include "runtime/optimizer.h"
#include "runtime/parameters.h"
#include "train/blueprint.h"
#include "train/rank_data.h"

namespace gneiss::train {

/// All that the steps of a run change, as it lies in the session: whoever writes to it goes on from there.
template <class T>
struct TrainingState {
  std::span<T> values;  ///< of the trained parameters
  std::span<T> states;  ///< running statistics
  runtime::OptimizerState<T> optimizer;
};

template <class T>
class Session {
 public:
  /// Compiles the model for the dataset and allocates everything a run needs. The dataset must outlive the session and
  /// stays as it is. `part`, of a rank of several, outlives the session; its making and everything below that computes
  /// are then calls of all ranks together, and losses, gradients and running statistics are those of all nodes. Errors:
  /// kUsage with rendered diagnostics if the model does not compile; kBadData if the dataset lacks what it needs.
  Session(const data::Dataset& dataset, const SessionOptions& options, const RankPart* part = nullptr);
  /// The same with a dataset of its own, of which the session keeps what it needs: what the plan says that no phase
  /// reads, or none but the setup phase, is freed here and in set_up, and features in a file's pages may move to memory
  /// of their own.
  Session(data::Dataset&& dataset, const SessionOptions& options, const RankPart* part = nullptr);
  ~Session();

  /// The caller's, or what is left of the session's own: labels, splits, names and all counts.
  const data::Dataset& dataset() const;
  const ir::Plan& plan() const;
  const language::CompileResult& compiled() const;
  /// What could not be done as the options asked, and what was done instead: loops over edges that no compiler made.
  const std::vector<std::string>& warnings() const;
  /// Draws fresh parameters from `seed`, clears optimizer state and sets running statistics back.
  void reset(std::uint64_t seed);

  bool evaluates_by_layers() const;
  /// Of a session that evaluates layer by layer: chunks as large as `bytes` allow, beside the data set and the
  /// parameters. Errors: kOutOfMemory, with numbers, where that is too little.
  void fit_evaluation(std::int64_t bytes);
  /// Likewise: what an evaluation and the parameters take, bytes.
  std::int64_t evaluation_bytes() const;
  /// Likewise: how it goes, in a line; empty where the whole graph is evaluated at once.
  std::string describe_evaluation() const;

  /// What the session takes of its device's memory; 0 on the host.
  std::int64_t device_bytes() const;
  /// What it takes besides the plan because it takes up others' rows.
  std::int64_t exchange_bytes() const;
  /// Of a device that is one of several processes: closes the others' memory, before any gives its own back. Nothing
  /// runs then.
  void leave();

  /// Runs the setup phase, once; the calls below do it where it has not been done.
  void set_up();
  /// Forward, loss and backward over the training nodes without an update; returns the loss. `epoch` keys dropout.
  double forward_backward(std::uint64_t epoch);
  /// Clips if configured and applies one optimizer step at learning rate `lr` to the gradients at hand.
  void update(double lr);
  /// forward_backward and, where the loss is finite, update; returns the loss. On a device that is one recorded piece
  /// of work.
  double step(std::uint64_t epoch, double lr);
  /// Runs the inference phase (no dropout, running statistics); logits() and embedding() then hold its results.
  void evaluate();
  /// Of the last evaluate(): the mean loss over the labelled validation nodes; NaN if there are none, or no loss.
  double validation_loss() const;
  /// The L2 penalty of the weights at hand; see runtime::Optimizer::penalty.
  double penalty() const;

  /// Are scores taken here? Of several ranks on rank 0, which has the logits of all nodes.
  bool scores_here() const;
  /// Gives numbers of the rank where scores are taken to all ranks.
  void share(std::span<double> numbers) const;

  /// Where a device evaluates, how predictions meet the labels of the nodes of a part of the split, counted there; see
  /// runtime::DeviceExecutor::count_scores. Empty for other nodes and on the host: then scores are taken of the logits.
  std::span<const double> count_scores(std::span<const NodeId> rows, bool by_class) const;
  MatrixView<const T> logits() const;  ///< of the last evaluate(): [n, classes]
  /// The same of some rows, side by side. Of an evaluation layer by layer logits may lie in a file, of which only these
  /// rows are read, or be those of scored nodes alone: then they come by rows, and logits() says little or nothing.
  Buffer<T> logits_of(std::span<const NodeId> rows) const;
  bool logits_come_by_rows() const;
  /// Of the last forward_backward(), until the next call: [n, classes]. Needs passes.keep_training_logits.
  MatrixView<const T> training_logits() const;
  MatrixView<const T> embedding() const;  ///< of the last evaluate(): [n, d]

  const std::vector<ir::Param>& params() const;  ///< trained parameters and states
  /// Their values and gradients, for other plans of the same model.
  runtime::Parameters<T>& parameters();
  /// Values of a parameter or state by its key, in the stored shape and orientation (PyG's).
  std::vector<T> parameter(std::string_view name) const;
  std::vector<T> gradient(std::string_view name) const;
  /// Errors: kUsage for an unknown key (with the nearest), kShape for a wrong size.
  void set_parameter(std::string_view name, std::span<const T> stored_values);

  /// All parameters and states, flat: cheap snapshots for best-model selection.
  std::size_t snapshot_size() const;
  void save_snapshot(std::span<T> out) const;
  void load_snapshot(std::span<const T> in);

  /// Of a session on a device a copy: send_training_state brings what was written to it there.
  TrainingState<T> training_state();
  void send_training_state();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

extern template class Session<float>;
extern template class Session<double>;

}  // namespace gneiss::train
