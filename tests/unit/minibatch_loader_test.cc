// The order of seeds, and the loader: order, bounds, overflow, errors and ends, under every number of workers and
// slabs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "graph/graph.h"
#include "minibatch/capacity.h"
#include "minibatch/draws.h"
#include "minibatch/loader.h"
#include "support/data_fixtures.h"

namespace gneiss::minibatch {
namespace {

using ::gneiss::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<NodeId> every(NodeId step, NodeId count) {
  std::vector<NodeId> nodes;
  for (NodeId i = 0; i < count; ++i) nodes.push_back(step * i);
  return nodes;
}

TEST(SeedOrder, EachSeedOnceAnEpochWhateverTheSizes) {
  for (const NodeId count : {0, 1, 2, 3, 15, 16, 17, 1000, 1024, 1025}) {
    for (const std::int64_t batch_size : {1, 2, 16, 1000, 5000}) {
      const std::vector<NodeId> nodes = every(3, count);
      const SeedOrder<NodeId> order(nodes, 3 * 2000, {}, {.batch_size = batch_size, .seed = 5});
      EXPECT_EQ(order.batches_per_epoch(), (count + batch_size - 1) / batch_size);
      for (const std::int64_t number : {1, 2, 1000000}) {
        const auto epoch = order.epoch(number);
        std::vector<NodeId> seen;
        for (std::int64_t b = 0; b < order.batches_per_epoch(); ++b) {
          const auto batch = order.batch(epoch, b);
          EXPECT_EQ(static_cast<std::int64_t>(batch.size()),
                    std::min<std::int64_t>(batch_size, count - b * batch_size));
          seen.insert(seen.end(), batch.begin(), batch.end());
        }
        std::sort(seen.begin(), seen.end());
        EXPECT_EQ(seen, nodes);
      }
    }
  }
}

TEST(SeedOrder, EveryEpochAndSeedHasAnOrderOfItsOwnAndAllOrdersAreAsLikely) {
  std::map<std::vector<NodeId>, int> seen;
  const std::vector<NodeId> nodes = {7, 8, 9, 10};
  const SeedOrder<NodeId> order(nodes, 20, {}, {.seed = 1});
  constexpr int kTrials = 24000;
  for (int epoch = 0; epoch < kTrials; ++epoch) ++seen[*order.epoch(epoch)];
  ASSERT_EQ(seen.size(), 24U);
  double chi_square = 0;
  for (const auto& [list, count] : seen) chi_square += (count - 1000.0) * (count - 1000.0) / 1000.0;
  EXPECT_LT(chi_square, 54.0);  // 23 degrees of freedom: one in 4000
  EXPECT_GT(chi_square, 6.0);
  const SeedOrder<NodeId> other(every(1, 100), 100, {}, {.seed = 2});
  const SeedOrder<NodeId> again(every(1, 100), 100, {}, {.seed = 2});
  const SeedOrder<NodeId> third(every(1, 100), 100, {}, {.seed = 3});
  EXPECT_EQ(*other.epoch(4), *again.epoch(4));
  EXPECT_NE(*other.epoch(4), *other.epoch(5));
  EXPECT_NE(*other.epoch(4), *third.epoch(4));
}

TEST(SeedOrder, AnEpochThatSomebodyReadsStaysWhileOthersCome) {
  const SeedOrder<NodeId> order(every(1, 100), 100, {}, {.seed = 2});
  const SeedOrder<NodeId> fresh(every(1, 100), 100, {}, {.seed = 2});
  const SeedOrder<NodeId>::Epoch read = order.epoch(1);
  const std::vector<NodeId> before = *read;
  for (std::int64_t epoch = 2; epoch < 8; ++epoch) EXPECT_EQ(*order.epoch(epoch), *fresh.epoch(epoch));
  EXPECT_EQ(*read, before);
  EXPECT_EQ(*order.epoch(1), before);
}

TEST(SeedOrder, FollowsTheNodesThroughNewNames) {
  const std::vector<std::int64_t> orig_id = {4, 2, 0, 1, 3};  // of the renamed nodes
  const std::vector<NodeId> given = {0, 1, 2, 4};
  const std::vector<NodeId> renamed = {0, 1, 2, 3};  // the same four
  const SeedOrder<NodeId> a(given, 5, {}, {.seed = 9});
  const SeedOrder<NodeId> b(renamed, 5, orig_id, {.seed = 9});
  std::vector<NodeId> back;
  for (const NodeId v : *b.epoch(3)) back.push_back(static_cast<NodeId>(orig_id[static_cast<std::size_t>(v)]));
  EXPECT_EQ(back, *a.epoch(3));
}

TEST(SeedOrder, KeepsTheGivenOrderOnRequestAndRefusesBadSeeds) {
  const std::vector<NodeId> nodes = {5, 1, 3};
  EXPECT_THAT(*SeedOrder<NodeId>(nodes, 6, {}, {.shuffle = false}).epoch(7), ElementsAre(5, 1, 3));
  EXPECT_THAT(error_of([&] { SeedOrder<NodeId>(nodes, 5, {}, {}); }).message(),
              HasSubstr("seed 0 is node 5; the graph has nodes 0 to 4"));
  EXPECT_EQ(error_of([&] { SeedOrder<NodeId>(nodes, 6, {}, {.batch_size = 0}); }).code(), ErrorCode::kUsage);
}

/// Writes the key's epoch and index behind the header; the sizes of batches vary.
void write_key(const BatchKey& key, Slab* slab) {
  slab->start(key, sizeof(NodeId));
  const std::int64_t size = 100 + key.index * 37 % 90;
  const std::int64_t at = slab->place<std::int64_t>(size);
  for (std::int64_t& value : slab->at<std::int64_t>(at, size)) value = key.epoch * 1000 + key.index;
}

void expect_key(const Slab& slab, std::int64_t epoch, std::int64_t index) {
  EXPECT_EQ(slab.header().key.epoch, epoch);
  EXPECT_EQ(slab.header().key.index, index);
  const auto header = static_cast<std::int64_t>(Slab().bytes().size());
  for (const std::int64_t value : slab.at<std::int64_t>(header, 100)) ASSERT_EQ(value, epoch * 1000 + index);
}

TEST(Loader, DeliversInOrderOverEpochsForAnyWorkersAndSlabs) {
  for (const int workers : {1, 2, 5}) {
    for (const int slabs : {1, 2, 3, 16}) {
      Loader loader([](int, const BatchKey& key, Slab* slab) { write_key(key, slab); }, {.workers = workers,
                                                                                         .slabs = slabs,
                                                                                         .seed = 3,
                                                                                         .batches_per_epoch = 7,
                                                                                         .first_epoch = 2,
                                                                                         .first_index = 5,
                                                                                         .batches = 40});
      std::int64_t number = 5;
      for (std::optional<Loader::Held> batch; (batch.reset(), batch = loader.next()); ++number) {
        expect_key(batch->slab(), 2 + number / 7, number % 7);
        EXPECT_EQ(batch->slab().header().key.seed, 3U);
      }
      EXPECT_EQ(number, 45);
      EXPECT_FALSE(loader.next().has_value());
      EXPECT_EQ(loader.stats().delivered, 40);
      EXPECT_EQ(loader.stats().prepared, 40);
      EXPECT_EQ(loader.position(), (BatchKey{3, 8, 3}));
    }
  }
}

TEST(Loader, WorkersRunAheadAsFarAsTheRingGoesAndIntoTheNextEpoch) {
  std::atomic<int> prepared = 0;
  Loader loader(
      [&](int, const BatchKey& key, Slab* slab) {
        write_key(key, slab);
        ++prepared;
      },
      {.workers = 2, .slabs = 5, .batches_per_epoch = 3});
  while (prepared < 5) std::this_thread::yield();  // batch 2 of epoch 2 is there before anyone asked for one
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(prepared, 5) << "a full ring takes no more";
  {
    const auto first = loader.next();
    const auto second = loader.next();
    expect_key(second->slab(), 1, 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(prepared, 5) << "nor while its slabs are held";
  }
  while (prepared < 7) std::this_thread::yield();
  EXPECT_EQ(loader.position(), (BatchKey{0, 1, 2})) << "what is prepared does not count";
}

TEST(Loader, SlabsMayBeHeldAndLetGoInAnyOrder) {
  Loader loader([](int, const BatchKey& key, Slab* slab) { write_key(key, slab); },
                {.workers = 3, .slabs = 4, .batches_per_epoch = 1000});
  std::vector<Loader::Held> held;
  RandomStream random(1, 1);
  for (std::int64_t number = 0; number < 300; ++number) {
    held.push_back(*loader.next());
    for (std::size_t i = 0; i < held.size(); ++i) expect_key(held[i].slab(), 1, held[i].slab().header().key.index);
    expect_key(held.back().slab(), 1, number);
    while (held.size() == 4 || (!held.empty() && random.below(2) == 0)) {
      std::swap(held[random.below(held.size())], held.back());
      held.pop_back();
    }
    // The slab of the next number may be held: let go of what lies there.
    std::erase_if(held,
                  [&](const Loader::Held& batch) { return batch.slab().header().key.index % 4 == (number + 1) % 4; });
  }
}

TEST(Loader, SaysSoWhenAllSlabsAreHeld) {
  Loader loader([](int, const BatchKey& key, Slab* slab) { write_key(key, slab); },
                {.workers = 1, .slabs = 2, .batches_per_epoch = 9});
  const auto first = loader.next();
  auto second = loader.next();
  const Error error = error_of([&] { loader.next(); });
  EXPECT_EQ(error.code(), ErrorCode::kUsage);
  EXPECT_THAT(error.message(), HasSubstr("batch 2 of epoch 1, seed 0 needs a slab, and all 2 are held"));
  second.reset();
  EXPECT_THAT(error_of([&] { loader.next(); }).message(), HasSubstr("batch 2")) << "its own slab is still held";
}

TEST(Loader, SlabsThatAreTooSmallGrowAndAreCounted) {
  const auto prepare = [](int, const BatchKey& key, Slab* slab) {
    slab->start(key, sizeof(NodeId));
    slab->place<std::int64_t>(key.index == 11 ? 50000 : 10);
  };
  LoaderOptions options{.workers = 2, .slabs = 3, .slab_bytes = 10000, .batches_per_epoch = 30, .batches = 60};
  Loader loader(prepare, options);
  while (loader.next()) {
  }
  // Batch 11 of two epochs: numbers 11 and 41, both in slab 2, which is large enough the second time.
  EXPECT_EQ(loader.stats().grown, 1);
  EXPECT_GT(loader.stats().slab_bytes, 400000);
}

TEST(Loader, AWorkersErrorComesAtItsPlaceWithBatchAndSeed) {
  for (const int workers : {1, 4}) {
    Loader loader(
        [](int, const BatchKey& key, Slab* slab) {
          if (key.epoch == 2 && key.index == 1)
            throw Error(ErrorCode::kBadData, "feature 3 is torn", "features.npy", "fetch it again");
          write_key(key, slab);
        },
        {.workers = workers, .seed = 77, .batches_per_epoch = 4});
    for (int number = 0; number < 5; ++number) EXPECT_TRUE(loader.next().has_value());
    for (int again = 0; again < 2; ++again) {
      const Error error = error_of([&] { loader.next(); });
      EXPECT_EQ(error.code(), ErrorCode::kBadData);
      EXPECT_EQ(error.message(), "feature 3 is torn");
      EXPECT_EQ(error.where(), "features.npy, in batch 1 of epoch 2, seed 77");
      EXPECT_EQ(error.hint(), "fetch it again");
    }
  }
}

TEST(Loader, ErrorsOfAllKindsArrive) {
  const auto error_with = [](const Prepare& prepare) {
    Loader loader(prepare, {.workers = 2, .batches_per_epoch = 3});
    return error_of([&] { loader.next(); });
  };
  const Error memory = error_with([](int, const BatchKey&, Slab*) { throw std::bad_alloc(); });
  EXPECT_EQ(memory.code(), ErrorCode::kOutOfMemory);
  EXPECT_THAT(memory.where(), HasSubstr("batch 0 of epoch 1"));
  const Error other = error_with([](int, const BatchKey&, Slab*) { throw std::runtime_error("odd"); });
  EXPECT_EQ(other.code(), ErrorCode::kInternal);
  EXPECT_EQ(other.message(), "odd");
  EXPECT_EQ(error_with([](int, const BatchKey&, Slab*) { throw 7; }).code(), ErrorCode::kInternal);
}

TEST(Loader, EndsAtAnyTime) {
  for (const int taken : {0, 1, 5}) {
    std::optional<Loader::Held> survivor;
    {
      Loader loader([](int, const BatchKey& key, Slab* slab) { write_key(key, slab); },
                    {.workers = 4, .slabs = 8, .batches_per_epoch = 3});
      for (int i = 0; i < taken; ++i) survivor = loader.next();
    }
    if (survivor) expect_key(survivor->slab(), 1 + (taken - 1) / 3, (taken - 1) % 3);
  }
}

TEST(Loader, StopWakesWhoWaits) {
  std::atomic<bool> goes_on = false;
  std::atomic<bool> waits = false;
  Loader loader(
      [&](int, const BatchKey& key, Slab* slab) {
        waits = true;
        while (!goes_on) std::this_thread::yield();
        write_key(key, slab);
      },
      {.workers = 1, .batches_per_epoch = 3});
  std::thread user([&] { EXPECT_FALSE(loader.next().has_value()); });
  while (!waits) std::this_thread::yield();
  loader.stop();
  user.join();
  goes_on = true;
  EXPECT_FALSE(loader.next().has_value());
}

TEST(Loader, NothingToDeliver) {
  const Prepare never = [](int, const BatchKey&, Slab*) { FAIL() << "there is no batch"; };
  EXPECT_FALSE(Loader(never, {.workers = 2, .batches_per_epoch = 0}).next().has_value());
  EXPECT_FALSE(Loader(never, {.workers = 2, .batches_per_epoch = 5, .batches = 0}).next().has_value());
  EXPECT_EQ(error_of([&] { Loader(never, {.workers = 0, .batches_per_epoch = 5}); }).code(), ErrorCode::kUsage);
  EXPECT_EQ(error_of([&] { Loader(never, {.workers = 1, .batches_per_epoch = 5, .first_index = 6}); }).code(),
            ErrorCode::kUsage);
}

/// Two epochs of real batches as one string.
std::string sampled_epochs(const Sampler<NodeId>& sampler, const SeedOrder<NodeId>& seeds, int workers) {
  const BatchShape shape = capacity(sampler, seeds, {0, 1, 0});
  Loader loader(sampling(sampler, seeds, workers), {.workers = workers,
                                                    .slab_bytes = shape.bytes,
                                                    .batches_per_epoch = seeds.batches_per_epoch(),
                                                    .batches = 2 * seeds.batches_per_epoch()});
  std::string all;
  for (std::optional<Loader::Held> batch; (batch.reset(), batch = loader.next());) {
    const std::span<const std::byte> bytes = batch->slab().bytes();
    all.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return all;
}

TEST(Loader, SampledBatchesAreTheSameForAnyNumberOfWorkers) {
  RandomStream random(4, 4);
  constexpr NodeId kNodes = 5000;
  graph::EdgeList edges{Buffer<NodeId>(60000), Buffer<NodeId>(60000), {}};
  for (NodeId& u : edges.src) u = static_cast<NodeId>(random.below(kNodes));
  for (NodeId& v : edges.dst) v = static_cast<NodeId>(random.below(kNodes));
  const graph::Graph graph = graph::build_graph(edges, kNodes);
  const SeedOrder<NodeId> seeds(every(2, kNodes / 2), kNodes, {}, {.batch_size = 200});
  const Sampler<NodeId> sampler(in_edges(graph), {.fanout = {5, 4, 3}});
  const std::string one = sampled_epochs(sampler, seeds, 1);
  EXPECT_GT(one.size(), 1000000U);
  // The whole is megabytes: not to be printed.
  EXPECT_TRUE(sampled_epochs(sampler, seeds, 2) == one);
  EXPECT_TRUE(sampled_epochs(sampler, seeds, 5) == one);
  const Sampler<NodeId> hashed(in_edges(graph), {.fanout = {5, 4, 3}, .table = TableKind::kHash});
  EXPECT_TRUE(sampled_epochs(hashed, seeds, 5) == one);
}

}  // namespace
}  // namespace gneiss::minibatch
