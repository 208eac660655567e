// The full graph is graph 0 of every program; derived graphs are made from it by the runtime. All node sets are
// numbered as the data set is, but for the rows of the loss, whose labels are copied in the order of the training
// nodes.
#include "train/dataset_inputs.h"

#include <algorithm>
#include <numeric>

namespace gneiss::train {
namespace {

runtime::FeatureInput feature_input(const data::Features& features) {
  runtime::FeatureInput input;
  input.rows = features.rows;
  input.cols = features.cols;
  input.dense = features.dense.span();
  input.dtype = features.dtype;
  input.halves = features.halves.span();
  input.is_sparse = features.sparse;
  if (features.sparse) input.sparse = features.pattern();
  input.values = features.values.span();
  return input;
}

/// Is the loss taken of the training nodes' rows alone?
bool has_loss_rows(const ir::Plan& plan) {
  const std::vector<ir::GraphDef>& graphs = plan.program.graphs;
  return std::any_of(graphs.begin(), graphs.end(),
                     [](const ir::GraphDef& graph) { return graph.origin == ir::GraphOrigin::kLossRows; });
}

}  // namespace

DatasetInputs::DatasetInputs(const data::Dataset& dataset, const ir::Plan& plan, std::span<const float> class_weights) {
  inputs_.graphs.push_back({dataset.graph.in_edges(), {}, dataset.graph.weights()});
  inputs_.features = feature_input(dataset.features);
  inputs_.row_ids.assign(plan.program.node_sets.size(), dataset.orig_id);
  const data::Labels* labels = &dataset.labels;
  std::int64_t labelled_nodes = dataset.num_nodes();
  inputs_.loss_rows = dataset.split.train;
  if (has_loss_rows(plan)) {
    loss_labels_ = data::labels_of(dataset.labels, dataset.split.train);
    labels = &loss_labels_;
    labelled_nodes = std::ssize(dataset.split.train);
    loss_rows_.resize(dataset.split.train.size());
    std::iota(loss_rows_.begin(), loss_rows_.end(), NodeId{0});
    inputs_.loss_rows = loss_rows_;
  }
  inputs_.classes = labels->classes.span();
  if (!labels->targets.empty()) inputs_.targets = {labels->targets.data(), labelled_nodes, labels->num_classes};
  inputs_.class_weights = class_weights;
}

}  // namespace gneiss::train
