// Devices by halo beside one device: aggregations have the same bits, forward and back.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "comm/loopback.h"
#include "data/preprocess.h"
#include "epochs/metrics.h"
#include "graph/graph.h"
#include "partition/contiguous.h"
#include "runtime/device.h"
#include "support/awkward_graph.h"
#include "support/data_fixtures.h"
#include "support/rank_models.h"
#include "support/trained_ranks.h"
#include "train/full_graph.h"
#include "train/rank_training.h"

namespace gneiss {
namespace {

using testing::count;
using testing::data_with_scores;
using testing::device_exchange;
using testing::driver_for;
using testing::RankModel;
using testing::train_alone;
using testing::train_on;
using testing::Trained;

/// Rows of a table, one for each node, summed over edges: each gradient of the table comes from one node alone, so that
/// nothing but aggregations is added up, on one device as on several.
constexpr const char* kTable = R"(
layer table(x: node[F], out: int) -> node[out] {
  param W: [F, out] = glorot;
  return x * W;
}
layer hop(x: node[F]) -> node[F] {
  w = edge_weight;
  return sum(w * x@src) over in_edges;
}
layer average(x: node[F]) -> node[F] {
  return mean(x@src) over in_edges;
}
layer normalized(x: node[F]) -> node[F] {
  graph = add_self_loops(graph);
  w = edge_weight;
  s = rsqrt(sum(w) over in_edges);
  return sum(s@src * w * s@dst * x@src) over in_edges;
}
model hops() {
  h = relu(table(features, num_classes));  // no sum may go past it: features summed over edges would be a constant
  h = relu(hop(h)) + normalized(h);
  h = hop(h) + h + average(h);  // two gradients of the same rows come back, and one beside
  return hop(h + average(h));
}
)";

/// The first nodes have an edge from every other, `others` so many each. Of all rows the mean has 64 edges and more, of
/// a device's it has fewer or many more.
struct Crowd {
  NodeId crowded = 0;  ///< nodes
  NodeId others = 0;   ///< edges
};

graph::Graph crowded_graph(const Crowd& crowd) {
  constexpr NodeId kNodes = 400;
  std::vector<NodeId> src;
  std::vector<NodeId> dst;
  for (NodeId v = 0; v < kNodes; ++v) {
    const NodeId edges = v < crowd.crowded ? kNodes - 1 : crowd.others;
    for (NodeId k = 1; k <= edges; ++k) {
      src.push_back((v + k) % kNodes);
      dst.push_back(v);
    }
  }
  std::vector<float> weight(src.size());
  for (std::size_t k = 0; k < weight.size(); ++k) weight[k] = 0.5F + static_cast<float>(k * 37 % 101) / 101;
  return graph::build_graph(
      {Buffer<NodeId>::copy_of(src), Buffer<NodeId>::copy_of(dst), Buffer<float>::copy_of(weight)}, kNodes);
}

/// A feature for each node; of training nodes each part has a power of two, and so have all: then a share of the loss
/// is taken without rounding.
data::Dataset one_hot_dataset(int devices, bool undirected, const std::optional<Crowd>& crowd = {}) {
  std::optional<graph::Graph> crowded;
  if (crowd) crowded = crowded_graph(*crowd);
  data::Dataset dataset = data_with_scores({.nodes = crowded ? crowded->num_nodes() : 64});
  if (crowded) dataset.graph = std::move(*crowded);
  if (undirected) dataset.graph = data::to_undirected(dataset.graph);
  EXPECT_EQ(dataset.graph.symmetric(), undirected);
  const std::int64_t n = dataset.num_nodes();
  dataset.features.cols = n;
  dataset.features.dense = Buffer<float>::zeros(static_cast<std::size_t>(n * n));
  for (std::int64_t v = 0; v < n; ++v) dataset.features.dense[static_cast<std::size_t>(v * n + v)] = 1;
  const std::vector<std::int64_t> starts = partition::contiguous(dataset.graph.offsets(), devices);
  dataset.split = {};
  for (int p = 0; p < devices; ++p) {
    const bool for_first = p + 1 == devices && starts[1] == 0;  // the first of 8 may have no node
    const std::int64_t trains = (p + 2 == devices && devices == 3) || for_first ? 2 : 1;  // 1, 2, 1 of 3 devices
    for (std::int64_t v = starts[static_cast<std::size_t>(p)]; v < starts[static_cast<std::size_t>(p) + 1]; ++v) {
      const bool train = v < starts[static_cast<std::size_t>(p)] + trains;
      (train        ? dataset.split.train
       : v % 2 == 0 ? dataset.split.val
                    : dataset.split.test)
          .push_back(static_cast<NodeId>(v));
    }
  }
  return dataset;
}

RankModel table_model(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "hops.gneiss";
  write_file(file, kTable);
  return {"hops", file.string(), {}, {"loss_rows"}};  // the edges into some rows alone are no symmetric graph
}

/// The same with attention, whose scores are rows of tables too. `spread`: how far apart they lie.
constexpr const char* kAttention = R"(
layer table(x: node[F], out: int) -> node[out] {
  param W: [F, out] = glorot;
  return x * W;
}
layer attend(z: node[F], s: node[H], t: node[H], p: float) -> node[F] {
  a = dropout(softmax(leaky_relu(s@src + t@dst, 0.2)) over in_edges, p);
  return sum(a * heads(z, width(s))@src) over in_edges;
}
model attends(heads: int = 4, p: float = 0.0, spread: float = 1.0) {
  s = spread * table(features, heads);
  t = table(features, heads);
  h = attend(table(features, heads * num_classes), s, t, p);
  h = attend(relu(h), spread * table(features, heads), table(features, heads), p);
  return mean_heads(h, heads);
}
)";

