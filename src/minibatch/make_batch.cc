// One batch on one thread. The passes of a hop, and why they are apart, are described in sampler.h; the sizes below
// keep what is asked for ahead within the first- and second-level caches.
//
// Under kSubgraph each node draws once, so the rows of all hops follow one another in one list, and the block of hop h
// is its beginning: rows of the nodes before hop h. They are kept in the workspace until their number is known.
#include "minibatch/make_batch.h"

#include "base/error.h"
#include "base/prefetch.h"
#include "minibatch/draws.h"

namespace gneiss::minibatch {
namespace {

constexpr std::int64_t kRowsAhead = 32;
constexpr std::int64_t kEdgesAtHand = 512;  ///< whose lines are on their way

}  // namespace

template <class Id>
BatchInMaking<Id>::BatchInMaking(const Sampler<Id>& sampler, const BatchKey& key, Workspace<Id>* workspace, Slab* slab)
    : sampler_(sampler), work_(*workspace), slab_(*slab), key_(key) {
  slab_.start(key, sizeof(Id));
  work_.ids.start();
}

template <class Id>
void BatchInMaking<Id>::check_room(std::int64_t more) const {
  GNEISS_CHECK(
      num_nodes_ + more <= kMaxBatchNodes, ErrorCode::kUnsupported,
      "a batch has at most {} nodes; batch {} of epoch {} may have {} after hop {}; make batches or fanout smaller",
      kMaxBatchNodes, key_.index, key_.epoch, num_nodes_ + more, hops_);
}

template <class Id>
void BatchInMaking<Id>::add_seeds(std::span<const Id> seeds) {
  const auto count = static_cast<std::int64_t>(seeds.size());
  check_room(count);
  Id* nodes = work_.nodes.reserve(count, 0);
  work_.ids.reserve(count, nodes, 0);
  const std::int64_t n = sampler_.graph().num_nodes();
  for (const Id seed : seeds) {
    GNEISS_CHECK(seed >= 0 && static_cast<std::int64_t>(seed) < n, ErrorCode::kBadData,
                 "seed {} of batch {} of epoch {} is no node; the graph has nodes 0 to {}", seed, key_.index,
                 key_.epoch, n - 1);
    nodes[num_nodes_] = seed;
    const std::int32_t known = work_.ids.find_or_insert(seed, static_cast<std::int32_t>(num_nodes_), nodes);
    GNEISS_CHECK(known == LocalIds<Id>::kNone, ErrorCode::kBadData,
                 "node {} is seed {} and seed {} of batch {} of epoch {}; seeds of a batch are distinct", seed, known,
                 num_nodes_, key_.index, key_.epoch);
    ++num_nodes_;
  }
}

template <class Id>
void BatchInMaking<Id>::look_up_rows(std::int64_t first, std::int64_t last) {
  const std::span<const EdgeId> offsets = sampler_.graph().offsets;
  const std::span<const EdgeId> begins = sampler_.graph().begins;
  const Id* nodes = work_.nodes.data();
  Row* rows = work_.rows.data();
  for (std::int64_t i = first; i < last; ++i) {
    if (i + kRowsAhead < last) {
      prefetch(&offsets[static_cast<std::size_t>(nodes[i + kRowsAhead])]);
      if (!begins.empty()) prefetch(&begins[static_cast<std::size_t>(nodes[i + kRowsAhead])]);
    }
    const auto v = static_cast<std::size_t>(nodes[i]);
    rows[i] = {begins.empty() ? offsets[v] : begins[v], offsets[v + 1] - offsets[v]};
  }
}

template <class Id>
void BatchInMaking<Id>::count_picks(const HopRows& rows, int threads) {
  static_cast<void>(threads);
  const Id* nodes = work_.nodes.data();
  const Row* row = work_.rows.data();
  for (std::int64_t i = rows.first; i < rows.last; ++i)
    rows.offsets[i + 1] = rows.offsets[i] + sampler_.picks_of(rows.hop, row[i], nodes[i]);
}

template <class Id>
void BatchInMaking<Id>::read_neighbours(EdgeId* entries, std::int64_t count, Id* neighbours) {
  const InEdges<Id>& graph = sampler_.graph();
  for (std::int64_t k = 0; k < count; ++k) {
    const auto entry = static_cast<std::size_t>(entries[k]);
    neighbours[k] = graph.sources[entry];
    if (!graph.slots.empty()) entries[k] = graph.slots[entry];
    work_.ids.prefetch_slot(neighbours[k]);
  }
}

template <class Id>
void BatchInMaking<Id>::number_neighbours(const HopRows& rows, EdgeId begin, EdgeId end) {
  for (EdgeId from = begin; from < end; from += kEdgesAtHand) {
    const std::int64_t count = std::min(kEdgesAtHand, end - from);
    check_room(count);
    Id* nodes = work_.nodes.reserve(num_nodes_ + count, num_nodes_);
    work_.ids.reserve(num_nodes_ + count, nodes, num_nodes_);
    Id* neighbours = work_.neighbours.data();
    read_neighbours(rows.edges + from, count, neighbours);
    NodeId* sources = rows.sources + from;
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int32_t known = work_.ids.find_or_insert(neighbours[k], static_cast<std::int32_t>(num_nodes_), nodes);
      sources[k] = known == LocalIds<Id>::kNone ? static_cast<NodeId>(num_nodes_) : known;
      if (known == LocalIds<Id>::kNone) nodes[num_nodes_++] = neighbours[k];
    }
  }
}

