// Ranks beside one rank: the same losses, the same scores, and the same bits when they run again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "comm/loopback.h"
#include "data/preprocess.h"
#include "epochs/metrics.h"
#include "partition/contiguous.h"
#include "partition/owners.h"
#include "partition/traffic.h"
#include "support/awkward_graph.h"
#include "support/data_fixtures.h"
#include "support/rank_models.h"
#include "support/trained_ranks.h"
#include "train/full_graph.h"
#include "train/rank_training.h"

namespace gneiss {
namespace {

using ::testing::HasSubstr;
using testing::RankModel;

using testing::count;
using testing::data_with_scores;
using testing::device_exchange;
using testing::driver_for;
using testing::expect_same_training;
using testing::train_alone;
using testing::train_on;
using testing::Trained;

std::vector<testing::AwkwardOptions> awkward_options() {
  return {
      {.nodes = 40},
      {.nodes = 40, .weighted = false},
      {.nodes = 41, .weighted = false, .sparse_features = true},
      {.nodes = 40, .features = 6, .classes = 4, .labels = data::LabelKind::kMulti},
  };
}

TEST(Ranks, TrainAsOneRankDoes) {
  std::vector<int> counts = {1, 2, 3, 4, 8};
  for (const testing::AwkwardOptions& data : awkward_options()) {
    for (const RankModel& model : testing::rank_models()) {
      const Trained alone = train_alone(data, model);
      for (const int ranks : counts) {
        SCOPED_TRACE(fmt::format("{} on {} ranks, {} nodes, weighted {}, sparse {}", model.what, ranks, data.nodes,
                                 data.weighted, data.sparse_features));
        expect_same_training(train_on(ranks, data, model), alone);
      }
    }
    counts = {3};  // on the first data all, on others one
  }
}

/// Ranks that sum edges from own nodes while rows of ghosts are on their way. Attention waits for all rows.
TEST(Ranks, TrainAsOneRankDoesWithOwnEdgesFirst) {
  const train::RowExchange own_first = {.how = exchange::Exchange::kStream};
  std::vector<int> counts = {2, 3, 4, 8};
  for (const testing::AwkwardOptions& data : awkward_options()) {
    for (const RankModel& model : testing::rank_models()) {
      const Trained alone = train_alone(data, model);
      for (const int ranks : counts) {
        SCOPED_TRACE(fmt::format("{} on {} ranks, {} nodes, weighted {}, sparse {}", model.what, ranks, data.nodes,
                                 data.weighted, data.sparse_features));
        const Trained together = train_on(ranks, data, model, 1, own_first);
        expect_same_training(together, alone);
        if (ranks == 3) {
          EXPECT_EQ(train_on(ranks, data, model, 2 * ranks, own_first).weights, together.weights);
        }
        const bool attends = model.name == "gat";
        const bool sums = std::any_of(together.plan.program.ops.begin(), together.plan.program.ops.end(),
                                      [](const ir::Op& op) { return op.attrs.text("exchange", "") == "stream"; });
        EXPECT_EQ(sums, !attends && model.name != "mlp");
      }
    }
    counts = {3};  // on the first data all, on others one
  }
}

TEST(Ranks, GradientsAreThoseOfOneRankWithOwnEdgesFirst) {
  for (const testing::AwkwardOptions& data : awkward_options()) {
    const data::Dataset dataset = testing::awkward_dataset(data);
    for (const RankModel& model : testing::rank_models()) {
      const train::SessionOptions options = testing::rank_options(model, dataset);
      const testing::Step alone = testing::step_alone(dataset, options);
      const testing::Step together = testing::step_on_ranks(
          dataset, options, 3, [](train::RankData* here) { here->part.exchange = exchange::Exchange::kStream; });
      EXPECT_LT(testing::difference(alone, together), 1e-9) << model.what;
    }
  }
}

/// Ends of models are computed on the rows of the loss alone, on ranks too; some have none of them.
TEST(Ranks, MayHaveNoTrainingNodes) {
  const auto few = [] {
    data::Dataset dataset = data_with_scores({.nodes = 40});
    while (dataset.split.train.size() > 8) {
      dataset.split.val.push_back(dataset.split.train.back());
      dataset.split.train.pop_back();
    }
    std::sort(dataset.split.val.begin(), dataset.split.val.end());
    return dataset;
  };
  ASSERT_LT(few().split.train.back(), partition::contiguous(few().graph.offsets(), 4)[3]) << "the last rank has none";
  const auto takes_rows = [](const Trained& trained) {
    return std::any_of(trained.plan.program.graphs.begin(), trained.plan.program.graphs.end(),
                       [](const ir::GraphDef& graph) { return graph.origin == ir::GraphOrigin::kLossRows; });
  };
  int taken = 0;
  for (const RankModel& model : testing::rank_models()) {
    SCOPED_TRACE(model.what);
    const Trained alone = train_alone(few(), model);
    const Trained together = train_on(4, few(), model);
    expect_same_training(together, alone);
    EXPECT_EQ(takes_rows(together), takes_rows(alone));
    taken += takes_rows(together) ? 1 : 0;
  }
  EXPECT_GT(taken, 3);
}

TEST(Ranks, TrainAsOneRankDoesHoweverNodesAreDealtOut) {
  const testing::AwkwardOptions data = {.nodes = 41};
  for (const RankModel& model : testing::rank_models()) {
    const Trained alone = train_alone(data, model);
    for (const char* partition : {"degree", "stream", "clusters", "auto"}) {
      SCOPED_TRACE(model.what + " " + partition);
      expect_same_training(train_on(3, data, model, 1, {}, partition), alone);
    }
  }
}

TEST(Ranks, GradientsAreThoseOfOneRank) {
  for (const testing::AwkwardOptions& data : awkward_options()) {
    const data::Dataset dataset = testing::awkward_dataset(data);
    for (const RankModel& model : testing::rank_models()) {
      const train::SessionOptions options = testing::rank_options(model, dataset);
      const testing::Step alone = testing::step_alone(dataset, options);
      for (const int ranks : {2, 3, 5}) {
        const testing::Step together = testing::step_on_ranks(dataset, options, ranks);
        EXPECT_LT(testing::difference(alone, together), 1e-9) << model.what << " on " << ranks << " ranks";
      }
    }
  }
}

TEST(Ranks, MayBeMoreThanThereAreNodes) {
  const testing::AwkwardOptions data = {.nodes = 14};
  for (const RankModel& model : testing::rank_models()) {
    SCOPED_TRACE(model.what);
    expect_same_training(train_on(17, data, model), train_alone(data, model));
  }
}

TEST(Ranks, GiveTheSameBitsAgainAndOnAnyNumberOfThreads) {
  const testing::AwkwardOptions data = {.nodes = 40};
  for (const RankModel& model : testing::rank_models()) {
    const Trained first = train_on(3, data, model);
    EXPECT_EQ(train_on(3, data, model).weights, first.weights) << model.what;
    EXPECT_EQ(train_on(3, data, model, 6).weights, first.weights) << model.what;
  }
}

/// Devices fetch the rows that ranks are sent, and add them in the same order.
TEST(Devices, GiveTheBitsOfRanks) {
  for (const testing::AwkwardOptions& data : awkward_options()) {
    for (const RankModel& model : testing::rank_models()) {
      for (const int devices : {2, 5}) {
        SCOPED_TRACE(fmt::format("{} on {} devices, weighted {}, sparse {}", model.what, devices, data.weighted,
                                 data.sparse_features));
        const Trained ranks = train_on(devices, data, model);
        EXPECT_EQ(train_on(devices, data, model, 1, {.fetched = true, .in_order = false}).weights, ranks.weights);
      }
    }
  }
}

std::int64_t sums_by_exchange(const ir::Plan& plan) {
  return std::count_if(plan.program.ops.begin(), plan.program.ops.end(),
                       [](const ir::Op& op) { return op.kind == ir::OpKind::spmm && op.attrs.has("exchange"); });
}

/// Whatever the exchange, devices train as one device does, twice to the bit.
TEST(Devices, TrainByAnyExchangeAsOneDeviceDoes) {
  std::vector<int> counts = {1, 2, 3, 4, 8};
  for (const testing::AwkwardOptions& data : awkward_options()) {
    for (const RankModel& model : testing::rank_models()) {
      const Trained alone = train_alone(data, model);
      for (const int devices : counts) {
        for (const auto how : {exchange::Exchange::kHalo, exchange::Exchange::kStream, exchange::Exchange::kFine}) {
          if (how == exchange::Exchange::kHalo && devices > 3) continue;  // as ranks, in another order
          SCOPED_TRACE(fmt::format("{} on {} devices by {}, weighted {}, sparse {}", model.what, devices,
                                   exchange::name_of(how), data.weighted, data.sparse_features));
          const Trained together = train_on(devices, data, model, 1, device_exchange(how));
          expect_same_training(together, alone);
          if (devices != 3) continue;
          EXPECT_EQ(train_on(devices, data, model, 6, device_exchange(how)).weights, together.weights);
          if (how == exchange::Exchange::kHalo) continue;
          const bool sums = model.name != "gat" && model.name != "mlp";
          EXPECT_EQ(sums_by_exchange(together.plan) > 0, sums) << "sums take up rows as they come";
        }
      }
    }
    counts = {3};
  }
}

TEST(Devices, GiveTheSameBitsOnASlowLink) {
  const testing::AwkwardOptions data = {.nodes = 40};
  const RankModel model = testing::rank_models().front();
  for (const auto how : {exchange::Exchange::kHalo, exchange::Exchange::kStream, exchange::Exchange::kFine}) {
    train::RowExchange slow = device_exchange(how);
    const Trained fast = train_on(3, data, model, 1, slow);
    slow.link = {.seconds = 2e-4, .bytes_per_second = 1e7};
    EXPECT_EQ(train_on(3, data, model, 3, slow).weights, fast.weights) << exchange::name_of(how);
  }
}

TEST(Devices, MayBeMoreThanThereAreNodes) {
  const testing::AwkwardOptions data = {.nodes = 14};
  const RankModel model = testing::rank_models().front();
  for (const auto how : {exchange::Exchange::kHalo, exchange::Exchange::kStream, exchange::Exchange::kFine})
    expect_same_training(train_on(17, data, model, 1, device_exchange(how)), train_alone(data, model));
}

/// One rank of several, as if the others were other processes.
class OneOfMany : public comm::Ranks {
 public:
  explicit OneOfMany(comm::Communicator* communicator) : communicator_(communicator) {}
  int count() const override { return communicator_->ranks(); }
  int here() const override { return 1; }
  int first() const override { return communicator_->rank(); }
  void run(const Body& body) override { body(*communicator_); }

