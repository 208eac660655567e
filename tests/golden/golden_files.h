// The golden files that make_goldens.py wrote, as data sets and arrays.
#pragma once

#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/npz.h"
#include "language/compile.h"

namespace gneiss::golden {

/// tests/golden/data/NAME.
std::string golden_path(const std::string& name);

/// Names of the model goldens ("gcn_awkward_plain", …), sorted.
std::vector<std::string> model_names();

/// All values of a member, as stored.
std::vector<double> values(const data::NpzFile& file, const std::string& member);

/// What a model golden was made with, and its arrays.
struct ModelGolden {
  explicit ModelGolden(const std::string& name);

  data::NpzFile file;
  std::string model;
  std::vector<std::pair<std::string, language::ArgValue>> args;
  std::string graph;
  bool weighted = false;
  double lr = 0;
  double weight_decay = 0;

  /// Keys of the members "PREFIX.KEY".
  std::vector<std::string> keys(const std::string& prefix) const;
  std::vector<double> values(const std::string& member) const { return golden::values(file, member); }
};

/// The graph that goldens share; sparse features stay sparse unless `dense`.
data::Dataset load_graph(const std::string& name, bool weighted, bool dense);

}  // namespace gneiss::golden
