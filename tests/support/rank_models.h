// Models and data on which ranks are held against one rank.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "comm/communicator.h"
#include "data/dataset.h"
#include "train/rank_data.h"
#include "train/rank_training.h"
#include "train/session.h"

namespace gneiss::testing {

struct RankModel {
  std::string what;
  std::string name;  ///< a built-in model
  std::vector<std::pair<std::string, language::ArgValue>> args;
  std::set<std::string> passes_off = {};
  /// Steps in proportion to gradients: Adam makes whole ones of gradients that are nothing but rounding.
  bool plain_steps = false;
};
/// GCN, SAGE, GIN and GAT with everything that a rank could get wrong.
std::vector<RankModel> rank_models();

/// Options of a small training; no pass is off but those of the model.
train::SessionOptions rank_options(const RankModel& model, const data::Dataset& dataset);

/// Loss and gradients of one step over all training nodes, in f64.
struct Step {
  double loss = 0;
  std::vector<double> gradients;
};
Step step_alone(const data::Dataset& dataset, const train::SessionOptions& options);
/// The same on several ranks, as rank 0 sees it. `damage`, if given, changes what a rank has before its session is
/// made: a test of the test. `attach` sees each rank's session before it steps.
using Damage = std::function<void(train::RankData*)>;
using Attach = std::function<void(int rank, train::Session<double>* session)>;
Step step_on_ranks(const data::Dataset& dataset, const train::SessionOptions& options, int ranks,
                   const Damage& damage = {}, const Attach& attach = {});
/// The same on devices, which fetch rows by `exchange`, on threads. `wrap`, if given, makes another space of a
/// device's.
using Wrap = std::function<std::unique_ptr<pgas::Space>(std::unique_ptr<pgas::Space>)>;
Step step_on_devices(const data::Dataset& dataset, const train::SessionOptions& options, int devices,
                     const train::RowExchange& exchange, const Wrap& wrap = {});
/// The largest difference, relative to the loss and to the largest gradient.
double difference(const Step& a, const Step& b);

}  // namespace gneiss::testing
