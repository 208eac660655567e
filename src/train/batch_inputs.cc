// Rows of a batch are gathered once, by the worker that sampled it: a step then reads arrays that lie side by side. All
// arrays are placed in the slab behind the sampled ones, found again by a header that follows the batch's node ids.
// Rows for a device that holds the hot ones come last: what it lacks takes their place in a slab that the CPU fills,
// and where the slab is trained all rows are put behind.
#include "train/batch_inputs.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "base/half.h"
#include "base/prefetch.h"

namespace gneiss::train {
namespace {

using minibatch::Block;
using minibatch::Slab;

std::shared_ptr<const tiers::TieredRows> make_tiers(const data::Features& features, const data::FeatureFile* file,
                                                    const tiers::TierMap& map) {
  if (features.sparse) {
    throw Error(ErrorCode::kUnsupported, "hot rows are rows of dense features, these are sparse", "--hot",
                "make them dense, e.g. with --normalize-features standard, or leave --hot out");
  }
  const std::int64_t row_bytes = features.row_bytes();
  if (file != nullptr) {
    const auto read = [file](std::span<const NodeId> rows, std::span<const std::uint32_t> places, std::byte* out) {
      file->read(rows, places, out);
    };
    return std::make_shared<tiers::TieredRows>(read, row_bytes, map);
  }
  const std::span<const std::byte> rows =
      features.dtype == HalfType::kNone ? std::as_bytes(features.dense.span()) : std::as_bytes(features.halves.span());
  return std::make_shared<tiers::TieredRows>(rows, row_bytes, map);
}

/// Where stored bits of `out` are put before widen() makes numbers of them: its back half, or all of it.
std::byte* bits_of(HalfType type, std::span<float> out) {
  std::byte* const begin = std::as_writable_bytes(out).data();
  return type == HalfType::kNone ? begin : begin + out.size() * sizeof(std::uint16_t);
}

/// From the front: no number is written over bits that are still to come. By way of blocks, as GCC 12 takes a loop from
/// `out` to `out` for one that does nothing, and leaves out calls of it.
void widen(HalfType type, std::span<float> out) {
  if (type == HalfType::kNone) return;
  constexpr std::size_t kBlock = 256;
  std::array<std::uint16_t, kBlock> block;
  const std::byte* const bits = bits_of(type, out);
  for (std::size_t begin = 0; begin < out.size(); begin += kBlock) {
    const std::size_t count = std::min(kBlock, out.size() - begin);
    std::memcpy(block.data(), bits + begin * sizeof(std::uint16_t), count * sizeof(std::uint16_t));
    for (std::size_t i = 0; i < count; ++i) out[begin + i] = from_half(type, block[i]);
  }
}

void prefetch_row(const void* row, std::int64_t bytes) {
  constexpr std::int64_t kLine = 64;
  for (std::int64_t byte = 0; byte < bytes; byte += kLine) prefetch(static_cast<const char*>(row) + byte);
}

}  // namespace

TieredFeatures::TieredFeatures(const data::Features& features, const data::FeatureFile* file, const tiers::TierMap& map)
    : rows_(make_tiers(features, file, map)) {}

void TieredFeatures::count(Filler filler, const tiers::TierTraffic& traffic) {
  const std::lock_guard lock(mutex_);
  (filler == Filler::kCpu ? by_cpu_ : by_device_).add(traffic);
}

tiers::TierTraffic TieredFeatures::by_cpu() const {
  const std::lock_guard lock(mutex_);
  return by_cpu_;
}

tiers::TierTraffic TieredFeatures::by_device() const {
  const std::lock_guard lock(mutex_);
  return by_device_;
}

void TieredFeatures::reset() {
  const std::lock_guard lock(mutex_);
  by_cpu_ = {};
  by_device_ = {};
}

void BatchInputs::set_plan(const ir::Plan& plan) {
  both_ways_.clear();
  for (const ir::GraphUse& use : plan.graph_uses) both_ways_.push_back(use.transpose);
  reads_features_ = std::any_of(plan.program.ops.begin(), plan.program.ops.end(), [](const ir::Op& op) {
    return op.kind == ir::OpKind::input && op.attrs.text("name", "features") != "constants";
  });
  in_place_ = std::ranges::any_of(blocks_.graphs, &passes::BlockGraph::of_all_nodes);
}

/// Behind the node ids, which are the last of what sampling writes.
std::int64_t BatchInputs::header_at(const Slab& slab) {
  constexpr std::int64_t kAlignment = 64;
  const minibatch::BatchHeader& header = slab.header();
  const std::int64_t end = header.nodes_at + header.num_nodes * header.id_bytes;
  return (end + kAlignment - 1) / kAlignment * kAlignment;
}

void BatchInputs::add(Slab* slab, Filler filler) const {
  const std::int64_t at = slab->place<Header>(1);
  GNEISS_ASSERT(at == header_at(*slab), "the slab holds more than a sampled batch");
  Header header;
  const auto count = std::ssize(blocks_.graphs);
  header.graphs = slab->place<GraphAt>(count);
  for (std::int64_t g = 0; g < count; ++g) {
    const passes::BlockGraph& graph = blocks_.graphs[static_cast<std::size_t>(g)];
    GraphAt made = add_graph(graph, slab);
    if (graph.of_all_nodes) begin_at_all_nodes(slab, &made);
    if (both_ways_[static_cast<std::size_t>(g)]) add_transpose(slab, &made);
    slab->at<GraphAt>(header.graphs, count)[static_cast<std::size_t>(g)] = made;
  }
  const auto num_nodes = slab->header().num_nodes;
  const auto nodes = [&] { return std::as_const(*slab).at<NodeId>(slab->header().nodes_at, num_nodes); };
  const bool tiered = tiered_ != nullptr && reads_features_ && filler != Filler::kHost;
  if (!tiered) header.features = reads_features_ && !in_place_ ? add_features(nodes(), slab) : 0;
  header.constants = add_constants(slab);
  header.ids = slab->place<std::int64_t>(num_nodes);
  const std::span<std::int64_t> ids = slab->at<std::int64_t>(header.ids, num_nodes);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto node = static_cast<std::size_t>(nodes()[i]);
    ids[i] = dataset_.orig_id.empty() ? static_cast<std::int64_t>(node) : dataset_.orig_id[node];
  }
  const std::int64_t seeds = minibatch::MiniBatch<NodeId>(*slab).shape().nodes[0];
  const std::int64_t width = dataset_.labels.targets.empty() ? 0 : dataset_.labels.num_classes;
  header.classes = slab->place<std::int32_t>(dataset_.labels.classes.empty() ? 0 : seeds);
  header.targets = slab->place<float>(seeds * width);
  header.loss_rows = slab->place<NodeId>(seeds);
  for (std::int64_t i = 0; i < seeds; ++i) {
    const auto node = static_cast<std::int64_t>(nodes()[static_cast<std::size_t>(i)]);
    if (!dataset_.labels.classes.empty())
      slab->at<std::int32_t>(header.classes, seeds)[static_cast<std::size_t>(i)] =
          dataset_.labels.classes[static_cast<std::size_t>(node)];
    std::copy_n(dataset_.labels.targets.data() + node * width, width,
                slab->at<float>(header.targets, seeds * width).begin() + i * width);
    slab->at<NodeId>(header.loss_rows, seeds)[static_cast<std::size_t>(i)] = static_cast<NodeId>(i);
  }
  if (tiered) add_tiered(filler, slab, &header);
  slab->at<Header>(at, 1)[0] = header;
}

