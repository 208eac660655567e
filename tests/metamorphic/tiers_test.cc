// Training with hot rows: whatever rows a device keeps and whichever route batches take, every loss and weight has the
// bits of the training without, and what was read is what a recount says.
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/load.h"
#include "data/preprocess.h"
#include "graph/reorder.h"
#include "minibatch/seeds.h"
#include "minibatch/workspace.h"
#include "tiers/scorer.h"
#include "train/batches.h"
#include "train/session.h"

namespace gneiss {
namespace {

constexpr const char* kData = "dcsbm:nodes=500,classes=3";
constexpr std::int64_t kBatch = 32;
constexpr std::uint64_t kSeed = 5;

data::Dataset load() {
  data::Dataset dataset = data::load(kData, {});
  data::densify(std::int64_t{1} << 30, &dataset.features);
  return dataset;
}

/// Nodes renamed so that `hot` of them come first, by a score, or within that by clusters.
graph::Order hot_first(const data::Dataset& dataset, std::int64_t hot, bool clusters) {
  const tiers::BothEnds ends(dataset.graph, 2);
  minibatch::SamplerOptions sampler;
  sampler.fanout = {3, 2};
  tiers::HotRows rows;
  rows.by_heat = tiers::hot_order(tiers::inclusion_score(ends, dataset.split.train, kBatch, sampler, 2), {});
  rows.count = hot;
  return tiers::tier_order(rows, clusters ? graph::cluster_order(dataset.graph, 2) : graph::Order());
}

struct Trained {
  std::vector<double> losses;
  std::vector<float> weights;
  train::RoutedEpoch epoch;
};

Trained train_with(const data::Dataset& dataset, const char* model, const schedule::Choice& choice, std::int64_t hot,
                   bool threads = false) {
  train::SessionOptions options;
  options.model = model;
  options.threads = 2;
  options.seed = kSeed;
  options.passes.disabled = {"loss_rows"};
  train::Session<float> session(dataset, options);
  train::BatchOptions batch_options;
  batch_options.sampler.fanout = {3, 2};
  batch_options.batch_size = kBatch;
  batch_options.device = {schedule::find_profile("uk-sage-b"), {.choice = choice, .gbs = 3, .seed = 3}, threads};
  batch_options.hot_rows = hot;
  train::BatchTraining batches(&session, dataset, options, batch_options);
  batches.restart(kSeed);
  Trained result;
  for (int epoch = 1; epoch <= 2; ++epoch) result.losses.push_back(batches.epoch(epoch, 0.01));
  EXPECT_EQ(batches.stats().grown, 0);  // a batch that is made anew is not counted twice, nor its hot rows
  result.weights.resize(session.snapshot_size());
  session.save_snapshot(result.weights);
  result.epoch = *batches.routed();
  return result;
}

/// Rows of the second epoch by a plain walk over its batches: hot ones and all.
std::pair<std::int64_t, std::int64_t> recount(const data::Dataset& given, const graph::Order& order, std::int64_t hot) {
  minibatch::SamplerOptions options;
  options.fanout = {3, 2};
  const minibatch::Sampler<NodeId> sampler(minibatch::in_edges(given.graph), options);
  const minibatch::SeedOrder<NodeId> seeds(given.split.train, given.num_nodes(), {}, {kBatch, kSeed, true});
  const graph::Order position = graph::inverse_order(order);
  const auto workspace = sampler.make_workspace();
  minibatch::Slab slab;
  const auto epoch = seeds.epoch(2);
  std::pair<std::int64_t, std::int64_t> rows = {0, 0};
  for (std::int64_t b = 0; b < seeds.batches_per_epoch(); ++b) {
    sampler.sample({kSeed, 2, b}, seeds.batch(epoch, b), workspace.get(), &slab);
    for (const NodeId v : minibatch::MiniBatch<NodeId>(slab).nodes()) {
      rows.first += position[static_cast<std::size_t>(v)] < hot ? 1 : 0;
      ++rows.second;
    }
  }
  return rows;
}

TEST(Tiers, HotRowsChangeNoBitAndAreCountedExactly) {
  using schedule::Mode;
  const data::Dataset given = load();
  const std::int64_t row_bytes = given.features.cols * std::int64_t{sizeof(float)};
  for (const char* model : {"gcn", "sage", "gat"}) {
    const Trained expected = train_with(given, model, {Mode::kBest, 0}, 0);
    for (const std::int64_t hot : {std::int64_t{1}, std::int64_t{45}, given.num_nodes()}) {
      const bool clusters = hot == 45;
      if (!clusters && std::string(model) != "sage") continue;  // one model with every number is enough
      data::Dataset renamed = load();
      const graph::Order order = hot_first(given, hot, clusters);
      data::permute(order, 2, &renamed);
      const auto [hits, rows] = recount(given, order, hot);
      for (const schedule::Choice& choice :
           {schedule::Choice{Mode::kCpu, 0}, {Mode::kDevice, 0}, {Mode::kBest, 0}, {Mode::kCoinFlip, 0.5}}) {
        const std::string where =
            std::string(model) + " " + std::to_string(hot) + " " + std::string(schedule::mode_name(choice.mode));
        const Trained got = train_with(renamed, model, choice, hot);
        ASSERT_EQ(got.losses, expected.losses) << where;
        ASSERT_EQ(got.weights, expected.weights) << where;
        const tiers::TierCount& own = got.epoch.by_device.of(tiers::Tier::kReplicated);
        const tiers::TierCount& link = got.epoch.by_device.of(tiers::Tier::kHost);
        const tiers::TierCount& cpu = got.epoch.by_cpu.of(tiers::Tier::kHost);
        EXPECT_EQ(own.rows, hits) << where;
        EXPECT_EQ(link.rows + cpu.rows, rows - hits) << where;
        EXPECT_EQ(own.bytes, hits * row_bytes) << where;
        EXPECT_EQ(link.bytes + cpu.bytes, (rows - hits) * row_bytes) << where;
        if (choice.mode == Mode::kCpu) {
          EXPECT_EQ(link.rows, 0) << where;
        }
        if (choice.mode == Mode::kDevice) {
          EXPECT_EQ(cpu.rows, 0) << where;
        }
      }
    }
  }
}

/// What goes over the link for the CPU's batches is what the device lacks, and nothing else is left out.
TEST(Tiers, TheCpuShipsOnlyColdRows) {
  const data::Dataset given = load();
  const schedule::Choice cpu = {schedule::Mode::kCpu, 0};
  const Trained all = train_with(given, "sage", cpu, 0);
  const std::int64_t batches = all.epoch.planned.plan.batches;
  std::int64_t before = all.epoch.copied_bytes + 1;
  for (const std::int64_t hot : {std::int64_t{1}, std::int64_t{300}, given.num_nodes()}) {
    data::Dataset renamed = load();
    data::permute(hot_first(given, hot, false), 2, &renamed);
    const Trained some = train_with(renamed, "sage", cpu, hot);
    const std::int64_t saved = some.epoch.by_device.of(tiers::Tier::kReplicated).bytes;
    EXPECT_NEAR(static_cast<double>(all.epoch.copied_bytes - some.epoch.copied_bytes), static_cast<double>(saved),
                static_cast<double>(128 * batches))  // arrays begin at multiples of 64 bytes
        << hot;
    EXPECT_LT(some.epoch.copied_bytes, before);
    before = some.epoch.copied_bytes;
  }
}

TEST(Tiers, ADeviceOfThreadsReadsTheSame) {
  const data::Dataset given = load();
  const Trained expected = train_with(given, "sage", {schedule::Mode::kBest, 0}, 0);
  data::Dataset renamed = load();
  const graph::Order order = hot_first(given, 90, false);
  data::permute(order, 2, &renamed);
  const Trained got = train_with(renamed, "sage", {schedule::Mode::kCoinFlip, 0.5}, 90, true);
  EXPECT_EQ(got.weights, expected.weights);
  EXPECT_EQ(got.epoch.by_device.of(tiers::Tier::kReplicated).rows, recount(given, order, 90).first);
}

TEST(Tiers, SparseFeaturesAreRefusedByName) {
  data::Dataset sparse = data::load(kData, {});
  data::sparsify(&sparse.features);
  EXPECT_THROW(
      {
        try {
          train_with(sparse, "sage", {schedule::Mode::kBest, 0}, 10);
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
          EXPECT_NE(std::string(error.what()).find("rows of dense features, these are sparse"), std::string::npos);
          throw;
        }
      },
      Error);
}

}  // namespace
}  // namespace gneiss
