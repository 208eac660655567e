// Ranks that are threads: what they exchange and sum, how they end when one of them fails, and plans of halos.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "comm/halo.h"
#include "comm/loopback.h"
#include "comm/together.h"
#include "kernels/halo.h"
#include "support/data_fixtures.h"

namespace gneiss {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class T>
std::span<const std::byte> bytes(const std::vector<T>& values) {
  return std::as_bytes(std::span<const T>(values));
}

template <class T>
std::span<std::byte> room(std::vector<T>* values) {
  return std::as_writable_bytes(std::span<T>(*values));
}

TEST(Loopback, EveryRankGetsWhatIsForIt) {
  for (const int ranks : {1, 2, 3, 5, 8}) {
    comm::loopback(ranks)->run([&](comm::Communicator& c) {
      // Rank r sends rank p as many numbers as p says, all 100 r + p.
      std::vector<std::int64_t> send_at = {0};
      std::vector<std::int64_t> receive_at = {0};
      std::vector<int> send;
      std::vector<int> expected;
      for (int p = 0; p < ranks; ++p) {
        send.insert(send.end(), static_cast<std::size_t>(p), 100 * c.rank() + p);
        expected.insert(expected.end(), static_cast<std::size_t>(c.rank()), 100 * p + c.rank());
        send_at.push_back(std::ssize(send));
        receive_at.push_back(std::ssize(expected));
      }
      std::vector<int> got(expected.size());
      c.exchange({bytes(send), send_at}, {room(&got), receive_at}, sizeof(int));
      EXPECT_EQ(got, expected);
      EXPECT_EQ(c.traffic().exchanged_bytes, (std::ssize(send) - c.rank()) * std::int64_t{sizeof(int)});
    });
  }
}

TEST(Loopback, SumsAreAddedInTheOrderOfTheRanks) {
  // 1 is lost beside 1e8, unless the large ones go first and cancel.
  const std::vector<float> terms = {1e8F, -1e8F, 1.0F};
  comm::loopback(3)->run([&](comm::Communicator& c) {
    std::vector<float> values(7, terms[static_cast<std::size_t>(c.rank())]);
    c.sum(std::span<float>(values));
    EXPECT_THAT(values, ::testing::Each(1.0F));
    std::vector<double> none;
    c.sum(std::span<double>(none));
    EXPECT_EQ(c.traffic().sums, 2);
  });
}

TEST(Loopback, NumbersOfRankZeroAreShared) {
  comm::loopback(4)->run([](comm::Communicator& c) {
    double numbers[] = {c.rank() + 0.5, c.rank() == 0 ? std::nan("") : 1.0};
    comm::share(c, numbers);
    EXPECT_EQ(numbers[0], 0.5);
    EXPECT_TRUE(std::isnan(numbers[1]));
  });
}

TEST(Loopback, RanksAgreeOrAllSayWhoDiffers) {
  comm::loopback(3)->run([](comm::Communicator& c) { comm::agree(c, "data set", 0xFFFFFFFFFFFFFFFF); });
  const Error error = testing::error_of(
      [] { comm::loopback(3)->run([](comm::Communicator& c) { comm::agree(c, "data set", c.rank() == 2 ? 8 : 7); }); });
  EXPECT_EQ(error.code(), ErrorCode::kBadData);
  EXPECT_THAT(error.message(), HasSubstr("rank 2 has another data set than rank 0"));
}

TEST(Loopback, WhatFailsOnSomeRanksAllSayOfTheFirst) {
  std::atomic<int> said = 0;
  const Error error = testing::error_of([&] {
    comm::loopback(4)->run([&](comm::Communicator& c) {
      int calls = 0;
      comm::together(c, [&] { ++calls; });
      EXPECT_EQ(calls, 1);
      try {
        comm::together(c, [&] {
          const std::string rank = std::to_string(c.rank());
          if (c.rank() % 2 == 1) throw Error(ErrorCode::kOutOfMemory, "full: " + rank, "of " + rank, "make room");
        });
      } catch (const Error& one) {
        EXPECT_EQ(one.message(), "full: 1");
        ++said;
        throw;
      }
    });
  });
  EXPECT_EQ(said, 4);
  EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory);
  EXPECT_EQ(error.where(), "of 1");
  EXPECT_EQ(error.hint(), "make room");
}