BatchInputs::GraphAt BatchInputs::add_graph(const passes::BlockGraph& graph, Slab* slab) const {
  switch (graph.kind) {
    case passes::BlockGraph::Kind::kHop:
      return add_hop(graph, slab);
    case passes::BlockGraph::Kind::kInner:
      return add_inner(graph, slab);
    case passes::BlockGraph::Kind::kPrefix:
      return add_prefix(graph, slab);
  }
  return {};
}

/// The hop with rows for its sources too: those that are no destinations drew nothing.
BatchInputs::GraphAt BatchInputs::add_inner(const passes::BlockGraph& graph, Slab* slab) const {
  GraphAt at = add_hop(graph, slab);
  const std::int64_t first = at.rows;
  const bool loops = full_graphs_[static_cast<std::size_t>(graph.graph)].origin != ir::GraphOrigin::kGiven;
  const std::int64_t more = at.cols - first;
  const std::int64_t edges = at.edges + (loops ? more : 0);
  GraphAt inner = at;
  inner.rows = at.cols;
  inner.edges = edges;
  inner.offsets = slab->place<EdgeId>(inner.rows + 1);
  inner.sources = slab->place<NodeId>(edges);
  if (at.weights >= 0) inner.weights = slab->place<float>(edges);
  const std::span<EdgeId> offsets = slab->at<EdgeId>(inner.offsets, inner.rows + 1);
  const std::span<NodeId> sources = slab->at<NodeId>(inner.sources, edges);
  std::ranges::copy(slab->at<EdgeId>(at.offsets, first + 1), offsets.begin());
  std::ranges::copy(slab->at<NodeId>(at.sources, at.edges), sources.begin());
  for (std::int64_t v = first; v < inner.rows; ++v) {
    offsets[static_cast<std::size_t>(v) + 1] = offsets[static_cast<std::size_t>(v)] + (loops ? 1 : 0);
    if (loops) sources[static_cast<std::size_t>(at.edges + v - first)] = static_cast<NodeId>(v);
  }
  if (at.weights < 0) return inner;
  const std::span<float> weights = slab->at<float>(inner.weights, edges);
  std::ranges::copy(slab->at<float>(at.weights, at.edges), weights.begin());
  const bool keep =
      full_graphs_[static_cast<std::size_t>(graph.graph)].origin == ir::GraphOrigin::kAddRemainingSelfLoops;
  const minibatch::MiniBatch<NodeId> batch(*slab);
  for (std::int64_t v = first; loops && v < inner.rows; ++v)
    weights[static_cast<std::size_t>(at.edges + v - first)] =
        keep ? loop_weight(batch.nodes()[static_cast<std::size_t>(v)]) : 1.0F;
  return inner;
}

