// What one thread keeps from batch to batch. Internal to this folder.
#pragma once

#include <cstring>
#include <vector>

#include "base/buffer.h"
#include "minibatch/local_ids.h"
#include "minibatch/sampler.h"

namespace gneiss::minibatch {

/// An array that grows and is not filled as it does.
template <class T>
class Growing {
 public:
  /// Room for `size` elements; the first `kept` stay.
  T* reserve(std::int64_t size, std::int64_t kept) {
    if (size > static_cast<std::int64_t>(buffer_.size())) {
      Buffer<T> larger(static_cast<std::size_t>(size + size / 2));
      if (kept > 0) std::memcpy(larger.data(), buffer_.data(), static_cast<std::size_t>(kept) * sizeof(T));
      buffer_ = std::move(larger);
    }
    return buffer_.data();
  }
  T* data() { return buffer_.data(); }
  const T* data() const { return buffer_.data(); }

 private:
  Buffer<T> buffer_;
};

template <class Id>
class Workspace {
 public:
  explicit Workspace(LocalIds<Id> table) : ids(std::move(table)) {}

  LocalIds<Id> ids;
  Growing<Id> nodes;        ///< ids in the graph by local id
  Growing<Row> rows;        ///< of the destinations so far
  Growing<Id> neighbours;   ///< of the edges at hand
  Growing<EdgeId> offsets;  ///< kSubgraph: of all hops so far, as below
  Growing<EdgeId> edges;    ///< kSubgraph
  Growing<NodeId> sources;  ///< kSubgraph
  PickScratch picks;
  std::vector<PickScratch> picks_of_threads;
  std::vector<std::int64_t> first_new;  ///< cooperative: by chunk
};

}  // namespace gneiss::minibatch
