// Numbers that are what they should be and train badly all the same: signs and sizes.
#pragma once

#include <string>
#include <vector>

#include "data/dataset.h"

namespace gneiss::data {

/// Says how many edges have negative weights and how many nodes a weighted in-degree of 0 or less, with the self loop
/// of weight 1 that GCN adds; "" if no weight is negative. A normalisation by degrees takes the root of 1 / degree and
/// cuts such nodes off. O(m).
std::string negative_weights(const Dataset& dataset);

/// One sentence each for features and regression targets of 10^4 and more, and for edge weights of 10^5 and more.
/// Large arrays are sampled: 257 blocks of 4096 entries, evenly spread.
std::vector<std::string> large_numbers(const Dataset& dataset);

}  // namespace gneiss::data
