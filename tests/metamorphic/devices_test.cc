// Every kind of model on 1 to 8 devices by every exchange: the losses of one device, its gradients in f64, and the same
// bits whatever the numbers of the tuner, on threads and on processes.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/loopback.h"
#include "comm/processes.h"
#include "data/preprocess.h"
#include "partition/owners.h"
#include "partition/traffic.h"
#include "pgas/symmetric_heap.h"
#include "support/trained_ranks.h"
#include "train/cut_nodes.h"
#include "train/rank_plan.h"

namespace gneiss {
namespace {

using exchange::Exchange;
using testing::RankModel;
using testing::train_on;
using testing::Trained;

constexpr Exchange kExchanges[] = {Exchange::kHalo, Exchange::kStream, Exchange::kFine};
constexpr int kMostDevices = 8;

std::vector<RankModel> models() {
  const auto text = [](const char* value) { return language::ArgValue(std::string(value)); };
  const auto whole = [](std::int64_t value) { return language::ArgValue(value); };
  return {
      {"gcn", "gcn", {{"hidden_channels", whole(16)}}},
      {"sage, mean", "sage", {{"hidden_channels", whole(16)}}},
      {"sage, max", "sage", {{"hidden_channels", whole(16)}, {"aggr", text("max")}}},
      {"gin of five layers of 64", "gin", {{"hidden_channels", whole(64)}, {"num_layers", whole(5)}}, {}, true},
      {"gat", "gat", {{"hidden_channels", whole(16)}, {"heads", whole(2)}}},
      {"gat, weights apart", "gat", {{"hidden_channels", whole(16)}, {"heads", whole(2)}}, {"fuse_attention"}},
  };
}

bool sums_rows(const RankModel& model) { return model.name != "gat"; }

data::Dataset graph_of(bool undirected) {
  data::Dataset dataset = testing::data_with_scores({.nodes = 40, .weighted = !undirected});
  if (undirected) dataset.graph = data::to_undirected(dataset.graph);
  return dataset;
}

train::RowExchange by(Exchange how, const exchange::Tuning& tuning = {3, 1, 2, 2}) {
  return {.fetched = true, .how = how, .tuning = tuning};
}

std::string name(const RankModel& model, int devices, Exchange how, bool undirected) {
  return fmt::format("{} on {} devices by {}, undirected {}", model.what, devices, exchange::name_of(how), undirected);
}

/// First of all tests here: a process that has threads is not forked.
TEST(DevicesOfProcesses, GiveTheBitsOfThreads) {
  for (const RankModel& model : models()) {
    for (const int devices : {2, 5}) {
      for (const Exchange how : kExchanges) {
        SCOPED_TRACE(name(model, devices, how, false));
        const Trained threads = train_on(devices, graph_of(false), model, 1, by(how));
        train::RowExchange exchange = by(how);
        exchange.heap = pgas::SymmetricHeap::make(devices, std::size_t{1} << 28);
        std::unique_ptr<comm::Ranks> world = comm::fork_ranks(devices);
        const bool child = world->first() > 0;
        int ends = 0;
        try {
          const Trained processes = testing::train_by(world.get(), graph_of(false), model, 1, exchange);
          if (!child) {
            EXPECT_EQ(processes.weights, threads.weights);
          }
        } catch (const std::exception& error) {
          ends = 1;
          if (!child) {
            ADD_FAILURE() << error.what();
          }
        }
        world.reset();
        if (child) std::_Exit(ends);
      }
    }
  }
}

TEST(Devices, OfAnyNumberTrainAsOneDoes) {
  for (const bool undirected : {false, true}) {
    for (const RankModel& model : models()) {
      const Trained alone = testing::train_alone(graph_of(undirected), model);
      for (int devices = 1; devices <= kMostDevices; ++devices) {
        for (const Exchange how : kExchanges) {
          SCOPED_TRACE(name(model, devices, how, undirected));
          testing::expect_same_training(train_on(devices, graph_of(undirected), model, 1, by(how)), alone);
        }
      }
    }
  }
}

/// Sums of the training and of evaluation that take up rows so.
std::pair<int, int> sums_by(Exchange how, const RankModel& model) {
  const ir::Program program = train_on(2, graph_of(false), model, 1, by(how)).plan.program;
  std::pair<int, int> sums;
  for (const ir::Op& op : program.ops) {
    if (op.kind != ir::OpKind::spmm || op.attrs.text("exchange", "") != exchange::name_of(how)) continue;
    ++(op.phase == ir::Phase::kInference ? sums.second : sums.first);
  }
  return sums;
}

/// Weights of attention that are values of edges leave a sum, which is taken up as others are. The gradient of the
/// weights reads the rows too, and needs all of them.
TEST(Devices, SumByTheExchangeWhereWeightsOfAttentionAreApart) {
  const RankModel fused = models()[4];
  const RankModel apart = models()[5];
  EXPECT_EQ(sums_by(Exchange::kStream, fused), std::pair(0, 0));
  EXPECT_EQ(sums_by(Exchange::kFine, fused), std::pair(0, 0));
  EXPECT_EQ(sums_by(Exchange::kStream, apart), std::pair(2, 2));
  EXPECT_EQ(sums_by(Exchange::kFine, apart), std::pair(0, 2));
}

TEST(Devices, HaveTheGradientsOfOne) {
  for (const bool undirected : {false, true}) {
    const data::Dataset dataset = graph_of(undirected);
    for (const RankModel& model : models()) {
      const train::SessionOptions options = testing::rank_options(model, dataset);
      const testing::Step alone = testing::step_alone(dataset, options);
      for (int devices = 2; devices <= kMostDevices; ++devices) {
        for (const Exchange how : kExchanges) {
          const testing::Step together = testing::step_on_devices(dataset, options, devices, by(how));
          EXPECT_LT(testing::difference(alone, together), 1e-9) << name(model, devices, how, undirected);
        }
      }
    }
  }
}

/// What a device takes besides its values because it takes up others' rows is in the plan, to the byte.
TEST(Devices, TakeWhatTheirPlansSay) {
  const exchange::Tuning tuning = {3, 2, 2, 2};
  int with_more = 0;
  for (const bool undirected : {false, true}) {
    for (const RankModel& model : models()) {
      for (const int devices : {2, 3, 8}) {
        for (const Exchange how : kExchanges) {
          data::Dataset dataset = graph_of(undirected);
          train::SessionOptions options = testing::rank_options(model, dataset);
          options.compiled = train::compile_for(dataset, options, nullptr);
          const std::unique_ptr<comm::Ranks> world = comm::loopback(devices);
          const train::RankTraining training(world.get(), graph_of(undirected), options, by(how, tuning));
          const std::vector<std::int64_t> taken = training.exchange_bytes();
          train::NodeCut cut = train::cut_nodes(devices, {}, 1, &dataset);
          const std::vector<partition::PartTraffic> traffic = partition::part_traffic(
              dataset.graph, partition::owners_of(cut.starts), devices, train::is_cut_both_ways(dataset, how));
          const train::RankPlanner planner(dataset, options, train::PlannedExchange{true, how, tuning});
          for (int device = 0; device < devices; ++device) {
            const std::int64_t planned = planner.plan(cut.starts, traffic, device).exchange_bytes;
            SCOPED_TRACE(name(model, devices, how, undirected) + fmt::format(", device {}", device));
            EXPECT_EQ(planned, taken[static_cast<std::size_t>(device)]);
            if (how == Exchange::kHalo) {
              EXPECT_EQ(planned, 0);
            }
            with_more += planned > 0 ? 1 : 0;
          }
        }
      }
    }
  }
  EXPECT_GT(with_more, 100);
}

/// `stream` and `fine` add in one order; so no number of the tuner changes a bit, and a training is the same again.
TEST(Devices, HaveTheSameBitsForAllNumbersOfTheTuner) {
  for (const RankModel& model : models()) {
    for (int devices = 2; devices <= kMostDevices; ++devices) {
      const Trained streamed = train_on(devices, graph_of(false), model, 1, by(Exchange::kStream));
      EXPECT_EQ(train_on(devices, graph_of(false), model, 1, by(Exchange::kStream)).weights, streamed.weights);
      const Trained waited = train_on(devices, graph_of(false), model, 1, by(Exchange::kHalo));
      EXPECT_EQ(train_on(devices, graph_of(false), model, 1, by(Exchange::kHalo)).weights, waited.weights);
      if (!sums_rows(model)) continue;
      for (const int piece : {1, 3, 16, 32}) {
        for (const int dist : {1, 4}) {
          // Over the numbers of devices each piece meets all numbers of blocks under way.
          const exchange::Tuning tuning = {piece, dist, 1 + piece % 3, 1 + (devices + dist / 4) % 4};
          EXPECT_EQ(train_on(devices, graph_of(false), model, 1, by(Exchange::kFine, tuning)).weights, streamed.weights)
              << name(model, devices, Exchange::kFine, false) << ", pieces of " << piece << ", dist " << dist;
        }
      }
    }
  }
}

}  // namespace
}  // namespace gneiss
