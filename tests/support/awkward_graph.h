// A small dataset with everything that hides mistakes on nicer ones: directed, asymmetric, weighted, a hub, isolated
// nodes, self loops, parallel edges; features and weights without ties.
#pragma once

#include <cstdint>

#include "data/dataset.h"

namespace gneiss::testing {

struct AwkwardOptions {
  std::int64_t nodes = 14;
  std::int64_t features = 5;
  std::int64_t classes = 3;
  bool weighted = true;
  bool sparse_features = false;
  bool self_loops = true;
  data::LabelKind labels = data::LabelKind::kSingle;
  std::uint64_t seed = 1;
};

/// Node 0 is the hub; the last two nodes have no edge; about half of the nodes train.
data::Dataset awkward_dataset(const AwkwardOptions& options = {});

}  // namespace gneiss::testing
