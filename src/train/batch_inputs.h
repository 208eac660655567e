// What a step on a mini-batch needs besides the sampled blocks, added to the batch's slab: the graphs of the block
// program in both directions, rows of features and node constants, labels, ids.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "data/dataset.h"
#include "data/feature_file.h"
#include "ir/plan.h"
#include "minibatch/batch.h"
#include "passes/to_blocks.h"
#include "runtime/inputs.h"
#include "tiers/tiered_rows.h"

namespace gneiss::train {

/// Whose hands fill a slab: the host's own steps, the CPU for a device, or the device.
enum class Filler : std::uint8_t { kHost, kCpu, kDevice };

/// Features that lie in tiers, and what was read of them; workers count at the same time.
class TieredFeatures {
 public:
  /// Rows as they are stored, in 32 or 16 bits; with a file, which must outlive this, those that no device keeps are
  /// read there, and the map has none in main memory. Errors: kUnsupported for sparse features; those of the file.
  TieredFeatures(const data::Features& features, const data::FeatureFile* file, const tiers::TierMap& map);
  /// Counts by itself what is read of rows that others read too.
  explicit TieredFeatures(std::shared_ptr<const tiers::TieredRows> rows) : rows_(std::move(rows)) {}

  const tiers::TieredRows& rows() const { return *rows_; }
  const std::shared_ptr<const tiers::TieredRows>& shared_rows() const { return rows_; }
  void count(Filler filler, const tiers::TierTraffic& traffic);
  /// What the CPU gathered for the device, and what the device read, since the last reset.
  tiers::TierTraffic by_cpu() const;
  tiers::TierTraffic by_device() const;
  void reset();

 private:
  std::shared_ptr<const tiers::TieredRows> rows_;
  mutable std::mutex mutex_;
  tiers::TierTraffic by_cpu_;
  tiers::TierTraffic by_device_;
};

class BatchInputs {
 public:
  /// All must outlive this. `full`: the program that `blocks` was made from. `constants`: [nodes, columns] each of the
  /// full graph; side by side they are what the blocks read of it. None has no rows unless it has no columns.
  BatchInputs(const data::Dataset& dataset, const ir::Program& full, const passes::BlockProgram& blocks,
              std::vector<ConstMatrixView<float>> constants)
      : dataset_(dataset), full_graphs_(full.graphs), blocks_(blocks), constants_(std::move(constants)) {
    for (const ConstMatrixView<float>& part : constants_) constant_columns_ += part.cols;
  }

  /// Reads features through tiers, which must outlive this, where a device is concerned. Not while batches are being
  /// filled.
  void set_tiers(TieredFeatures* tiered) { tiered_ = tiered; }
  /// Reads features from their file, which must outlive this, and leaves the data set's pages alone.
  void set_file(const data::FeatureFile* file) { file_ = file; }
  /// For each part of the constants the file that its rows are read from, which must outlive this; null: from its view.
  void set_constant_files(std::vector<const data::FeatureFile*> files) { constant_files_ = std::move(files); }
  /// Which graphs a plan walks along out-edges too, and whether it reads features. Not while batches are being filled.
  void set_plan(const ir::Plan& plan);
  /// Adds to a slab that holds a sampled batch and nothing else. For several threads at the same time.
  /// With tiers the CPU adds only the rows that the device lacks, and complete() must follow where the slab is trained.
  void add(minibatch::Slab* slab, Filler filler = Filler::kHost) const;
  /// Puts the device's own rows between those that came. Nothing to do where all rows are there.
  void complete(minibatch::Slab* slab) const;
  /// The inputs of a slab that was added to; valid as long as it. Allocates nothing but in the first call.
  void read(const minibatch::Slab& slab, runtime::Inputs* inputs) const;

 private:
  /// Offsets of a graph's arrays in the slab; -1: there is none.
  struct GraphAt {
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    std::int64_t edges = 0;
    std::int64_t offsets = 0;
    std::int64_t sources = 0;
    std::int64_t weights = -1;
    std::int64_t out_offsets = -1;
    std::int64_t out_rows = -1;
    std::int64_t out_slots = -1;
  };
  struct Header {
    std::int64_t graphs = 0;
    std::int64_t features = 0;  ///< -1: not all rows are there
    std::int64_t cold = 0;      ///< rows that came from the CPU where that is so
    std::int64_t constants = 0;
    std::int64_t ids = 0;
    std::int64_t classes = 0;
    std::int64_t targets = 0;
    std::int64_t loss_rows = 0;
  };

  static std::int64_t header_at(const minibatch::Slab& slab);
  GraphAt add_graph(const passes::BlockGraph& graph, minibatch::Slab* slab) const;
  void begin_at_all_nodes(minibatch::Slab* slab, GraphAt* at) const;
  GraphAt add_hop(const passes::BlockGraph& graph, minibatch::Slab* slab) const;
  GraphAt add_inner(const passes::BlockGraph& graph, minibatch::Slab* slab) const;
  GraphAt add_loops(const passes::BlockGraph& graph, minibatch::Slab* slab) const;
  float loop_weight(NodeId node) const;
  GraphAt add_prefix(const passes::BlockGraph& graph, minibatch::Slab* slab) const;
  void add_transpose(minibatch::Slab* slab, GraphAt* at) const;
  std::int64_t add_constants(minibatch::Slab* slab) const;
  void read_constants(std::span<const NodeId> nodes, float* out) const;
  std::int64_t add_features(std::span<const NodeId> nodes, minibatch::Slab* slab) const;
  void read_rows(std::span<const NodeId> rows, std::span<float> out) const;
  void add_tiered(Filler filler, minibatch::Slab* slab, Header* header) const;

  const data::Dataset& dataset_;
  const std::vector<ir::GraphDef>& full_graphs_;
  const passes::BlockProgram& blocks_;
  std::vector<ConstMatrixView<float>> constants_;
  std::int64_t constant_columns_ = 0;  ///< of all of them
  TieredFeatures* tiered_ = nullptr;
  const data::FeatureFile* file_ = nullptr;
  std::vector<const data::FeatureFile*> constant_files_;  ///< none: all parts are views
  std::vector<bool> both_ways_;                           ///< by graph of the block program
  bool reads_features_ = true;
  bool in_place_ = false;  ///< from the data set
};

}  // namespace gneiss::train