TEST(Loopback, StartedCallsAreThroughWhenTheyAreWaitedForInAnyOrder) {
  constexpr int kRounds = 100;  // more than there are slots for calls
  comm::loopback(3)->run([&](comm::Communicator& c) {
    const std::vector<std::int64_t> one_each = {0, 1, 2, 3};
    for (int round = 0; round < kRounds; ++round) {
      const std::vector<int> send(3, 10 * round + c.rank());
      std::vector<int> got(3, -1);
      std::vector<float> floats(5, static_cast<float>(round + c.rank()));
      std::vector<double> doubles(2, 1.0);
      const comm::Request rows = c.start_exchange({bytes(send), one_each}, {room(&got), one_each}, sizeof(int));
      const comm::Request sum = c.start_sum(std::span<float>(floats));
      const comm::Request other = c.start_sum(std::span<double>(doubles));
      if (round % 3 == c.rank()) c.progress();
      std::vector<comm::Request> order = {rows, sum, other};
      std::rotate(order.begin(), order.begin() + (round + c.rank()) % 3, order.end());
      for (const comm::Request& request : order) c.wait(request);
      EXPECT_THAT(got, ElementsAre(10 * round, 10 * round + 1, 10 * round + 2));
      EXPECT_THAT(floats, ::testing::Each(static_cast<float>(3 * round + 3)));
      EXPECT_THAT(doubles, ::testing::Each(3.0));
    }
    EXPECT_EQ(c.traffic().exchanges, kRounds);
    EXPECT_EQ(c.traffic().sums, 2 * kRounds);
  });
}

/// Whose progress fails once; waits find nothing wrong.
class FaultyProgress final : public comm::Communicator {
 public:
  int rank() const override { return 0; }
  int ranks() const override { return 1; }
  void abort(const std::string&) noexcept override {}

 private:
  comm::Request do_start_exchange(comm::RowsByRank<const std::byte>, comm::RowsByRank<std::byte>,
                                  std::int64_t) override {
    return {1};
  }
  comm::Request do_start_sum(std::span<float>) override { return {1}; }
  comm::Request do_start_sum(std::span<double>) override { return {1}; }
  void do_progress() override { throw Error(ErrorCode::kPeerLost, "the link is gone"); }
  void do_wait(comm::Request) override {}
};

TEST(Communicator, AFaultDuringProgressIsThrownByTheNextWait) {
  FaultyProgress c;
  std::vector<float> values(3);
  const comm::Request sum = c.start_sum(std::span<float>(values));
  c.progress();
  c.progress();
  const Error error = testing::error_of([&] { c.wait(sum); });
  EXPECT_THAT(error.message(), HasSubstr("the link is gone"));
}

/// Waits for ten seconds at most; false then.
template <class Condition>
bool comes_true(const Condition& condition) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST(Loopback, NothingIsTouchedOnceARankIsLost) {
  std::atomic<int> started = 0;
  std::atomic<bool> is_known = false;
  std::vector<std::vector<float>> values(3, {1, 1, 1});
  std::vector<float> more(3, 1);
  const Error error = testing::error_of([&] {
    comm::loopback(3)->run([&](comm::Communicator& c) {
      const comm::Request sum = c.start_sum(std::span<float>(values[static_cast<std::size_t>(c.rank())]));
      ++started;
      EXPECT_TRUE(comes_true([&] { return started == 3; }));
      if (c.rank() == 2) throw Error(ErrorCode::kNumeric, "no number");
      if (c.rank() == 1) {
        try {
          c.sum(std::span<float>(more));  // rank 2 does not come
        } catch (const Error&) {
          is_known = true;
          throw;
        }
      }
      EXPECT_TRUE(comes_true([&] { return is_known.load(); }));
      c.progress();
      EXPECT_EQ(values[0][0], 1);  // of rank 0's piece: rank 2's numbers may be gone
      c.wait(sum);
    });
  });
  EXPECT_EQ(error.code(), ErrorCode::kPeerLost);
  EXPECT_THAT(error.message(), HasSubstr("rank 2 of 3 is lost: no number"));
}

