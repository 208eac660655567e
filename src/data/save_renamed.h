// A data set whose edges and features lie in files larger than the memory, written under other node ids.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "data/dataset.h"

namespace gneiss::data {

/// What save_renamed takes besides the arrays of nodes: buffers for `runs` ascending runs of an order at the least.
std::int64_t least_buffer_bytes(std::int64_t runs);

/// Writes the folder that permute() and save() would make, without edges and features ever being in memory: they are
/// read once, front to back, and each row is written where it belongs.
///   dataset   with edges and features as they were loaded (LoadOptions::in_files), all else renamed (rename_nodes)
///   order     [nodes] old id by new id, of a few runs in each of which old ids ascend, as a PartOrder's
/// Cost      16 bytes a node, the largest row twice, and `buffer_bytes`; edges and features are read, written, and read
///           again for their checksums
/// Errors    as save()
void save_renamed(const Dataset& dataset, std::span<const NodeId> order, std::int64_t buffer_bytes,
                  const std::filesystem::path& path, bool force);

}  // namespace gneiss::data
