// Mutants of training on ranks, each a defect that has been published in some system: every one must be caught by the
// check that the tests of ranks use. If a mutant passes, those tests prove nothing about it.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.h"
#include "support/awkward_graph.h"
#include "support/rank_models.h"

namespace gneiss {
namespace {

using testing::RankModel;

/// Talks through another communicator, and wrongly.
class Damaged final : public comm::Communicator {
 public:
  explicit Damaged(comm::Communicator* inner) : inner_(*inner) {}

  std::function<void(std::span<double> sums, int ranks)> after_sum;
  std::function<bool(std::span<double> sums)> forgets_sum;
  std::function<void(comm::RowsByRank<std::byte> received)> after_exchange;

  int rank() const override { return inner_.rank(); }
  int ranks() const override { return inner_.ranks(); }
  void abort(const std::string& why) noexcept override { inner_.abort(why); }

 private:
  void do_exchange(comm::RowsByRank<const std::byte> send, comm::RowsByRank<std::byte> receive,
                   std::int64_t row_bytes) override {
    inner_.exchange(send, receive, row_bytes);
    if (after_exchange) after_exchange(receive);
  }
  void do_sum(std::span<float> values) override { inner_.sum(values); }
  void do_sum(std::span<double> values) override {
    if (forgets_sum && forgets_sum(values)) return;
    inner_.sum(values);
    if (after_sum) after_sum(values, ranks());
  }

  comm::Communicator& inner_;
};

struct Mutant {
  std::string what;
  RankModel model;
  std::function<void(train::RankData*, Damaged*)> damage;
};

constexpr std::size_t kHidden = 16;
constexpr std::size_t kFewNumbers = 2 * kHidden;

std::vector<Mutant> all_mutants() {
  const language::ArgValue hidden = std::int64_t{kHidden};
  const RankModel gcn = {"gcn", "gcn", {{"hidden_channels", hidden}, {"dropout", 0.0}}};
  const RankModel dropping = {"gcn", "gcn", {{"hidden_channels", hidden}, {"dropout", 0.5}}};
  const RankModel normal = {"gcn", "gcn", {{"hidden_channels", hidden}, {"norm", std::string("batch")}}};
  std::vector<Mutant> mutants;
  mutants.push_back({"gradients that are equal already are summed", gcn, [](train::RankData*, Damaged* c) {
                       c->after_sum = [](std::span<double> sums, int ranks) {
                         if (sums.size() <= kFewNumbers) return;
                         for (double& g : sums) g *= ranks;
                       };
                     }});
  mutants.push_back({"gradients are averaged over the ranks", gcn, [](train::RankData*, Damaged* c) {
                       c->after_sum = [](std::span<double> sums, int ranks) {
                         if (sums.size() <= kFewNumbers) return;
                         for (double& g : sums) g /= ranks;
                       };
                     }});
  mutants.push_back({"gradients are not summed", gcn, [](train::RankData*, Damaged* c) {
                       c->forgets_sum = [](std::span<double> sums) { return sums.size() > kFewNumbers; };
                     }});
  mutants.push_back({"the mean is over the rank's own training nodes", gcn,
                     [](train::RankData* here, Damaged*) { here->part.loss_share = 1; }});
  mutants.push_back({"the loss is the mean of the ranks' means", gcn,
                     [](train::RankData* here, Damaged* c) { here->part.loss_share = 1.0 / c->ranks(); }});
  mutants.push_back({"gradients of ghosts are not sent back", gcn, [](train::RankData* here, Damaged* c) {
                       c->after_exchange = [plan = &here->part.halo](comm::RowsByRank<std::byte> received) {
                         const bool back = received.at.data() == plan->send_at.data();
                         if (back) std::fill(received.bytes.begin(), received.bytes.end(), std::byte{0});
                       };
                     }});
  mutants.push_back({"the way back takes the pattern of the way out", gcn, [](train::RankData* here, Damaged*) {
                       comm::HaloPlan& plan = here->part.halo;
                       if (plan.send_rows.size() > 1) std::reverse(plan.send_rows.begin(), plan.send_rows.end());
                     }});
  mutants.push_back({"ghosts are read as they were at the start: zeros", gcn, [](train::RankData* here, Damaged* c) {
                       c->after_exchange = [plan = &here->part.halo](comm::RowsByRank<std::byte> received) {
                         const bool out = received.at.data() == plan->receive_at.data();
                         if (out) std::fill(received.bytes.begin(), received.bytes.end(), std::byte{0});
                       };
                     }});
  mutants.push_back({"dropout is keyed by the rank's own numbers", dropping, [](train::RankData* here, Damaged*) {
                       std::iota(here->part.ids.begin(), here->part.ids.end(), std::int64_t{0});
                       std::iota(here->dataset.orig_id.begin(), here->dataset.orig_id.end(), std::int64_t{0});
                     }});
  mutants.push_back({"batch norm takes the rank's own statistics", normal, [](train::RankData*, Damaged* c) {
                       c->forgets_sum = [](std::span<double> sums) { return sums.size() == kHidden; };
                     }});
  return mutants;
}

/// As step_on_ranks, with a damaged communicator; 1 where the ranks noticed themselves.
double difference_of(const Mutant& mutant, const data::Dataset& dataset, bool damages) {
  const train::SessionOptions options = testing::rank_options(mutant.model, dataset);
  const testing::Step alone = testing::step_alone(dataset, options);
  std::vector<std::unique_ptr<Damaged>> damaged(3);
  try {
    return testing::difference(alone, testing::step_on_ranks(dataset, options, 3, [&](train::RankData* here) {
                                 auto& c = damaged[static_cast<std::size_t>(here->part.communicator->rank())];
                                 c = std::make_unique<Damaged>(here->part.communicator);
                                 if (damages) mutant.damage(here, c.get());
                                 here->part.communicator = c.get();
                               }));
  } catch (const Error&) {
    return 1;
  }
}

TEST(RanksMutation, EveryMutantIsCaught) {
  const data::Dataset dataset = testing::awkward_dataset({.nodes = 40});
  for (const Mutant& mutant : all_mutants()) {
    EXPECT_LT(difference_of(mutant, dataset, false), 1e-9) << mutant.what << ": the check fails without damage";
    EXPECT_GT(difference_of(mutant, dataset, true), 1e-5) << mutant.what;
  }
}

}  // namespace
}  // namespace gneiss
