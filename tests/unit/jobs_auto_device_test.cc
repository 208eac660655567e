// What --device auto decides: by modelled seconds, start included, and by memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/load.h"
#include "jobs/auto_device.h"

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

}  // namespace
}  // namespace gneiss::jobs
