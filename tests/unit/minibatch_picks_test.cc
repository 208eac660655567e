// Are picks what they are said to be? Goodness of fit over degrees and fanouts at which samplers are known to fail,
// with faulty pickers that must not pass. Keys are fixed, so a result never changes from run to run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "minibatch/draws.h"
#include "minibatch/picks.h"

namespace gneiss::minibatch {
namespace {

using ::testing::ElementsAre;

constexpr double kFarOff = 4.0;  ///< standard deviations; one in 16,000

using Picker = std::function<void(std::uint64_t key, Row row, std::int64_t count, EdgeId* out, PickScratch* scratch)>;
using KeyOf = std::function<std::uint64_t(std::int64_t trial)>;

/// A chi-square statistic as a standard normal (Wilson and Hilferty).
double deviation(double chi_square, double freedom) {
  const double spread = 2.0 / (9.0 * freedom);
  return (std::cbrt(chi_square / freedom) - (1 - spread)) / std::sqrt(spread);
}

std::uint64_t key_of_batch(std::int64_t trial) { return node_key(hop_key({7, 1, trial}, 0), 12); }

/// How far the places that are picked are from equally often. Places of large rows are counted by bins; counts of one
/// trial are multivariate hypergeometric, whence the factor.
double inclusion_deviation(const Picker& picker, std::int64_t degree, std::int64_t count, std::int64_t trials,
                           const KeyOf& key = key_of_batch) {
  const std::int64_t bins = std::min<std::int64_t>(degree, 500);
  std::vector<double> seen(static_cast<std::size_t>(bins), 0);
  std::vector<EdgeId> picks(static_cast<std::size_t>(count));
  PickScratch scratch;
  for (std::int64_t t = 0; t < trials; ++t) {
    picker(key(t), {100, degree}, count, picks.data(), &scratch);
    for (const EdgeId entry : picks) seen[static_cast<std::size_t>((entry - 100) * bins / degree)] += 1;
  }
  double chi_square = 0;
  for (std::int64_t b = 0; b < bins; ++b) {
    const std::int64_t size = ((b + 1) * degree + bins - 1) / bins - (b * degree + bins - 1) / bins;
    const double expected =
        static_cast<double>(trials * count) * static_cast<double>(size) / static_cast<double>(degree);
    chi_square += std::pow(seen[static_cast<std::size_t>(b)] - expected, 2) / expected;
  }
  const double factor = static_cast<double>(degree - 1) / static_cast<double>(degree - count);
  return deviation(chi_square * factor, static_cast<double>(bins - 1));
}

struct Case {
  std::int64_t degree;
  std::int64_t count;
  std::int64_t trials;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> list = {
      {2, 1, 20000},       {4, 3, 20000},       {6, 5, 20000},      {16, 15, 10000},   {33, 32, 5000},
      {5, 2, 20000},       {4, 2, 20000},       {3, 1, 20000},      {10, 1, 20000},    {25, 10, 5000},
      {63, 15, 5000},      {64, 15, 5000},      {65, 15, 5000},     {512, 15, 5000},   {513, 15, 5000},
      {513, 40, 1000},     {4095, 10, 5000},    {4097, 10, 5000},   {4097, 200, 300},  {33000, 15, 3000},
      {40000, 32, 2000},   {50000, 15, 3000},   {50000, 33, 2000},  {65535, 15, 3000}, {65537, 15, 3000},
      {1000000, 15, 3000}, {1000000, 100, 500}, {1000000, 1000, 50}};
  return list;
}

/// The worst of the cases with at most `most` edges a node.
double worst_deviation(const Picker& picker, std::int64_t most) {
  double worst = 0;
  for (const Case& c : cases())
    if (c.degree <= most) worst = std::max(worst, inclusion_deviation(picker, c.degree, c.count, c.trials));
  return worst;
}

/// Floyd's method as it is written down, over a set; `choose` draws the i-th number for [0, j].
template <class Choose>
Picker floyd(const Choose& choose) {
  return [choose](std::uint64_t key, Row row, std::int64_t count, EdgeId* out, PickScratch*) {
    std::set<std::int64_t> taken;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t j = row.degree - count + i;
      const std::int64_t t = choose(key, i, j);
      taken.insert(taken.count(t) > 0 ? j : t);
    }
    for (const std::int64_t t : taken) *out++ = row.begin + t;
  };
}

std::int64_t inclusive(std::uint64_t key, std::int64_t i, std::int64_t j) {
  return static_cast<std::int64_t>(below(draw(key, static_cast<std::uint64_t>(i)), static_cast<std::uint64_t>(j) + 1));
}

TEST(PickDistinct, TakesEveryPlaceEquallyOften) {
  for (const Case& c : cases()) {
    EXPECT_LT(std::abs(inclusion_deviation(pick_distinct, c.degree, c.count, c.trials)), kFarOff)
        << c.count << " of " << c.degree;
  }
}

TEST(PickDistinct, PickersWithKnownFaultsAreFoundOut) {
  // The check itself passes a right picker.
  EXPECT_LT(worst_deviation(floyd(inclusive), 50000), kFarOff);
  // [0, j): the last place never comes first. Seen in torch-sparse and its heirs.
  const auto exclusive = [](std::uint64_t key, std::int64_t i, std::int64_t j) {
    return j == 0 ? 0 : inclusive(key, i, j - 1);
  };
  EXPECT_GT(worst_deviation(floyd(exclusive), 64), kFarOff);
  // Sixteen bits and a remainder: small places twice as often in rows of more than 32768.
  const auto short_remainder = [](std::uint64_t key, std::int64_t i, std::int64_t j) {
    return static_cast<std::int64_t>(draw(key, static_cast<std::uint64_t>(i)) & 0xFFFF) % (j + 1);
  };
  EXPECT_LT(worst_deviation(floyd(short_remainder), 64), kFarOff) << "which short rows do not show";
  EXPECT_GT(worst_deviation(floyd(short_remainder), 50000), kFarOff);
  // One seed for all.
  const auto fixed_seed = [](std::uint64_t, std::int64_t i, std::int64_t j) { return inclusive(5, i, j); };
  EXPECT_GT(worst_deviation(floyd(fixed_seed), 64), kFarOff);
  // A reservoir that draws below i where it should be i + 1.
  const auto reservoir = [](std::uint64_t key, Row row, std::int64_t count, EdgeId* out, PickScratch*) {
    for (std::int64_t i = 0; i < row.degree; ++i) {
      const std::int64_t t = i < count ? i : inclusive(key, i, i - 1);
      if (t < count) out[t] = row.begin + i;
    }
  };
  EXPECT_GT(worst_deviation(reservoir, 64), kFarOff);
}

TEST(PickDistinct, EveryWayToKeepWhatWasTakenGivesTheSamePicks) {
  PickScratch scratch;
  for (const std::int64_t degree : {1, 2, 63, 64, 65, 511, 512, 513, 700, 5000, 60000, 200000, 3000000}) {
    for (const std::int64_t count : {1, 2, 15, 31, 32, 33, 64, 500, 4000}) {
      if (count > degree) continue;
      for (std::uint64_t key = 1; key < 4; ++key) {
        std::vector<EdgeId> expected(static_cast<std::size_t>(count));
        floyd(inclusive)(key, {7, degree}, count, expected.data(), nullptr);
        std::vector<EdgeId> picks(static_cast<std::size_t>(count), -1);
        pick_distinct(key, {7, degree}, count, picks.data(), &scratch);
        ASSERT_EQ(picks, expected) << count << " of " << degree;
      }
    }
  }
}

TEST(PickDistinct, RowsBeyondThirtyTwoBitsWork) {
  PickScratch scratch;
  std::vector<EdgeId> picks(10);
  const std::int64_t degree = std::int64_t{5} << 32;
  pick_distinct(3, {std::int64_t{1} << 40, degree}, 10, picks.data(), &scratch);
  EXPECT_TRUE(std::is_sorted(picks.begin(), picks.end()));
  EXPECT_EQ(std::set<EdgeId>(picks.begin(), picks.end()).size(), 10U);
  EXPECT_GT(picks.back(), (std::int64_t{1} << 40) + (std::int64_t{1} << 32));
  EXPECT_LT(picks.back(), (std::int64_t{1} << 40) + degree);
}

/// Which of the ten pairs of five two keys take, together: 100 joint outcomes, each as likely.
double joint_deviation(const std::function<std::pair<std::uint64_t, std::uint64_t>(std::int64_t trial)>& keys) {
  constexpr std::int64_t kTrials = 40000;
  std::map<std::vector<EdgeId>, double> seen;
  PickScratch scratch;
  for (std::int64_t t = 0; t < kTrials; ++t) {
    const auto [a, b] = keys(t);
    std::vector<EdgeId> picks(4);
    pick_distinct(a, {0, 5}, 2, picks.data(), &scratch);
    pick_distinct(b, {0, 5}, 2, picks.data() + 2, &scratch);
    seen[picks] += 1;
  }
  EXPECT_EQ(seen.size(), 100U);
  double chi_square = 0;
  for (const auto& [picks, count] : seen) chi_square += std::pow(count - kTrials / 100.0, 2) / (kTrials / 100.0);
  return deviation(chi_square, 99);
}

TEST(Draws, HopsEpochsBatchesNodesAndSeedsAreIndependent) {
  const auto key = [](std::uint64_t seed, std::int64_t epoch, std::int64_t batch, int hop, std::int64_t node) {
    return node_key(hop_key({seed, epoch, batch}, hop), node);
  };
  // A pair of keys that differ in one thing; what else varies over the trials differs too.
  EXPECT_LT(std::abs(joint_deviation([&](auto t) { return std::pair(key(0, 1, t, 0, 9), key(0, 1, t, 1, 9)); })),
            kFarOff);
  EXPECT_LT(std::abs(joint_deviation([&](auto t) { return std::pair(key(0, 1, t, 0, 9), key(0, 2, t, 0, 9)); })),
            kFarOff);
  EXPECT_LT(
      std::abs(joint_deviation([&](auto t) { return std::pair(key(0, 1, 2 * t, 0, 9), key(0, 1, 2 * t + 1, 0, 9)); })),
      kFarOff);
  EXPECT_LT(
      std::abs(joint_deviation([&](auto t) { return std::pair(key(0, 1, 0, 0, 2 * t), key(0, 1, 0, 0, 2 * t + 1)); })),
      kFarOff);
  EXPECT_LT(std::abs(joint_deviation([&](auto t) { return std::pair(key(0, 1, t, 0, 9), key(1, 1, t, 0, 9)); })),
            kFarOff);
  EXPECT_LT(
      std::abs(joint_deviation([&](auto t) { return std::pair(key(0, 2 * t, 0, 0, 9), key(0, 2 * t + 1, 0, 0, 9)); })),
      kFarOff);
  // The same key twice is no such pair.
  EXPECT_GT(deviation(40000, 99), kFarOff);
}

TEST(Draws, AreTheContractThatOtherDevicesKeep) {
  EXPECT_EQ(mix64(1), 0x5692161d100b05e5U);
  EXPECT_EQ(below(~std::uint64_t{0}, 10), 9U);
  EXPECT_EQ(below(0, 10), 0U);
  EXPECT_EQ(below(std::uint64_t{1} << 63, 10), 5U);
  EXPECT_GT(unit(0), 0.0);
  EXPECT_LT(unit(~std::uint64_t{0}), 1.0);
}

TEST(PickDistinct, MeansOfNeighboursAreUnbiasedWithTheVarianceOfTheTextbook) {
  constexpr int kDegree = 20;
  constexpr int kCount = 5;
  constexpr int kTrials = 40000;
  std::vector<double> value(kDegree);
  double mean = 0;
  for (int i = 0; i < kDegree; ++i)
    mean += (value[static_cast<std::size_t>(i)] = std::sin(7.0 * i) + 0.1 * i) / kDegree;
  double variance = 0;
  for (const double x : value) variance += (x - mean) * (x - mean) / (kDegree - 1);
  const double expected = (1 - static_cast<double>(kCount) / kDegree) * variance / kCount;
  double sum = 0;
  double squares = 0;
  PickScratch scratch;
  std::vector<EdgeId> picks(kCount);
  for (int t = 0; t < kTrials; ++t) {
    pick_distinct(key_of_batch(t), {0, kDegree}, kCount, picks.data(), &scratch);
    double estimate = 0;
    for (const EdgeId e : picks) estimate += value[static_cast<std::size_t>(e)] / kCount;
    sum += estimate - mean;
    squares += (estimate - mean) * (estimate - mean);
  }
  EXPECT_LT(std::abs(sum / kTrials), 4 * std::sqrt(expected / kTrials));
  EXPECT_NEAR(squares / kTrials / expected, 1.0, 4 * std::sqrt(2.0 / kTrials));
}

TEST(PickRepeated, TakesEveryPlaceEquallyOftenEveryTime) {
  for (const std::int64_t degree : {1, 2, 5, 70, 500}) {
    std::vector<double> seen(static_cast<std::size_t>(degree), 0);
    std::vector<EdgeId> picks(10);
    constexpr std::int64_t kTrials = 10000;
    for (std::int64_t t = 0; t < kTrials; ++t) {
      pick_repeated(key_of_batch(t), {3, degree}, 10, picks.data());
      ASSERT_TRUE(std::is_sorted(picks.begin(), picks.end()));
      for (const EdgeId e : picks) seen.at(static_cast<std::size_t>(e - 3)) += 1;
    }
    if (degree == 1) continue;
    double chi_square = 0;
    const double expected = 10.0 * kTrials / static_cast<double>(degree);
    for (const double count : seen) chi_square += (count - expected) * (count - expected) / expected;
    EXPECT_LT(std::abs(deviation(chi_square, static_cast<double>(degree - 1))), kFarOff) << degree;
  }
}

std::vector<float> uneven_weights(std::size_t size) {
  std::vector<float> weights(size);
  for (std::size_t i = 0; i < size; ++i)
    weights[i] = i % 7 == 3 ? 0.0F : static_cast<float>(0.05 + std::pow(std::sin(3.0 * static_cast<double>(i)), 4));
  return weights;
}

std::vector<double> shares(const std::vector<float>& weights) {
  double sum = 0;
  for (const float w : weights) sum += static_cast<double>(w);
  std::vector<double> list;
  for (const float w : weights) list.push_back(static_cast<double>(w) / sum);
  return list;
}

TEST(AliasColumns, GiveEachEntryItsShare) {
  for (const std::size_t size : {1U, 2U, 5U, 80U, 3000U}) {
    const std::vector<float> weights = uneven_weights(size);
    std::vector<AliasColumn> columns(size);
    fill_alias_columns(weights, columns);
    std::vector<double> share(size, 0);
    for (std::size_t c = 0; c < size; ++c) {
      const double kept = columns[c].threshold * 0x1.0p-32;
      share[c] += kept / static_cast<double>(size);
      share[columns[c].alias] += (1 - kept) / static_cast<double>(size);
    }
    const std::vector<double> expected = shares(weights);
    for (std::size_t i = 0; i < size; ++i) {
      EXPECT_NEAR(share[i], expected[i], 1e-9) << i << " of " << size;
      if (weights[i] == 0) {
        EXPECT_EQ(share[i], 0) << i << " of " << size;
      }
    }
  }
}

TEST(AliasColumns, WeightsOfZeroAreNeverDrawnHoweverTheSumRounds) {
  for (std::size_t size = 2; size < 60; ++size) {
    std::vector<float> weights(size, 0.1F);
    for (std::size_t i = 0; i < size; i += 3) weights[i] = 0;
    std::vector<AliasColumn> columns(size);
    fill_alias_columns(weights, columns);
    for (std::size_t c = 0; c < size; ++c) {
      if (weights[c] == 0) {
        EXPECT_EQ(columns[c].threshold, 0U);
      }
      EXPECT_GT(weights[columns[c].alias], 0) << c << " of " << size;
    }
  }
}

TEST(PickWeightedRepeated, DrawsByWeight) {
  const std::vector<float> weights = uneven_weights(40);
  const std::vector<double> expected = shares(weights);
  std::vector<AliasColumn> columns(weights.size());
  fill_alias_columns(weights, columns);
  constexpr int kTrials = 20000;
  std::vector<double> seen(weights.size(), 0);
  std::vector<EdgeId> picks(10);
  for (int t = 0; t < kTrials; ++t) {
    pick_weighted_repeated(key_of_batch(t), {50, 40}, columns, 10, picks.data());
    for (const EdgeId e : picks) seen.at(static_cast<std::size_t>(e - 50)) += 1;
  }
  double chi_square = 0;
  double freedom = -1;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) {
      EXPECT_EQ(seen[i], 0) << i;
      continue;
    }
    const double mean = 10.0 * kTrials * expected[i];
    chi_square += (seen[i] - mean) * (seen[i] - mean) / mean;
    freedom += 1;
  }
  EXPECT_LT(std::abs(deviation(chi_square, freedom)), kFarOff);
}

