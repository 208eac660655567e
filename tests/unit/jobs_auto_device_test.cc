// What --device auto decides: by modelled seconds, start included, and by memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cost/device_profile.h"
#include "cost/rates_file.h"
#include "data/load.h"
#include "jobs/auto_device.h"
#include "jobs/device_choice.h"
#include "support/data_fixtures.h"

namespace gneiss::jobs {
namespace {

using ::testing::HasSubstr;

train::SessionOptions options() {
  train::SessionOptions made;
  made.loss.kind = passes::LossSpec::Kind::kCrossEntropy;
  return made;
}

TEST(AutoDevice, AShortRunIsNotWorthItsStart) {
  const std::unique_ptr<runtime::Device> device = runtime::make_emulated_device();
  const AutoChoice choice = weigh_device(device.get(), data::load("karate", {}), options(), {200, 200});
  EXPECT_FALSE(choice.device);
  EXPECT_THAT(choice.note, HasSubstr("--device auto: the CPU, because of emulated device 200 epochs are modelled to"));
  EXPECT_THAT(choice.note, HasSubstr("s there, its start included, and "));
}

TEST(AutoDevice, ALongRunOnALargeGraphIs) {
  const std::unique_ptr<runtime::Device> device = runtime::make_emulated_device();
  const data::Dataset dataset = data::load("dcsbm:nodes=20000,degree=20,features=64", {});
  EXPECT_FALSE(weigh_device(device.get(), dataset, options(), {1, 1}).device);
  const AutoChoice choice = weigh_device(device.get(), dataset, options(), {1000000, 1});
  EXPECT_TRUE(choice.device) << choice.note;
  EXPECT_THAT(choice.note, HasSubstr("--device auto: emulated device, because 1000000 epochs"));
}

TEST(AutoDevice, APlanThatDoesNotFitRunsOnTheCpu) {
  const std::unique_ptr<runtime::Device> device = runtime::make_emulated_device();
  device->allow(1000);
  const AutoChoice choice = weigh_device(device.get(), data::load("karate", {}), options(), {1000000000, 1});
  EXPECT_FALSE(choice.device);
  EXPECT_THAT(choice.note, HasSubstr("bytes of emulated device, of which 1000 are free"));
}

/// Plans for a device go by what was measured of that one, and by no other's.
TEST(DeviceChoice, MeasuredRatesAreThoseOfTheDevice) {
  const gneiss::testing::TempFolder folder;
  const gneiss::testing::Environment cache{"XDG_CACHE_HOME", folder.path().string()};
  cost::Rates rates = cost::h100_profile().rates;
  rates.call_seconds = 1e-3;
  cost::save_rates(cost::of_device("emulated device"), rates);
  train::SessionOptions here = options();
  run_on(runtime::make_emulated_device(), &here);
  EXPECT_EQ(here.passes.rates.call_seconds, 1e-3);
  EXPECT_EQ(here.passes.rates.source, "emulated device, measured");
  train::SessionOptions described = options();
  plan_for_device(std::int64_t{1} << 30, &described, "another card");
  EXPECT_EQ(described.passes.rates.source, cost::h100_profile().rates.source);
  EXPECT_THAT(described.warnings, ::testing::IsEmpty());
}

}  // namespace
}  // namespace gneiss::jobs
