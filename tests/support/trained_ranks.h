// Whole trainings on ranks or devices, held against one.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "support/awkward_graph.h"
#include "support/rank_models.h"
#include "train/full_graph.h"
#include "train/rank_training.h"

namespace gneiss::testing {

/// An awkward graph whose nodes are all in the split.
data::Dataset data_with_scores(const AwkwardOptions& options);

struct Trained {
  ir::Plan plan;
  epochs::RunRecord record;
  std::vector<float> weights;
};

inline constexpr int kEpochs = 20;
train::FullGraphOptions driver_for(const data::Dataset& dataset, int epochs = kEpochs);

/// Devices that fetch rows; of fine small numbers, so that small graphs have many pieces, units and blocks.
train::RowExchange device_exchange(exchange::Exchange how);

/// How many ops of these kinds a program has.
int count(const ir::Program& program, std::initializer_list<ir::OpKind> kinds);

/// With plans for a card, as exchanges with devices need them.
train::SessionOptions for_card(train::SessionOptions options);

Trained train_alone(const data::Dataset& dataset, const RankModel& model, int epochs = kEpochs);
Trained train_alone(const AwkwardOptions& data, const RankModel& model);

/// As rank 0 sees it. On the devices of the exchange, if it has some.
Trained train_by(comm::Ranks* world, data::Dataset dataset, const RankModel& model, int threads,
                 const train::RowExchange& exchange, const std::string& partition = "contiguous", int epochs = kEpochs);
Trained train_on(int ranks, data::Dataset dataset, const RankModel& model, int threads = 1,
                 const train::RowExchange& exchange = {}, const std::string& partition = "contiguous",
                 int epochs = kEpochs);
Trained train_on(int ranks, const AwkwardOptions& data, const RankModel& model, int threads = 1,
                 const train::RowExchange& exchange = {}, const std::string& partition = "contiguous");

/// The losses of each epoch to 1e-5, and the scores.
void expect_same_training(const Trained& got, const Trained& expected);

}  // namespace gneiss::testing
