// A slab grows to half as much again as it needs, so that batches that grow slowly do not move it each time. Its header
// has a fixed size, and everything else follows in the order in which it was placed.
#include "minibatch/batch.h"

#include <cstring>
#include <new>

#include "base/error.h"

namespace gneiss::minibatch {
namespace {

constexpr std::int64_t kAlignment = 64;

std::int64_t aligned(std::int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

constexpr std::int64_t kHeaderBytes =
    (static_cast<std::int64_t>(sizeof(BatchHeader)) + kAlignment - 1) / kAlignment * kAlignment;

}  // namespace

std::string_view semantics_name(Semantics semantics) {
  return semantics == Semantics::kMessageFlow ? "mfg" : "subgraph";
}

void BatchShape::cover(const BatchShape& other) {
  hops = std::max(hops, other.hops);
  for (std::size_t h = 0; h < nodes.size(); ++h) nodes[h] = std::max(nodes[h], other.nodes[h]);
  for (std::size_t h = 0; h < edges.size(); ++h) edges[h] = std::max(edges[h], other.edges[h]);
  bytes = std::max(bytes, other.bytes);
}

std::optional<Overflow> overflow(const BatchShape& shape, const BatchShape& capacity) {
  for (int h = 0; h <= shape.hops; ++h) {
    const auto i = static_cast<std::size_t>(h);
    if (shape.nodes[i] > capacity.nodes[i]) return Overflow{"nodes", h, shape.nodes[i], capacity.nodes[i]};
    if (h < shape.hops && shape.edges[i] > capacity.edges[i])
      return Overflow{"edges", h, shape.edges[i], capacity.edges[i]};
  }
  if (shape.bytes > capacity.bytes) return Overflow{"bytes", 0, shape.bytes, capacity.bytes};
  return {};
}

Slab::Slab(std::int64_t bytes) : memory_(static_cast<std::size_t>(std::max(bytes, kHeaderBytes))) {
  start({}, sizeof(NodeId));
}

void Slab::copy_from(const Slab& other) {
  const std::span<const std::byte> bytes = other.bytes();
  if (std::ssize(bytes) > capacity()) {
    memory_ = Buffer<std::byte>(bytes.size() + bytes.size() / 2);
    ++growths_;
  }
  std::memcpy(memory_.data(), bytes.data(), bytes.size());
}

void Slab::start(const BatchKey& key, int id_bytes) {
  std::memset(memory_.data(), 0, static_cast<std::size_t>(kHeaderBytes));  // what pads the header too
  BatchHeader& header = *new (memory_.data()) BatchHeader();
  header.key = key;
  header.id_bytes = id_bytes;
  header.bytes = kHeaderBytes;
}

std::int64_t Slab::place_bytes(std::int64_t bytes) {
  const std::int64_t offset = header().bytes;
  const std::int64_t end = offset + aligned(bytes);
  if (end > capacity()) {
    Buffer<std::byte> larger(static_cast<std::size_t>(aligned(end + end / 2)));
    std::memcpy(larger.data(), memory_.data(), static_cast<std::size_t>(offset));
    memory_ = std::move(larger);
    ++growths_;
  }
  // What lies between arrays is part of the batch's bytes too.
  std::memset(memory_.data() + offset + bytes, 0, static_cast<std::size_t>(end - offset - bytes));
  header().bytes = end;
  return offset;
}

template <class Id>
MiniBatch<Id>::MiniBatch(const Slab& slab) : slab_(&slab), header_(&slab.header()) {
  GNEISS_ASSERT(header_->id_bytes == static_cast<int>(sizeof(Id)), "the batch has ids of {} bytes, not {}",
                header_->id_bytes, sizeof(Id));
  nodes_ = slab.at<Id>(header_->nodes_at, header_->num_nodes);
  shape_.hops = header_->hops;
  shape_.bytes = header_->bytes;
  shape_.nodes[0] = header_->hops == 0 ? header_->num_nodes : header_->hop[0].num_dst;
  for (std::size_t h = 0; h < static_cast<std::size_t>(header_->hops); ++h) {
    shape_.nodes[h + 1] = header_->hop[h].num_src;
    shape_.edges[h] = header_->hop[h].num_edges;
  }
}

template <class Id>
Block MiniBatch<Id>::hop(int h) const {
  const BatchHeader::Hop& at = header_->hop[static_cast<std::size_t>(h)];
  return {at.num_dst, at.num_src, slab_->at<EdgeId>(at.offsets_at, at.num_dst + 1),
          slab_->at<NodeId>(at.sources_at, at.num_edges), slab_->at<EdgeId>(at.edges_at, at.num_edges)};
}

template class MiniBatch<std::int32_t>;
template class MiniBatch<std::int64_t>;

}  // namespace gneiss::minibatch
