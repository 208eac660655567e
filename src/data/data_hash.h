// One number that tells other data from those that a training began with.
#pragma once

#include <cstdint>

#include "data/dataset.h"

namespace gneiss::data {

/// Of graph, features, labels and split as they lie in memory, in the order of their nodes. Of dense features beyond 64
/// MiB a thousand blocks are read, evenly apart. Of a data set that is read by parts the checksums of its files stand
/// for edges and features.
std::uint64_t data_hash(const Dataset& dataset);

}  // namespace gneiss::data