template <class Id>
void BatchInMaking<Id>::fill(const HopRows& rows) {
  const InEdges<Id>& graph = sampler_.graph();
  work_.neighbours.reserve(kEdgesAtHand, 0);
  std::int64_t i = rows.first;
  while (i < rows.last) {
    const EdgeId begin = rows.offsets[i];
    for (; i < rows.last && rows.offsets[i] - begin < kEdgesAtHand; ++i) {
      const std::int64_t count = rows.offsets[i + 1] - rows.offsets[i];
      EdgeId* entries = rows.edges + rows.offsets[i];
      sampler_.pick(rows.hop, work_.rows.data()[i], work_.nodes.data()[i], count, entries, &work_.picks);
      for (std::int64_t k = 0; k < std::min(count, kEdgesAtHand); ++k) {
        prefetch(&graph.sources[static_cast<std::size_t>(entries[k])]);
        if (!graph.slots.empty()) prefetch(&graph.slots[static_cast<std::size_t>(entries[k])]);
      }
    }
    number_neighbours(rows, begin, rows.offsets[i]);
  }
}

template <class Id>
void BatchInMaking<Id>::add_hop(int threads) {
  BatchHeader::Hop at;
  HopRows rows;
  rows.hop = sampler_.hop(key_, hops_);
  rows.first = whole_subgraph() ? num_rows_ : 0;
  rows.last = num_nodes_;
  work_.rows.reserve(num_nodes_, num_rows_);
  look_up_rows(num_rows_, num_nodes_);
  num_rows_ = num_nodes_;
  at.num_dst = num_nodes_;
  if (whole_subgraph()) {
    rows.offsets = work_.offsets.reserve(rows.last + 1, rows.first == 0 ? 0 : rows.first + 1);
    if (rows.first == 0) rows.offsets[0] = 0;
    count_picks(rows, threads);
    rows.edges = work_.edges.reserve(rows.end(), rows.begin());
    rows.sources = work_.sources.reserve(rows.end(), rows.begin());
  } else {
    at.offsets_at = slab_.place<EdgeId>(rows.last + 1);
    rows.offsets = slab_.at<EdgeId>(at.offsets_at, rows.last + 1).data();
    rows.offsets[0] = 0;
    count_picks(rows, threads);
    at.num_edges = rows.end();
    at.edges_at = slab_.place<EdgeId>(at.num_edges);
    at.sources_at = slab_.place<NodeId>(at.num_edges);
    rows.offsets = slab_.at<EdgeId>(at.offsets_at, rows.last + 1).data();
    rows.edges = slab_.at<EdgeId>(at.edges_at, at.num_edges).data();
    rows.sources = slab_.at<NodeId>(at.sources_at, at.num_edges).data();
  }
  if (threads > 1 && rows.end() - rows.begin() <= kMaxBatchNodes) {
    fill_together(rows, threads);
  } else {
    fill(rows);
  }
  at.num_edges = rows.end();
  at.num_src = num_nodes_;
  slab_.header().hop[static_cast<std::size_t>(hops_++)] = at;
}

template <class Id>
void BatchInMaking<Id>::finish() {
  if (whole_subgraph()) {
    const BatchHeader::Hop last = slab_.header().hop[static_cast<std::size_t>(hops_ - 1)];
    const auto keep = [&]<class T>(const T* data, std::int64_t count) {
      const std::int64_t offset = slab_.place<T>(count);
      if (count > 0) std::memcpy(slab_.at<T>(offset, count).data(), data, static_cast<std::size_t>(count) * sizeof(T));
      return offset;
    };
    const std::int64_t offsets_at = keep(work_.offsets.data(), last.num_dst + 1);
    const std::int64_t edges_at = keep(work_.edges.data(), last.num_edges);
    const std::int64_t sources_at = keep(work_.sources.data(), last.num_edges);
    for (int h = 0; h < hops_; ++h) {
      BatchHeader::Hop& hop = slab_.header().hop[static_cast<std::size_t>(h)];
      hop.offsets_at = offsets_at;
      hop.edges_at = edges_at;
      hop.sources_at = sources_at;
    }
  }
  const std::int64_t nodes_at = slab_.place<Id>(num_nodes_);
  if (num_nodes_ > 0) {
    std::memcpy(slab_.at<Id>(nodes_at, num_nodes_).data(), work_.nodes.data(),
                static_cast<std::size_t>(num_nodes_) * sizeof(Id));
  }
  BatchHeader& header = slab_.header();
  header.hops = hops_;
  header.num_nodes = num_nodes_;
  header.nodes_at = nodes_at;
}

template <class Id>
void Sampler<Id>::sample(const BatchKey& key, std::span<const Id> seeds, Workspace<Id>* workspace, Slab* slab) const {
  sample_together(key, seeds, 1, workspace, slab);
}

template <class Id>
void Sampler<Id>::sample_together(const BatchKey& key, std::span<const Id> seeds, int threads, Workspace<Id>* workspace,
                                  Slab* slab) const {
  BatchInMaking<Id> batch(*this, key, workspace, slab);
  batch.add_seeds(seeds);
  for (std::size_t h = 0; h < options_.fanout.size(); ++h) batch.add_hop(threads);
  batch.finish();
}

template class BatchInMaking<std::int32_t>;
template class BatchInMaking<std::int64_t>;
template void Sampler<std::int32_t>::sample(const BatchKey&, std::span<const std::int32_t>, Workspace<std::int32_t>*,
                                            Slab*) const;
template void Sampler<std::int64_t>::sample(const BatchKey&, std::span<const std::int64_t>, Workspace<std::int64_t>*,
                                            Slab*) const;
template void Sampler<std::int32_t>::sample_together(const BatchKey&, std::span<const std::int32_t>, int,
                                                     Workspace<std::int32_t>*, Slab*) const;
template void Sampler<std::int64_t>::sample_together(const BatchKey&, std::span<const std::int64_t>, int,
                                                     Workspace<std::int64_t>*, Slab*) const;

}  // namespace gneiss::minibatch
