// Which of several devices is on which card, and which cards of a machine are taken.
#include "jobs/card_deal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <set>
#include <utility>

namespace gneiss::jobs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(CardDeal, IsInRunsOfAboutEqualLength) {
  EXPECT_THAT(deal(4, {0, 1, 2, 3}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(deal(4, {5, 2}), ElementsAre(5, 5, 2, 2));
  EXPECT_THAT(deal(5, {0, 1, 2}), ElementsAre(0, 0, 1, 1, 2));
  EXPECT_THAT(deal(3, {7}), ElementsAre(7, 7, 7));
  for (int devices = 1; devices <= 40; ++devices) {
    for (int count = 1; count <= devices; ++count) {
      std::vector<int> cards(static_cast<std::size_t>(count));
      std::iota(cards.begin(), cards.end(), 0);
      const std::vector<int> dealt = deal(devices, cards);
      EXPECT_EQ(cards_of(dealt), cards);
      for (int device = 0; device < devices; ++device) {
        EXPECT_GE(devices_beside(dealt, device), devices / count);
        EXPECT_LE(devices_beside(dealt, device), (devices + count - 1) / count);
      }
    }
  }
}

TEST(CardDeal, IsDescribed) {
  EXPECT_EQ(describe_deal({0, 0, 3}), "devices 0 and 1 on cuda:0, 2 on cuda:3");
  EXPECT_EQ(describe_deal({1, 1, 1, 1}), "devices 0 to 3 on cuda:1");
  EXPECT_EQ(describe_deal({-1}), "device 0 on emulated");
}

/// Beside every subset, on random machines of six cards.
TEST(CardDeal, TakesTheFirstCardsOfWhichEachReadsAllOthers) {
  const std::vector<int> cards = {0, 1, 2, 3, 4, 5};
  std::mt19937 random(7);
  int found = 0;
  for (int machine = 0; machine < 200; ++machine) {
    std::set<std::pair<int, int>> unread;
    for (const int card : cards) {
      for (const int other : cards) {
        if (card != other && random() % 4 == 0) unread.emplace(card, other);
      }
    }
    const auto reads = [&](int card, int other) { return unread.count({card, other}) == 0; };
    for (int count = 1; count <= 6; ++count) {
      std::vector<int> want;
      for (unsigned subset = 1; subset < 64; ++subset) {
        std::vector<int> taken;
        for (const int card : cards) {
          if ((subset >> card & 1U) != 0) taken.push_back(card);
        }
        bool meet = static_cast<int>(taken.size()) == count;
        for (const int card : taken) {
          for (const int other : taken) meet = meet && (card == other || reads(card, other));
        }
        if (meet && (want.empty() || taken < want)) want = taken;
      }
      EXPECT_EQ(cards_that_meet(cards, count, reads), want);
      found += want.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(found, 400);
  EXPECT_LT(found, 1000);
  EXPECT_THAT(cards_that_meet({3}, 2, [](int, int) { return true; }), IsEmpty());
}

}  // namespace
}  // namespace gneiss::jobs
