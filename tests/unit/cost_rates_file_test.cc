// The file of measured rates: what is written comes back, and nothing else than that is believed.
#include "cost/rates_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "comm/loopback.h"
#include "support/data_fixtures.h"

namespace gneiss::cost {
namespace {

namespace fs = std::filesystem;
using ::gneiss::testing::Environment;
using ::testing::AllOf;
using ::testing::HasSubstr;

const MachineKey kMachine{"a processor", "VECTORS", 2, "1.2.3"};

class RatesFile : public ::testing::Test {
 protected:
  /// The file after `from` in it became `to`.
  void change(const std::string& from, const std::string& to) const {
    std::string text = read_file(rates_path(kMachine));
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos);
    write_file(rates_path(kMachine), text.replace(at, from.size(), to));
  }
  static void expect_defaults(const RatesInUse& use) {
    EXPECT_FALSE(use.measured);
    EXPECT_EQ(use.rates.source, cost::default_rates().source);
    EXPECT_EQ(use.rates.gather.rates, cost::default_rates().gather.rates);
  }

  const gneiss::testing::TempFolder folder_;
  const Environment cache_{"XDG_CACHE_HOME", folder_.path().string()};
};

TEST_F(RatesFile, ComesBackAsItWasWritten) {
  cost::Rates rates = cost::default_rates();
  rates.gather.rates[2] = 123.25e9;
  rates.dropout = 1.0 / 3;
  const fs::path path = save_rates(kMachine, rates);
  EXPECT_EQ(path.parent_path(), folder_.path() / "gneiss");
  const RatesInUse use = load_rates(kMachine);
  EXPECT_EQ(use.warning, "");
  EXPECT_TRUE(use.measured);
  EXPECT_EQ(use.path, path);
  EXPECT_EQ(use.rates.gather.rates, rates.gather.rates);
  EXPECT_EQ(use.rates.gemm_tn.sizes, rates.gemm_tn.sizes);
  EXPECT_EQ(use.rates.dropout, rates.dropout);
  EXPECT_THAT(use.rates.source, HasSubstr("2 threads"));
}

TEST_F(RatesFile, NoneIsNoReasonToWarn) {
  const RatesInUse use = load_rates(kMachine);
  EXPECT_EQ(use.warning, "");
  expect_defaults(use);
}

TEST_F(RatesFile, EachMachineThreadsAndVersionHasItsOwn) {
  save_rates(kMachine, cost::default_rates());
  for (const MachineKey& other :
       {MachineKey{"another", "VECTORS", 2, "1.2.3"}, MachineKey{"a processor", "OTHERS", 2, "1.2.3"},
        MachineKey{"a processor", "VECTORS", 4, "1.2.3"}, MachineKey{"a processor", "VECTORS", 2, "1.2.4"}}) {
    EXPECT_NE(rates_path(other), rates_path(kMachine));
    expect_defaults(load_rates(other));
    EXPECT_EQ(load_rates(other).warning, "");
  }
}

TEST_F(RatesFile, RanksThatShareAMachineHaveTheirOwnAndTheirNetwork) {
  const MachineKey share = shared(kMachine, 2);
  EXPECT_EQ(share.threads, 1);
  EXPECT_EQ(shared(kMachine, 5).threads, 1);
  EXPECT_NE(rates_path(share), rates_path(MachineKey{"a processor", "VECTORS", 1, "1.2.3"}));
  cost::Rates rates = cost::default_rates();
  rates.dropout = 7;
  save_rates(share, rates, Network{3e9, 4e-6, "measured between 2 ranks"});
  const RatesInUse use = load_shared_rates(kMachine, 2);
  EXPECT_EQ(use.warning, "");
  EXPECT_EQ(use.rates.dropout, 7);
  EXPECT_THAT(use.rates.source, HasSubstr("1 thread on each of 2 ranks"));
  ASSERT_TRUE(use.network.has_value());
  EXPECT_EQ(use.network->bytes_per_second, 3e9);
  EXPECT_EQ(use.network->latency, 4e-6);
  EXPECT_EQ(use.network->source, "measured between 2 ranks");
  expect_defaults(load_shared_rates(kMachine, 1));

  std::string text = read_file(rates_path(share));
  const std::size_t at = text.find("\"latency_seconds\": ");
  ASSERT_NE(at, std::string::npos);
  write_file(rates_path(share), text.insert(at + 19, "-"));
  expect_defaults(load_shared_rates(kMachine, 2));
  EXPECT_THAT(load_shared_rates(kMachine, 2).warning, HasSubstr("its network has no rate"));
}

TEST_F(RatesFile, RanksThatWereNotMeasuredTogetherHaveTheirPartOfTheMachine) {
  const cost::Rates whole = cost::default_rates();
  save_rates(kMachine, whole, Network{3e9, 4e-6, "between machines"});
  EXPECT_TRUE(load_shared_rates(kMachine, 1).network.has_value());
  const RatesInUse use = load_shared_rates(kMachine, 4);
  EXPECT_FALSE(use.network.has_value());
  EXPECT_EQ(use.rates.gather.rates[1], whole.gather.rates[1] / 4);
  EXPECT_EQ(use.rates.gemm_tn.rates[0], whole.gemm_tn.rates[0] / 4);
  EXPECT_EQ(use.rates.gather.sizes, whole.gather.sizes);
  EXPECT_EQ(use.rates.attention, whole.attention / 4);
  EXPECT_EQ(use.rates.call_seconds, whole.call_seconds);
  EXPECT_EQ(use.rates.spx_rows, whole.spx_rows);
  EXPECT_THAT(use.rates.source, HasSubstr("each of 4 ranks has its part"));
}

TEST_F(RatesFile, AnotherMachinesFileIsRefusedWithAWarning) {
  save_rates(kMachine, cost::default_rates());
  change("a processor", "b processor");
  const RatesInUse use = load_rates(kMachine);
  expect_defaults(use);
  EXPECT_THAT(use.warning, AllOf(HasSubstr(use.path.string()), HasSubstr("another machine"), HasSubstr("--calibrate")));
}

TEST_F(RatesFile, DamageIsNoticedAndSaidWhere) {
  const std::string whole = [] {
    save_rates(kMachine, cost::default_rates());
    return read_file(rates_path(kMachine));
  }();
  for (std::size_t length = 0; length + 2 < whole.size(); length += 97) {
    write_file(rates_path(kMachine), whole.substr(0, length));
    expect_defaults(load_rates(kMachine));
    EXPECT_THAT(load_rates(kMachine).warning, HasSubstr("is damaged")) << length;
  }
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"\"rates\": [", "\"rates\": [0, "},
                                 {"\"dropout_values\": ", "\"dropout_values\": -"},
                                 {"\"threads\": 2", "\"threads\": \"2\""}}) {
    write_file(rates_path(kMachine), whole);
    change(from, to);
    expect_defaults(load_rates(kMachine));
    EXPECT_THAT(load_rates(kMachine).warning, HasSubstr("is damaged")) << from;
  }
  fs::remove(rates_path(kMachine));
  fs::create_directory(rates_path(kMachine));
  expect_defaults(load_rates(kMachine));
  EXPECT_NE(load_rates(kMachine).warning, "");
}