/// How often each entry is among the picks, over trials.
std::vector<double> weighted_inclusions(const std::vector<float>& weights, std::int64_t count, int trials) {
  std::vector<AliasColumn> columns(weights.size());
  fill_alias_columns(weights, columns);
  std::vector<double> seen(weights.size(), 0);
  std::vector<EdgeId> picks(static_cast<std::size_t>(count));
  PickScratch scratch;
  for (int t = 0; t < trials; ++t) {
    pick_weighted_distinct(key_of_batch(t), {50, static_cast<EdgeId>(weights.size())}, weights, columns, count,
                           picks.data(), &scratch);
    EXPECT_TRUE(std::is_sorted(picks.begin(), picks.end()));
    for (const EdgeId e : picks) seen.at(static_cast<std::size_t>(e - 50)) += 1;
  }
  return seen;
}

TEST(PickWeightedDistinct, TwoPicksAreOneAfterTheOtherByWeight) {
  constexpr int kTrials = 40000;
  for (const std::size_t size : {5U, 30U, 90U}) {  // by exponentials, by exponentials, by draws
    const std::vector<float> weights = uneven_weights(size);
    const std::vector<double> share = shares(weights);
    const std::vector<double> seen = weighted_inclusions(weights, 2, kTrials);
    for (std::size_t i = 0; i < size; ++i) {
      double chance = share[i];
      for (std::size_t j = 0; j < size; ++j)
        if (j != i) chance += share[j] * share[i] / (1 - share[j]);
      if (weights[i] == 0) {
        EXPECT_EQ(seen[i], 0);
        continue;
      }
      const double spread = std::sqrt(kTrials * chance * (1 - chance));
      EXPECT_LT(std::abs(seen[i] - kTrials * chance), 4.2 * spread) << i << " of " << size;
    }
  }
}

