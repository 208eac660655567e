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
#include "data/preprocess.h"
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
  bool updates_at_once = false;  ///< a weight goes down its gradient as soon as that is summed
  runtime::Parameters<double>* parameters = nullptr;

  int rank() const override { return inner_.rank(); }
  int ranks() const override { return inner_.ranks(); }
  void abort(const std::string& why) noexcept override { inner_.abort(why); }

  bool delivers_another = false;  ///< a wait brings what an earlier one should have brought

 private:
  /// A call that was started. Received rows lie here until the wait for it.
  struct Open {
    comm::Request request;
    comm::Request inner;
    comm::RowsByRank<std::byte> receive;
    std::vector<std::byte> rows;
    std::span<double> sums;
  };

  comm::Request do_start_exchange(comm::RowsByRank<const std::byte> send, comm::RowsByRank<std::byte> receive,
                                  std::int64_t row_bytes) override {
    auto open = std::make_unique<Open>();
    open->receive = receive;
    open->rows.resize(receive.bytes.size());
    open->inner = inner_.start_exchange(send, {open->rows, receive.at}, row_bytes);
    return keep(std::move(open));
  }
  comm::Request do_start_sum(std::span<float> values) override {
    auto open = std::make_unique<Open>();
    open->inner = inner_.start_sum(values);
    return keep(std::move(open));
  }
  comm::Request do_start_sum(std::span<double> values) override {
    auto open = std::make_unique<Open>();
    const std::span<const double> gradients = parameters == nullptr ? values.first(0) : parameters->gradients();
    const std::ptrdiff_t at = values.data() - gradients.data();
    if (updates_at_once && at >= 0 && at < std::ssize(gradients)) {
      inner_.sum(values);
      for (std::size_t i = 0; i < values.size(); ++i)
        parameters->values()[static_cast<std::size_t>(at) + i] -= kRate * values[i];
    } else if (!forgets_sum || !forgets_sum(values)) {
      open->inner = inner_.start_sum(values);
      open->sums = values;
    }
    return keep(std::move(open));
  }
  void do_progress() override { inner_.progress(); }

  comm::Request keep(std::unique_ptr<Open> open) {
    open->request = {++last_};
    open_.push_back(std::move(open));
    return open_.back()->request;
  }

  void do_wait(comm::Request request) override {
    const auto at = std::find_if(open_.begin(), open_.end(),
                                 [&](const auto& open) { return open->request.number == request.number; });
    ASSERT_NE(at, open_.end());
    std::unique_ptr<Open> open = std::move(*at);
    open_.erase(at);
    if (open->inner.number != 0) inner_.wait(open->inner);
    if (!open->sums.empty() && after_sum) after_sum(open->sums, ranks());
    if (open->rows.empty()) return;
    if (delivers_another) std::swap(open, before_);
    if (open == nullptr) return;
    std::copy(open->rows.begin(), open->rows.end(), open->receive.bytes.begin());
    if (after_exchange) after_exchange(open->receive);
  }

  static constexpr double kRate = 1;  ///< of updates_at_once

  std::uint64_t last_ = 0;
  std::vector<std::unique_ptr<Open>> open_;
  std::unique_ptr<Open> before_;
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
  mutants.push_back({"a weight is updated before backward has read it for the last time", gcn,
                     [](train::RankData*, Damaged* c) { c->updates_at_once = true; }});
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
  mutants.push_back({"another exchange is waited for than the one whose rows are read", gcn,
                     [](train::RankData*, Damaged* c) { c->delivers_another = true; }});
  mutants.push_back({"rows that wait for ghosts count as interior", gcn, [](train::RankData* here, Damaged*) {
                       here->part.halo.interior = here->part.halo.owned;
                       here->part.halo.interior_loss_rows = std::ssize(here->dataset.split.train);
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
  const auto damage = [&](train::RankData* here) {
    auto& c = damaged[static_cast<std::size_t>(here->part.communicator->rank())];
    c = std::make_unique<Damaged>(here->part.communicator);
    if (damages) mutant.damage(here, c.get());
    here->part.communicator = c.get();
  };
  const auto attach = [&](int rank, train::Session<double>* session) {
    damaged[static_cast<std::size_t>(rank)]->parameters = &session->parameters();
  };
  try {
    return testing::difference(alone, testing::step_on_ranks(dataset, options, 3, damage, attach));
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

/// What ranks tell each other of who won a maximum.
TEST(RanksMutation, WinnersNamedByTheRanksOwnNumbersAreCaught) {
  data::Dataset dataset = testing::awkward_dataset({.nodes = 40});
  dataset.graph = data::to_undirected(dataset.graph);
  const RankModel maxima = {"sage, max", "sage", {{"aggr", std::string("max")}, {"dropout", 0.0}}, {"loss_rows"}};
  const Mutant mutant = {"winners are named by the rank's own numbers", maxima, [](train::RankData* here, Damaged*) {
                           std::iota(here->part.ids.begin(), here->part.ids.end(), std::int64_t{0});
                           std::iota(here->dataset.orig_id.begin(), here->dataset.orig_id.end(), std::int64_t{0});
                         }};
  EXPECT_LT(difference_of(mutant, dataset, false), 1e-9);
  EXPECT_GT(difference_of(mutant, dataset, true), 1e-5);
}

}  // namespace
}  // namespace gneiss
