// Arrays are hashed one after the other, each with its size.
#include "data/data_hash.h"

#include <algorithm>
#include <span>

#include "base/file_pages.h"
#include "base/hash_bytes.h"

namespace gneiss::data {
namespace {

/// Features beyond this are not read as a whole: they may lie in a file, and be more than there is memory.
constexpr std::size_t kWholeBytes = std::size_t{64} << 20;
constexpr std::size_t kBlocks = 1024;
constexpr std::size_t kBlockBytes = 4096;

class Hash {
 public:
  template <class T>
  void add(std::span<const T> values) {
    hash_ = hash_bytes(values.data(), values.size_bytes(), hash_);
  }

  /// Of many values, blocks that lie evenly apart.
  template <class T>
  void add_some(const Buffer<T>& buffer) {
    const std::span<const T> values = buffer.span();
    RestsOnTheWay rests(buffer);
    if (values.size_bytes() <= kWholeBytes) return add(values);
    constexpr std::size_t kBlock = kBlockBytes / sizeof(T);
    const std::size_t step = values.size() / kBlocks;
    for (std::size_t i = 0; i < kBlocks; ++i) {
      add(values.subspan(i * step, kBlock));
      rests.step();
    }
    add(values.last(kBlock));
    add_number(values.size());
  }

  void add_number(std::uint64_t value) { hash_ = hash_bytes(&value, sizeof(value), hash_); }

  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0;
};

void add_edges_and_features(const Dataset& dataset, Hash* hash) {
  hash->add(dataset.graph.offsets());
  hash->add(dataset.graph.sources());
  hash->add(dataset.graph.weights());
  const Features& features = dataset.features;
  hash->add_number(static_cast<std::uint64_t>(features.cols));
  hash->add_some(features.dense);
  hash->add_some(features.halves);
  hash->add(features.offsets.span());
  hash->add(features.indices.span());
  hash->add(features.values.span());
}

}  // namespace

std::uint64_t data_hash(const Dataset& dataset) {
  Hash hash;
  if (dataset.by_parts) {
    hash.add_number(dataset.files_hash);
  } else {
    add_edges_and_features(dataset, &hash);
  }
  hash.add_number(static_cast<std::uint64_t>(dataset.labels.num_classes));
  hash.add(dataset.labels.classes.span());
  hash.add(dataset.labels.targets.span());
  for (const std::vector<NodeId>* part : {&dataset.split.train, &dataset.split.val, &dataset.split.test})
    hash.add(std::span<const NodeId>(*part));
  hash.add(std::span<const std::int64_t>(dataset.orig_id));
  return hash.value();
}

}  // namespace gneiss::data
