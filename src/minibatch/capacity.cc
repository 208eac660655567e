// The layout of a slab is repeated here in numbers; a test holds the two equal.
#include "minibatch/capacity.h"

#include <cmath>

#include "minibatch/workspace.h"

namespace gneiss::minibatch {
namespace {

constexpr std::int64_t kAlignment = 64;

std::int64_t aligned(std::int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

std::int64_t times(std::int64_t count, std::int64_t factor, std::int64_t most) {
  return count > most / std::max<std::int64_t>(factor, 1) ? most : std::min(most, count * factor);
}

}  // namespace

std::int64_t slab_bytes(const BatchShape& shape, Semantics semantics, std::int64_t id_bytes) {
  std::int64_t bytes = aligned(sizeof(BatchHeader));
  const int first = semantics == Semantics::kSubgraph ? shape.hops - 1 : 0;  // one list of rows holds all hops
  for (int h = std::max(first, 0); h < shape.hops; ++h) {
    const auto i = static_cast<std::size_t>(h);
    bytes += aligned((shape.nodes[i] + 1) * static_cast<std::int64_t>(sizeof(EdgeId))) +
             aligned(shape.edges[i] * static_cast<std::int64_t>(sizeof(EdgeId))) +
             aligned(shape.edges[i] * static_cast<std::int64_t>(sizeof(NodeId)));
  }
  return bytes + aligned(shape.nodes[static_cast<std::size_t>(shape.hops)] * id_bytes);
}

template <class Id>
BatchShape largest_shape(const Sampler<Id>& sampler, std::int64_t batch_size) {
  const std::int64_t n = std::min(sampler.graph().num_nodes(), kMaxBatchNodes);
  const std::int64_t m = sampler.graph().num_edges();
  const SamplerOptions& options = sampler.options();
  BatchShape shape;
  shape.hops = static_cast<int>(options.fanout.size());
  shape.nodes[0] = std::min(n, batch_size);
  for (std::size_t h = 0; h < options.fanout.size(); ++h) {
    const std::int64_t fanout = options.fanout[h] < 0 ? m : options.fanout[h];
    const bool subgraph = options.semantics == Semantics::kSubgraph && h > 0;
    const std::int64_t before = subgraph ? shape.edges[h - 1] : 0;
    // With replacement an edge may be there several times.
    const std::int64_t most = options.replace ? std::int64_t{1} << 62 : m;
    shape.edges[h] = std::min(most, before + times(shape.nodes[h], fanout, most - before));
    shape.nodes[h + 1] = std::min(n, shape.nodes[h] + std::min(n, shape.edges[h] - before));
  }
  shape.bytes = slab_bytes(shape, options.semantics, sizeof(Id));
  return shape;
}

template <class Id>
BatchShape probe_shape(const Sampler<Id>& sampler, const SeedOrder<Id>& seeds, const BatchKey& first, int probes) {
  const std::unique_ptr<Workspace<Id>> workspace = sampler.make_workspace();
  const auto epoch = seeds.epoch(first.epoch);
  const std::int64_t batches = seeds.batches_per_epoch();
  const std::int64_t count = std::min<std::int64_t>(probes, batches);
  Slab slab;
  BatchShape shape;
  shape.hops = static_cast<int>(sampler.options().fanout.size());
  for (std::int64_t i = 0; i < count; ++i) {
    const BatchKey key{first.seed, first.epoch, i * batches / count};
    sampler.sample(key, seeds.batch(epoch, key.index), workspace.get(), &slab);
    shape.cover(MiniBatch<Id>(slab).shape());
  }
  return shape;
}

template <class Id>
BatchShape capacity(const Sampler<Id>& sampler, const SeedOrder<Id>& seeds, const BatchKey& first, int probes,
                    double margin) {
  BatchShape shape = probe_shape(sampler, seeds, first, probes);
  const BatchShape largest = largest_shape(sampler, shape.nodes[0]);
  const auto wider = [&](std::int64_t count, std::int64_t most) {
    return std::min(most, static_cast<std::int64_t>(std::ceil(static_cast<double>(count) * margin)));
  };
  for (std::size_t h = 1; h < shape.nodes.size(); ++h) shape.nodes[h] = wider(shape.nodes[h], largest.nodes[h]);
  for (std::size_t h = 0; h < shape.edges.size(); ++h) shape.edges[h] = wider(shape.edges[h], largest.edges[h]);
  shape.bytes = slab_bytes(shape, sampler.options().semantics, sizeof(Id));
  return shape;
}

template BatchShape largest_shape(const Sampler<std::int32_t>&, std::int64_t);
template BatchShape largest_shape(const Sampler<std::int64_t>&, std::int64_t);
template BatchShape probe_shape(const Sampler<std::int32_t>&, const SeedOrder<std::int32_t>&, const BatchKey&, int);
template BatchShape probe_shape(const Sampler<std::int64_t>&, const SeedOrder<std::int64_t>&, const BatchKey&, int);
template BatchShape capacity(const Sampler<std::int32_t>&, const SeedOrder<std::int32_t>&, const BatchKey&, int,
                             double);
template BatchShape capacity(const Sampler<std::int64_t>&, const SeedOrder<std::int64_t>&, const BatchKey&, int,
                             double);

}  // namespace gneiss::minibatch