TEST(Loopback, ACallThatIsNotOpenIsNotWaitedFor) {
  const Error error = testing::error_of([] {
    comm::loopback(2)->run([](comm::Communicator& c) {
      std::vector<float> values(1);
      const comm::Request sum = c.start_sum(std::span<float>(values));
      c.wait(sum);
      c.wait(sum);
    });
  });
  EXPECT_THAT(error.message(), HasSubstr("which is not open"));
}

/// What rank 0's caller sees when `rank` does something else than to sum with the others.
template <class Action>
Error lost(int ranks, int rank, const Action& action) {
  return testing::error_of([&] {
    comm::loopback(ranks)->run([&](comm::Communicator& c) {
      if (c.rank() == rank) action(c);
      std::vector<float> values(3);
      c.sum(std::span<float>(values));
    });
  });
}

TEST(Loopback, AFailedRankEndsAllAndIsNamed) {
  const Error error =
      lost(4, 2, [](comm::Communicator&) { throw Error(ErrorCode::kNumeric, "the loss is NaN", "epoch 3"); });
  EXPECT_EQ(error.code(), ErrorCode::kPeerLost);
  EXPECT_EQ(exit_code(error.code()), 6);
  EXPECT_THAT(error.message(), AllOf(HasSubstr("rank 2 of 4"), HasSubstr("the loss is NaN (epoch 3)")));
  const Error other = lost(3, 1, [](comm::Communicator&) { throw std::runtime_error("anything"); });
  EXPECT_THAT(other.message(), AllOf(HasSubstr("rank 1 of 3"), HasSubstr("anything")));
}

TEST(Loopback, TheFirstRanksOwnErrorStaysWhatItIs) {
  const Error error = lost(3, 0, [](comm::Communicator&) { throw Error(ErrorCode::kNumeric, "the loss is NaN"); });
  EXPECT_EQ(error.code(), ErrorCode::kNumeric);
}

TEST(Loopback, ARankThatFailsAfterTheLastCallIsReported) {
  const Error error = testing::error_of([] {
    comm::loopback(2)->run([](comm::Communicator& c) {
      std::vector<float> values(1);
      c.sum(std::span<float>(values));
      if (c.rank() == 1) throw Error(ErrorCode::kDisk, "no room");
    });
  });
  EXPECT_EQ(error.code(), ErrorCode::kPeerLost);
  EXPECT_THAT(error.message(), HasSubstr("no room"));
}

TEST(Loopback, ARankThatLeavesEarlyEndsTheOthers) {
  for (const bool first_leaves : {true, false}) {
    const Error error = testing::error_of([&] {
      comm::loopback(3)->run([&](comm::Communicator& c) {
        if (c.rank() == (first_leaves ? 0 : 2)) return;
        std::vector<float> values(1);
        c.sum(std::span<float>(values));
      });
    });
    EXPECT_EQ(error.code(), ErrorCode::kPeerLost);
    EXPECT_THAT(error.message(), AllOf(HasSubstr(first_leaves ? "rank 0" : "rank 2"), HasSubstr("ended while others")));
  }
}

TEST(Loopback, CallsThatDoNotMatchAreFound) {
  const auto sum_of = [](std::size_t count) {
    return [=](comm::Communicator& c) {
      std::vector<float> values(count);
      c.sum(std::span<float>(values));
    };
  };
  EXPECT_THAT(lost(2, 1, sum_of(4)).message(),
              HasSubstr("rank 0 makes a sum of floats of 3, rank 1 a sum of floats of 4"));
  const Error kinds = lost(2, 1, [](comm::Communicator& c) {
    std::vector<double> values(3);
    c.sum(std::span<double>(values));
  });
  EXPECT_THAT(kinds.message(), HasSubstr("rank 1 a sum of doubles"));
}

/// Rank p owns nodes [4 p, 4 p + 4) and wants the nodes listed for it.
const std::vector<std::vector<NodeId>> kWanted = {{5, 7, 9}, {0}, {}, {1, 2, 3, 4, 11}};
const std::vector<std::int64_t> kStarts = {0, 4, 8, 12, 16};