TEST(PickWeightedDistinct, AHeavyEntryDoesNotBendTheChancesOfTheRest) {
  std::vector<float> weights(90, 1.0F);
  weights[17] = 1e6F;  // nearly every draw: the picks go on without draws
  constexpr int kTrials = 10000;
  const std::vector<double> seen = weighted_inclusions(weights, 10, kTrials);
  EXPECT_EQ(seen[17], kTrials);
  double chi_square = 0;
  const double expected = kTrials * 9.0 / 89.0;
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (i != 17) chi_square += std::pow(seen[i] - expected, 2) / expected * 88.0 / 80.0;
  EXPECT_LT(std::abs(deviation(chi_square, 88)), kFarOff);
}

TEST(PickWeightedDistinct, TakesAllThatCanBeDrawn) {
  const std::vector<float> weights = {0, 2, 0, 1e-30F, 5};
  std::vector<AliasColumn> columns(5);
  fill_alias_columns(weights, columns);
  std::vector<EdgeId> picks(3);
  PickScratch scratch;
  pick_weighted_distinct(1, {10, 5}, weights, columns, 3, picks.data(), &scratch);
  EXPECT_THAT(picks, ElementsAre(11, 13, 14));
}

TEST(Smallest, KeepsTheSmallestAndOfEqualOnesTheFirst) {
  Smallest smallest;
  smallest.start(3);
  const std::vector<std::uint64_t> keys = {9, 4, 4, 7, 4, 1};
  for (std::size_t i = 0; i < keys.size(); ++i) smallest.offer(keys[i], static_cast<EdgeId>(i));
  std::vector<EdgeId> out(3);
  EXPECT_EQ(smallest.write(out.data()), 3);
  EXPECT_THAT(out, ElementsAre(1, 2, 5));
  smallest.start(0);
  smallest.offer(1, 1);
  EXPECT_EQ(smallest.write(out.data()), 0);
}

}  // namespace
}  // namespace gneiss::minibatch
