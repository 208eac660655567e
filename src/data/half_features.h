// Dense features in 16 bits.
#pragma once

#include <string>

#include "data/dataset.h"

namespace gneiss::data {

/// Rounds dense f32 features to `type`, to the nearest and ties to even, in the place where they lie: no second copy,
/// and the memory that becomes free goes back to the system. Nothing happens for kNone and where there are no features.
/// Errors: kUsage for sparse features; kBadData for a finite value beyond the range of `type` (f16: 65504), with its
/// node and column. `name` is the data set's.
void halve_features(HalfType type, const std::string& name, Features* features);

/// Features in 16 bits as f32 again; others stay as they are.
void widen_features(Features* features);

}  // namespace gneiss::data