BatchInputs::GraphAt BatchInputs::add_hop(const passes::BlockGraph& graph, Slab* slab) const {
  const ir::GraphOrigin origin = full_graphs_[static_cast<std::size_t>(graph.graph)].origin;
  if (origin != ir::GraphOrigin::kGiven) return add_loops(graph, slab);
  const minibatch::BatchHeader::Hop& hop = slab->header().hop[static_cast<std::size_t>(graph.hop)];
  GraphAt at{hop.num_dst, hop.num_src, hop.num_edges, hop.offsets_at, hop.sources_at};
  if (!dataset_.graph.weighted()) return at;
  at.weights = slab->place<float>(at.edges);
  const std::span<float> weights = slab->at<float>(at.weights, at.edges);
  const Block block = minibatch::MiniBatch<NodeId>(*slab).hop(graph.hop);
  for (std::size_t e = 0; e < weights.size(); ++e)
    weights[e] = dataset_.graph.weights()[static_cast<std::size_t>(block.edges[e])];
  return at;
}

/// The block with one self loop at each destination, in place of those that were sampled: its weight is that of the
/// full graph, whether it was sampled or not. Local ids of destinations are those of the same nodes as sources.
BatchInputs::GraphAt BatchInputs::add_loops(const passes::BlockGraph& graph, Slab* slab) const {
  const bool keep_weight =
      full_graphs_[static_cast<std::size_t>(graph.graph)].origin == ir::GraphOrigin::kAddRemainingSelfLoops;
  const Block shape = minibatch::MiniBatch<NodeId>(*slab).hop(graph.hop);
  const std::int64_t most = shape.num_edges() + shape.num_dst;
  GraphAt at{shape.num_dst, shape.num_src};
  at.offsets = slab->place<EdgeId>(at.rows + 1);
  at.sources = slab->place<NodeId>(most);
  if (dataset_.graph.weighted()) at.weights = slab->place<float>(most);
  const minibatch::MiniBatch<NodeId> batch(*slab);  // where it lies now
  const Block block = batch.hop(graph.hop);
  const std::span<EdgeId> offsets = slab->at<EdgeId>(at.offsets, at.rows + 1);
  NodeId* sources = slab->at<NodeId>(at.sources, most).data();
  float* weights = at.weights < 0 ? nullptr : slab->at<float>(at.weights, most).data();
  const auto put = [&](NodeId source, float weight) {
    sources[at.edges] = source;
    if (weights != nullptr) weights[at.edges] = weight;
    ++at.edges;
  };
  offsets[0] = 0;
  for (std::int64_t v = 0; v < at.rows; ++v) {
    for (EdgeId e = block.offsets[static_cast<std::size_t>(v)]; e < block.offsets[static_cast<std::size_t>(v) + 1];
         ++e) {
      const NodeId source = block.sources[static_cast<std::size_t>(e)];
      if (source == v) continue;
      const auto place = static_cast<std::size_t>(block.edges[static_cast<std::size_t>(e)]);
      put(source, weights == nullptr ? 1.0F : dataset_.graph.weights()[place]);
    }
    put(static_cast<NodeId>(v), keep_weight ? loop_weight(batch.nodes()[static_cast<std::size_t>(v)]) : 1.0F);
    offsets[static_cast<std::size_t>(v) + 1] = at.edges;
  }
  return at;
}