TEST(Halo, PlansSendWhatOthersWant) {
  comm::loopback(4)->run([](comm::Communicator& c) {
    const comm::HaloPlan plan = comm::make_halo_plan(c, kStarts, kWanted[static_cast<std::size_t>(c.rank())]);
    EXPECT_EQ(plan.owned, 4);
    if (c.rank() == 0) {
      EXPECT_THAT(plan.receive_at, ElementsAre(0, 0, 2, 3, 3));
      EXPECT_THAT(plan.send_at, ElementsAre(0, 0, 1, 1, 4));
      EXPECT_THAT(plan.send_rows, ElementsAre(0, 1, 2, 3));
    } else if (c.rank() == 2) {
      EXPECT_EQ(plan.ghosts, 0);
      EXPECT_THAT(plan.send_rows, ElementsAre(1, 3));
    }
  });
}

TEST(Halo, GhostsOfOnesOwnAreRefused) {
  const Error error = testing::error_of([] {
    comm::loopback(2)->run([](comm::Communicator& c) {
      const std::vector<std::int64_t> starts = {0, 2, 4};
      const std::vector<NodeId> own = {static_cast<NodeId>(2 * c.rank())};
      comm::make_halo_plan(c, starts, own);
    });
  });
  EXPECT_THAT(error.message(), HasSubstr("the rank's own node"));
}

/// Rows as far apart as `stride`, the gaps filled with a number that would show.
struct Rows {
  Rows(std::int64_t rows, std::int64_t cols, std::int64_t stride)
      : values(static_cast<std::size_t>(rows * stride), 1e9) {
    view = {values.data(), rows, cols, stride};
  }
  std::vector<double> values;
  MatrixView<double> view;
};

/// An integer that tells element, rank and use apart.
double number(std::int64_t r, std::int64_t c, int rank, int use) {
  return static_cast<double>((r * 31 + c * 7 + rank * 13 + use * 5) % 17 - 8);
}

TEST(Halo, GhostsHoldTheirOwnersRowsAndTheWayBackIsTheAdjoint) {
  constexpr std::int64_t kCols = 3;
  for (const std::int64_t stride : {kCols, kCols + 2}) {
    comm::loopback(4)->run([&](comm::Communicator& c) {
      const std::vector<NodeId>& wanted = kWanted[static_cast<std::size_t>(c.rank())];
      const comm::HaloPlan plan = comm::make_halo_plan(c, kStarts, wanted);
      Rows x(4, kCols, stride);
      Rows hx(4 + plan.ghosts, kCols, stride);
      Rows y(4 + plan.ghosts, kCols, stride);
      Rows hy(4, kCols, stride);
      for (std::int64_t r = 0; r < 4; ++r)
        for (std::int64_t k = 0; k < kCols; ++k) x.view.at(r, k) = number(4 * c.rank() + r, k, 0, 1);
      for (std::int64_t r = 0; r < y.view.rows; ++r)
        for (std::int64_t k = 0; k < kCols; ++k) y.view.at(r, k) = number(r, k, c.rank(), 2);
      std::vector<std::byte> scratch(kernels::halo_workspace_bytes(plan.sends() + plan.ghosts, kCols, sizeof(double)) +
                                     64);
      const kernels::Context context{2, scratch};
      kernels::halo<double>(context, {&c, &plan, x.view, hx.view});
      for (std::size_t g = 0; g < wanted.size(); ++g)
        for (std::int64_t k = 0; k < kCols; ++k)
          EXPECT_EQ(hx.view.at(4 + static_cast<std::int64_t>(g), k), number(wanted[g], k, 0, 1));
      kernels::halo_add<double>(context, {&c, &plan, y.view, hy.view});
      // <halo x, y> = <x, halo_add y>, in integers and so exactly.
      double sides[] = {0, 0};
      for (std::int64_t r = 0; r < hx.view.rows; ++r)
        for (std::int64_t k = 0; k < kCols; ++k) sides[0] += hx.view.at(r, k) * y.view.at(r, k);
      for (std::int64_t r = 0; r < 4; ++r)
        for (std::int64_t k = 0; k < kCols; ++k) sides[1] += x.view.at(r, k) * hy.view.at(r, k);
      c.sum(sides);
      EXPECT_EQ(sides[0], sides[1]);
      EXPECT_NE(sides[0], 0);
    });
  }
}