/// Heads in vectors, near enough to each other for a bound and too far apart; heads that are taken one by one; gates.
std::vector<RankModel> attention_models(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "attends.gneiss";
  write_file(file, kAttention);
  const auto with = [&](std::int64_t heads, double p, double spread) {
    return RankModel{fmt::format("{} heads, dropout {}, spread {}", heads, p, spread),
                     file.string(),
                     {{"heads", heads}, {"p", p}, {"spread", spread}},
                     {"loss_rows"}};
  };
  return {with(4, 0, 1), with(1, 0, 1), with(8, 0, 10), with(4, 0, 100), with(3, 0, 1), with(4, 0.5, 1)};
}

/// Aggregations go along in-edges both ways: on the way back along the graph turned round, which is the graph itself or
/// the out-edges that a device was cut with. In the order of the whole graph's edges they have the bits of one device,
/// and all weights with them.
TEST(Devices, AddWhatOneDeviceAddsToTheBit) {
  const testing::TempFolder folder;
  const RankModel model = table_model(folder.path());
  for (const bool undirected : {true, false}) {
    for (const int devices : {2, 3, 4, 8}) {
      SCOPED_TRACE(fmt::format("{} devices, undirected {}", devices, undirected));
      const Trained alone = train_alone(one_hot_dataset(devices, undirected), model);
      const auto trained = [&](const train::RowExchange& exchange) {
        return train_on(devices, one_hot_dataset(devices, undirected), model, 2, exchange);
      };
      const Trained together = trained({.fetched = true});
      EXPECT_EQ(together.weights, alone.weights);
      EXPECT_EQ(count(together.plan.program, {ir::OpKind::halo_add, ir::OpKind::halo_add_start}), 0);
      EXPECT_NE(trained({.fetched = true, .in_order = false}).weights, alone.weights) << "another order has other bits";
    }
  }
}

TEST(Devices, AttendToTheBitAsOneDeviceDoes) {
  const testing::TempFolder folder;
  for (const RankModel& model : attention_models(folder.path())) {
    for (const bool undirected : {true, false}) {
      for (const int devices : {2, 3, 4, 8}) {
        SCOPED_TRACE(fmt::format("{} on {} devices, undirected {}", model.what, devices, undirected));
        const Trained alone = train_alone(one_hot_dataset(devices, undirected), model);
        const auto trained = [&](const train::RowExchange& exchange) {
          return train_on(devices, one_hot_dataset(devices, undirected), model, 2, exchange);
        };
        const Trained together = trained({.fetched = true});
        EXPECT_EQ(together.weights, alone.weights);
        EXPECT_EQ(count(together.plan.program, {ir::OpKind::attention_grad}), 2);
        EXPECT_EQ(count(together.plan.program, {ir::OpKind::halo_add, ir::OpKind::halo_add_start}), 0);
        if (devices != 3) continue;
        EXPECT_NE(trained({.fetched = true, .in_order = false}).weights, alone.weights) << "another order";
      }
    }
  }
}

/// Of weights as they are at the start.
void expect_logits_of_one(int devices, const RankModel& model) {
  const data::Dataset dataset = one_hot_dataset(devices, false);
  const train::SessionOptions options = testing::rank_options(model, dataset);
  train::Session<float> alone(dataset, options);
  alone.reset(5);
  alone.evaluate();
  const std::unique_ptr<comm::Ranks> world = comm::loopback(devices);
  train::RankTraining training(world.get(), one_hot_dataset(devices, false), options, {.fetched = true});
  train::FullGraphOptions driver = driver_for(training.dataset());
  driver.epochs = 1;
  driver.lr = 0;
  epochs::Evaluator evaluator(driver.metric, training.dataset().labels);
  std::vector<float> weights(training.session().snapshot_size());
  training.run(training.dataset().split, driver, evaluator, 5, {}, weights);
  const std::vector<std::int64_t>& names = training.dataset().orig_id;
  for (std::int64_t v = 0; v < dataset.num_nodes(); ++v) {
    const std::int64_t name = names.empty() ? v : names[static_cast<std::size_t>(v)];
    for (std::int64_t c = 0; c < dataset.labels.num_classes; ++c)
      ASSERT_EQ(training.session().logits().at(v, c), alone.logits().at(name, c)) << "node " << name;
  }
}

