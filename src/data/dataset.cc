// Sizes of what a data set holds, and picking labels by row.
#include "data/dataset.h"

#include <cmath>

namespace gneiss::data {

std::int64_t Features::nonzeros() const {
  std::int64_t count = 0;
  for (const std::uint16_t half : halves) count += (half & 0x7FFFU) != 0 ? 1 : 0;
  for (const float value : sparse ? values.span() : dense.span()) count += value != 0.0F ? 1 : 0;
  return count;
}

std::int64_t Features::bytes() const {
  return static_cast<std::int64_t>(dense.size_bytes() + halves.size_bytes() + offsets.size_bytes() +
                                   indices.size_bytes() + values.size_bytes());
}

void Features::drop_values() {
  dense = {};
  halves = {};
  offsets = {};
  indices = {};
  values = {};
}

Labels labels_of(const Labels& labels, std::span<const NodeId> rows) {
  Labels taken;
  taken.kind = labels.kind;
  taken.num_classes = labels.num_classes;
  const auto width = static_cast<std::size_t>(labels.num_classes);
  taken.classes = Buffer<std::int32_t>(labels.classes.empty() ? 0 : rows.size());
  for (std::size_t i = 0; i < taken.classes.size(); ++i)
    taken.classes[i] = labels.classes[static_cast<std::size_t>(rows[i])];
  taken.targets = Buffer<float>(labels.targets.empty() ? 0 : rows.size() * width);
  for (std::size_t i = 0; i < taken.targets.size(); ++i)
    taken.targets[i] = labels.targets[static_cast<std::size_t>(rows[i / width]) * width + i % width];
  return taken;
}

std::int64_t Dataset::bytes() const {
  const std::size_t ids = (split.train.size() + split.val.size() + split.test.size()) * sizeof(NodeId) +
                          orig_id.size() * sizeof(std::int64_t);
  return graph.bytes() + features.bytes() + labels.bytes() + static_cast<std::int64_t>(ids);
}

}  // namespace gneiss::data
