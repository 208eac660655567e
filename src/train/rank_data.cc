// Ranges of nodes are cut out of every array. Ghosts follow from the edges, and their owners are asked for them; the
// share of the loss is the only number that ranks add up.
#include "train/rank_data.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "epochs/metrics.h"
#include "partition/local_graph.h"

namespace gneiss::train {
namespace {

template <class T>
Buffer<T> cut(const Buffer<T>& rows, std::int64_t begin, std::int64_t end, std::int64_t cols) {
  if (rows.empty()) return {};
  return Buffer<T>::copy_of(std::span<const T>(rows).subspan(static_cast<std::size_t>(begin * cols),
                                                             static_cast<std::size_t>((end - begin) * cols)));
}

data::Features cut_features(const data::Features& whole, std::int64_t begin, std::int64_t end) {
  data::Features part;
  part.rows = end - begin;
  part.cols = whole.cols;
  part.sparse = whole.sparse;
  part.dtype = whole.dtype;
  if (!whole.sparse) {
    part.dense = cut(whole.dense, begin, end, whole.cols);
    part.halves = cut(whole.halves, begin, end, whole.cols);
    return part;
  }
  part.offsets = cut(whole.offsets, begin, end + 1, 1);
  const EdgeId first = part.offsets[0];
  const EdgeId last = part.offsets[part.offsets.size() - 1];
  for (EdgeId& offset : part.offsets) offset -= first;
  part.indices = cut(whole.indices, first, last, 1);
  part.values = cut(whole.values, first, last, 1);
  return part;
}

/// The nodes of [begin, end), numbered from `begin`.
std::vector<NodeId> cut_rows(const std::vector<NodeId>& nodes, std::int64_t begin, std::int64_t end) {
  std::vector<NodeId> rows;
  for (auto v = std::lower_bound(nodes.begin(), nodes.end(), begin); v != nodes.end() && *v < end; ++v)
    rows.push_back(*v - static_cast<NodeId>(begin));
  return rows;
}

std::int64_t original_id(const data::Dataset& dataset, std::int64_t node) {
  return dataset.orig_id.empty() ? node : dataset.orig_id[static_cast<std::size_t>(node)];
}

/// Rows before the first that has an edge from a ghost.
std::int64_t interior_rows(const graph::Graph& local, std::int64_t owned) {
  for (std::int64_t v = 0; v < owned; ++v) {
    // Ghosts come last in a row.
    const EdgeId end = local.offsets()[static_cast<std::size_t>(v) + 1];
    const bool any = end > local.offsets()[static_cast<std::size_t>(v)];
    if (any && local.sources()[static_cast<std::size_t>(end) - 1] >= owned) return v;
  }
  return owned;
}

}  // namespace

double loss_weight(const data::Labels& labels, std::span<const NodeId> rows, passes::LossSpec::Kind loss,
                   std::span<const float> class_weights) {
  double weight = 0;
  for (const NodeId row : rows) {
    const auto r = static_cast<std::size_t>(row);
    if (loss == passes::LossSpec::Kind::kCrossEntropy) {
      const std::int32_t label = labels.classes[r];
      if (label >= 0)
        weight += class_weights.empty() ? 1.0 : static_cast<double>(class_weights[static_cast<std::size_t>(label)]);
      continue;
    }
    const auto width = static_cast<std::size_t>(labels.num_classes);
    for (std::size_t c = 0; c < width; ++c) weight += std::isnan(labels.targets[r * width + c]) ? 0 : 1;
  }
  return weight;
}

bool is_cut_both_ways(const data::Dataset& whole, exchange::Exchange how) {
  return how == exchange::Exchange::kHalo && !whole.by_parts && !whole.graph.symmetric();
}

RankData cut_part(const data::Dataset& whole, std::span<const std::int64_t> starts, int rank,
                  std::vector<NodeId>* ghosts, bool both_ways) {
  const std::int64_t begin = starts[static_cast<std::size_t>(rank)];
  const std::int64_t end = starts[static_cast<std::size_t>(rank) + 1];
  RankData made;
  RankPart& part = made.part;
  part.starts.assign(starts.begin(), starts.end());
  part.edges = whole.graph.num_edges();
  part.weighted = whole.graph.weighted();
  part.symmetric = whole.graph.symmetric();
  part.ids_fit = std::all_of(whole.orig_id.begin(), whole.orig_id.end(),
                             [](std::int64_t id) { return id >= 0 && id <= std::numeric_limits<std::int32_t>::max(); });
  part.validates = !epochs::labelled_split(whole).val.empty();

  partition::LocalGraph local = partition::local_graph(whole.graph, begin, end, both_ways);
  part.halo.owned = end - begin;
  part.halo.ghosts = std::ssize(local.ghosts);
  part.halo.interior = interior_rows(local.graph, end - begin);
  if (both_ways) {
    part.halo.interior = std::min(part.halo.interior, interior_rows(local.reversed, end - begin));
    part.reversed = std::make_shared<graph::Graph>(std::move(local.reversed));
  }
  part.halo.interior_loss_rows = std::ssize(cut_rows(whole.split.train, begin, begin + part.halo.interior));
  for (std::int64_t v = begin; v < end; ++v) part.ids.push_back(original_id(whole, v));
  for (const NodeId ghost : local.ghosts) part.ids.push_back(original_id(whole, ghost));

  data::Dataset& dataset = made.dataset;
  dataset.name = whole.name;
  dataset.format = whole.format;
  dataset.graph = std::move(local.graph);
  dataset.features = cut_features(whole.features, begin, end);
  part.feature_nonzeros = dataset.features.sparse ? dataset.features.nonzeros() : 0;
  std::vector<NodeId> rows(static_cast<std::size_t>(end - begin));
  std::iota(rows.begin(), rows.end(), static_cast<NodeId>(begin));
  dataset.labels = data::labels_of(whole.labels, rows);
  dataset.orig_id.assign(part.ids.begin(), part.ids.begin() + (end - begin));
  dataset.split.train = cut_rows(whole.split.train, begin, end);
  dataset.split.val = cut_rows(whole.split.val, begin, end);
  *ghosts = std::move(local.ghosts);
  return made;
}

RankData cut_dataset(const data::Dataset& whole, std::span<const std::int64_t> starts, comm::Communicator& communicator,
                     passes::LossSpec::Kind loss, std::span<const float> class_weights, bool both_ways) {
  std::vector<NodeId> ghosts;
  RankData made = cut_part(whole, starts, communicator.rank(), &ghosts, both_ways);
  RankPart& part = made.part;
  part.communicator = &communicator;
  const comm::HaloPlan alone = std::move(part.halo);
  part.halo = comm::make_halo_plan(communicator, starts, ghosts);
  part.halo.interior = alone.interior;
  part.halo.interior_loss_rows = alone.interior_loss_rows;
  const double train = loss_weight(made.dataset.labels, made.dataset.split.train, loss, class_weights);
  const double val = loss_weight(made.dataset.labels, made.dataset.split.val, loss, class_weights);
  double all[] = {train, val, static_cast<double>(part.feature_nonzeros)};
  communicator.sum(all);
  part.feature_nonzeros = static_cast<std::int64_t>(all[2]);
  part.loss_share = all[0] > 0 ? train / all[0] : 0;
  part.val_loss_share = all[1] > 0 ? val / all[1] : 0;
  return made;
}

}  // namespace gneiss::train
