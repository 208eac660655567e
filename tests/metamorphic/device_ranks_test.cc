// Several devices that share a card and the graph, in the emulation: the losses of one CPU for every model and
// exchange, the same bits when they run again, and the bytes that their plans say.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/loopback.h"
#include "partition/owners.h"
#include "partition/traffic.h"
#include "runtime/device.h"
#include "support/counting_device.h"
#include "support/trained_ranks.h"
#include "train/cut_nodes.h"
#include "train/rank_plan.h"

namespace gneiss {
namespace {

using exchange::Exchange;
using testing::AwkwardOptions;
using testing::CountingDevice;
using testing::RankModel;
using testing::Trained;

constexpr Exchange kExchanges[] = {Exchange::kHalo, Exchange::kStream, Exchange::kFine};
constexpr int kEpochs = 6;

train::RowExchange by(Exchange how, int devices, const exchange::Tuning& tuning = {3, 2, 4, 2}) {
  train::RowExchange exchange = {.fetched = true, .how = how, .tuning = tuning};
  for (int p = 0; p < devices; ++p) exchange.devices.push_back(runtime::make_emulated_device());
  return exchange;
}

Trained on_devices(int devices, const AwkwardOptions& data, const RankModel& model,
                   const train::RowExchange& exchange) {
  return testing::train_on(devices, testing::data_with_scores(data), model, devices, exchange, "contiguous", kEpochs);
}

Trained one_cpu(const AwkwardOptions& data, const RankModel& model) {
  return testing::train_alone(testing::data_with_scores(data), model, kEpochs);
}

/// Those of MGG's paper, and what draws random numbers at nodes and at edges.
std::vector<RankModel> models() {
  const auto text = [](const char* value) { return language::ArgValue(std::string(value)); };
  const auto whole = [](std::int64_t value) { return language::ArgValue(value); };
  return {
      {"gcn, dropout", "gcn", {{"hidden_channels", whole(8)}, {"dropout", 0.3}}},
      {"sage, mean", "sage", {{"hidden_channels", whole(8)}}},
      {"sage, max", "sage", {{"hidden_channels", whole(8)}, {"aggr", text("max")}}},
      {"gin", "gin", {{"hidden_channels", whole(8)}}, {}, true},
      {"gat, dropout of attention", "gat", {{"hidden_channels", whole(8)}, {"heads", whole(2)}, {"dropout", 0.4}}},
      {"gat, weights apart", "gat", {{"hidden_channels", whole(8)}, {"heads", whole(2)}}, {"fuse_attention"}},
  };
}

std::string name(const RankModel& model, int devices, Exchange how) {
  return fmt::format("{} on {} devices by {}", model.what, devices, exchange::name_of(how));
}

TEST(DeviceRanks, OfAnyNumberTrainAsOneCpuDoesByEveryExchange) {
  const AwkwardOptions data = {.nodes = 24};
  for (const RankModel& model : models()) {
    const Trained alone = one_cpu(data, model);
    for (const int devices : {1, 2, 3, 4}) {
      for (const Exchange how : kExchanges) {
        SCOPED_TRACE(name(model, devices, how));
        testing::expect_same_training(on_devices(devices, data, model, by(how, devices)), alone);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(DeviceRanks, TrainEveryModelAsOneCpuDoes) {
  const AwkwardOptions data = {.nodes = 40};
  for (const RankModel& model : testing::rank_models()) {
    SCOPED_TRACE(model.what);
    const Trained alone = one_cpu(data, model);
    testing::expect_same_training(on_devices(2, data, model, by(Exchange::kFine, 2)), alone);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(DeviceRanks, TakeSparseFeaturesOnEightDevicesAndMoreThanThereAreNodes) {
  const RankModel model = models().front();
  for (const std::int64_t nodes : {std::int64_t{41}, std::int64_t{7}}) {
    const AwkwardOptions data = {.nodes = nodes, .weighted = false, .sparse_features = true};
    const Trained alone = one_cpu(data, model);
    for (const Exchange how : kExchanges) {
      SCOPED_TRACE(fmt::format("{} nodes, {}", nodes, exchange::name_of(how)));
      testing::expect_same_training(on_devices(8, data, model, by(how, 8, {3, 2, 64, 3})), alone);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(DeviceRanks, HaveTheSameBitsWhenTheyRunAgain) {
  const AwkwardOptions data = {.nodes = 24};
  for (const RankModel& model : models()) {
    for (const Exchange how : kExchanges) {
      const Trained first = on_devices(3, data, model, by(how, 3));
      EXPECT_EQ(on_devices(3, data, model, by(how, 3)).weights, first.weights) << name(model, 3, how);
    }
  }
}

/// All that is taken of a device's memory is in its plan, to the byte.
TEST(DeviceRanks, TakeWhatTheirPlansSay) {
  const AwkwardOptions data = {.nodes = 24};
  for (const RankModel& model : models()) {
    for (const int devices : {2, 3}) {
      for (const Exchange how : kExchanges) {
        data::Dataset planned = testing::data_with_scores(data);
        train::SessionOptions options = testing::for_card(testing::rank_options(model, planned));
        options.compiled = train::compile_for(planned, options, nullptr);
        train::RowExchange exchange = by(how, 0);
        std::vector<std::shared_ptr<CountingDevice>> counting;
        for (int p = 0; p < devices; ++p) {
          counting.push_back(std::make_shared<CountingDevice>());
          exchange.devices.push_back(counting.back());
        }
        const std::unique_ptr<comm::Ranks> world = comm::loopback(devices);
        const train::RankTraining training(world.get(), testing::data_with_scores(data), options, exchange);
        train::NodeCut cut = train::cut_nodes(devices, {}, 1, &planned);
        const std::vector<partition::PartTraffic> traffic = partition::part_traffic(
            planned.graph, partition::owners_of(cut.starts), devices, train::is_cut_both_ways(planned, how));
        const train::RankPlanner planner(planned, options, train::PlannedExchange{true, how, exchange.tuning});
        for (int device = 0; device < devices; ++device) {
          SCOPED_TRACE(name(model, devices, how) + fmt::format(", device {}", device));
          const train::PlannedRank plan = planner.plan(cut.starts, traffic, device);
          const auto d = static_cast<std::size_t>(device);
          EXPECT_EQ(plan.bytes, counting[d]->bytes());
          EXPECT_EQ(plan.bytes, training.device_bytes()[d]);
          EXPECT_EQ(plan.exchange_bytes, training.exchange_bytes()[d]);
          EXPECT_GT(plan.exchange_bytes, 0);
        }
      }
    }
  }
}

}  // namespace
}  // namespace gneiss