TEST(Devices, GiveTheLogitsOfOneDeviceToTheBit) {
  const testing::TempFolder folder;
  std::vector<RankModel> models = attention_models(folder.path());
  models.push_back(table_model(folder.path()));
  for (const RankModel& model : models) {
    for (const int devices : {2, 3, 4, 8}) {
      SCOPED_TRACE(fmt::format("{} on {} devices", model.what, devices));
      expect_logits_of_one(devices, model);
    }
  }
}

/// Maxima and minima, with and without weights, of rows of a table. Neighbours of a hub have rows alike: what is taken
/// of those has ties.
constexpr const char* kExtremes = R"(
layer table(x: node[F], out: int) -> node[out] {
  param W: [F, out] = glorot;
  return x * W;
}
layer biggest(x: node[F]) -> node[F] {
  return max(x@src) over in_edges;
}
layer smallest(x: node[F]) -> node[F] {
  return min(x@src) over in_edges;
}
layer heaviest(x: node[F]) -> node[F] {
  w = edge_weight;
  return max(w * x@src) over in_edges;
}
model extremes() {
  h = biggest(table(features, num_classes));
  h = h + heaviest(h);
  h = relu(h - smallest(h));
  return heaviest(h) - biggest(biggest(h));
}
)";

RankModel extremes_model(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "extremes.gneiss";
  write_file(file, kExtremes);
  return {"extremes", file.string(), {}, {"loss_rows"}};
}

/// Who won is known where the edge ends, by its place there: others are told ids. Of equal values the first in the data
/// set's order wins, on one device as on several.
TEST(Devices, SendMaximaBackToTheBitAsOneDeviceDoes) {
  const testing::TempFolder folder;
  const RankModel model = extremes_model(folder.path());
  int other_bits = 0;
  for (const bool undirected : {true, false}) {
    for (const int devices : {2, 3, 4, 8}) {
      SCOPED_TRACE(fmt::format("{} devices, undirected {}", devices, undirected));
      const Trained alone = train_alone(one_hot_dataset(devices, undirected), model);
      const auto trained = [&](const train::RowExchange& exchange) {
        return train_on(devices, one_hot_dataset(devices, undirected), model, 2, exchange);
      };
      const Trained together = trained({.fetched = true});
      EXPECT_EQ(together.weights, alone.weights);
      EXPECT_GT(count(together.plan.program, {ir::OpKind::arg_sources}), 0);
      EXPECT_EQ(count(together.plan.program, {ir::OpKind::halo_add, ir::OpKind::halo_add_start}), 0);
      other_bits += trained({.fetched = true, .in_order = false}).weights != alone.weights ? 1 : 0;
    }
  }
  EXPECT_GT(other_bits, 0) << "another order has other bits, where a row has winners in several places";
}

/// On emulated cards by halo, with the split of a training on `devices`.
Trained train_on_cards(int cards, int devices, const RankModel& model, bool undirected,
                       const std::optional<Crowd>& crowd) {
  train::RowExchange exchange = {.fetched = true};
  for (int p = 0; p < cards; ++p) exchange.devices.push_back(runtime::make_emulated_device());
  return train_on(cards, one_hot_dataset(devices, undirected, crowd), model, cards, exchange, "contiguous", 3);
}

void expect_bits_of_one_card(const RankModel& model, int devices, bool undirected,
                             const std::optional<Crowd>& crowd = {}) {
  SCOPED_TRACE(fmt::format("{} on {} devices, undirected {}", model.what, devices, undirected));
  const Trained together = train_on_cards(devices, devices, model, undirected, crowd);
  EXPECT_EQ(together.weights, train_on_cards(1, devices, model, undirected, crowd).weights);
  EXPECT_EQ(count(together.plan.program, {ir::OpKind::halo_add, ir::OpKind::halo_add_start}), 0);
}

std::vector<RankModel> aggregating_models(const std::filesystem::path& folder) {
  std::vector<RankModel> models = {table_model(folder), extremes_model(folder)};
  for (RankModel& model : attention_models(folder)) models.push_back(std::move(model));
  return models;
}

