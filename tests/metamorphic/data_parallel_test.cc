// Mini-batches on several devices: losses are those of one device on batches as large as all together, wherever rows of
// features lie, and what was read is what a recount says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/feature_file.h"
#include "data/load.h"
#include "data/preprocess.h"
#include "graph/reorder.h"
#include "minibatch/seeds.h"
#include "minibatch/workspace.h"
#include "support/data_fixtures.h"
#include "tiers/scorer.h"
#include "train/batches.h"
#include "train/session.h"

namespace gneiss {
namespace {

using ::gneiss::testing::error_of;
using ::testing::HasSubstr;

constexpr std::int64_t kBatch = 16;
constexpr std::uint64_t kSeed = 5;
constexpr int kEpochs = 3;

data::Dataset load(const char* spec = "dcsbm:nodes=400,classes=3") {
  data::Dataset dataset = data::load(spec, {});
  data::densify(std::int64_t{1} << 30, &dataset.features);
  return dataset;
}

struct How {
  int devices = 1;
  std::int64_t batch_size = kBatch;
  std::int64_t hot = 0;
  int threads = 2;
  std::vector<float> class_weights = {};
  double room = 1;               ///< of what is probed
  std::int64_t stop_after = -1;  ///< steps of the second epoch, and then anew from there
};

struct Trained {
  std::vector<double> losses;
  std::vector<float> weights;
  std::optional<train::ParallelEpoch> epoch;
  std::int64_t grown = 0;
  std::int64_t batches = 0;
};

Trained train_with(const data::Dataset& dataset, const char* model, const How& how) {
  train::SessionOptions options;
  options.model = model;
  options.threads = how.threads;
  options.seed = kSeed;
  options.class_weights = how.class_weights;
  options.loss.kind = train::default_loss(dataset.labels);
  options.passes.disabled = {"loss_rows"};
  train::Session<float> session(dataset, options);
  session.reset(kSeed);
  train::BatchOptions batch_options;
  batch_options.sampler.fanout = {3, 2};
  batch_options.batch_size = how.batch_size;
  batch_options.devices = how.devices;
  batch_options.hot_rows = how.hot;
  const auto make = [&] { return std::make_unique<train::BatchTraining>(&session, dataset, options, batch_options); };
  std::unique_ptr<train::BatchTraining> batches = make();
  if (how.room < 1) {
    minibatch::BatchShape room = batches->room();
    for (int level = 1; level <= room.hops; ++level)
      room.nodes[static_cast<std::size_t>(level)] = std::max<std::int64_t>(
          room.nodes[0],
          static_cast<std::int64_t>(how.room * static_cast<double>(room.nodes[static_cast<std::size_t>(level)])));
    batches->make_room(room);
  }
  batches->restart(kSeed);
  Trained result;
  for (int epoch = 1; epoch <= kEpochs; ++epoch) {
    if (epoch != 2 || how.stop_after < 0) {
      result.losses.push_back(batches->epoch(epoch, 0.01));
      continue;
    }
    epochs::StepSums done;
    batches->epoch(epoch, 0.01, {}, [&](const epochs::StepSums& sums) {
      done = sums;
      return sums.steps == how.stop_after;
    });
    EXPECT_EQ(done.steps, how.stop_after);
    batches = make();
    batches->restart(kSeed, epoch, done.steps);
    result.losses.push_back(batches->epoch(epoch, 0.01, done));
  }
  result.weights.resize(session.snapshot_size());
  session.save_snapshot(result.weights);
  if (batches->parallel() != nullptr) result.epoch = *batches->parallel();
  result.grown = batches->stats().grown;
  result.batches = batches->stats().batches;
  return result;
}

void expect_near(const Trained& got, const Trained& expected, const std::string& where) {
  ASSERT_EQ(got.losses.size(), expected.losses.size());
  for (std::size_t i = 0; i < got.losses.size(); ++i)
    EXPECT_NEAR(got.losses[i], expected.losses[i], 1e-5) << where << ", epoch " << i + 1;
}

TEST(DataParallel, DevicesTogetherAreOneBatchOfAllTheirSeeds) {
  const data::Dataset dataset = load();
  for (const char* model : {"sage", "gcn", "gat"}) {
    for (const int devices : {2, 3, 4}) {
      const Trained one = train_with(dataset, model, {.batch_size = kBatch * devices});
      const Trained all = train_with(dataset, model, {.devices = devices});
      expect_near(all, one, std::string(model) + " on " + std::to_string(devices));
      EXPECT_EQ(all.batches, one.batches * devices);
      ASSERT_TRUE(all.epoch.has_value());
      EXPECT_EQ(all.epoch->devices, devices);
    }
  }
  // Other batches give other losses: the comparison can fail.
  const Trained small = train_with(dataset, "sage", {});
  EXPECT_GT(std::abs(small.losses[2] - train_with(dataset, "sage", {.devices = 2}).losses[2]), 1e-4);
}

/// 13 training nodes in global batches of 12: the last has one seed, and two devices have none.
TEST(DataParallel, ALastBatchMayLeaveDevicesWithoutSeeds) {
  data::Dataset dataset = load();
  dataset.split.train.resize(13);
  const Trained one = train_with(dataset, "sage", {.batch_size = 12});
  const Trained three = train_with(dataset, "sage", {.devices = 3, .batch_size = 4});
  expect_near(three, one, "13 seeds");
  EXPECT_EQ(three.batches, 4);
}

TEST(DataParallel, ClassWeightsWeighTheParts) {
  const data::Dataset dataset = load();
  const std::vector<float> weights = {0.2F, 3, 1};
  const Trained one = train_with(dataset, "sage", {.batch_size = 3 * kBatch, .class_weights = weights});
  expect_near(train_with(dataset, "sage", {.devices = 3, .class_weights = weights}), one, "weights");
}

TEST(DataParallel, ManyLabelsANode) {
  const data::Dataset dataset = load("dcsbm:nodes=300,classes=4,multilabel=1");
  const Trained one = train_with(dataset, "sage", {.batch_size = 2 * kBatch});
  expect_near(train_with(dataset, "sage", {.devices = 2}), one, "labels");
}

/// The mean is over entries that have a label: devices with as many seeds weigh differently.
TEST(DataParallel, LabelsMayBeMissing) {
  data::Dataset dataset = load("dcsbm:nodes=300,classes=4,multilabel=1");
  const std::int64_t width = dataset.labels.num_classes;
  for (std::int64_t v = 0; v < dataset.num_nodes(); ++v)
    std::fill_n(dataset.labels.targets.data() + v * width, v % width, std::nanf(""));
  const Trained one = train_with(dataset, "sage", {.batch_size = 2 * kBatch});
  expect_near(train_with(dataset, "sage", {.devices = 2}), one, "labels");
}

TEST(DataParallel, ThreadsChangeNoBit) {
  const data::Dataset dataset = load();
  const Trained one = train_with(dataset, "gat", {.devices = 3, .threads = 1});
  const Trained many = train_with(dataset, "gat", {.devices = 3, .threads = 5});
  EXPECT_EQ(many.losses, one.losses);
  EXPECT_EQ(many.weights, one.weights);
}

TEST(DataParallel, TrainingsGoOnInTheMiddleOfAnEpoch) {
  const data::Dataset dataset = load();
  const Trained whole = train_with(dataset, "sage", {.devices = 2});
  // The optimizer stays in the session, as a checkpoint keeps it.
  const Trained halves = train_with(dataset, "sage", {.devices = 2, .stop_after = 3});
  EXPECT_EQ(halves.losses, whole.losses);
  EXPECT_EQ(halves.weights, whole.weights);
}

TEST(DataParallel, AllDevicesMakeRoomForALargerBatchOfOne) {
  const data::Dataset dataset = load();
  const Trained whole = train_with(dataset, "sage", {.devices = 3});
  const Trained grown = train_with(dataset, "sage", {.devices = 3, .room = 0.5});
  EXPECT_GT(grown.grown, 0);
  expect_near(grown, whole, "grown");
}

/// Rows of the last epoch by a plain walk over its parts: by reader, and by owner.
std::vector<tiers::TierTraffic> recount(const data::Dataset& given, const graph::Order& order,
                                        const tiers::TierMap& map, std::int64_t row_bytes) {
  minibatch::SamplerOptions options;
  options.fanout = {3, 2};
  const minibatch::Sampler<NodeId> sampler(minibatch::in_edges(given.graph), options);
  const minibatch::SeedOrder<NodeId> seeds(given.split.train, given.num_nodes(), {},
                                           {kBatch * map.devices, kSeed, true});
  const graph::Order position = graph::inverse_order(order);
  const auto workspace = sampler.make_workspace();
  minibatch::Slab slab;
  const auto epoch = seeds.epoch(kEpochs);
  std::vector<tiers::TierTraffic> read(static_cast<std::size_t>(map.devices));
  for (std::int64_t b = 0; b < seeds.batches_per_epoch(); ++b) {
    const auto all = seeds.batch(epoch, b);
    for (std::int64_t d = 0; d < map.devices; ++d) {
      const auto begin = static_cast<std::size_t>(std::ssize(all) * d / map.devices);
      const auto end = static_cast<std::size_t>(std::ssize(all) * (d + 1) / map.devices);
      if (begin == end) continue;
      sampler.sample({kSeed, kEpochs, b}, all.subspan(begin, end - begin), workspace.get(), &slab);
      tiers::TierTraffic& mine = read[static_cast<std::size_t>(d)];
      for (const NodeId v : minibatch::MiniBatch<NodeId>(slab).nodes()) {
        const tiers::Place place = place_of(map, position[static_cast<std::size_t>(v)]);
        tiers::TierCount& count = mine.tier[static_cast<std::size_t>(place.tier)];
        ++count.rows;
        count.bytes += row_bytes;
        count.pieces_32 += tiers::pieces_of(place.row, row_bytes, 32);
        count.pieces_128 += tiers::pieces_of(place.row, row_bytes, 128);
        if (place.tier != tiers::Tier::kPooled) continue;
        mine.pooled_bytes.resize(std::max(mine.pooled_bytes.size(), static_cast<std::size_t>(place.device) + 1));
        mine.pooled_bytes[static_cast<std::size_t>(place.device)] += row_bytes;
      }
    }
  }
  return read;
}

TEST(DataParallel, RowsThatDevicesKeepChangeNoBitAndAreCountedExactly) {
  const data::Dataset given = load();
  const tiers::BothEnds ends(given.graph, 2);
  minibatch::SamplerOptions sampler;
  sampler.fanout = {3, 2};
  tiers::HotRows by_score;
  by_score.by_heat = tiers::hot_order(tiers::inclusion_score(ends, given.split.train, kBatch, sampler, 2), {});
  const std::int64_t row_bytes = given.features.cols * std::int64_t{sizeof(float)};
  for (const int devices : {2, 3, 4}) {
    const Trained expected = train_with(given, "sage", {.devices = devices});
    for (const std::int64_t hot : {std::int64_t{1}, std::int64_t{20}, given.num_nodes()}) {
      by_score.count = std::min(given.num_nodes(), hot * devices);
      const graph::Order order = tiers::tier_order(by_score, graph::cluster_order(given.graph, 2));
      data::Dataset renamed = load();
      data::permute(order, 2, &renamed);
      const std::string where = std::to_string(devices) + " devices, " + std::to_string(hot) + " rows";
      const Trained got = train_with(renamed, "sage", {.devices = devices, .hot = hot});
      ASSERT_EQ(got.losses, expected.losses) << where;
      ASSERT_EQ(got.weights, expected.weights) << where;
      ASSERT_TRUE(got.epoch.has_value());
      EXPECT_EQ(got.epoch->tier_map.pooled, by_score.count);
      EXPECT_EQ(got.epoch->read, recount(given, order, got.epoch->tier_map, row_bytes)) << where;
    }
  }
}

/// Where things lie in a run.
struct Layout {
  std::int64_t devices = 1;
  std::int64_t hot = 0;    ///< rows of features a device keeps
  std::int64_t edges = 0;  ///< rows of the graph that all keep
  int links = 0;           ///< devices reach each other: rows are shared; they do not: each has copies; shared as fits
  bool in_file = false;    ///< rows that no device keeps
  int threads = 1;
};

std::vector<double> losses_of(const data::Dataset& dataset, const Layout& layout, tiers::TierMap* map) {
  train::SessionOptions options;
  options.model = "sage";
  options.threads = layout.threads;
  options.seed = kSeed;
  options.passes.disabled = {"loss_rows"};
  if (layout.in_file) options.feature_file = data::FeatureFile::of(dataset.features);
  EXPECT_EQ(options.feature_file != nullptr, layout.in_file);
  train::Session<float> session(dataset, options);
  session.reset(kSeed);
  schedule::Machine machine = schedule::machines().front();
  if (layout.links == 1) machine.peer_link = 0;
  train::BatchOptions batch_options;
  batch_options.sampler.fanout = {3, 2};
  batch_options.batch_size = kBatch;
  batch_options.devices = static_cast<int>(layout.devices);
  batch_options.hot_rows = layout.hot;
  batch_options.hot_edges = layout.edges;
  batch_options.device = {.profile = {}, .plan = {.choice = {schedule::Mode::kCoinFlip, 0.5}, .gbs = 2}};
  batch_options.device->machine = &machine;
  if (layout.links == 2 && layout.hot > 0) {
    batch_options.device->memory_bytes = 3200000;  // some 200 KB beside the training
    batch_options.hot_rows = train::kAsManyHotRowsAsFit;
    for (std::int64_t v = 0; v < dataset.num_nodes(); ++v) batch_options.heat.push_back(1 / static_cast<double>(v + 1));
  }
  train::BatchTraining batches(&session, dataset, options, batch_options);
  batches.restart(kSeed);
  *map = batches.tier_map();
  std::vector<double> losses;
  for (int epoch = 1; epoch <= 2; ++epoch) losses.push_back(batches.epoch(epoch, 0.01));
  return losses;
}

/// Sixteen runs in which any two of five choices meet in all ways: devices, hot rows, rows of the graph, links, and
/// place with threads. (An orthogonal array over the field of four.)
TEST(DataParallel, LossesAreTheSameWhereverThingsLie) {
  constexpr std::array<std::array<int, 4>, 2> kTimes = {{{0, 2, 3, 1}, {0, 3, 1, 2}}};  // 2 x and 3 x in that field
  const gneiss::testing::TempFolder folder;
  for (const char* type : {"f32", "bf16"}) {
    data::LoadOptions load_options;
    load_options.feature_dtype = type;
    const std::string path = (folder.path() / type).string();
    data::save(data::load("dcsbm:nodes=1200,classes=3,features=512,train=0.2", load_options), path);
    const data::Dataset given = data::load(path, load_options);
    const std::int64_t nodes = given.num_nodes();
    std::vector<std::vector<double>> expected;
    tiers::TierMap map;
    for (std::int64_t devices = 1; devices <= 4; ++devices)
      expected.push_back(losses_of(given, {.devices = devices, .threads = 2}, &map));
    EXPECT_NE(expected[0], expected[1]);
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) {
        const auto at = static_cast<std::size_t>(j);
        const int place = i ^ kTimes[1][at];
        const std::array<std::int64_t, 4> rows = {0, 1, nodes / 20, nodes};
        const Layout layout = {.devices = i + 1,
                               .hot = rows[at],
                               .edges = rows[static_cast<std::size_t>(i ^ j)],
                               .links = (i ^ kTimes[0][at]) % 3,
                               .in_file = place >= 2,
                               .threads = place % 2 == 0 ? 1 : 3};
        data::Dataset renamed = data::load(path, load_options);
        data::permute(graph::degree_order(given.graph), 2, &renamed,
                      {.features = layout.in_file ? data::Move::kToFile : data::Move::kInPlace, .readable = true});
        const std::string where = std::to_string(i) + " " + std::to_string(j) + " " + type;
        ASSERT_EQ(losses_of(renamed, layout, &map), expected[static_cast<std::size_t>(i)]) << where;
        if (layout.links != 2) {
          EXPECT_EQ(map.replicated + map.pooled, std::min(nodes, layout.hot * (layout.links == 1 ? 1 : layout.devices)))
              << where;
        } else if (layout.hot > 0) {
          EXPECT_GT(map.replicated + map.pooled, 0) << where;
        }
        EXPECT_EQ(map.host, layout.in_file ? 0 : nodes - map.replicated - map.pooled) << where;
      }
    }
  }
}

TEST(DataParallel, RunningStatisticsAreRefusedByName) {
  const data::Dataset dataset = load();
  train::SessionOptions options;
  options.model = "sage";
  options.model_args = {{"norm", language::ArgValue(std::string("batch"))}};
  train::Session<float> session(dataset, options);
  train::BatchOptions batches;
  batches.sampler.fanout = {3, 2};
  batches.devices = 2;
  const Error error = error_of([&] { train::BatchTraining(&session, dataset, options, batches); });
  EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  EXPECT_THAT(error.what(), HasSubstr("is a running statistic"));
}

}  // namespace
}  // namespace gneiss