/// Of ranks with many rows, with none, and with nothing but NaNs in a column.
TEST(RankRange, IsThatOfTheRowsOfAllRanks) {
  constexpr std::int64_t kCols = 3;
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::int64_t> counts = {0, 5, 300, 1};
  for (const std::int64_t stride : {kCols, kCols + 2}) {
    for (const bool any : {true, false}) {
      comm::loopback(4)->run([&](comm::Communicator& c) {
        Rows x(any ? counts[static_cast<std::size_t>(c.rank())] : 0, kCols, stride);
        for (std::int64_t r = 0; r < x.view.rows; ++r) {
          x.view.at(r, 0) = c.rank() == 2 ? 1000.0 - static_cast<double>(r) : -1;
          x.view.at(r, 1) = c.rank() == 3 ? nan : number(r, 1, c.rank(), 1);
          x.view.at(r, 2) = c.rank() == 1 && r == 4 ? -inf : nan;
        }
        Rows y(2, kCols, kCols);
        std::vector<std::byte> scratch(kernels::rank_range_workspace_bytes(4, kCols, sizeof(double)));
        kernels::rank_range<double>({2, scratch}, {&c, nullptr, x.view, y.view});
        const std::vector<double> of_all = {1000, 8, -inf, -1, -8, -inf};
        const std::vector<double> of_none = {-inf, -inf, -inf, inf, inf, inf};
        EXPECT_EQ(y.values, any ? of_all : of_none);
      });
    }
  }
}

/// Bit patterns that a copy as a number could change: small ones, -1, quiet and signalling NaNs.
std::int32_t index_of(std::int64_t r, std::int64_t c) {
  constexpr std::int32_t kBits[] = {-1, 0x7fa0'0001, 0x7fff'ffff, 0x0000'0001, 0x0080'0000};
  return kBits[(r + c) % 5] ^ static_cast<std::int32_t>(r << 8);
}

TEST(Halo, BringsIndicesSentOrFetchedByHalvesOrAtOnce) {
  constexpr std::int64_t kCols = 3;
  for (const bool fetched : {false, true}) {
    comm::loopback(4)->run([&](comm::Communicator& c) {
      const std::vector<NodeId>& wanted = kWanted[static_cast<std::size_t>(c.rank())];
      const comm::HaloPlan plan = comm::make_halo_plan(c, kStarts, wanted);
      const std::unique_ptr<pgas::Space> space = fetched ? c.make_space(pgas::Link{}) : nullptr;
      std::vector<std::int32_t> own(static_cast<std::size_t>(4 * kCols));
      for (std::int64_t r = 0; r < 4; ++r)
        for (std::int64_t k = 0; k < kCols; ++k)
          own[static_cast<std::size_t>(r * kCols + k)] = index_of(4 * c.rank() + r, k);
      const std::int64_t packed_rows = plan.sends() + plan.ghosts;
      std::vector<std::byte> scratch(kernels::halo_workspace_bytes(packed_rows, kCols, sizeof(std::int32_t)) + 64);
      std::vector<std::int32_t> packed(static_cast<std::size_t>(packed_rows * kCols));
      const kernels::Context context{2, scratch};
      for (const bool halves : {false, true}) {
        std::vector<std::int32_t> all(static_cast<std::size_t>((4 + plan.ghosts) * kCols), -7);
        kernels::HaloArgs<std::int32_t> args{&c, &plan, {own.data(), 4, kCols}, {all.data(), 4 + plan.ghosts, kCols}};
        args.space = space.get();
        kernels::ExchangeUnderWay exchange;
        if (halves) {
          args.packed = {packed.data(), packed_rows, kCols};
          args.exchange = &exchange;
          kernels::halo_start(context, args);
          kernels::halo_wait(context, args);
        } else {
          kernels::halo(context, args);
        }
        for (std::int64_t r = 0; r < 4 + plan.ghosts; ++r) {
          const std::int64_t node = r < 4 ? 4 * c.rank() + r : wanted[static_cast<std::size_t>(r - 4)];
          for (std::int64_t k = 0; k < kCols; ++k)
            EXPECT_EQ(all[static_cast<std::size_t>(r * kCols + k)], index_of(node, k)) << "node " << node;
        }
      }
    });
  }
}

}  // namespace
}  // namespace gneiss
