// Mutants of training on devices that fetch each other's rows: whatever the exchange, the check that tests of devices
// use must catch each. Arenas are filled with NaN, so that a row that was not waited for is none.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/preprocess.h"
#include "support/awkward_graph.h"
#include "support/late_space.h"
#include "support/rank_models.h"

namespace gneiss {
namespace {

using exchange::Exchange;
using testing::RankModel;
using testing::SpaceFaults;

constexpr int kDevices = 3;

/// Of a step on devices through a damaged space and one alone; 1 where the devices noticed themselves.
double difference_of(const RankModel& model, const data::Dataset& dataset, Exchange how, const SpaceFaults& faults) {
  const train::SessionOptions options = testing::rank_options(model, dataset);
  const auto damage = [&](std::unique_ptr<pgas::Space> space) -> std::unique_ptr<pgas::Space> {
    return std::make_unique<testing::LateSpace>(std::move(space), faults);
  };
  const train::RowExchange exchange = {.fetched = true, .how = how, .tuning = {3, 1, 2, 2}};
  try {
    return testing::difference(testing::step_alone(dataset, options),
                               testing::step_on_devices(dataset, options, kDevices, exchange, damage));
  } catch (const Error&) {
    return 1;
  }
}

TEST(DevicesMutation, EveryMutantIsCaught) {
  const std::vector<RankModel> models = {{"gcn", "gcn", {{"dropout", 0.0}}},
                                         {"sage, max", "sage", {{"aggr", std::string("max")}}},
                                         {"gat", "gat", {{"dropout", 0.0}}}};
  for (const bool undirected : {true, false}) {  // gradients' rows are fetched, or partial sums of them
    data::Dataset dataset = testing::awkward_dataset({.nodes = 40});
    if (undirected) dataset.graph = data::to_undirected(dataset.graph);
    for (const RankModel& model : models) {
      for (const Exchange how : {Exchange::kHalo, Exchange::kStream, Exchange::kFine}) {
        SCOPED_TRACE(fmt::format("{} by {}, undirected {}", model.what, exchange::name_of(how), undirected));
        EXPECT_LT(difference_of(model, dataset, how, {}), 1e-9) << "the check fails without damage";
        EXPECT_LT(difference_of(model, dataset, how, {.at_once = true}), 1e-9);
        EXPECT_GT(difference_of(model, dataset, how, {.skips_waits = true}), 1e-5);
        EXPECT_GT(difference_of(model, dataset, how, {.swaps_address = true}), 1e-5);
      }
    }
  }
}

}  // namespace
}  // namespace gneiss
