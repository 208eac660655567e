// The sparse structures that a plan runs on: graphs derived from the given ones, their transposes, the CSC copy of the
// features. What belongs to a graph that changes from step to step comes ready with the step.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "graph/source_tiles.h"
#include "ir/plan.h"
#include "runtime/inputs.h"

namespace gneiss::runtime {

/// Graphs by their number in the program; none for graph 0, which is the dataset's own and is not copied, and for those
/// not made.
using DerivedGraphs = std::vector<std::optional<graph::Graph>>;

/// Writes edge counts and symmetry of every GraphDef (self loops added, weights kept) into the program. Makes the
/// graphs whose edges have to be counted for that: not those of a graph without self loops, which a plan may be able to
/// do without. Errors: kUnsupported if the program has several given graphs.
DerivedGraphs derive_graphs(const graph::Graph& given, ir::Program* program, int threads = 1);

/// Makes what a plan needs besides: graphs that were not made yet, those that the passes added for the rows of the loss
/// (ascending nodes), and reversed ones.
///   reversed  the given graph's out-edges turned round, of a rank's part whose plan walks them; it is used up
void derive_the_rest(const graph::Graph& given, std::span<const NodeId> rows, const ir::Plan& plan,
                     DerivedGraphs* derived, int threads = 1, graph::Graph* reversed = nullptr);

/// Patterns by graph and direction, for the life of a run.
class Structures {
 public:
  /// Takes the derived graphs; builds the transposes and source tiles that the plan asks for. What `inputs` point at
  /// must outlive this, but for graphs that change.
  Structures(const Inputs& inputs, const ir::Plan& plan, DerivedGraphs derived, int threads);

  /// Takes the graphs that change from `inputs`. Allocates nothing.
  void refill(const Inputs& inputs, const ir::Plan& plan);

  const SparsePattern* in_edges(std::int32_t graph) const { return &in_[static_cast<std::size_t>(graph)]; }
  const SparsePattern* out_edges(std::int32_t graph) const { return &out_[static_cast<std::size_t>(graph)]; }
  /// The in-edges (or the out-edges) cut by sources; an empty pattern where the plan asks for none.
  TiledPattern source_tiles(std::int32_t graph, bool out_edges) const {
    return (out_edges ? out_tiles_ : in_tiles_)[static_cast<std::size_t>(graph)].view();
  }
  /// Plan::loss_tiles[i], filled by fill_loss_tiles.
  TiledPattern loss_tiles(std::int32_t i) const { return loss_tiles_[static_cast<std::size_t>(i)].view(); }
  /// `rows`: those of the loss, of `num_nodes` nodes.
  void fill_loss_tiles(const ir::Plan& plan, std::int64_t num_nodes, std::span<const NodeId> rows, int threads);
  /// Frees edges that were made here.
  void release(const ir::Release& release);

  const SparsePattern* features(bool transposed) const { return transposed ? &features_out_ : &features_in_; }
  /// Of the transposed features, in their order; empty where those name slots.
  std::span<const float> transposed_values() const { return feature_transpose_.values; }
  std::span<const float> edge_weights(std::int32_t graph) const { return weights_[static_cast<std::size_t>(graph)]; }

 private:
  void add_graph(const ir::Plan& plan, std::size_t graph, int threads);

  DerivedGraphs derived_;
  std::vector<graph::Transpose> transposes_;
  graph::Transpose feature_transpose_;
  std::vector<SparsePattern> in_;
  std::vector<SparsePattern> out_;
  std::vector<std::span<const float>> weights_;
  std::vector<graph::SourceTiles> in_tiles_;
  std::vector<graph::SourceTiles> out_tiles_;
  std::vector<graph::SourceTiles> loss_tiles_;
  SparsePattern features_in_;
  SparsePattern features_out_;
};

}  // namespace gneiss::runtime
