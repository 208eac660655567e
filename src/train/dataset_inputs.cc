// The full graph is graph 0 of every program; derived graphs are made from it by the runtime. All node sets are
// numbered as the data set is, but for the rows of the loss, whose labels are copied in the order of the training
// nodes.
#include "train/dataset_inputs.h"

#include <algorithm>
#include <numeric>

#include "epochs/metrics.h"

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

/// `rows` of labels of `nodes` nodes.
runtime::LabelledRows labelled(const data::Labels& labels, std::int64_t nodes, std::span<const NodeId> rows) {
  runtime::LabelledRows made{labels.classes.span(), {}, rows};
  if (!labels.targets.empty()) made.targets = {labels.targets.data(), nodes, labels.num_classes};
  return made;
}

}  // namespace

DatasetInputs::DatasetInputs(const data::Dataset& dataset, const ir::Plan& plan, std::span<const float> class_weights,
                             std::span<const std::int64_t> ids) {
  inputs_.graphs.push_back({dataset.graph.in_edges(), {}, dataset.graph.weights()});
  inputs_.features = feature_input(dataset.features);
  inputs_.row_ids.assign(plan.program.node_sets.size(), dataset.orig_id);
  if (!ids.empty() && inputs_.row_ids.size() > 1) inputs_.row_ids[1] = ids;
  inputs_.training = labelled(dataset.labels, dataset.graph.num_dst(), dataset.split.train);
  if (has_loss_rows(plan)) {
    loss_labels_ = data::labels_of(dataset.labels, dataset.split.train);
    loss_rows_.resize(dataset.split.train.size());
    std::iota(loss_rows_.begin(), loss_rows_.end(), NodeId{0});
    inputs_.training = labelled(loss_labels_, std::ssize(loss_rows_), loss_rows_);
  }
  labelled_ = epochs::labelled_split(dataset);
  inputs_.validation = labelled(dataset.labels, dataset.graph.num_dst(), labelled_.val);
  inputs_.scored = {labelled_.train, labelled_.val, labelled_.test};
  inputs_.class_weights = class_weights;
}

}  // namespace gneiss::train
