// Ranks look nodes up in a map from the whole graph's ids to their own while they are cut out, and never in an epoch.
//
// The linker sends every call of the map to a function here (--wrap), which counts it.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>

#include "comm/loopback.h"
#include "partition/contiguous.h"
#include "partition/global_to_local.h"
#include "support/awkward_graph.h"
#include "support/rank_models.h"
#include "train/rank_training.h"

namespace {
std::atomic<long> look_ups = 0;
}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names
extern "C" gneiss::NodeId __real__ZNK6gneiss9partition13GlobalToLocal6columnEi(
    const gneiss::partition::GlobalToLocal* map, gneiss::NodeId node);
extern "C" gneiss::NodeId __wrap__ZNK6gneiss9partition13GlobalToLocal6columnEi(
    const gneiss::partition::GlobalToLocal* map, gneiss::NodeId node) {
  look_ups.fetch_add(1, std::memory_order_relaxed);
  return __real__ZNK6gneiss9partition13GlobalToLocal6columnEi(map, node);
}
// NOLINTEND(bugprone-reserved-identifier)

namespace gneiss {
namespace {

constexpr int kRanks = 3;

/// What an epoch's exchanges do besides: a test of the test.
using Planted = std::function<void()>;

class PlantedLink final : public comm::Communicator {
 public:
  PlantedLink(comm::Communicator* inner, Planted planted) : inner_(*inner), planted_(std::move(planted)) {}
  int rank() const override { return inner_.rank(); }
  int ranks() const override { return inner_.ranks(); }
  void abort(const std::string& why) noexcept override { inner_.abort(why); }

 private:
  comm::Request do_start_exchange(comm::RowsByRank<const std::byte> send, comm::RowsByRank<std::byte> receive,
                                  std::int64_t row_bytes) override {
    if (planted_) planted_();
    return inner_.start_exchange(send, receive, row_bytes);
  }
  comm::Request do_start_sum(std::span<float> values) override { return inner_.start_sum(values); }
  comm::Request do_start_sum(std::span<double> values) override { return inner_.start_sum(values); }
  void do_progress() override { inner_.progress(); }
  void do_wait(comm::Request request) override { inner_.wait(request); }

  comm::Communicator& inner_;
  Planted planted_;
};

struct LookUps {
  long cutting = 0;
  long epochs = 0;
};

/// Of all ranks, while the data set is cut and in three epochs with an evaluation each.
LookUps count(const testing::RankModel& model, exchange::Exchange exchange, const Planted& planted = {}) {
  const data::Dataset dataset = testing::awkward_dataset({.nodes = 60});
  const train::SessionOptions options = testing::rank_options(model, dataset);
  const std::vector<std::int64_t> starts = partition::contiguous(dataset.graph.offsets(), kRanks);
  LookUps made;
  look_ups = 0;
  comm::loopback(kRanks)->run([&](comm::Communicator& communicator) {
    train::RankData here = train::cut_dataset(dataset, starts, communicator, options.loss.kind, options.class_weights);
    PlantedLink link(&communicator, planted);
    here.part.communicator = &link;
    here.part.exchange = exchange;
    double together[] = {1};
    communicator.sum(together);  // all are cut
    if (communicator.rank() == 0) made.cutting = look_ups.exchange(0);
    communicator.sum(together);
    train::Session<float> session(here.dataset, options, &here.part);
    session.set_up();
    for (std::uint64_t e = 1; e <= 3; ++e) {
      session.forward_backward(e);
      session.update(0.01);
      session.evaluate();
    }
    communicator.sum(together);
    if (communicator.rank() == 0) made.epochs = look_ups;
  });
  return made;
}

TEST(LookUps, AreMadeWhileRanksAreCutOutAndNotInEpochs) {
  for (const testing::RankModel& model : testing::rank_models()) {
    for (const exchange::Exchange exchange : {exchange::Exchange::kHalo, exchange::Exchange::kStream}) {
      const LookUps made = count(model, exchange);
      EXPECT_GT(made.cutting, 0) << model.what << ": the calls are not counted";
      EXPECT_EQ(made.epochs, 0) << model.what;
    }
  }
}

TEST(LookUps, OneThatIsPlantedShows) {
  const std::vector<NodeId> ghosts = {40, 50};
  const partition::GlobalToLocal map(0, 20, ghosts);
  const LookUps made = count({"gcn", "gcn", {}}, exchange::Exchange::kHalo, [&] { EXPECT_EQ(map.column(50), 21); });
  EXPECT_GT(made.epochs, 0);
}

}  // namespace
}  // namespace gneiss