/// Of the last self loop that the full graph has at a node; 1 where it has none.
float BatchInputs::loop_weight(NodeId node) const {
  const graph::Graph& graph = dataset_.graph;
  if (!graph.weighted()) return 1.0F;
  const auto row = static_cast<std::size_t>(node);
  const auto sources = graph.sources().begin();
  const auto [first, last] = std::equal_range(sources + graph.offsets()[row], sources + graph.offsets()[row + 1], node);
  return first == last ? 1.0F : graph.weights()[static_cast<std::size_t>(last - sources) - 1];
}

BatchInputs::GraphAt BatchInputs::add_prefix(const passes::BlockGraph& graph, Slab* slab) const {
  const minibatch::BatchShape shape = minibatch::MiniBatch<NodeId>(*slab).shape();
  GraphAt at;
  at.rows = shape.nodes[static_cast<std::size_t>(graph.to)];
  at.cols = shape.nodes[static_cast<std::size_t>(graph.from)];
  at.edges = at.rows;
  at.offsets = slab->place<EdgeId>(at.rows + 1);
  at.sources = slab->place<NodeId>(at.edges);
  const std::span<EdgeId> offsets = slab->at<EdgeId>(at.offsets, at.rows + 1);
  const std::span<NodeId> sources = slab->at<NodeId>(at.sources, at.edges);
  std::iota(offsets.begin(), offsets.end(), EdgeId{0});
  std::iota(sources.begin(), sources.end(), NodeId{0});
  return at;
}

/// Sources by their numbers in the full graph. The sampled ones stay: other graphs may be of the same hop.
void BatchInputs::begin_at_all_nodes(Slab* slab, GraphAt* at) const {
  const std::int64_t to = slab->place<NodeId>(at->edges);
  const std::span<const NodeId> nodes = minibatch::MiniBatch<NodeId>(*slab).nodes();
  const std::span<const NodeId> local = slab->at<NodeId>(at->sources, at->edges);
  std::ranges::transform(local, slab->at<NodeId>(to, at->edges).begin(),
                         [&](NodeId source) { return nodes[static_cast<std::size_t>(source)]; });
  at->sources = to;
  at->cols = dataset_.num_nodes();
}