 private:
  comm::Communicator* communicator_;
};

TEST(Ranks, ProcessesThatCutOtherwiseAreRefused) {
  const data::Dataset dataset = testing::awkward_dataset({.nodes = 40});
  const train::SessionOptions options = testing::rank_options({"gcn", "gcn", {}}, dataset);
  const auto cut_by = [&](const std::string& first, const std::string& second) {
    comm::loopback(2)->run([&](comm::Communicator& communicator) {
      OneOfMany process(&communicator);
      const std::string& method = communicator.rank() == 0 ? first : second;
      const train::RankTraining training(&process, testing::awkward_dataset({.nodes = 40}), options, {}, {method, {}});
    });
  };
  cut_by("stream", "stream");
  const Error error = testing::error_of([&] { cut_by("stream", "degree"); });
  EXPECT_EQ(error.code(), ErrorCode::kBadData);
  EXPECT_THAT(error.message(), HasSubstr("rank 1 has another cut of the graph (--partition) than rank 0"));
}

TEST(Ranks, ClassWeightsAndSmoothingAreThoseOfAllNodes) {
  const data::Dataset dataset = testing::awkward_dataset({.nodes = 40});
  train::SessionOptions options = testing::rank_options({"gcn", "gcn", {}}, dataset);
  options.class_weights = {0.2F, 3.0F, 1.0F};
  options.loss.label_smoothing = 0.1;
  const testing::Step alone = testing::step_alone(dataset, options);
  EXPECT_LT(testing::difference(alone, testing::step_on_ranks(dataset, options, 4)), 1e-9);
}

TEST(Ranks, EveryOrderOfProductsTrainsAlike) {
  const data::Dataset dataset = testing::awkward_dataset({.nodes = 40});
  for (const passes::OrderChoice order : {passes::OrderChoice::kTransformFirst, passes::OrderChoice::kAggregateFirst}) {
    for (const char* off : {"hoist_constants", "fuse_messages", "cse", "recompute"}) {
      train::SessionOptions options = testing::rank_options({"sage", "sage", {}}, dataset);
      options.passes.order = order;
      options.passes.disabled = {off};
      const testing::Step alone = testing::step_alone(dataset, options);
      EXPECT_LT(testing::difference(alone, testing::step_on_ranks(dataset, options, 3)), 1e-9) << off;
    }
  }
}

/// A layer of a user's: edges score themselves, sums go both ways, and a sum over out-edges comes back from ghosts.
constexpr const char* kOwnModel = R"(
layer both_ways(x: node[F], out: int) -> node[out] {
  z = linear(x, out) as "lin";
  gate = sigmoid(dot(z@dst, z@src));
  a = softmax(leaky_relu(dot(z@src, z@dst), 0.2)) over in_edges;
  m = sum(a * z@src * edge_weight) over in_edges + mean(gate * z@src) over in_edges;
  return m + sum(tanh(z@dst) * gate) over out_edges + max(z@src) over in_edges;
}

model own(hidden: int = 8) {
  h = tanh(both_ways(features, hidden) as "first");
  return both_ways(h, num_classes) as "second";
}
)";

TEST(Ranks, AUsersLayersTrainAlike) {
  const testing::TempFolder folder;
  write_file(folder.path() / "own.gneiss", kOwnModel);
  for (const bool weighted : {true, false}) {
    const testing::AwkwardOptions data = {.nodes = 40, .weighted = weighted};
    const data::Dataset dataset = testing::awkward_dataset(data);
    const RankModel model = {"own", (folder.path() / "own.gneiss").string(), {}};
    const train::SessionOptions options = testing::rank_options(model, dataset);
    const testing::Step alone = testing::step_alone(dataset, options);
    for (const int ranks : {2, 4})
      EXPECT_LT(testing::difference(alone, testing::step_on_ranks(dataset, options, ranks)), 1e-9) << ranks;
    expect_same_training(train_on(3, data, model), train_alone(data, model));
  }
}

TEST(Ranks, HoistedFirstLayersSendNothingInAnEpoch) {
  data::Dataset dataset = testing::awkward_dataset({.nodes = 40});
  train::SessionOptions options = testing::rank_options({"gcn", "gcn", {{"num_layers", std::int64_t{1}}}}, dataset);
  options.passes.order = passes::OrderChoice::kAggregateFirst;
  const std::vector<std::int64_t> starts = {0, 10, 40};
  comm::loopback(2)->run([&](comm::Communicator& communicator) {
    train::RankData here = train::cut_dataset(dataset, starts, communicator, options.loss.kind, {});
    train::Session<float> session(here.dataset, options, &here.part);
    session.set_up();
    const std::int64_t before = communicator.traffic().exchanges;
    EXPECT_GT(before, 0);
    session.forward_backward(1);
    session.update(0.01);
    EXPECT_EQ(communicator.traffic().exchanges, before);
  });
}

/// Where the whole graph is its own transpose, ghosts' rows are fetched on the way back too, and nothing walks
/// out-edges.
TEST(Ranks, OfASymmetricGraphFetchRowsOnTheWayBack) {
  for (const bool weighted : {false, true}) {
    data::Dataset dataset = testing::awkward_dataset({.nodes = 40, .weighted = weighted});
    dataset.graph = data::to_undirected(dataset.graph);
    for (const RankModel& model : testing::rank_models()) {
      SCOPED_TRACE(fmt::format("{}, weighted {}", model.what, weighted));
      const train::SessionOptions options = testing::rank_options(model, dataset);
      const testing::Step alone = testing::step_alone(dataset, options);
      for (const int ranks : {2, 3})
        EXPECT_LT(testing::difference(alone, testing::step_on_ranks(dataset, options, ranks)), 1e-9);
    }
    const auto plan_with = [&](const RankModel& model, const std::vector<std::string>& off) {
      train::SessionOptions options = testing::rank_options(model, dataset);
      options.passes.disabled = {"loss_rows"};  // edges into the loss's rows alone are no symmetric graph
      options.passes.disabled.insert(off.begin(), off.end());
      std::vector<ir::Plan> plans(3);
      const std::vector<std::int64_t> starts = partition::contiguous(dataset.graph.offsets(), 3);
      comm::loopback(3)->run([&](comm::Communicator& communicator) {
        train::RankData here = train::cut_dataset(dataset, starts, communicator, options.loss.kind, {});
        plans[static_cast<std::size_t>(communicator.rank())] =
            train::make_blueprint(here.dataset, options, sizeof(float), &here.part).plan;
      });
      return plans[1];
    };
    const language::ArgValue three = std::int64_t{3};
    const language::ArgValue hidden = std::int64_t{16};
    for (const RankModel& model : {RankModel{"gcn", "gcn", {{"num_layers", three}, {"dropout", 0.0}}},
                                   RankModel{"gat", "gat", {{"hidden_channels", hidden}, {"dropout", 0.0}}},
                                   RankModel{"gat, gated", "gat", {{"hidden_channels", hidden}, {"dropout", 0.4}}}}) {
      SCOPED_TRACE(model.what);
      const ir::Plan fetched = plan_with(model, {});
      EXPECT_EQ(count(fetched.program, {ir::OpKind::halo_add, ir::OpKind::halo_add_start}), 0);
      for (const ir::GraphUse& use : fetched.graph_uses) EXPECT_FALSE(use.transpose);
      const ir::Plan sent = plan_with(model, {"use_symmetry"});
      EXPECT_GT(count(sent.program, {ir::OpKind::halo_add, ir::OpKind::halo_add_start}), 0);
    }
  }
}

/// And of the report of a cut, which counts rows for each pair of parts.
TEST(Ranks, BytesSentAreThoseOfThePlan) {
  const data::Dataset dataset = testing::awkward_dataset({.nodes = 40});
  const train::SessionOptions options =
      testing::rank_options({"sage", "sage", {{"num_layers", std::int64_t{3}}}}, dataset);
  const std::vector<std::int64_t> starts = {0, 4, 20, 40};
  const std::vector<partition::PartTraffic> report =
      partition::part_traffic(dataset.graph, partition::owners_of(starts), 3);
  comm::loopback(3)->run([&](comm::Communicator& communicator) {
    train::RankData here = train::cut_dataset(dataset, starts, communicator, options.loss.kind, {});
    const auto rank = static_cast<std::size_t>(communicator.rank());
    std::int64_t reported = 0;
    for (std::size_t p = 0; p < report.size(); ++p) {
      EXPECT_EQ(here.part.halo.receive_at[p + 1] - here.part.halo.receive_at[p], report[rank].halo_rows[p]);
      reported += report[p].halo_rows[rank];
    }
    EXPECT_EQ(here.part.halo.sends(), reported);
    train::Session<float> session(here.dataset, options, &here.part);
    session.set_up();
    std::int64_t planned = 0;
    const ir::Program& program = session.plan().program;
    for (const ir::Op& op : program.ops) {
      if (op.phase != ir::Phase::kForward && op.phase != ir::Phase::kBackward) continue;
      const std::int64_t row = op.inputs.empty() ? 0 : program.type(op.inputs[0]).cols * std::int64_t{sizeof(float)};
      if (op.kind == ir::OpKind::halo_start) planned += here.part.halo.sends() * row;
      if (op.kind == ir::OpKind::halo_add_start) planned += here.part.halo.ghosts * row;
    }
    const std::int64_t before = communicator.traffic().exchanged_bytes;
    session.forward_backward(1);
    EXPECT_EQ(communicator.traffic().exchanged_bytes - before, planned);
    EXPECT_GT(planned, 0);
  });
}

TEST(Ranks, WhatOnlyTheWholeGraphCanComputeIsRefused) {
  ir::Program program;
  program.node_sets.push_back({"nodes", 40});
  program.graphs.push_back({"g", ir::GraphOrigin::kGiven, -1, 0, 0, 100, false, false});
  ir::Builder builder(&program);
  const ir::ValueId weights = builder.add(ir::OpKind::edge_weight, {}, {{"graph", std::int64_t{0}}});
  builder.set_location({.line = 7});
  builder.add(ir::OpKind::segment_reduce, {weights},
              {{"graph", std::int64_t{0}}, {"fn", std::string("max")}, {"side", std::string("src")}}, true);
  const Error error = testing::error_of(
      [&] { passes::distribute(program, {.ranks = 2, .owned = 20, .ghosts = 3, .sends = 2, .edges = {50}}); });
  EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  EXPECT_THAT(error.message(), HasSubstr("segment_reduce cannot be computed on several ranks"));
  EXPECT_EQ(error.where(), "line 7 of the model");
}

TEST(Ranks, EndTogetherWhenTheLossIsNoNumber) {
  testing::AwkwardOptions data = {.nodes = 40};
  data::Dataset dataset = data_with_scores(data);
  dataset.features.dense[5] = INFINITY;
  const data::Split split = dataset.split;
  const std::unique_ptr<comm::Ranks> world = comm::loopback(3);
  const train::SessionOptions options = testing::rank_options({"gcn", "gcn", {}}, dataset);
  train::RankTraining training(world.get(), std::move(dataset), options);
  const train::FullGraphOptions driver = driver_for(training.dataset());
  epochs::Evaluator evaluator(driver.metric, training.dataset().labels);
  std::vector<float> weights(training.session().snapshot_size());
  const Error error = testing::error_of([&] { training.run(split, driver, evaluator, 5, {}, weights); });
  EXPECT_EQ(error.code(), ErrorCode::kNumeric);
  EXPECT_THAT(error.message(), HasSubstr("the training loss is NaN"));
}

}  // namespace
}  // namespace gneiss
