// Exchanges that go on behind other work: the bits of waiting at once, and most of the time of the exchanges gone.
//
// Times are virtual (support/lazy_link.h). Both schedules compute the same, so that their times differ by what they
// wait: that is compared, because other programs on the machine change processor times too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/loopback.h"
#include "data/preprocess.h"
#include "partition/contiguous.h"
#include "partition/owners.h"
#include "support/awkward_graph.h"
#include "support/lazy_link.h"
#include "support/rank_models.h"
#include "train/rank_training.h"

namespace gneiss {
namespace {

using exchange::Exchange;
using testing::RankModel;
using testing::Side;

/// Nodes in a ring with edges from near ones, and to one in `every` also `far_edges` from far ones.
data::Dataset ring(std::int64_t nodes, int degree, int every, int far_edges = 1) {
  std::mt19937 random(7);
  data::Dataset dataset;
  dataset.name = "ring";
  Buffer<EdgeId> offsets(static_cast<std::size_t>(nodes) + 1);
  Buffer<NodeId> sources(static_cast<std::size_t>(nodes * degree));
  std::size_t at = 0;
  for (std::int64_t v = 0; v < nodes; ++v) {
    offsets[static_cast<std::size_t>(v)] = static_cast<EdgeId>(at);
    const std::size_t begin = at;
    for (int k = 0; k < degree; ++k) {
      const bool far = k < far_edges && v % every == 0;
      const auto step = static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(far ? nodes : 2 * degree));
      sources[at++] = static_cast<NodeId>((v + (far ? step : step - degree) + nodes) % nodes);
    }
    std::sort(sources.begin() + begin, sources.begin() + at);
  }
  offsets[static_cast<std::size_t>(nodes)] = static_cast<EdgeId>(at);
  dataset.graph = graph::Graph(nodes, std::move(offsets), std::move(sources), {}, false);
  constexpr std::int64_t kFeatures = 16;
  constexpr std::int64_t kClasses = 8;
  dataset.features.rows = nodes;
  dataset.features.cols = kFeatures;
  dataset.features.dense = Buffer<float>(static_cast<std::size_t>(nodes * kFeatures));
  for (float& x : dataset.features.dense) x = static_cast<float>(random() % 1000) / 1000.0F;
  dataset.labels.kind = data::LabelKind::kSingle;
  dataset.labels.num_classes = kClasses;
  dataset.labels.classes = Buffer<std::int32_t>(static_cast<std::size_t>(nodes));
  for (std::int64_t v = 0; v < nodes; ++v) {
    dataset.labels.classes[static_cast<std::size_t>(v)] = static_cast<std::int32_t>(v * kClasses / nodes);
    dataset.split.train.push_back(static_cast<NodeId>(v));
  }
  return dataset;
}

/// Renames nodes so that each part has its interior nodes first; the first nodes of the parts.
std::vector<std::int64_t> interior_first(int parts, data::Dataset* dataset) {
  const partition::Owners owners = partition::owners_of(partition::contiguous(dataset->graph.offsets(), parts));
  const partition::PartOrder order = partition::order_by_part(dataset->graph, owners, parts);
  data::permute(order.order, 1, dataset);
  return order.starts;
}

/// What share of what could be hidden is hidden.
struct Efficiency {
  double driven = 0;
  double not_driven = 0;
};

/// Of nodes of the ring, one in `every` has `far_edges` from far ones.
Efficiency measure(const RankModel& model, Exchange exchange, int every, int far_edges) {
  constexpr int kRanks = 2;
  constexpr int kEpochs = 7;
  constexpr double kTransferShare = 0.3;  ///< of the time of computing
  constexpr double kOneCall = 0.05;       ///< of an epoch's transfers
  data::Dataset dataset = ring(24000, 60, every, far_edges);
  train::SessionOptions options = testing::rank_options(model, dataset);
  options.passes.order = passes::OrderChoice::kTransformFirst;
  options.passes.source_tiles = planner::SourceTiling::kOff;  // in tiles, an aggregation runs in one go
  const std::vector<std::int64_t> starts = interior_first(kRanks, &dataset);
  std::vector<Efficiency> of_ranks(kRanks);
  comm::loopback(kRanks)->run([&](comm::Communicator& communicator) {
    const train::RankData here =
        train::cut_dataset(dataset, starts, communicator, options.loss.kind, options.class_weights);
    Side blocking(here, options, false, exchange);
    Side driven(here, options, true, exchange);
    Side not_driven(here, options, true, exchange);
    Side* const sides[] = {&blocking, &driven, &not_driven};
    not_driven.link().driven = false;
    for (Side* side : sides) {
      for (int e = 0; e < 3; ++e) side->epoch();
    }
    // The same rate on both ranks: that of the slower one's computing.
    double times[] = {0, 0};
    times[static_cast<std::size_t>(communicator.rank())] = blocking.computes();
    communicator.sum(times);
    const double compute = std::max(times[0], times[1]);
    const double before = blocking.link().bytes();
    blocking.epoch();
    const double rate = kTransferShare * compute / (blocking.link().bytes() - before);
    driven.epoch();
    not_driven.epoch();
    for (Side* side : sides) {
      side->link().seconds_per_byte = rate;
      side->link().most_at_a_call = kOneCall * kTransferShare * compute;
      side->forget_times();
    }
    for (int e = 0; e < kEpochs; ++e) {
      for (Side* side : sides) side->epoch();
    }
    EXPECT_THAT(driven.losses(), ::testing::ElementsAreArray(blocking.losses()));
    EXPECT_THAT(not_driven.losses(), ::testing::ElementsAreArray(blocking.losses()));
    EXPECT_LT(blocking.losses().back(), blocking.losses().front());
    const double hideable = std::min(blocking.transfers(), blocking.computes());
    of_ranks[static_cast<std::size_t>(communicator.rank())] = {(blocking.waits() - driven.waits()) / hideable,
                                                               (blocking.waits() - not_driven.waits()) / hideable};
  });
  return {(of_ranks[0].driven + of_ranks[1].driven) / kRanks,
          (of_ranks[0].not_driven + of_ranks[1].not_driven) / kRanks};
}

RankModel wide_gcn() { return {"gcn", "gcn", {{"hidden_channels", std::int64_t{64}}, {"dropout", 0.0}}}; }

TEST(Overlap, MostOfTheExchangesHideBehindComputing) {
  const Efficiency efficiency = measure(wide_gcn(), Exchange::kHalo, 20, 1);
  RecordProperty("driven", fmt::format("{:.3f}", efficiency.driven));
  RecordProperty("not_driven", fmt::format("{:.3f}", efficiency.not_driven));
  EXPECT_GE(efficiency.driven, 0.7);
  EXPECT_LT(efficiency.not_driven, 0.5);
}

/// Nearly every row has an edge from a ghost: interior rows hide no exchange, edges from own nodes do.
TEST(Overlap, EdgesFromOwnNodesHideTheExchangesOfRowsWithGhosts) {
  const Efficiency interior = measure(wide_gcn(), Exchange::kHalo, 1, 6);
  const Efficiency own = measure(wide_gcn(), Exchange::kStream, 1, 6);
  RecordProperty("interior_rows", fmt::format("{:.3f}", interior.driven));
  RecordProperty("own_edges", fmt::format("{:.3f}", own.driven));
  RecordProperty("not_driven", fmt::format("{:.3f}", own.not_driven));
  EXPECT_GE(own.driven, 0.7);
  EXPECT_LT(own.not_driven, 0.5);
  EXPECT_GT(own.driven, interior.driven);
}

/// The best epoch of a device that fetches rows over a link: other programs on the machine only add time.
struct DeviceTimes {
  double epoch = 0;
  double waited = 0;       ///< of that, for rows
  std::int64_t bytes = 0;  ///< fetched in the last epoch
  std::vector<double> losses;
};

DeviceTimes train_device(const train::RankData& here, train::SessionOptions options, bool overlap,
                         const pgas::Link& link) {
  train::RankPart part = here.part;
  const std::unique_ptr<pgas::Space> space = part.communicator->make_space(link);
  part.space = space.get();
  options.overlap = overlap;
  train::Session<float> session(here.dataset, options, &part);
  session.set_up();
  DeviceTimes times;
  std::vector<double> epochs;
  std::vector<double> waits;
  for (std::uint64_t e = 1; e <= 8; ++e) {
    const pgas::Traffic before = space->traffic();
    const auto start = std::chrono::steady_clock::now();
    times.losses.push_back(session.forward_backward(e));
    session.update(0.01);
    epochs.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    waits.push_back(space->traffic().waited_seconds - before.waited_seconds);
    times.bytes = space->traffic().bytes - before.bytes;
  }
  times.epoch = *std::min_element(epochs.begin() + 1, epochs.end());
  times.waited = *std::min_element(waits.begin() + 1, waits.end());
  return times;
}

/// Here the link is real: it holds back what a get brings, while the device computes.
TEST(Overlap, MostOfTheGetsOfDevicesHideBehindComputing) {
  constexpr int kDevices = 2;
  constexpr double kTransferShare = 0.3;  ///< of the time of computing
  const RankModel gcn = {"gcn", "gcn", {{"hidden_channels", std::int64_t{128}}, {"dropout", 0.0}}};
  data::Dataset dataset = ring(48000, 60, 20);
  train::SessionOptions options = testing::rank_options(gcn, dataset);
  options.passes.order = passes::OrderChoice::kTransformFirst;
  options.passes.source_tiles = planner::SourceTiling::kOff;
  const std::vector<std::int64_t> starts = interior_first(kDevices, &dataset);
  std::vector<double> hidden(kDevices);           ///< of the time on the link, the share not waited for
  std::vector<double> hidden_blocking(kDevices);  ///< likewise, where each exchange is waited for at its band
  comm::loopback(kDevices)->run([&](comm::Communicator& communicator) {
    const train::RankData here =
        train::cut_dataset(dataset, starts, communicator, options.loss.kind, options.class_weights);
    const DeviceTimes free = train_device(here, options, false, {});
    double slower[] = {0, 0};
    slower[static_cast<std::size_t>(communicator.rank())] = free.epoch;
    communicator.sum(slower);
    const double transfers = kTransferShare * std::max(slower[0], slower[1]);
    const pgas::Link link = {.bytes_per_second = static_cast<double>(free.bytes) / transfers};
    const DeviceTimes blocking = train_device(here, options, false, link);
    const DeviceTimes pipelined = train_device(here, options, true, link);
    EXPECT_THAT(pipelined.losses, ::testing::ElementsAreArray(blocking.losses));
    EXPECT_THAT(free.losses, ::testing::ElementsAreArray(blocking.losses));
    EXPECT_EQ(pipelined.bytes, free.bytes);
    const auto rank = static_cast<std::size_t>(communicator.rank());
    hidden[rank] = 1 - pipelined.waited / transfers;
    hidden_blocking[rank] = 1 - blocking.waited / transfers;
  });
  RecordProperty("hidden", fmt::format("{:.3f} {:.3f}", hidden[0], hidden[1]));
  RecordProperty("hidden_blocking", fmt::format("{:.3f} {:.3f}", hidden_blocking[0], hidden_blocking[1]));
  EXPECT_GE((hidden[0] + hidden[1]) / kDevices, 0.7);
  EXPECT_LT((hidden_blocking[0] + hidden_blocking[1]) / kDevices, 0.7);  // the sums of gradients pass what waits
}

std::vector<float> weights_of(train::Session<float>& session) {
  const std::span<float> values = session.parameters().values();
  return {values.begin(), values.end()};
}

std::int64_t count(const ir::Program& program, ir::OpKind kind) {
  return std::count_if(program.ops.begin(), program.ops.end(), [&](const ir::Op& op) { return op.kind == kind; });
}

/// Makes values again wherever that saves a byte.
void recompute_all(train::SessionOptions* options) {
  passes::RecomputeLimits& limits = options->passes.recompute_limits;
  limits.least_arena_bytes = limits.least_more_bytes = 0;
  limits.least_saving = limits.exchange = 0;
  limits.most_time = limits.time_for_more = 10;
}

TEST(Overlap, ValuesThatAreMadeAgainLeaveTheWaitsWhereTheyAre) {
  constexpr int kRanks = 3;
  data::Dataset dataset = testing::awkward_dataset({.nodes = 60});
  const std::vector<std::int64_t> starts = interior_first(kRanks, &dataset);
  bool any = false;
  for (const RankModel& model : testing::rank_models()) {
    SCOPED_TRACE(model.what);
    const train::SessionOptions options = testing::rank_options(model, dataset);
    train::SessionOptions again = options;
    recompute_all(&again);
    comm::loopback(kRanks)->run([&](comm::Communicator& communicator) {
      const train::RankData here =
          train::cut_dataset(dataset, starts, communicator, options.loss.kind, options.class_weights);
      Side keeping(here, options, true);
      Side remaking(here, again, true);
      const ir::Program& program = remaking.session().plan().program;
      EXPECT_EQ(count(program, ir::OpKind::halo_wait), count(program, ir::OpKind::halo_start));
      EXPECT_EQ(count(program, ir::OpKind::halo_add_wait), count(program, ir::OpKind::halo_add_start));
      const bool more = program.ops.size() > keeping.session().plan().program.ops.size();
      if (communicator.rank() == 0) any |= more && count(program, ir::OpKind::halo_wait) > 0;
      for (int e = 0; e < 3; ++e) {
        keeping.epoch();
        remaking.epoch();
      }
      for (std::size_t e = 0; e < 3; ++e)
        EXPECT_NEAR(remaking.losses()[e], keeping.losses()[e], 1e-6 * std::abs(keeping.losses()[e]));
    });
  }
  EXPECT_TRUE(any) << "no value was made again beside an exchange";
}

TEST(Overlap, AModelMayHaveMoreGradientsThanCallsMayBeOpen) {
  constexpr int kRanks = 2;
  data::Dataset dataset = testing::awkward_dataset({.nodes = 60});
  const std::vector<std::int64_t> starts = interior_first(kRanks, &dataset);
  const RankModel deep = {"deep gcn",
                          "gcn",
                          {{"num_layers", std::int64_t{24}},
                           {"hidden_channels", std::int64_t{4}},
                           {"norm", std::string("batch")},
                           {"dropout", 0.0}}};
  const train::SessionOptions options = testing::rank_options(deep, dataset);
  comm::loopback(kRanks)->run([&](comm::Communicator& communicator) {
    const train::RankData here =
        train::cut_dataset(dataset, starts, communicator, options.loss.kind, options.class_weights);
    Side blocking(here, options, false);
    Side overlapping(here, options, true);
    EXPECT_GT(overlapping.session().params().size(), 64U);
    blocking.epoch();
    overlapping.epoch();
    EXPECT_THAT(overlapping.losses(), ::testing::ElementsAreArray(blocking.losses()));
    EXPECT_EQ(weights_of(overlapping.session()), weights_of(blocking.session()));
  });
}

TEST(Overlap, EveryModelHasTheBitsOfTheBlockingSchedule) {
  constexpr int kRanks = 3;
  data::Dataset dataset = testing::awkward_dataset({.nodes = 60});
  const std::vector<std::int64_t> starts = interior_first(kRanks, &dataset);
  for (const RankModel& model : testing::rank_models()) {
    SCOPED_TRACE(model.what);
    const train::SessionOptions options = testing::rank_options(model, dataset);
    comm::loopback(kRanks)->run([&](comm::Communicator& communicator) {
      const train::RankData here =
          train::cut_dataset(dataset, starts, communicator, options.loss.kind, options.class_weights);
      for (const Exchange exchange : {Exchange::kHalo, Exchange::kStream}) {
        Side blocking(here, options, false, exchange);
        Side overlapping(here, options, true, exchange);
        for (int e = 0; e < 3; ++e) {
          blocking.epoch();
          overlapping.epoch();
        }
        EXPECT_THAT(overlapping.losses(), ::testing::ElementsAreArray(blocking.losses()));
        EXPECT_EQ(weights_of(overlapping.session()), weights_of(blocking.session()));
      }
    });
  }
}

}  // namespace
}  // namespace gneiss