/// Edges by source: counted, then dealt in the order of destinations.
void BatchInputs::add_transpose(Slab* slab, GraphAt* at) const {
  at->out_offsets = slab->place<EdgeId>(at->cols + 1);
  at->out_rows = slab->place<NodeId>(at->edges);
  at->out_slots = slab->place<EdgeId>(at->edges);
  const std::span<EdgeId> starts = slab->at<EdgeId>(at->out_offsets, at->cols + 1);
  const std::span<NodeId> rows = slab->at<NodeId>(at->out_rows, at->edges);
  const std::span<EdgeId> slots = slab->at<EdgeId>(at->out_slots, at->edges);
  const std::span<const EdgeId> offsets = slab->at<EdgeId>(at->offsets, at->rows + 1);
  const std::span<const NodeId> sources = slab->at<NodeId>(at->sources, at->edges);
  std::fill(starts.begin(), starts.end(), EdgeId{0});
  for (const NodeId u : sources) ++starts[static_cast<std::size_t>(u) + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  // Each start moves on as edges are dealt, to where the next source begins; then all move back by one source.
  for (std::int64_t v = 0; v < at->rows; ++v) {
    for (EdgeId e = offsets[static_cast<std::size_t>(v)]; e < offsets[static_cast<std::size_t>(v) + 1]; ++e) {
      const auto place =
          static_cast<std::size_t>(starts[static_cast<std::size_t>(sources[static_cast<std::size_t>(e)])]++);
      rows[place] = static_cast<NodeId>(v);
      slots[place] = e;
    }
  }
  for (std::size_t u = starts.size() - 1; u > 0; --u) starts[u] = starts[u - 1];
  starts[0] = 0;
}

std::int64_t BatchInputs::add_constants(Slab* slab) const {
  const std::int64_t num_nodes = slab->header().num_nodes;
  const std::int64_t at = slab->place<float>(num_nodes * constant_columns_);
  const std::span<const NodeId> nodes = std::as_const(*slab).at<NodeId>(slab->header().nodes_at, num_nodes);
  float* out = slab->at<float>(at, num_nodes * constant_columns_).data();
  if (constant_columns_ == 0) return at;
  if (std::ranges::any_of(constant_files_, [](const data::FeatureFile* file) { return file != nullptr; })) {
    read_constants(nodes, out);
    return at;
  }
  for (const NodeId node : nodes) {
    for (const ConstMatrixView<float>& part : constants_) out = std::copy_n(part.row(node), part.cols, out);
  }
  return at;
}

/// Part by part, those of files by way of rows of their own.
void BatchInputs::read_constants(std::span<const NodeId> nodes, float* out) const {
  std::int64_t column = 0;
  Buffer<float> rows;
  for (std::size_t p = 0; p < constants_.size(); ++p) {
    const ConstMatrixView<float>& part = constants_[p];
    if (constant_files_[p] != nullptr) {
      const std::size_t size = nodes.size() * static_cast<std::size_t>(part.cols);
      if (rows.size() < size) rows = Buffer<float>(size);
      constant_files_[p]->read(nodes, std::as_writable_bytes(rows.span()).data());
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const float* const from =
          constant_files_[p] == nullptr ? part.row(nodes[i]) : rows.data() + static_cast<std::int64_t>(i) * part.cols;
      std::copy_n(from, part.cols, out + static_cast<std::int64_t>(i) * constant_columns_ + column);
    }
    column += part.cols;
  }
}

std::int64_t BatchInputs::add_features(std::span<const NodeId> nodes, Slab* slab) const {
  const data::Features& features = dataset_.features;
  const auto count = std::ssize(nodes);
  const std::int64_t at = slab->place<float>(count * features.cols);
  const std::span<const NodeId> rows = std::as_const(*slab).at<NodeId>(slab->header().nodes_at, count);
  float* out = slab->at<float>(at, count * features.cols).data();
  if (file_ != nullptr) {
    read_rows(rows, {out, static_cast<std::size_t>(count * features.cols)});
    return at;
  }
  constexpr std::size_t kAhead = 4;  // rows that are on their way
  const auto begin_of = [&](NodeId node) {
    return static_cast<std::size_t>(node) * static_cast<std::size_t>(features.cols);
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!features.sparse && i + kAhead < rows.size()) {
      const std::size_t ahead = begin_of(rows[i + kAhead]);
      if (features.dtype == HalfType::kNone) {
        prefetch_row(features.dense.data() + ahead, features.cols * std::int64_t{sizeof(float)});
      } else {
        prefetch_row(features.halves.data() + ahead, features.cols * std::int64_t{sizeof(std::uint16_t)});
      }
    }
    const auto v = static_cast<std::size_t>(rows[i]);
    const std::size_t begin = begin_of(rows[i]);
    if (features.sparse) {
      std::fill_n(out, features.cols, 0.0F);
      for (EdgeId k = features.offsets[v]; k < features.offsets[v + 1]; ++k)
        out[features.indices[static_cast<std::size_t>(k)]] = features.values[static_cast<std::size_t>(k)];
    } else if (features.dtype == HalfType::kNone) {
      std::memcpy(out, features.dense.data() + begin, static_cast<std::size_t>(features.cols) * sizeof(float));
    } else {
      for (std::int64_t c = 0; c < features.cols; ++c)
        out[c] = from_half(features.dtype, features.halves[begin + static_cast<std::size_t>(c)]);
    }
    out += features.cols;
  }
  return at;
}

/// A device fills its own slab with all rows; the CPU adds those that the device lacks, as they are stored, and no more
/// goes over the link.
void BatchInputs::add_tiered(Filler filler, Slab* slab, Header* header) const {
  const tiers::TieredRows& rows = tiered_->rows();
  const std::int64_t count = slab->header().num_nodes;
  const auto nodes = [&] { return std::as_const(*slab).at<NodeId>(slab->header().nodes_at, count); };
  tiers::TierTraffic traffic;
  if (filler == Filler::kDevice) {
    const std::int64_t size = count * dataset_.features.cols;
    header->features = slab->place<float>(size);
    const std::span<float> out = slab->at<float>(header->features, size);
    rows.gather(nodes(), bits_of(dataset_.features.dtype, out), &traffic);
    widen(dataset_.features.dtype, out);
  } else {
    header->features = -1;
    const std::int64_t cold = rows.count_cold(nodes());
    header->cold = slab->place<std::byte>(cold * rows.row_bytes());
    rows.gather_cold(nodes(), slab->at<std::byte>(header->cold, cold * rows.row_bytes()).data(), &traffic);
  }
  tiered_->count(filler, traffic);
}

