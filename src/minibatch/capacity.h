// How large batches are: measured on some, bounded for all, and what a slab needs for them.
#pragma once

#include <cstdint>

#include "minibatch/sampler.h"
#include "minibatch/seeds.h"

namespace gneiss::minibatch {

/// Bytes of a slab that holds a batch of this shape, no more and no less.
std::int64_t slab_bytes(const BatchShape& shape, Semantics semantics, std::int64_t id_bytes);

/// What no batch of `batch_size` seeds exceeds: every pick a new node, but no more nodes and edges than the graph has.
template <class Id>
BatchShape largest_shape(const Sampler<Id>& sampler, std::int64_t batch_size);

/// What the larger of `probes` batches of an epoch, evenly spread over it, need.
template <class Id>
BatchShape probe_shape(const Sampler<Id>& sampler, const SeedOrder<Id>& seeds, const BatchKey& first, int probes);

/// A shape that most batches fit: the probed one times `margin`, no larger than `largest`. The margin is on each count;
/// see overflow().
template <class Id>
BatchShape capacity(const Sampler<Id>& sampler, const SeedOrder<Id>& seeds, const BatchKey& first, int probes = 8,
                    double margin = 1.25);

}  // namespace gneiss::minibatch
