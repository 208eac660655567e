// The network between ranks: a fit to calls finds what they were made of, and ranks of one process measure alike.
#include "cost/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "comm/loopback.h"

namespace gneiss::cost {
namespace {

using ::testing::HasSubstr;

std::vector<NetworkCall> calls_on(const Network& network, int ranks) {
  std::vector<NetworkCall> calls;
  for (const bool is_sum : {false, true}) {
    for (const double bytes : {64.0, 16'384.0, 4'194'304.0}) {
      NetworkCall call{is_sum, bytes, 0};
      call.seconds = call_seconds(network, call, ranks);
      calls.push_back(call);
    }
  }
  return calls;
}

TEST(Network, ACallIsMessagesAndBytes) {
  const Network network{1e9, 1e-5, ""};
  EXPECT_DOUBLE_EQ(call_seconds(network, {false, 1e6, 0}, 5), 1e-5 + 1e-3);
  EXPECT_DOUBLE_EQ(call_seconds(network, {true, 1e6, 0}, 5), 8 * 1e-5 + 8.0 / 5 * 1e-3);
}

TEST(Network, AFitFindsLatencyAndRate) {
  for (const int ranks : {2, 7}) {
    for (const Network& made : {Network{25e9, 2e-6, ""}, Network{25e6, 1e-4, ""}}) {
      const Network found = fit_network(calls_on(made, ranks), ranks);
      EXPECT_NEAR(found.bytes_per_second, made.bytes_per_second, 1e-6 * made.bytes_per_second);
      EXPECT_NEAR(found.latency, made.latency, 1e-6 * made.latency);
      EXPECT_THAT(found.source, HasSubstr("between " + std::to_string(ranks) + " ranks"));
    }
  }
}

/// A long call counts as much as a short one: all are a tenth off, and so is what is found, about.
TEST(Network, AFitIsAsGoodForShortCallsAsForLongOnes) {
  std::mt19937 random(3);
  const Network made{1e9, 2e-5, ""};
  std::vector<NetworkCall> calls = calls_on(made, 2);
  for (NetworkCall& call : calls) call.seconds *= 0.9 + 0.2 * static_cast<double>(random() % 1000) / 1000;
  const Network found = fit_network(calls, 2);
  EXPECT_NEAR(found.bytes_per_second, made.bytes_per_second, 0.15 * made.bytes_per_second);
  EXPECT_NEAR(found.latency, made.latency, 0.15 * made.latency);
}

TEST(Network, AFitIsPossibleWhateverWasMeasured) {
  for (const double growth : {-0.1, 0.0, 3.0}) {
    std::vector<NetworkCall> calls = calls_on({1e9, 1e-5, ""}, 3);
    for (NetworkCall& call : calls) call.seconds = 1e-5 * std::pow(call.bytes / 64, growth);
    EXPECT_TRUE(fit_network(calls, 3).is_valid()) << growth;
  }
}

TEST(Network, IsTheSameOnAllRanksThatMeasureIt) {
  for (const int ranks : {2, 3}) {
    std::vector<MeasuredNetwork> measured(static_cast<std::size_t>(ranks));
    comm::loopback(ranks)->run([&](comm::Communicator& communicator) {
      measured[static_cast<std::size_t>(communicator.rank())] = measure_network(communicator);
    });
    for (const MeasuredNetwork& each : measured) {
      EXPECT_TRUE(each.network.is_valid());
      EXPECT_EQ(each.network.bytes_per_second, measured[0].network.bytes_per_second);
      EXPECT_EQ(each.network.latency, measured[0].network.latency);
      EXPECT_EQ(each.ranks, ranks);
      ASSERT_EQ(each.calls.size(), measured[0].calls.size());
      for (const NetworkCall& call : each.calls) EXPECT_GT(call.seconds, 0);
    }
    EXPECT_THAT(describe(measured[0]), HasSubstr("us a message"));
  }
}

}  // namespace
}  // namespace gneiss::cost