TEST(DevicesOnCards, AddAndSendBackToTheBitAsOneDoes) {
  const testing::TempFolder folder;
  for (const RankModel& model : aggregating_models(folder.path())) {
    for (const bool undirected : {true, false}) {
      for (const int devices : {2, 3, 8}) expect_bits_of_one_card(model, devices, undirected);
    }
  }
}

/// By their own means devices would share out the edges of a row each in another way.
TEST(DevicesOnCards, ShareOutTheEdgesOfARowByTheWholeGraph) {
  const testing::TempFolder folder;
  std::vector<RankModel> models = attention_models(folder.path());
  models.resize(1);
  models.push_back(table_model(folder.path()));
  for (const RankModel& model : models) {
    expect_bits_of_one_card(model, 2, true, Crowd{12, 24});
    expect_bits_of_one_card(model, 2, false, Crowd{56, 16});
  }
}

/// Of the edges into the rows of the loss alone gradients are partial sums; here each is one number or the sum of two,
/// a training node of either device's, which has the same bits in any order.
TEST(DevicesOnCards, SumIntoTheRowsOfTheLossToTheBitAsOneDoes) {
  const testing::TempFolder folder;
  const std::filesystem::path file = folder.path() / "last.gneiss";
  write_file(file, R"(
layer table(x: node[F], out: int) -> node[out] {
  param W: [F, out] = glorot;
  return x * W;
}
layer hop(x: node[F]) -> node[F] {
  return sum(x@src) over in_edges;
}
model last() {
  return hop(relu(table(features, num_classes)));
}
)");
  const RankModel model = {"last", file.string(), {}};
  const Trained together = train_on_cards(2, 2, model, false, Crowd{20, 24});
  const std::vector<ir::GraphDef>& graphs = together.plan.program.graphs;
  EXPECT_TRUE(std::any_of(graphs.begin(), graphs.end(),
                          [](const auto& graph) { return graph.origin == ir::GraphOrigin::kIntoLossRows; }));
  EXPECT_EQ(together.weights, train_on_cards(1, 2, model, false, Crowd{20, 24}).weights);
}

/// Without ties: linear layers of features that differ, in f64.
constexpr const char* kExtremesOfLayers = R"(
layer extremes(x: node[F], out: int) -> node[out] {
  z = linear(x, out) as "lin";
  return max(edge_weight * z@src) over in_edges + min(z@src) over in_edges + tanh(z);
}
model two(hidden: int = 8) {
  h = tanh(extremes(features, hidden) as "first");
  return extremes(h, num_classes) as "second";
}
)";

/// One step with this number added to the ids of the nodes.
void expect_gradients_of_maxima(const RankModel& model, std::int64_t first_id) {
  for (const bool weighted : {false, true}) {
    data::Dataset dataset = testing::awkward_dataset({.nodes = 40, .weighted = weighted});
    dataset.graph = data::to_undirected(dataset.graph);
    dataset.orig_id.clear();
    for (std::int64_t v = 0; v < dataset.num_nodes(); ++v) dataset.orig_id.push_back(first_id + (v ^ 5));
    const train::SessionOptions options = testing::rank_options(model, dataset);
    const testing::Step alone = testing::step_alone(dataset, options);
    for (const int devices : {2, 3}) {
      SCOPED_TRACE(fmt::format("{} on {}, weighted {}", model.what, devices, weighted));
      EXPECT_LT(testing::difference(alone, testing::step_on_ranks(dataset, options, devices)), 1e-9);
      for (const auto how : {exchange::Exchange::kHalo, exchange::Exchange::kStream, exchange::Exchange::kFine}) {
        const testing::Step step = testing::step_on_devices(dataset, options, devices, device_exchange(how));
        EXPECT_LT(testing::difference(alone, step), 1e-9) << exchange::name_of(how);
      }
    }
    bool named = false;
    const auto look = [&](int rank, train::Session<double>* session) {
      if (rank == 0) named = count(session->plan().program, {ir::OpKind::arg_sources}) > 0;
    };
    testing::step_on_ranks(dataset, options, 2, {}, look);
    EXPECT_EQ(named, first_id == 0);
  }
}

TEST(Devices, GradientsOfMaximaAreThoseOfOneDeviceByAnyExchange) {
  const testing::TempFolder folder;
  const std::filesystem::path file = folder.path() / "two.gneiss";
  write_file(file, kExtremesOfLayers);
  const RankModel sage = {
      "sage, max", "sage", {{"aggr", std::string("max")}, {"num_layers", std::int64_t{3}}}, {"loss_rows"}};
  for (const RankModel& model : {RankModel{"extremes", file.string(), {}, {"loss_rows"}}, sage}) {
    expect_gradients_of_maxima(model, 0);
    expect_gradients_of_maxima(model, std::int64_t{1} << 31);  // too large for indices: partial sums go back
  }
}

}  // namespace
}  // namespace gneiss