void BatchInputs::complete(Slab* slab) const {
  const auto header = [&]() -> Header& { return slab->at<Header>(header_at(*slab), 1)[0]; };
  if (header().features >= 0) return;
  const tiers::TieredRows& rows = tiered_->rows();
  const std::int64_t count = slab->header().num_nodes;
  const std::int64_t size = count * dataset_.features.cols;
  const std::int64_t all = slab->place<float>(size);
  const std::span<float> out = slab->at<float>(all, size);
  tiers::TierTraffic traffic;
  rows.merge(std::as_const(*slab).at<NodeId>(slab->header().nodes_at, count),
             slab->at<std::byte>(header().cold, 0).data(), bits_of(dataset_.features.dtype, out), &traffic);
  widen(dataset_.features.dtype, out);
  header().features = all;
  tiered_->count(Filler::kDevice, traffic);
}

void BatchInputs::read_rows(std::span<const NodeId> rows, std::span<float> out) const {
  const HalfType type = dataset_.features.dtype;
  file_->read(rows, bits_of(type, out));
  widen(type, out);
}

void BatchInputs::read(const Slab& slab, runtime::Inputs* inputs) const {
  const Header& header = slab.at<Header>(header_at(slab), 1)[0];
  GNEISS_ASSERT(header.features >= 0, "a batch lacks the rows that its device holds");
  const minibatch::BatchShape shape = minibatch::MiniBatch<NodeId>(slab).shape();
  const auto count = blocks_.graphs.size();
  const std::span<const GraphAt> graphs = slab.at<GraphAt>(header.graphs, std::ssize(blocks_.graphs));
  inputs->graphs.resize(count);
  for (std::size_t g = 0; g < count; ++g) {
    const GraphAt& at = graphs[g];
    runtime::GraphInput& graph = inputs->graphs[g];
    graph.in_edges = {
        at.rows, at.cols, slab.at<EdgeId>(at.offsets, at.rows + 1), slab.at<NodeId>(at.sources, at.edges), {}};
    graph.out_edges = {};
    if (at.out_offsets >= 0)
      graph.out_edges = {at.cols, at.rows, slab.at<EdgeId>(at.out_offsets, at.cols + 1),
                         slab.at<NodeId>(at.out_rows, at.edges), slab.at<EdgeId>(at.out_slots, at.edges)};
    graph.weights = at.weights < 0 ? std::span<const float>() : slab.at<float>(at.weights, at.edges);
  }
  const std::int64_t nodes = shape.nodes[static_cast<std::size_t>(shape.hops)];
  const std::int64_t seeds = shape.nodes[0];
  inputs->features.rows = in_place_ ? dataset_.num_nodes() : nodes;
  inputs->features.cols = dataset_.features.cols;
  if (in_place_) inputs->features.dense = dataset_.features.dense;
  if (reads_features_ && !in_place_)
    inputs->features.dense = slab.at<float>(header.features, nodes * dataset_.features.cols);
  inputs->constants = {slab.at<float>(header.constants, nodes * constant_columns_).data(), nodes, constant_columns_};
  inputs->row_ids.resize(static_cast<std::size_t>(shape.hops) + 1);
  for (std::size_t level = 0; level < inputs->row_ids.size(); ++level)
    inputs->row_ids[level] = slab.at<std::int64_t>(header.ids, shape.nodes[level]);
  if (!dataset_.labels.classes.empty()) inputs->training.classes = slab.at<std::int32_t>(header.classes, seeds);
  if (!dataset_.labels.targets.empty()) {
    const std::int64_t width = dataset_.labels.num_classes;
    inputs->training.targets = {slab.at<float>(header.targets, seeds * width).data(), seeds, width};
  }
  inputs->training.rows = slab.at<NodeId>(header.loss_rows, seeds);
}

}  // namespace gneiss::train
