// The values of a mini-batch: a block for each hop, the batch of them, and the slab that all of its arrays lie in.
//
// A slab is one piece of memory: a header with counts and offsets, then the arrays, each aligned to 64 bytes and as
// long as this batch needs. Offsets are from the start of the slab, so that a copy of it elsewhere is the same batch. A
// MiniBatch is a view over a slab and owns nothing.
//
//   | header | hop 0: offsets, edges, sources | hop 1: … | nodes | what later stages add |
//
// Hops are numbered from the seeds outwards: hop 0 holds the edges into the seeds. A model's first layer uses the
// outermost hop.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/buffer.h"
#include "base/ids.h"
#include "base/matrix_view.h"

namespace gneiss::minibatch {

inline constexpr int kMaxHops = 16;
/// Local ids are 32-bit, whatever the ids of the graph are, and cooperative sampling needs one bit of them.
inline constexpr std::int64_t kMaxBatchNodes = (std::int64_t{1} << 31) - 1;

/// Which batch it is. The bytes of a batch are a function of this key, the graph, the options and the seeds alone.
struct BatchKey {
  std::uint64_t seed = 0;
  std::int64_t epoch = 0;
  std::int64_t index = 0;  ///< within the epoch, from 0

  bool operator==(const BatchKey&) const = default;
};

/// What is resampled at each hop.
enum class Semantics : std::uint8_t {
  kMessageFlow,  ///< every node so far draws anew at each hop (DGL, SALIENT, Quiver)
  kSubgraph,     ///< a node draws once, at the hop after it is first seen (PyG): all hops are parts of one subgraph
};
std::string_view semantics_name(Semantics semantics);

/// The edges of one hop: a bipartite graph compressed by destination. Destinations are the first num_dst of the
/// sources, so that a node's own row is found under the same local id on both sides.
struct Block {
  std::int64_t num_dst = 0;
  std::int64_t num_src = 0;
  std::span<const EdgeId> offsets;  ///< [num_dst + 1], from 0
  std::span<const NodeId> sources;  ///< [m] local ids, in the order of `edges` within a row
  std::span<const EdgeId>
      edges;  ///< [m] positions in the graph's in-edges; ascending within a row of the graph as given

  std::int64_t num_edges() const { return static_cast<std::int64_t>(sources.size()); }
  /// For kernels; its slots find values of edges in arrays of the whole graph.
  SparsePattern pattern() const { return {num_dst, num_src, offsets, sources, edges}; }
};

/// How large a batch is, or may be: counts by hop.
struct BatchShape {
  int hops = 0;
  std::array<std::int64_t, kMaxHops + 1> nodes{};  ///< [0]: seeds; [h + 1]: nodes after hop h
  std::array<std::int64_t, kMaxHops> edges{};      ///< of the block of hop h
  std::int64_t bytes = 0;                          ///< of the slab

  /// The larger of each count.
  void cover(const BatchShape& other);
  bool operator==(const BatchShape&) const = default;
};

/// Which count of a batch is beyond its bound.
struct Overflow {
  std::string_view what;  ///< "nodes", "edges" or "bytes"
  int hop = 0;            ///< of nodes: after how many hops
  std::int64_t needed = 0;
  std::int64_t capacity = 0;
};
/// Does a batch of this shape fit? Each count has a bound of its own; there is none for a product.
std::optional<Overflow> overflow(const BatchShape& shape, const BatchShape& capacity);

/// What the first bytes of a slab hold.
struct BatchHeader {
  BatchKey key;
  std::int64_t bytes = 0;  ///< in use, header included
  std::int64_t num_nodes = 0;
  std::int64_t nodes_at = 0;
  std::int32_t hops = 0;
  std::int32_t id_bytes = 0;  ///< of a node id
  struct Hop {
    std::int64_t num_dst = 0;
    std::int64_t num_src = 0;
    std::int64_t num_edges = 0;
    std::int64_t offsets_at = 0;
    std::int64_t sources_at = 0;
    std::int64_t edges_at = 0;
  };
  std::array<Hop, kMaxHops> hop{};
};

/// Memory of one batch at a time. It grows when a batch does not fit, keeps what it holds then, and counts that.
class Slab {
 public:
  explicit Slab(std::int64_t bytes = 0);

  /// Holds the same batch as `other`, by one copy of its bytes.
  void copy_from(const Slab& other);
  /// Forgets the batch and begins another.
  void start(const BatchKey& key, int id_bytes);
  /// Room for `count` elements at the end; its offset. May move the slab: pointers into it from before are void.
  template <class T>
  std::int64_t place(std::int64_t count) {
    return place_bytes(count * static_cast<std::int64_t>(sizeof(T)));
  }
  template <class T>
  std::span<T> at(std::int64_t offset, std::int64_t count) {
    return {reinterpret_cast<T*>(memory_.data() + offset), static_cast<std::size_t>(count)};
  }
  template <class T>
  std::span<const T> at(std::int64_t offset, std::int64_t count) const {
    return {reinterpret_cast<const T*>(memory_.data() + offset), static_cast<std::size_t>(count)};
  }

  BatchHeader& header() { return *reinterpret_cast<BatchHeader*>(memory_.data()); }
  const BatchHeader& header() const { return *reinterpret_cast<const BatchHeader*>(memory_.data()); }
  /// The bytes in use, header first.
  std::span<const std::byte> bytes() const { return {memory_.data(), static_cast<std::size_t>(header().bytes)}; }
  std::int64_t capacity() const { return static_cast<std::int64_t>(memory_.size()); }
  std::int64_t growths() const { return growths_; }

 private:
  std::int64_t place_bytes(std::int64_t bytes);

  Buffer<std::byte> memory_;
  std::int64_t growths_ = 0;
};

/// A view of a sampled batch over its slab.
template <class Id = NodeId>
class MiniBatch {
 public:
  /// Errors: kInternal if the slab holds ids of another width.
  explicit MiniBatch(const Slab& slab);

  const BatchKey& key() const { return header_->key; }
  int hops() const { return header_->hops; }
  /// Ids in the graph by local id: seeds first, then by first (hop, destination, pick).
  std::span<const Id> nodes() const { return nodes_; }
  std::span<const Id> seeds() const { return nodes_.first(static_cast<std::size_t>(shape().nodes[0])); }
  /// The edges of hop h; hop 0 leads into the seeds.
  Block hop(int h) const;
  /// The same in the order in which layers use them: layer 0 is the outermost hop.
  Block layer(int l) const { return hop(hops() - 1 - l); }
  const BatchShape& shape() const { return shape_; }

 private:
  const Slab* slab_;
  const BatchHeader* header_;
  std::span<const Id> nodes_;
  BatchShape shape_;
};

}  // namespace gneiss::minibatch