TEST_F(RatesFile, AnEarlierVersionsFileIsNotCalledDamaged) {
  save_rates(kMachine, cost::default_rates());
  change("\"tile_gather_bytes\"", "\"gathered_tiles\"");
  expect_defaults(load_rates(kMachine));
  EXPECT_THAT(load_rates(kMachine).warning,
              AllOf(HasSubstr("lacks rates that this version goes by"), HasSubstr("doctor --calibrate")));
}

TEST(SharedRates, AreThoseOfRankZeroToTheBit) {
  constexpr int kRanks = 3;
  RatesInUse first;
  first.rates.gather = {{1, 8, 64}, {1e4, 1e9}, {1e9, 2e9, 3e9, 1.0 / 3, 5e9, 6e9}};
  first.rates.call_seconds = 1e-6 / 3;
  first.rates.source = "the machine of rank 0";
  first.measured = true;
  first.network = Network{1e9 / 7, 3e-6, "measured \"there\""};
  std::vector<RatesInUse> held(kRanks);
  held[0] = first;
  held[2].warning = "its own";
  comm::loopback(kRanks)->run([&](comm::Communicator& communicator) {
    share_rates(communicator, &held[static_cast<std::size_t>(communicator.rank())]);
  });
  for (const RatesInUse& use : held) {
    EXPECT_EQ(use.rates.gather.columns, first.rates.gather.columns);
    EXPECT_EQ(use.rates.gather.sizes, first.rates.gather.sizes);
    EXPECT_EQ(use.rates.gather.rates, first.rates.gather.rates);
    EXPECT_EQ(use.rates.stream.rates, default_rates().stream.rates);
    EXPECT_EQ(use.rates.call_seconds, first.rates.call_seconds);
    EXPECT_EQ(use.rates.source, first.rates.source);
    EXPECT_TRUE(use.measured);
    ASSERT_TRUE(use.network.has_value());
    EXPECT_EQ(use.network->bytes_per_second, first.network->bytes_per_second);
    EXPECT_EQ(use.network->latency, first.network->latency);
    EXPECT_EQ(use.network->source, first.network->source);
  }
  EXPECT_EQ(held[2].warning, "its own");
}

TEST(SharedRates, ANetworkThatRankZeroLacksIsNobodys) {
  std::vector<RatesInUse> held(2);
  held[1].network = Network{1e9, 1e-6, "of rank 1"};
  held[1].measured = true;
  comm::loopback(2)->run([&](comm::Communicator& communicator) {
    share_rates(communicator, &held[static_cast<std::size_t>(communicator.rank())]);
  });
  EXPECT_FALSE(held[1].network.has_value());
  EXPECT_FALSE(held[1].measured);
}

TEST_F(RatesFile, TheCacheFolderFollowsTheEnvironment) {
  const Environment cache("XDG_CACHE_HOME", "not/absolute");
  const Environment home("HOME", "/of/somebody");
  EXPECT_EQ(rates_path(kMachine).parent_path(), "/of/somebody/.cache/gneiss");
  unsetenv("HOME");
  EXPECT_TRUE(rates_path(kMachine).empty());
  expect_defaults(load_rates(kMachine));
  EXPECT_THROW(save_rates(kMachine, cost::default_rates()), Error);
}

}  // namespace
}  // namespace gneiss::cost
