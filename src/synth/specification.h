// What is to be written out: a plan, the texts it comes from, and how its program reads data and walks epochs.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "data/dataset.h"
#include "data/load.h"
#include "ir/plan.h"

namespace gneiss::synth {

/// A text of the model; ir::Location::source counts them.
struct ModelText {
  std::string name;
  std::string text;
};

/// The data that the plan was made for, and how a program is to read them again.
struct DataSpec {
  std::string name;  ///< what data::load takes
  std::string title;
  data::LoadOptions load;
  std::string node_order = "none";  ///< none, degree, rcm or clusters
  std::int64_t num_nodes = 0;
  std::int64_t num_edges = 0;
  std::int64_t num_train = 0;
  bool weighted = false;
  bool symmetric = false;
  bool sparse_features = false;
  HalfType feature_dtype = HalfType::kNone;
  data::LabelKind label_kind = data::LabelKind::kSingle;
  std::int64_t num_features = 0;
  std::int64_t num_classes = 0;
};

struct OptimizerSpec {
  std::string name = "adam";  ///< adam, adamw or sgd
  double lr = 0.01;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
  bool decay_first_layer_only = false;
  double clip_norm = 0;
};

/// The loop over epochs. Names of choices are those of the enumerations of train/.
struct EpochSpec {
  std::int64_t epochs = 200;
  std::int64_t eval_every = 1;
  std::int64_t patience = 0;
  std::string monitor = "kMetric";
  std::string metric = "kAccuracy";
  bool higher_is_better = true;
  std::vector<std::pair<std::string, std::string>>
      schedule;  ///< members of epochs::ScheduleConfig that are not the usual ones
  std::uint64_t seed = 0;
};

/// One rank of several. All have the same ops; sizes, and what follows from them, are its own.
struct RankSpec {
  const ir::Plan* plan = nullptr;
  double loss_share = 1;  ///< as train::RankPart has them: they stand in the plan
  double val_loss_share = 1;
};

/// The ranks of a program; none: it runs on one, by Specification::plan.
struct RanksSpec {
  std::vector<RankSpec> ranks;
  std::string cut;   ///< how nodes are dealt out, one of partition::cut_methods()
  std::string loss;  ///< the name in passes::LossSpec::Kind
};

struct Specification {
  std::string model;    ///< its title
  std::string version;  ///< of Gneiss
  std::vector<ModelText> texts;
  std::vector<std::string> calls;  ///< prefixes of layer calls; ir::Location::call counts them
  const ir::Plan* plan = nullptr;
  DataSpec data;
  std::vector<float> class_weights;
  OptimizerSpec optimizer;
  EpochSpec epochs;
  /// Of a program for a device what it takes of the device's memory: part by part, and with places at multiples of 256
  /// all together, bytes.
  std::vector<std::pair<std::string, std::int64_t>> device_parts;
  std::int64_t device_bytes = 0;
  RanksSpec several;
  int rank = 0;  ///< of several ranks the one whose sources are written, by `plan`
};

}  // namespace gneiss::synth
