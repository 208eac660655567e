// Evaluation layer by layer: what the full graph's plan would hold at once is computed for a chunk of rows at a time.
//
// The model is cut where edges read values at their sources (passes/cut_by_layers). Each part reaches over one hop and
// is computed for all nodes before the next one begins: for a chunk of rows with all of their in-edges, as a mini-batch
// with whole neighbourhoods. Between parts lie the values that later parts gather, a few columns of a node each. Chunks
// are as large as the memory allows, so this takes the time of evaluating at once and of gathering. Where memory does
// not hold those values of all nodes, they lie in scratch files: a part is written front to back, and a chunk of the
// next one reads the rows that it needs. Where only scores are wanted, a part is computed for the nodes that these take
// alone: the scored ones at the end, and before that what they reach.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "data/dataset.h"
#include "minibatch/sampler.h"
#include "passes/cut_by_layers.h"
#include "train/engine.h"
#include "train/session.h"

namespace gneiss::train {

class Layerwise {
 public:
  /// `model`: as the front end made it. All must outlive this. Errors: kUnsupported as passes::cut_by_layers.
  Layerwise(const ir::Program& model, const data::Dataset& dataset, const SessionOptions& options,
            runtime::Parameters<float>* parameters);
  ~Layerwise();
  Layerwise(const Layerwise&) = delete;
  Layerwise& operator=(const Layerwise&) = delete;

  /// Makes chunks as large as they may be for the evaluation to take `bytes` at most, besides the data set and the
  /// parameters; values of all nodes go to files where chunks were small otherwise. Errors: kOutOfMemory saying what
  /// the smallest chunks take.
  void fit(std::int64_t bytes, const std::string& limit_name);
  /// Evaluates with the parameters at hand; in one chunk where fit() was not called.
  void run(std::uint64_t seed);

  /// Of all nodes: not where by_rows() and only scores are wanted.
  MatrixView<const float> logits() const { return view(model_.output("logits")); }
  MatrixView<const float> embedding() const { return view(model_.output("embedding")); }
  /// Are logits better read by logits_of()? They are where they lie in a file, whose pages logits() brings into memory,
  /// and where there are those of scored nodes alone.
  bool by_rows() const { return in_files_ || !parts_.back().all; }
  /// Rows of the logits, side by side; of scored nodes where only scores are wanted.
  Buffer<float> logits_of(std::span<const NodeId> rows) const;
  /// The mean loss of the labelled validation nodes; NaN if there are none.
  float validation_loss();

  std::int64_t bytes() const { return bytes_; }
  /// "layer by layer, 3 parts in 12 chunks of rows at most": for reports.
  std::string describe() const;

 private:
  /// The most that a chunk brings.
  struct Chunks {
    std::vector<std::int64_t> starts;  ///< rows at which chunks begin, and their number
    std::int64_t rows = 0;
    std::int64_t nodes = 0;
    std::int64_t edges = 0;
  };
  /// A part of the model, planned for chunks.
  struct Part {
    passes::BlockPart part;
    std::int32_t hops = 0;
    passes::BlockProgram blocks;
    ir::Plan plan;
    bool all = true;           ///< computed for all nodes
    std::vector<NodeId> rows;  ///< where not: for these, ascending
    bool is_last = true;       ///< no part reads its results: of some nodes they lie side by side, else in their places
    Chunks chunks;
  };

  /// A value of all nodes.
  struct Rows {
    data::Features values;                          ///< in memory, or mapped
    std::shared_ptr<const data::FeatureFile> file;  ///< that they lie in; null: in memory
  };
  class Results;

  void choose_rows();
  std::vector<bool> reached_by(const Part& part) const;
  void rest_edges() const;
  std::int64_t count(const Part& part) const;
  NodeId row(const Part& part, std::int64_t i) const;
  std::int64_t kept_rows(const Part& part) const;
  Chunks cut(const Part& part, std::int64_t most) const;
  /// The largest chunks that take so much at most, planned; 0 if even the smallest take more.
  std::int64_t largest_chunks(std::int64_t bytes);
  std::int64_t value_bytes(const Part& part, ir::ValueId value) const;
  std::int64_t values_in_files() const;
  bool fits_scratch() const;
  std::int64_t file_bytes(const Part& part) const;
  /// Plans all parts for chunks of `most` rows and edges together; bytes that they take.
  std::int64_t plan(std::int64_t most);
  std::int64_t chunk_bytes(const Part& part) const;
  std::int64_t columns_of(const Part& part) const;
  void compute_graph_constants();
  void run_part(std::size_t index, std::uint64_t seed);
  void sample(const Part& part, minibatch::Slab* slab);
  bool needed_after(ir::ValueId value, std::size_t index) const;
  MatrixView<const float> view(ir::ValueId value) const;
  float loss_of(MatrixView<const float> all, const data::Labels& labels, std::span<const NodeId> rows) const;

  ir::Program model_;  ///< as it is evaluated: no dropout
  const data::Dataset& dataset_;
  SessionOptions options_;
  runtime::Parameters<float>& parameters_;
  std::vector<Part> parts_;
  std::int64_t bytes_ = 0;
  std::unique_ptr<minibatch::Sampler<NodeId>> sampler_;
  std::unique_ptr<minibatch::Workspace<NodeId>> workspace_;
  std::vector<NodeId> seeds_;                           ///< of a chunk
  std::map<ir::ValueId, std::vector<float>> of_graph_;  ///< by value: [nodes, columns], what the graph alone decides
  std::map<ir::ValueId, Rows> values_;                  ///< likewise, results of parts while they are needed
  bool in_files_ = false;                               ///< these
};

/// Evaluates so; trains nothing by itself, but updates parameters by gradients that others make. `plan`: of the whole
/// graph, whose outputs are read and whose parameters are trained.
class LayerwiseEngine : public Engine<float> {
 public:
  LayerwiseEngine(const ir::Plan& plan, const ir::Program& model, const data::Dataset& dataset,
                  const SessionOptions& options, runtime::Parameters<float>* parameters,
                  std::vector<runtime::ParameterRange> ranges);

  Layerwise& evaluation() { return evaluation_; }

  void run(ir::Phase phase, kernels::StepKey key) override;
  void end_setup() override {}
  void make_loss_tiles() override {}
  MatrixView<const float> read(ir::ValueId value) override;
  std::span<const std::uint16_t> read_halves(ir::ValueId value) override;
  void update(double lr) override;
  double step(ir::ValueId loss, kernels::StepKey key, double lr) override;
  void reset_optimizer() override { optimizer_.reset(); }
  runtime::OptimizerState<float> optimizer_state() override { return optimizer_.state(); }
  void send_optimizer() override {}
  void send() override {}
  void fetch() override {}

 private:
  const ir::Plan& plan_;
  Buffer<std::byte> workspace_;  ///< of an update
  kernels::Context context_;
  runtime::Parameters<float>& parameters_;
  Layerwise evaluation_;
  runtime::Optimizer<float> optimizer_;
  float val_loss_ = 0;
};

}  // namespace gneiss::train
