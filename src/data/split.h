// Drawing train, validation and test nodes.
#pragma once

#include <cstdint>
#include <string>

#include "data/dataset.h"

namespace gneiss::data {

/// Draws a split of the labelled nodes; a function of the labels, `spec` and `seed` alone.
///   "random"          20 nodes a class train, 500 validate, 1000 test (fewer when there are fewer)
///   "shchur"          20 nodes a class train, 30 a class validate, all others test
///   "ratio:60/20/20"  parts of the labelled nodes, in percent or any unit
///   "none"            no split
/// A class too small for its share gives 2/5 of its nodes to each of train and val, at least one to train.
/// Errors: kUsage for a bad spec; kBadData when there are no labels to split.
/// Source: pyg datasets/planetoid.py (random); [shchur2018pitfalls] (shchur).
Split draw_split(const Labels& labels, std::int64_t num_nodes, const std::string& spec, std::uint64_t seed);

}  // namespace gneiss::data
